"""One contract for every method in the registry, what the engine promises them, and methods of one's own."""

import functools
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from crug.cli import app
from crug.core.dynamics import run_freely
from crug.core.network import create, from_arrays
from crug.errors import CrugError
from crug.methods import METHODS, checksum, find
from crug.runs import store
from crug.runs.folder import complete
from crug.runs.journal import Journal
from crug.runs.learning import prepare
from crug.runs.listeners import Silent
from crug.runs.sequence import carry_out
from crug.runs.verify import verify
from crug.tasks import SEQUENCES
from crug.training import phases
from crug.training.phases import Phase
from crug.training.settings import case_of
from lessons import (
    NAMES,
    SMALL,
    assigned,
    begun,
    block_of,
    lesson_of,
    make,
    shared,
    task,
    two_tasks,
    windows_of,
)

# the contract


class Interrupting(Silent):
    """Stops a run after so many chunks."""

    def __init__(self, chunks: int):
        self.left = chunks

    def chunk(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


class InTheSecond(Interrupting):
    """Stops it after so many chunks of the second task."""

    second = False

    def begins(self, *told: Any) -> None:
        (task,) = told
        self.second = task.name == NAMES[1]

    def chunk(self, *_: object) -> None:
        if self.second:
            super().chunk()


def under_way(folder):
    """Whether there is something to go on from inside a task."""
    return any(file.suffix == ".safetensors" for file in (folder / "progress").iterdir())


@pytest.mark.parametrize("name", METHODS)
def test_contract(name, tmp_path, monkeypatch):
    """Open, train, close, roll out every task, save, load, resume: the same bits."""
    settings: dict[str, Any] = {"path": {"start": 8}} if name == "crug" else {}
    plan, method = make(name, **settings)
    result = carry_out(plan, method, tmp_path / "whole", Silent())
    assert result.completed
    assert [row.name for row in result.tasks] == list(NAMES)
    assert 0 < result.units <= 24
    network = from_arrays(store.read_arrays(tmp_path / "whole" / "network.safetensors"))
    assert len({int(u) for r in network.readouts for u in r}) == 5
    assert not any(network.relu[r].any() for r in network.readouts)
    for number, dim in enumerate((2, 3)):
        assert run_freely(network.task_system(number), np.zeros((2, dim)), 50).shape == (2, 50, dim)
    if method.exact:
        assert all(row.own == row.final for row in result.tasks)
        assert all(equal for _, equal in verify(tmp_path / "whole"))
    monkeypatch.setattr(phases, "SAVE_SECONDS", 0)
    monkeypatch.setattr(phases, "CHUNK", 1)
    broken = tmp_path / "broken"
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, find(name)(method.settings), broken, Interrupting(2))
    assert under_way(broken)
    later = Interrupting(2) if name == "interleaved" else InTheSecond(2)
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, find(name)(method.settings), broken, later)
    assert under_way(broken)
    assert name == "interleaved" or complete(broken / "tasks" / f"1-{NAMES[0]}")
    again = carry_out(plan, find(name)(method.settings), tmp_path / "broken", Silent())
    assert again.model_copy(update={"seconds": 0}) == result.model_copy(update={"seconds": 0})
    pair = [(tmp_path / folder / "network.safetensors").read_bytes() for folder in ("whole", "broken")]
    assert pair[0] == pair[1]


def test_every_method_has_what_the_lists_need():
    for name, method in METHODS.items():
        assert method.name == name
        assert method.summary
        values = method.Settings.resolve("vlrc", {}).model_dump()
        for key, (low, high) in method.Settings.search.items():
            value: Any = values
            for part in key.split("."):
                value = value[part]
            assert low <= value <= high, (name, key)


@pytest.mark.parametrize(
    ("name", "key", "vlrc", "blgf"),
    [
        ("ewc", "strength", 4214.16, 10.0),
        ("si", "strength", 100.0, 1e4),
        ("si", "xi", 1e-3, 1e-3),
        ("er", "every", 1, 1),
        ("gr", "every", 1, 1),
        ("xdg", "masked", 0.94, 0.95),
        ("clnp", "l1.linear", 1.56e-3, 1.18e-3),
        ("clnp", "l1.relu", 1.67e-3, 1.53e-3),
        ("clnp", "margin", 0.02, 0.6615),
        ("crug", "prices.linear", 1.53e-3, 2.94e-3),
        ("crug", "prices.relu", 2.33e-3, 3.36e-3),
        ("crug", "transfer.strength", 1.4e-2, 1.44e-1),
    ],
)
def test_the_papers_best_settings_of_a_sequence_are_its_defaults(name, key, vlrc, blgf):
    for sequence, value in (("vlrc", vlrc), ("blgf", blgf)):
        found = find(name).Settings.resolve(case_of(sequence, SEQUENCES[sequence]), {})
        assert functools.reduce(getattr, key.split("."), found) == value


def test_what_is_given_wins_over_the_papers_settings():
    found: Any = find("clnp").Settings.resolve("blgf", {"l1": {"relu": 5e-3}})
    assert (found.l1.linear, found.l1.relu) == (1.18e-3, 5e-3)


@pytest.mark.parametrize("name", ["interleaved", "ewc", "si", "er", "gr"])
def test_what_a_method_rehearses_and_recalls_reaches_its_training(name, tmp_path):
    """Without it the same run ends elsewhere."""

    base: Any = find(name)

    class Forgetful(base):
        def rehearse(self, *_):
            return []

        def recall(self, memory, block):
            return super().recall({}, block)

    plan, method = make(name)
    result = carry_out(plan, method, tmp_path / "whole", Silent())
    carry_out(plan, Forgetful(method.settings), tmp_path / "without", Silent())
    ends = [(tmp_path / folder / "network.safetensors").read_bytes() for folder in ("whole", "without")]
    assert ends[0] != ends[1]
    assert result.shared
    assert (result.memory_bytes > 0) == (name != "interleaved")


