"""What `verify` of a run looks at: every task of its plan, every file, and all that a task needs of the network."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import crug
from crug.core.network import FREE
from crug.errors import CrugError
from crug.runs import store
from crug.runs.verify import verify

TASKS = ["van-der-pol", "chua"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    small = {"epochs": 4, "network": {"M": 24, "P": 10}, "training": {"window": 400}, "path": {"start": 8}}
    crug.run(TASKS, out=folder, **small)
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


def noticed(folder: Path) -> bool:
    """Whether something is found to be wrong, in words."""
    try:
        return not all(equal for _, equal in verify(folder))
    except CrugError as error:
        return "\n" not in str(error)


def test_a_whole_run_is_verified(finished):
    assert [equal for _, equal in verify(finished)] == [True, True]


def test_a_flipped_bit_of_the_final_network_is_noticed_wherever_it_is(copy):
    file = copy / "network.safetensors"
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        assert noticed(copy), place


def test_a_result_without_tasks_proves_nothing(copy):
    stored = store.read_json(copy / "result.json")
    store.write_json(copy / "result.json", {**stored, "tasks": []})
    assert noticed(copy)
    (copy / "result.json").unlink()
    assert noticed(copy)


@pytest.mark.parametrize("what", ["owner", "B", "relu", "gain"])
def test_ledger_encoder_kinds_and_gains_are_verified_too(copy, what):
    file = copy / "network.safetensors"
    arrays = {name: value.copy() for name, value in store.read_arrays(file).items()}
    unit = np.flatnonzero(arrays["owner"] == 0)[-1]
    if what == "owner":  # a unit that another task does not use is given to it
        spare = np.flatnonzero(arrays["owner"] == FREE)[0]
        arrays["owner"][spare] = 0
        arrays["runs.0"] = np.sort(np.append(arrays["runs.0"], spare)).astype(np.int32)
    elif what == "B":
        arrays["B"][unit, 0] = np.nextafter(arrays["B"][unit, 0], np.float32(9))
    elif what == "relu":
        arrays["relu"][unit] ^= True
    else:
        arrays["gain.0"] = np.array(0.123)
    store.write_arrays(file, arrays)
    assert noticed(copy)


@pytest.mark.parametrize("file", ["config.json", "result.json", "tasks/1-van-der-pol/task.json"])
@pytest.mark.parametrize("content", ["{}", "[]", "null", "3", "", '{"plan": NaN}', "[" * 100_000])
def test_other_json_is_refused_with_the_name_of_the_file(copy, file, content):
    (copy / file).write_text(content)
    assert noticed(copy)


def test_swapped_files_are_noticed(copy):
    one, two = (copy / "tasks" / name for name in ("1-van-der-pol", "2-chua"))
    for name in ("memory.safetensors", "curves.safetensors", "network.safetensors", "task.json"):
        shutil.copytree(copy, copy.with_name("again"))
        shutil.copyfile(two / name, one / name)
        assert noticed(copy) == (name != "memory.safetensors"), name  # of which both tasks have none
        shutil.rmtree(copy)
        copy.with_name("again").rename(copy)
    one.rename(two.with_name("x"))
    two.rename(one)
    two.with_name("x").rename(two)
    assert noticed(copy)


CHANGES = {
    "a unit beyond the network": ("runs.0", lambda v: np.append(v[:-1], np.int32(99)).astype(np.int32)),
    "a negative unit": ("readout.0", lambda v: -1 - v),
    "an owner that is no task": ("owner", lambda v: np.where(v == 0, 7, v).astype(np.int32)),
    "an owner that does not fit": ("owner", lambda v: np.where(v == 0, 1, v).astype(np.int32)),
    "another shape": ("W", lambda v: v[:, :-1]),
    "another kind": ("a", lambda v: v.astype(np.float64)),
    "no number": ("h", lambda v: np.full_like(v, np.nan)),
    "words": ("owner", lambda v: v.astype(np.float32)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_arrays_that_are_no_network_are_refused(copy, change):
    """Also where their checksum is right, and by everything that reads them."""
    name, changed = CHANGES[change]
    for file in (copy / "network.safetensors", copy / "tasks" / "2-chua" / "network.safetensors"):
        arrays = store.read_arrays(file)
        store.write_arrays(file, {**arrays, name: changed(arrays[name])})
        assert noticed(copy)


def test_a_task_file_that_is_right_but_of_other_numbers_is_noticed(copy):
    file = copy / "tasks" / "2-chua" / "task.json"
    stored = json.loads(file.read_text())
    stored["own"]["values"]["d_stsp"] = 0.001
    del stored["sha256"]
    file.write_text(json.dumps(stored))
    assert noticed(copy)
