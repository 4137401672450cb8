"""Engines carry runs out whatever is killed, and searches end alike on all of them."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from crug.cli import app
from crug.errors import CrugError
from crug.runs import Result
from crug.studies import worker
from crug.studies.pool import Done, Pool
from crug.studies.records import Shelf
from crug.studies.reproduce import Desk, carry_out
from crug.studies.search import BATCH, WORST, Space, open_study, search, table
from crug.studies.study import labels
from crug.studies.wanted import Wanted
from crug.tasks import gait
from pretended import SMALL, found, kept, plan, quiet, small, until

GAITNDD = Path(__file__).parents[3] / "shared" / "gaitndd"


def test_a_pool_carries_out_all_runs_and_says_what_failed(tmp_path):
    desk = Desk(Shelf(tmp_path / "results"), tmp_path / "runs")
    wanted = [small(0), small(1), small(2).model_copy(update={"given": {**SMALL, "training.window": 10**9}})]
    failed = carry_out(wanted, desk, Pool(desk.runs, 2), quiet)
    assert [done.wanted for done in failed] == wanted[2:]
    assert "window" in failed[0].error
    assert len(kept(tmp_path / "results")) == 2
    assert (desk.runs / small(1).place / "network.safetensors").exists()


def test_a_run_whose_process_is_killed_is_gone_on_with(tmp_path):
    wanted = small(0, epochs=400)
    killed = []

    def kill() -> None:
        while not (tmp_path / "killed" / wanted.place / "progress").exists():
            time.sleep(0.02)
        for process in _workers():
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    threading.Thread(target=kill, daemon=True).start()
    for place in ("killed", "whole"):
        (done,) = Pool(tmp_path / place, 1).carry_out([wanted])
        assert done.result is not None
    assert killed
    one, other = (tmp_path / place / wanted.place / "network.safetensors" for place in ("killed", "whole"))
    assert one.read_bytes() == other.read_bytes()


def _workers() -> list[int]:
    """The processes of runs that this one started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (entry / "cmdline").read_bytes(), (entry / "stat").read_text()
        except OSError:
            continue
        if b"crug.studies.worker" in command and int(status.rpartition(")")[2].split()[1]) == os.getpid():
            found.append(int(entry.name))
    return found


def test_two_workers_halve_the_time_and_who_waits_for_them_computes_nothing(result, tmp_path, monkeypatch):
    """Eight equal runs; each is a process that takes a while."""

    def one_run(wanted: Wanted, folder: Path, begun: object = None) -> Result:
        subprocess.run([sys.executable, "-I", "-S", "-c", "import time; time.sleep(0.5)"], check=True)
        return result

    monkeypatch.setattr("crug.studies.pool.one_run", one_run)
    took, computed = [], []
    for workers in (1, 2):
        began = time.perf_counter(), time.process_time()
        assert len(list(Pool(tmp_path, workers).carry_out([small(seed) for seed in range(8)]))) == 8
        took.append(time.perf_counter() - began[0])
        computed.append(time.process_time() - began[1])
    assert took[1] <= 0.6 * took[0]
    assert max(computed) < 0.05 * took[1]


