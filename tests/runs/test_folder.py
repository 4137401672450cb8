"""A run's folder: it can always be gone on with, and what is missing is learned again."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import crug
from crug.errors import CrugError
from crug.runs import store
from crug.runs.folder import prepare, read_config
from crug.runs.plan import Origin
from crug.runs.verify import verify

SMALL: dict[str, Any] = {
    "epochs": 4,
    "network": {"M": 24, "P": 10},
    "training": {"window": 400, "gate_lr": 0.5},
    "prices": {"linear": 0.02, "relu": 0.02},
    "allocation": "price",
    "select": "best",
}
TASKS = ["van-der-pol", "chua"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    crug.run(TASKS, out=folder, **SMALL)
    return folder


@pytest.mark.parametrize("left", [".config.json.123.tmp", ".config.json.9-0.tmp", ".lock"])
def test_a_run_that_was_killed_while_it_wrote_its_first_file_goes_on(finished, tmp_path, left):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / left).write_text('{"plan":')
    crug.run(TASKS, out=folder, **SMALL)
    assert (folder / "network.safetensors").read_bytes() == (finished / "network.safetensors").read_bytes()
    assert not list(folder.glob(".*"))


def test_a_full_disk_at_the_first_file_leaves_nothing_in_the_way(tmp_path, monkeypatch):
    folder = tmp_path / "run"

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(CrugError, match=r"config\.json: cannot be written \(No space left on device\)"):
            crug.run(TASKS[:1], out=folder, **SMALL)
    assert not list(folder.iterdir())
    assert crug.run(TASKS[:1], out=folder, **SMALL).completed


@pytest.mark.parametrize("lost", ["tasks/1-van-der-pol", "tasks/2-chua", "tasks"])
def test_a_missing_task_folder_is_learned_again(finished, tmp_path, lost):
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    shutil.rmtree(folder / lost)
    crug.run(TASKS, out=folder, **SMALL)
    for file in ("network.safetensors", "tasks/1-van-der-pol/network.safetensors", "tasks/2-chua/curves.safetensors"):
        assert (folder / file).read_bytes() == (finished / file).read_bytes()
    assert all(equal for _, equal in verify(folder))


@pytest.mark.parametrize("content", ["{}", "[]", '{"plan": {}, "settings": {}, "version": "1"}', "null"])
def test_a_config_that_is_none_is_named(finished, tmp_path, content):
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    (folder / "config.json").write_text(content)
    with pytest.raises(CrugError, match=r"config\.json: not what crug wrote"):
        crug.run(TASKS, out=folder, **SMALL)


def test_a_plan_leads_nowhere_else(finished, tmp_path):
    """The names of tasks become folders: only those that there are do."""
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    stored = store.read_json(folder / "config.json")
    stored["plan"]["tasks"] = ["../../elsewhere", "chua"]
    store.write_json(folder / "config.json", stored)
    with pytest.raises(CrugError, match="no task is called"):
        list(verify(folder))


def test_a_run_of_todays_format_without_checksums_still_opens(finished, tmp_path):
    """As crug wrote them before files vouched for each other."""
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    for file in folder.rglob("*.json"):
        stored = store.read_json(file)
        for name in ("task", "files"):
            stored.pop(name, None)
        store.write_json(file, stored)
        lines = [line for line in file.read_text().splitlines() if '"sha256"' not in line]
        lines[-2] = lines[-2].rstrip(",")
        file.write_text("\n".join(lines))
    assert all(equal for _, equal in verify(folder))
    assert crug.run(TASKS, out=folder, **SMALL) == crug.Result.read(finished)


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CrugError, match=r"m\.crug: cannot be written \(No space left on device\); make room"):
        crug.Model(units=16).save(tmp_path / "m.crug")
    assert not list(tmp_path.iterdir())


def test_of_two_runs_that_begin_at_once_in_one_folder_one_is_refused(tmp_path, monkeypatch):
    """The other one has written its first file when this one has waited for the folder."""
    folder, usual = tmp_path / "run", store.alone
    plans = [crug.runs.Plan.make(tasks).model_dump(mode="json") for tasks in (TASKS, TASKS[:1])]

    @contextmanager
    def late(place, within=False):
        with usual(place, within):
            store.write_json(folder / "config.json", {"plan": plans[1], "settings": {}, "version": "1"})
            yield

    monkeypatch.setattr(store, "alone", late)
    with pytest.raises(CrugError, match="holds another run"):
        prepare(folder, {"plan": plans[0], "settings": {}}, Origin(version="1"))
    assert read_config(folder).plan.tasks == tuple(TASKS[:1])
