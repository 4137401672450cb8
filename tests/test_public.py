"""The public face of the library: what it has, what importing it does to a process, and how its errors speak."""

import ast
import doctest
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import crug
from crug.runtime import ONE_THREAD

SOURCE = Path(crug.__file__).parent
PUBLIC = {
    "CrugError",
    "Model",
    "Recording",
    "Result",
    "Score",
    "__version__",
    "load",
    "merge",
    "methods",
    "metrics",
    "read",
    "run",
    "tasks",
}


def python(code: str) -> str:
    """What a fresh process prints, without what the tests set in theirs."""
    env = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_changes_nothing_in_the_process():
    python(
        "import os, sys\n"
        "before = dict(os.environ)\n"
        "import crug\n"
        "assert dict(os.environ) == before\n"
        "assert 'jax' not in sys.modules\n"
        "assert 'matplotlib' not in sys.modules\n"
    )


def test_neither_does_all_of_the_public_face():
    python(
        "import jax\n"
        "import os, sys\n"
        "before, config = dict(os.environ), dict(jax.config.values)\n"
        "import crug\n"
        "for name in dir(crug): getattr(crug, name)\n"
        "assert 'crug.model.model' in sys.modules\n"
        "assert dict(os.environ) == before\n"
        "assert dict(jax.config.values) == config\n"
        "assert jax.config.jax_compilation_cache_dir is None or 'JAX_COMPILATION_CACHE_DIR' in os.environ\n"
        "assert 'matplotlib' not in sys.modules\n"
    )


def test_importing_takes_no_time():
    code = "import jax, time\nbegan = time.perf_counter()\nimport crug\nprint(time.perf_counter() - began)"
    assert min(float(python(code)) for _ in range(3)) <= 0.3


def test_the_public_face():
    assert set(dir(crug)) == PUBLIC
    for name in PUBLIC:
        assert getattr(crug, name) is not None
    missing = "nothing"
    with pytest.raises(AttributeError, match="module 'crug' has no attribute 'nothing'"):
        getattr(crug, missing)


def test_a_run_from_python_round_trips_through_its_file(tmp_path):
    settings: dict[str, Any] = {"network": {"M": 24, "P": 10}, "training.window": 400}
    result = crug.run(["van-der-pol"], method="naive", epochs=1, **settings)
    assert isinstance(result, crug.Result)
    assert (result.plan.tasks, result.plan.method, result.settings["training"]["window"]) == (
        ("van-der-pol",),
        "naive",
        400,
    )
    assert result.write(tmp_path) == result
    assert crug.Result.read(tmp_path) == result


def shown() -> list[str]:
    """The modules whose documentation shows a session."""
    files = [file for file in sorted(SOURCE.rglob("*.py")) if ">>> " in file.read_text()]
    return [".".join(("crug", *file.relative_to(SOURCE).with_suffix("").parts)) for file in files]


def test_sessions_are_shown():
    assert {"crug.model.model", "crug.metrics.hellinger", "crug.metrics.state_space"} <= set(shown())


@pytest.mark.parametrize("module", shown())
def test_what_the_documentation_of_a_module_shows(module):
    found = doctest.testmod(import_module(module))
    assert (found.failed, found.attempted > 0) == (0, True)


def for_python(call: ast.Call) -> list[str]:
    """All text of what an error says to a reader who calls the library: `what` and `remedy`, not `flags`."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("what", "remedy")]
    nodes = [node for argument in (*call.args[:2], *named) for node in ast.walk(argument)]
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def errors(file: Path) -> list[ast.Call]:
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in ("CrugError", "Exhausted")]


def test_errors_of_the_library_name_no_options_of_the_command_line():
    library = [file for file in SOURCE.rglob("*.py") if "cli" not in file.relative_to(SOURCE).parts]
    found = [(file, call) for file in library for call in errors(file)]
    assert len(found) > 50
    spoken = [(file, call.lineno, text) for file, call in found for text in for_python(call)]
    wrong = [place for place in spoken if " --" in place[2] or place[2].startswith("--")]
    assert wrong == []