# a method of one's own


def template():
    from crug.methods import _template

    return Path(_template.__file__).read_text()


def test_a_copied_template_runs_and_holds_parameters(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(template())
    line = ["run", "--tasks", ",".join(NAMES), "--method", str(file), "--epochs", "2", "--out", str(tmp_path / "run")]
    sets = ["network.M=24", "network.P=10", "training.window=400"]
    done = CliRunner().invoke(app, [*line, *(part for s in sets for part in ("--set", s))])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "run" / "result.json").read_text())["completed"]
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run"), str(tmp_path / "run")])
    assert shown.exit_code == 0, shown.output
    network = create(20, 8, 3, np.random.default_rng(0))
    block, params = block_of(network, np.arange(20), np.arange(2))
    mine, wave = find(str(file)), task(2, 1.0)
    method = mine(mine.Settings.resolve("two", {**SMALL, "strength": 2.0}))
    lesson = lesson_of(assigned(network, [wave], 0), block, begun(params), windows_of(network, wave))
    _, memory = method.close(lesson, np.random.default_rng(0))
    recalled = method.recall(memory, block)
    off = {**params, "h": params["h"].at[3].add(0.5)}
    assert float(method.objective.penalty(off, off, block.fixed, recalled)) == pytest.approx(2.0 * 0.25)


def test_a_copy_of_a_house_method_runs_and_a_changed_file_is_another_run(tmp_path):
    from crug.methods import ewc

    file = tmp_path / "mine.py"
    file.write_text(Path(ewc.__file__).read_text())
    assert find(str(file)).Settings.model_fields["strength"].default == 4214.16
    before = checksum(str(file))
    file.write_text(file.read_text() + "\n# changed\n")
    assert checksum(str(file)) != before
    assert checksum("naive") is None


def test_a_checkpoint_of_one_task_is_never_taken_for_another(tmp_path):
    network, tasks, _, _, _, _ = two_tasks()
    course, another = (prepare(shared(), assigned(network, tasks, number))[0] for number in range(2))
    journal = Journal(tmp_path / "p", "1-a", course)
    progress = journal.beginning(Phase("train", 4, 1e-2, 1e-2))
    progress.epoch = 3
    journal.save(0, progress)
    resumed = Journal(tmp_path / "p", "1-a", course).resume(0)
    assert resumed is not None
    assert resumed.epoch == 3
    assert Journal(tmp_path / "p", "2-b", another).resume(0) is None


BARE = "from crug.methods import Method\nclass Mine(Method):\n    name = 'mine'"
TWO = """from crug.methods.shared import Shared
class A(Shared):
    name = summary = "a"
class B(A):
    name = "b"
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file"),
        ("import nothing_of_this_name", "cannot be imported"),
        ("import sys; sys.exit(3)", "cannot be imported"),
        ("x = 1", "has no class that is a method"),
        ("class Mine:\n    name = 'mine'", "has no class that is a method"),
        (BARE, "class Mine is no method yet: it has no summary, no close, no open;"),
        ("from crug.methods.shared import Shared\nclass A(Shared):\n    name = 'a'", "class A .* it has no summary;"),
        (TWO, r"has 2 methods \(A, B\), one is needed"),
    ],
)
def test_a_file_without_a_method_is_refused(tmp_path, content, message):
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CrugError, match=message) as refused:
        find(str(file))
    assert str(refused.value).startswith(f"method {file}: ")


@pytest.mark.parametrize(
    ("question", "answer", "message"),
    [
        ("open", None, "open returned NoneType, not an Opening"),
        ("close", 3, "close returned int, not a Network and a dict"),
        ("next_phase", None, "van-der-pol was never closed"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_named(tmp_path, monkeypatch, question, answer, message):
    plan, method = make("naive", epochs=1)
    monkeypatch.setattr(method, question, lambda *_: answer)
    with pytest.raises(CrugError, match=message):
        carry_out(plan, method, tmp_path / "run", Silent())
    assert not (tmp_path / "run" / ".lock").exists()


@pytest.mark.parametrize("sequence", ["vlrc", "blgf"])
def test_rivals_are_trained_alike(sequence):
    """What differs between their rows is the method, and where tasks alternate, the rate and the checkpoint."""
    case = case_of(sequence, SEQUENCES[sequence])
    found = {name: METHODS[name].Settings.resolve(case, {}) for name in METHODS if name != "crug"}
    naive = found["naive"]
    for name, settings in found.items():
        gentle = {"optimiser": "radam", "lr_end": 1e-5} if name in ("interleaved", "er", "gr") else {}
        assert settings.training == naive.training.model_copy(update=gentle)
        assert (settings.epochs, settings.network) == (naive.epochs, naive.network)
        assert settings.select == ("last" if name in ("er", "gr") else "best")


class Impatient(Silent):
    """While a run is under way, somebody else starts one in its folder."""

    def __init__(self, folder: Path):
        self.folder, self.told = folder, ""

    def begins(self, *_: object) -> None:
        other = threading.Thread(target=self._try)
        other.start()
        other.join()

    def _try(self) -> None:
        plan, method = make("naive", epochs=1)
        try:
            carry_out(plan, method, self.folder, Silent())
        except CrugError as error:
            self.told = str(error)


def test_nobody_else_works_on_a_run_meanwhile(tmp_path):
    (plan, method), impatient = make("naive", epochs=1), Impatient(tmp_path / "run")
    assert carry_out(plan, method, tmp_path / "run", impatient).completed
    assert "another crug is working on it" in impatient.told
