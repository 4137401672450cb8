"""Whole runs, small: retention, resuming, verifying, exhaustion."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crug.core.dynamics import run_freely
from crug.core.network import from_arrays
from crug.errors import CrugError
from crug.methods.crug import Crug, CrugSettings
from crug.methods.si import SiSettings
from crug.runs import Listener, Plan, Result, Silent, store
from crug.runs.sequence import carry_out
from crug.runs.verify import verify
from crug.training import phases

TASKS = ("van-der-pol", "chua", "lorenz")
SMALL: dict[str, Any] = {
    "network": {"M": 40, "P": 20},
    "epochs": 20,
    "select": "best",
    "path": {"start": 12, "every": 16},
    "training": {"starts": 2},
}
CLOSING: dict[str, Any] = {
    "allocation": "price",
    "training": {"gate_lr": 0.5},
    "prices": {"linear": 0.02, "relu": 0.02},
}


def plan(tasks: tuple[str, ...] = TASKS, seed: int = 0) -> Plan:
    return Plan(sequence=",".join(tasks), tasks=tasks, method="crug", seed=seed)


def go(
    folder: Path,
    listener: Listener | None = None,
    tasks: tuple[str, ...] = TASKS,
    seed: int = 0,
    **settings: Any,
) -> Result:
    wanted = plan(tasks, seed)
    method = Crug(CrugSettings.resolve(wanted.case, {**SMALL, **settings}))
    return carry_out(wanted, method, folder, listener or Silent())


def without_times(result: Result) -> dict[str, Any]:
    return result.model_dump(exclude={"seconds"})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "plain"
    return folder, go(folder)


KINDS: dict[str, dict[str, Any]] = {"path": {}, "path with transfer": {"transfer": {"kind": "l2"}}, "price": CLOSING}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_forgotten_to_the_bit(tmp_path, kind):
    result = go(tmp_path / "run", **KINDS[kind])
    assert [row.own for row in result.tasks] == [row.final for row in result.tasks]
    assert result.completed
    assert all(equal for _, equal in verify(tmp_path / "run"))
    final = from_arrays(store.read_arrays(tmp_path / "run" / "network.safetensors"))
    first = from_arrays(store.read_arrays(tmp_path / "run" / "tasks" / "1-van-der-pol" / "network.safetensors"))
    x0 = np.array([[0.3, -1.0], [2.0, 0.1]])
    before, after = (run_freely(network.task_system(0), x0, 500) for network in (first, final))
    assert np.array_equal(before, after)
    assert result.units == sum(row.units[k] for row in result.tasks for k in ("linear", "relu"))


@pytest.mark.parametrize("settings", [CLOSING, {"training": {"gate_lr": 0.5}}], ids=["price", "path"])
def test_a_closed_source_stays_closed(tmp_path, settings):
    """L0 transfer at a price that nothing is worth: no later task may draw on an earlier one, settled or not."""
    go(tmp_path / "run", **settings, transfer={"kind": "l0", "strength": 100.0})
    network = from_arrays(store.read_arrays(tmp_path / "run" / "network.safetensors"))
    for task, units in enumerate(network.runs):
        assert (network.owner[units] == task).all()


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no window": ({"training": {"window": 10**6}}, "no window of 1000000 steps fits"),
    "few windows": ({"training": {"windows": "fixed", "batches": 10**5}}, "more than its"),
    "few trials": ({"tasks": ("go-nogo",), "trials": {"train": 50}}, "more than its 50 trials"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_too_little_to_draw_from_is_said(tmp_path, name):
    settings, text = MISTAKES[name]
    with pytest.raises(CrugError, match=text):
        go(tmp_path / "run", **settings)


def test_cognitive_tasks_have_their_presets_in_any_sequence():
    case = plan(("go-nogo", "context-pro")).case
    chosen = CrugSettings.resolve(case, {**SMALL, "network": {"M": 120}})
    assert (chosen.training.batch, chosen.epochs, chosen.path.start) == (64, 20, 12)
    assert SiSettings.resolve(plan(("go-nogo",)).case, {}).strength == 500


def test_what_is_lost_of_a_finished_run_is_made_again(finished, tmp_path):
    folder, result = finished
    shutil.copytree(folder, tmp_path / "run")
    for lost in ("network.safetensors", "tasks/3-lorenz/network.safetensors"):
        (tmp_path / "run" / lost).unlink()
    assert without_times(go(tmp_path / "run")) == without_times(result)
    assert (tmp_path / "run" / "network.safetensors").read_bytes() == (folder / "network.safetensors").read_bytes()


def test_result_has_its_schema_and_the_history_its_curve(finished):
    folder, result = finished
    stored = json.loads((folder / "result.json").read_text())
    measured, how = (
        ("tasks", "overall", "units", "shared", "memory_bytes", "matrix"),
        ("completed", "seconds", "stopped", "origin"),
    )
    assert set(stored) == {"plan", "settings", *measured, *how, "sha256"}
    assert set(stored["plan"]) == {"sequence", "tasks", "method", "seed", "source"}
    assert set(stored["origin"]) == {"version", "edition", "machine"}
    assert (stored["plan"]["tasks"], stored["settings"]["epochs"]) == (list(TASKS), 20)
    assert (stored["matrix"], stored["stopped"]) == ([], None)
    assert stored["tasks"][0]["name"] == "van-der-pol"
    assert Result.read(folder) == result
    assert result.overall["d_stsp"] == max(row.final["d_stsp"] for row in result.tasks)
    record = store.read_json(folder / "tasks" / "2-chua" / "task.json")
    assert {o["phase"]["kind"] for o in record["history"]} == {"open", "rung", "final"}
    curves = store.read_arrays(folder / "tasks" / "2-chua" / "curves.safetensors")
    assert {*phases.CURVES, "d_stsp", "d_h"} == set(curves)
    assert np.isfinite(curves["d_stsp"]).any()


def test_same_seed_same_bits_and_another_seed_another_network(finished, tmp_path):
    folder, result = finished
    assert without_times(go(tmp_path / "again")) == without_times(result)
    assert (folder / "network.safetensors").read_bytes() == (tmp_path / "again" / "network.safetensors").read_bytes()
    assert go(tmp_path / "other", seed=1).tasks != result.tasks


class Interrupting(Silent):
    """Stops a run after so many chunks, as a power cut would."""

    def __init__(self, chunks: int):
        self.left = chunks

    def chunk(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("allocation", ["path", "price"])
def test_interrupted_inside_a_phase_goes_on_to_the_same_bits(tmp_path, monkeypatch, allocation):
    settings: dict[str, Any] = {"tasks": TASKS[:2], "epochs": 60}
    if allocation == "price":
        settings |= CLOSING
    expected = go(tmp_path / "whole", **settings)
    monkeypatch.setattr(phases, "SAVE_SECONDS", 0)
    for chunks in (2, 3, 4):
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path / "broken", Interrupting(chunks), **settings)
    assert without_times(go(tmp_path / "broken", **settings)) == without_times(expected)
    pair = [(tmp_path / name / "network.safetensors").read_bytes() for name in ("whole", "broken")]
    assert pair[0] == pair[1]


def test_a_damaged_file_of_the_task_under_way_costs_only_that_phase(tmp_path):
    expected = go(tmp_path / "whole", tasks=TASKS[:1])
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "broken", Interrupting(9), tasks=TASKS[:1])
    damaged = tmp_path / "broken" / "progress" / "phase-001.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(CrugError, match=r"phase-001\.safetensors: damaged checkpoint"):
        go(tmp_path / "broken", tasks=TASKS[:1])
    damaged.unlink()
    under_way = tmp_path / "broken" / "progress" / "running.safetensors"
    store.write_arrays(under_way, {"x": np.zeros(3)}, numbers="{")
    with pytest.raises(CrugError, match=r"running\.safetensors: damaged \(not JSON\)"):
        go(tmp_path / "broken", tasks=TASKS[:1])
    under_way.unlink()
    assert without_times(go(tmp_path / "broken", tasks=TASKS[:1])) == without_times(expected)


@pytest.mark.slow
def test_killed_twice_the_same_command_ends_with_the_same_result(tmp_path):
    def command(out):
        settings = ["network.M=40", "network.P=20", "path.start=12", "select=best", "path.every=16"]
        sets = [part for s in settings for part in ("--set", s)]
        line = [sys.executable, "-m", "crug", "run", "--tasks", "van-der-pol,chua", "--epochs", "60"]
        return subprocess.Popen([*line, *sets, "--out", str(out)], stdout=subprocess.DEVNULL)

    assert command(tmp_path / "whole").wait() == 0
    for marker in ("progress/phase-001.safetensors", "tasks/1-van-der-pol/task.json"):
        process = command(tmp_path / "killed")
        deadline = time.monotonic() + 120
        while not (tmp_path / "killed" / marker).exists() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "killed" / "result.json").exists()
    assert command(tmp_path / "killed").wait() == 0
    results = [json.loads((tmp_path / name / "result.json").read_text()) for name in ("whole", "killed")]
    assert [result.pop("seconds") >= 0 for result in results] == [True, True]
    assert results[0].pop("sha256") != results[1].pop("sha256")  # of the seconds too
    assert results[0] == results[1]


def test_verify_sees_one_nudged_weight(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "copy")
    file = tmp_path / "copy" / "network.safetensors"
    arrays = store.read_arrays(file)
    unit = np.flatnonzero(arrays["owner"] == 1)[0]
    W = arrays["W"].copy()
    source = np.flatnonzero(W[unit])[0]
    W[unit, source] = np.nextafter(W[unit, source], np.float32(9))
    store.write_arrays(file, {**arrays, "W": W})
    assert [equal for _, equal in verify(tmp_path / "copy")] == [True, False, True]


def test_an_exhausted_pool_is_an_outcome_not_a_crash(tmp_path):
    result = go(tmp_path / "run", network={"M": 12, "P": 6}, path={"start": 8, "tolerance": 0})
    assert not result.completed
    assert result.stopped is not None
    assert "free linear units" in result.stopped
    assert result.overall["d_stsp"] == np.inf
    assert json.loads((tmp_path / "run" / "result.json").read_text())["overall"]["d_stsp"] == "div."


def test_a_folder_of_another_run_is_refused(finished):
    with pytest.raises(CrugError, match=r"holds another run \(seed is 0 there, 3 here\)"):
        go(finished[0], seed=3)
