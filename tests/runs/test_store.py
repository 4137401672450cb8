"""Files: whole or not at all, checked, and no infinity in JSON."""

import os
import stat

import numpy as np
import pytest

from crug.errors import CrugError
from crug.runs import store


def test_arrays_come_back_with_shape_and_bits(tmp_path):
    arrays = {
        "scalar": np.int32(7),
        "flags": np.array([True, False]),
        "W": np.random.default_rng(0).normal(size=(3, 4)),
    }
    store.write_arrays(tmp_path / "x.safetensors", {**arrays, "T": arrays["W"].T})
    back = store.read_arrays(tmp_path / "x.safetensors")
    assert back["scalar"].shape == ()
    assert np.array_equal(back["T"], arrays["W"].T)
    assert np.array_equal(back["flags"], arrays["flags"])


@pytest.mark.parametrize("cut", [3, 100, -1])
def test_a_truncated_file_is_refused(tmp_path, cut):
    file = tmp_path / "x.safetensors"
    store.write_arrays(file, {"a": np.arange(100.0)})
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(CrugError, match="damaged checkpoint"):
        store.read_arrays(file)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "x.json"
    store.write_json(file, {"n": 1})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(CrugError, match=r"x\.json: cannot be written \(disk full\); make room"):
        store.write_json(file, {"n": 2})
    assert store.read_json(file) == {"n": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_divergent_scores_are_words_in_json(tmp_path):
    store.write_json(tmp_path / "x.json", {"d": [np.inf, 1.5, float("nan")]})
    assert '"div."' in (tmp_path / "x.json").read_text()
    assert store.read_json(tmp_path / "x.json") == {"d": [np.inf, 1.5, np.inf]}


def test_who_is_refused_leaves_the_lock_alone(tmp_path):
    file = tmp_path / "lab.crug"
    with store.alone(file):
        for _ in range(2):
            with pytest.raises(CrugError, match="another crug"), store.alone(file):
                pass
    with store.alone(file):
        pass
    assert not list(tmp_path.iterdir())
    with pytest.raises(CrugError, match="does not exist"), store.alone(tmp_path / "nowhere" / "lab.crug"):
        pass
    with store.alone(tmp_path), pytest.raises(CrugError, match="another crug"), store.alone(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_swept_away_and_nothing_of_others(tmp_path):
    """A file whose name begins alike may be written by somebody else at this moment."""
    left, others = ".lab.crug.123-4.tmp", {".lab.crug.bak.123-4.tmp", ".lab.crug.x.tmp", ".other.crug.1-2.tmp"}
    for name in (left, *others):
        (tmp_path / name).write_text("half")
    with store.alone(tmp_path / "lab.crug"):
        assert {path.name for path in tmp_path.glob("*.tmp")} == others
    with store.alone(tmp_path):
        assert {path.name for path in tmp_path.glob("*.tmp")} == {".lab.crug.x.tmp"}


@pytest.mark.skipif(os.name != "posix", reason="only there are folders brought to the disk")
def test_a_new_file_has_its_name_on_the_disk_too(tmp_path, monkeypatch):
    order, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def replaced(one, other):
        order.append("in its place")
        replace(one, other)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    store.write_json(tmp_path / "x.json", {"n": 1})
    assert order == ["file", "in its place", "folder"]


def test_stored_json_that_is_none_is_named(tmp_path):
    for text in ("", "{", "[" * 100_000):
        with pytest.raises(CrugError, match="here: damaged"):
            store.parsed_json(text, "here", finite=False)
    assert store.parsed_json("[-Infinity, 1.5]", "here", finite=False) == [-np.inf, 1.5]
    with pytest.raises(CrugError, match="here: damaged"):
        store.parsed_json("[-Infinity, 1.5]", "here")