def test_a_worker_ends_with_whoever_started_it(tmp_path):
    command = [sys.executable, "-m", "crug.studies.worker", str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(small(0, epochs=100_000).model_dump_json() + "\n")
        process.stdin.flush()
        while not (tmp_path / "run" / "progress").exists():
            time.sleep(0.05)
        process.stdin.close()
        assert process.wait(20) == 3


# searches


class Pretender:
    """An engine whose runs cost nothing: their scores follow from their settings. It dies after so many runs; runs
    with a strength above `most` fail."""

    at_once = 1

    def __init__(self, result, last: int | None = None, order: int = 1, most: float = np.inf):
        self.result, self.last, self.order, self.most, self.count = result, last, order, most, 0

    def carry_out(self, wanted):
        for one in list(wanted)[:: self.order]:
            self.count += 1
            if self.last is not None and self.count > self.last:
                raise KeyboardInterrupt
            if one.given["strength"] > self.most:
                yield Done(one, None, "too strong")
                continue
            score = abs(np.log10(one.given["strength"]) - 2) + 0.01 * one.seed
            settings = one.settings.model_dump(mode="json")
            measures = {"d_stsp": score, "d_h": 0.1}
            row = self.result.tasks[0].model_copy(update={"own": measures, "final": measures})
            said = {"plan": one.plan, "settings": settings, "tasks": [row], "units": 10 + int(10 * score)}
            yield Done(one, self.result.model_copy(update={**said, "overall": measures, "completed": True}))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    (done,) = Pool(tmp_path_factory.mktemp("runs"), 1).carry_out([small()])
    assert done.result is not None
    return done.result


def test_a_search_finds_what_is_good_and_does_not_depend_on_the_order_of_runs(result, tmp_path):
    first = found(plan(24), tmp_path / "a", Pretender(result))
    assert first == found(plan(24), tmp_path / "b", Pretender(result, order=-1))
    assert first[0][2][0] < 0.3
    assert kept(tmp_path / "a" / "results") == kept(tmp_path / "b" / "results")


@pytest.mark.parametrize("last", [1, 7, 8, 9, 17])
def test_an_interrupted_search_ends_as_one_that_was_not(result, tmp_path, last):
    whole = found(plan(), tmp_path / "whole", Pretender(result))
    with pytest.raises(KeyboardInterrupt):
        found(plan(), tmp_path / "cut", Pretender(result, last))
    engine = Pretender(result)
    assert found(plan(), tmp_path / "cut", engine) == whole
    assert engine.count == 20 - last  # nothing is run twice
    assert kept(tmp_path / "cut" / "results") == kept(tmp_path / "whole" / "results")


def test_units_count_where_asked_for_and_hopeless_trials_are_stopped(result, tmp_path):
    both = sorted(found(plan(48, pareto=True), tmp_path / "pareto", Pretender(result)))
    close = np.array([score < 0.1 for *_, (score, _) in both])
    assert close[-16:].sum() > 2 * close[:16].sum()  # what is proposed follows from what was found
    engine = Pretender(result)
    found(plan(16, hopeless=True), tmp_path / "hopeless", engine)
    assert 16 < engine.count < 32


def test_runs_that_fail_count_as_the_worst_and_do_not_stop_a_search(result, tmp_path):
    said = []
    engine, desk = Pretender(result, most=1e3), Desk(Shelf(tmp_path / "results"), tmp_path)
    trials = table(search(plan(12), desk, engine, lambda over, done: said.append(done.error)))
    assert len(trials) == 12
    assert "too strong" in said
    assert all((values == [WORST]) == (settings["strength"] > 1e3) for _, settings, values in trials)
    assert any(values == [WORST] for *_, values in trials)
    with pytest.raises(CrugError, match=r"all of the first trials failed.*too strong"):
        found(plan(), tmp_path / "never", Pretender(result, most=0))


def test_the_journal_can_be_opened_by_others(result, tmp_path):
    found(plan(4), tmp_path, Pretender(result))
    study = open_study(plan(4), tmp_path)
    assert len(study.trials) == 4 == BATCH
    assert set(study.best_trial.params) == {"strength"}


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(CrugError, match="names no settings to search"):
        Space.of(small())
    with pytest.raises(CrugError, match="no such setting"):
        Space.of(small(), {"nothing": (0, 1)})
    with pytest.raises(CrugError, match="lower end first"):
        Space.of(small(), {"training.lr": (1, 0.1)})
    assert Space.of(small(method="er")).whole == {"every"}


def test_only_what_makes_a_difference_is_searched():
    def asked(**given) -> Wanted:
        return Wanted(
            sequence="vlrc",
            method="crug",
            seed=0,
            given={key.replace("__", "."): value for key, value in given.items()},
        )

    with pytest.raises(CrugError, match="set allocation=price"):
        Space.of(asked())
    with pytest.raises(CrugError, match=r"prices\.relu: does nothing by these settings"):
        Space.of(asked(), {"prices.relu": (1e-4, 1e-2)})
    assert set(Space.of(asked(allocation="price")).ranges) == {"prices.linear", "prices.relu"}
    for kind, span in (("l0", (1e-6, 1e-3)), ("l1", (1e-6, 1e-2)), ("l2", (3e-5, 0.3))):
        assert Space.of(asked(transfer__kind=kind)).ranges == {"transfer.strength": span}
    assert len(Space.of(asked(allocation="price", transfer__kind="l1")).ranges) == 3


def test_a_search_on_the_command_line(tmp_path):
    asked = (
        "van-der-pol --trials 2 --seeds 1 --epochs 2 --set network.M=16 --set network.P=8 --range training.lr=1e-4:1e-2"
    )
    words = ["search", *asked.split(), "--method", "naive", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "training.lr" in done.output
    assert len(kept(tmp_path / "results")) == 2
    wrong = CliRunner().invoke(app, [*words, "--range", "training.lr"])
    assert isinstance(wrong.exception, CrugError)


# all of the paper


def here(wanted: Wanted, folder: Path, begun: object = None) -> Result:
    """A run without a process of its own."""
    return worker.carry_out(wanted, folder)


needs_gait = pytest.mark.skipif(not GAITNDD.exists(), reason="the gaitndd database is not beside the checkout")

MARKS = {"gait": needs_gait, "hyperparameter": pytest.mark.long}


@pytest.mark.slow
@pytest.mark.parametrize("label", [pytest.param(n, marks=MARKS.get(n.split("_")[0], ())) for n in labels()])
def test_it_runs_from_end_to_end_and_draws(label, tmp_path_factory, monkeypatch):
    monkeypatch.setattr("crug.studies.pool.one_run", here)  # other tests start processes
    place = tmp_path_factory.getbasetemp() / "studies"  # what several labels want is run once
    if "gait" in label:
        gait.adopt(GAITNDD)
    words = ["reproduce", label, "--budget", "toy", "--workers", "1"]
    words += ["--results", place / "results", "--runs", place / "runs"]
    done = CliRunner().invoke(app, [str(w) for w in (*words, "--out", place / "out")])
    assert done.exit_code == 0, done.output + str(done.exception)
    written = sorted(file.suffix for file in (place / "out").glob(f"{label}.*"))
    assert written in ([".csv", ".md", ".tex"], [".pdf", ".png"])
    assert all(file.stat().st_size > 100 for file in (place / "out").glob(f"{label}.*"))


@pytest.mark.long
def test_killed_again_and_again_it_writes_the_same_table(tmp_path):
    def command(place: Path) -> list[str]:
        words = ["reproduce", "replay_DSR", "--budget", "toy", "--workers", "2"]
        folders = ["--results", place / "results", "--runs", place / "runs", "--out", place / "out"]
        return [sys.executable, "-m", "crug", *words, *map(str, folders)]

    for number in range(5):  # once right at the beginning, then with one more task learned each time, of eight
        with subprocess.Popen(command(tmp_path / "killed"), start_new_session=True) as process:
            done = "runs/*/*/*/tasks/*/task.json"
            until(lambda: len(list((tmp_path / "killed").glob(done))) >= number, process)  # noqa: B023
            assert process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
    for place in ("killed", "whole"):
        assert subprocess.run(command(tmp_path / place), timeout=400).returncode == 0
    for ending in ("md", "tex", "csv"):
        one, other = ((tmp_path / place / "out" / f"replay_DSR.{ending}").read_bytes() for place in ("killed", "whole"))
        assert one == other
    assert kept(tmp_path / "killed" / "results") == kept(tmp_path / "whole" / "results")
