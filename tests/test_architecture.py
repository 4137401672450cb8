"""The plan of the house holds: who may import whom, and how long a file or a function may be."""

import ast
from pathlib import Path

import pytest

import crug

SOURCE = Path(crug.__file__).parent
ROOMS = (
    "errors",
    "sections",
    "runtime",
    "core",
    "metrics",
    "readers",
    "tasks",
    "analysis",
    "training",
    "methods",
    "runs",
    "page",
    "model",
    "field",
    "studies",
    "report",
    "cli",
)
"""In this order: a room imports only from itself and from those above it."""
FACE = ("__init__.py", "__main__.py")
LINES, FUNCTION = 400, 60


def files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.py"))


def imported(file: Path, package: str = "crug") -> list[tuple[int, str, list[str]]]:
    """Line, module and names of everything that a file imports from the package, also inside functions."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                found.append((node.lineno, "." * node.level + (node.module or ""), []))
            elif (node.module or "").split(".")[0] == package:
                names = [alias.name for alias in node.names]
                modules = [f"{package}.{name}" for name in names] if node.module == package else [node.module or ""]
                found += [(node.lineno, module, names) for module in modules]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names if alias.name.split(".")[0] == package]
            found += [(node.lineno, module, []) for module in modules]
    return found


def violations(root: Path) -> list[str]:
    """Every import that goes to a room below, to the face of the package, or to what another room keeps private."""
    wrong = []
    for file in files(root):
        place = file.relative_to(root)
        if str(place) in FACE:
            continue
        room = place.parts[0].removesuffix(".py")
        if room not in ROOMS:
            wrong.append(f"{place}: {room} is in no plan")
            continue
        for line, module, names in imported(file):
            where = f"{place}:{line}: {module}"
            other = module.split(".")[1] if module.count(".") else ""
            if module.startswith("."):
                wrong.append(f"{where} is relative")
            elif other not in ROOMS:
                wrong.append(f"{where} is the face, not a room")
            elif ROOMS.index(other) > ROOMS.index(room):
                wrong.append(f"{where} is below {room}")
            elif other != room and any(part.startswith("_") for part in (*module.split("."), *names)):
                wrong.append(f"{where} goes through a wall: {', '.join(names)}")
    return wrong


def test_rooms_import_only_from_those_above():
    assert violations(SOURCE) == []


def test_every_room_is_there_and_every_folder_says_what_lives_in_it():
    present = {file.relative_to(SOURCE).parts[0].removesuffix(".py") for file in files(SOURCE)}
    assert set(ROOMS) == present - {"__init__", "__main__"}
    for file in SOURCE.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(file.read_text())), file


@pytest.mark.parametrize(
    ("file", "line", "found"),
    [
        ("core/x.py", "from crug.tasks import load", "core/x.py:1: crug.tasks is below core"),
        ("core/x.py", "def f():\n    import crug.cli", "core/x.py:2: crug.cli is below core"),
        ("methods/x.py", "from crug import runs", "methods/x.py:1: crug.runs is below methods"),
        ("runs/x.py", "import crug", "runs/x.py:1: crug is the face, not a room"),
        (
            "runs/x.py",
            "from crug.core.block import _secret",
            "runs/x.py:1: crug.core.block goes through a wall: _secret",
        ),
        ("runs/x.py", "from . import store", "runs/x.py:1: . is relative"),
        ("attic/x.py", "", "attic/x.py: attic is in no plan"),
        ("runs/x.py", "from crug.core.block import Block", None),
        ("core/x.py", "from crug.core._private import thing", None),
    ],
)
def test_the_walk_finds_what_is_wrong(tmp_path, file, line, found):
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(line + "\n")
    assert violations(tmp_path) == ([] if found is None else [found])


def long_functions(file: Path) -> list[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, kinds)]
    return [f.name for f in functions if (f.end_lineno or 0) - f.lineno + 1 > FUNCTION]


def test_files_and_functions_are_short(tmp_path):
    for file in files(SOURCE):
        assert len(file.read_text().splitlines()) <= LINES, file
        assert long_functions(file) == [], file
    (tmp_path / "long.py").write_text("def long():\n" + FUNCTION * "    pass\n")
    assert long_functions(tmp_path / "long.py") == ["long"]


def test_nobody_outside_the_room_of_tasks_asks_what_kind_a_task_is():
    kinds = {"RecordingTask", "DrivenTask", "TrialTask"}
    for file in files(SOURCE):
        if "tasks" in file.relative_to(SOURCE).parts:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                assert not asked & kinds, (file, node.lineno)
