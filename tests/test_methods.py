"""One contract for every method in the registry, and methods of one's own."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from crug import phases, store
from crug.block import open_block
from crug.cli import app
from crug.data import make_windows
from crug.errors import CrugError
from crug.evaluation import free_run
from crug.journal import Journal
from crug.listeners import Silent
from crug.methods import METHODS, checksum, find
from crug.methods.isolating import Isolating
from crug.methods.shared import Shared
from crug.network import create, from_arrays
from crug.phases import Phase
from crug.sequence import run
from crug.tasks import SEQUENCES
from crug.training import Objective, start
from crug.verify import verify
from lessons import NAMES, NOBODY, RECIPE, SMALL, lesson_of, make, task, two_tasks, wave

# the contract


class Interrupting(Silent):
    """Stops a run after so many chunks."""

    def __init__(self, chunks):
        self.left = chunks

    def chunk(self, *_):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


class InTheSecond(Interrupting):
    """Stops it after so many chunks of the second task."""

    def task(self, number, _):
        self.second = number == 1

    def chunk(self, *_):
        if self.second:
            super().chunk()


def under_way(folder):
    """Whether there is something to go on from inside a task."""
    return any(file.suffix == ".safetensors" for file in (folder / "progress").iterdir())


@pytest.mark.parametrize("name", METHODS)
def test_contract(name, tmp_path, monkeypatch):
    """Open, train, close, roll out every task, save, load, resume: the same bits."""
    settings = {"path": {"start": 8}} if name == "crug" else {}
    config, method = make(name, **settings)
    result = run(config, method, tmp_path / "whole", Silent())
    assert result["completed"]
    assert [row["name"] for row in result["tasks"]] == list(NAMES)
    assert 0 < result["units"] <= 24
    network = from_arrays(store.read_arrays(tmp_path / "whole" / "network.safetensors"))
    assert len({int(u) for r in network.readouts for u in r}) == 5
    assert not any(network.relu[r].any() for r in network.readouts)
    for number, dim in enumerate((2, 3)):
        assert free_run(network, number, np.zeros((2, dim)), 50).shape == (2, 50, dim)
    if isinstance(method, Isolating):
        assert all(row["own"] == row["final"] for row in result["tasks"])
        assert all(equal for _, equal in verify(tmp_path / "whole"))
    monkeypatch.setattr(phases, "SAVE_SECONDS", 0)
    monkeypatch.setattr(phases, "CHUNK", 1)
    broken = tmp_path / "broken"
    with pytest.raises(KeyboardInterrupt):
        run(config, find(name)(config), broken, Interrupting(2))
    assert under_way(broken)
    later = Interrupting(2) if name == "interleaved" else InTheSecond(2)
    with pytest.raises(KeyboardInterrupt):
        run(config, find(name)(config), broken, later)
    assert under_way(broken)
    assert name == "interleaved" or store.complete(broken / "tasks" / f"1-{NAMES[0]}")
    again = run(config, find(name)(config), tmp_path / "broken", Silent())
    assert {**again, "seconds": 0} == {**result, "seconds": 0}
    pair = [(tmp_path / folder / "network.safetensors").read_bytes() for folder in ("whole", "broken")]
    assert pair[0] == pair[1]


def test_every_method_has_what_the_lists_need():
    for name, method in METHODS.items():
        assert method.name == name
        assert method.summary
        config = method.Config.model_validate({"sequence": "vlrc", "tasks": NAMES, "method": name})
        values = config.model_dump()
        for key, (low, high) in method.Config.search.items():
            value = values
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
        found = find(name).Config.model_validate({"sequence": sequence, "tasks": NAMES, "method": name})
        assert functools.reduce(getattr, key.split("."), found) == value


def test_what_is_given_wins_over_the_papers_settings():
    base = {"tasks": NAMES, "method": "clnp"}
    found = find("clnp").Config.model_validate({**base, "sequence": "blgf", "l1": {"relu": 5e-3}})
    assert (found.l1.linear, found.l1.relu) == (1.18e-3, 5e-3)


@pytest.mark.parametrize("name", ["interleaved", "ewc", "si", "er", "gr"])
def test_what_a_method_rehearses_and_recalls_reaches_its_training(name, tmp_path):
    """Without it the same run ends elsewhere."""

    class Forgetful(find(name)):
        def rehearse(self, *_):
            return []

        def recall(self, memory, block):
            return super().recall({}, block)

    config, method = make(name)
    result = run(config, method, tmp_path / "whole", Silent())
    run(config, Forgetful(config), tmp_path / "without", Silent())
    ends = [(tmp_path / folder / "network.safetensors").read_bytes() for folder in ("whole", "without")]
    assert ends[0] != ends[1]
    assert result["shared"]
    assert (result["memory_bytes"] > 0) == (name != "interleaved")


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
    block, params = open_block(network, np.arange(20), np.arange(2), NOBODY)
    mine = find(str(file))
    method = mine(mine.Config.model_validate({**SMALL, "method": "mine", "strength": 2.0}))
    windows = make_windows(network, NOBODY, wave(2, 1.0), RECIPE, np.random.default_rng(0))
    lesson = lesson_of(method, network, [task(2, 1.0)], 0, start(params, RECIPE, Objective()), block, windows)
    _, memory = method.close(network, lesson, {}, np.random.default_rng(0))
    recalled = method.recall(memory, block)
    off = {**params, "h": params["h"].at[3].add(0.5)}
    assert float(method.objective.penalty(off, off, block.fixed, recalled, 0)) == pytest.approx(2.0 * 0.25)


def test_a_copy_of_a_house_method_runs_and_a_changed_file_is_another_run(tmp_path):
    from crug.methods import ewc

    file = tmp_path / "mine.py"
    file.write_text(Path(ewc.__file__).read_text())
    assert find(str(file)).Config.model_fields["strength"].default == 4214.16
    before = checksum(str(file))
    file.write_text(file.read_text() + "\n# changed\n")
    assert checksum(str(file)) != before
    assert checksum("naive") is None


def test_a_checkpoint_of_one_task_is_never_taken_for_another(tmp_path):
    network, tasks, _, _, _, _ = two_tasks()
    method = Shared(make("naive")[0])
    opening = method.open(network, tasks, 0)
    journal = Journal(tmp_path / "p", "1-a", network, opening, RECIPE, Objective())
    progress = journal.beginning(Phase("train", 4, 1e-2, 1e-2))
    progress.epoch = 3
    journal.save(0, progress)
    resumed = Journal(tmp_path / "p", "1-a", network, opening, RECIPE, Objective()).resume(0)
    assert resumed is not None
    assert resumed.epoch == 3
    other = Journal(tmp_path / "p", "2-b", network, method.open(network, tasks, 1), RECIPE, Objective())
    assert other.resume(0) is None


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
        ("class Mine:\n    name = 'mine'", "class Mine is no method yet: it has no summary, no Config, no open"),
        ("from crug.methods.shared import Shared\nclass A(Shared):\n    name = 'a'", "class A .* it has no summary;"),
        (TWO, r"has 2 methods \(A, B\), one is needed"),
    ],
)
def test_a_file_without_a_method_is_refused(tmp_path, content, message):
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CrugError, match=message):
        find(str(file))


@pytest.mark.parametrize(
    ("question", "answer", "message"),
    [
        ("open", None, "open returned NoneType, not an Opening"),
        ("close", 3, "close returned int, not a Network and a dict"),
        ("next_phase", None, "van-der-pol was never closed"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_named(tmp_path, monkeypatch, question, answer, message):
    config, method = make("naive", epochs=1)
    monkeypatch.setattr(method, question, lambda *_: answer)
    with pytest.raises(CrugError, match=message):
        run(config, method, tmp_path / "run", Silent())
    assert not (tmp_path / "run" / ".lock").exists()


@pytest.mark.parametrize("sequence", ["vlrc", "blgf"])
def test_rivals_are_trained_alike(sequence):
    """What differs between their rows is the method, and where tasks alternate, the rate and the checkpoint."""
    base = {"sequence": sequence, "tasks": SEQUENCES[sequence]}
    configs = {
        name: METHODS[name].Config.model_validate({**base, "method": name}) for name in METHODS if name != "crug"
    }
    naive = configs["naive"]
    for name, config in configs.items():
        gentle = {"optimiser": "radam", "lr_end": 1e-5} if name in ("interleaved", "er", "gr") else {}
        assert config.training == naive.training.model_copy(update=gentle)
        assert (config.epochs, config.network) == (naive.epochs, naive.network)
        assert config.select == ("last" if name in ("er", "gr") else "best")


class Impatient(Silent):
    """While a run is under way, starts another one in its folder."""

    def task(self, number, task):
        config, method = make("naive", epochs=1)
        with pytest.raises(CrugError, match="another crug is working on it"):
            run(config, method, self.folder, Silent())

    def __init__(self, folder):
        self.folder = folder


def test_nobody_else_works_on_a_run_meanwhile(tmp_path):
    config, method = make("naive", epochs=1)
    assert run(config, method, tmp_path / "run", Impatient(tmp_path / "run"))["completed"]
