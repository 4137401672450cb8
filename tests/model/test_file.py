"""A model's file: nobody's work is lost, nothing is learned that cannot be saved, nothing that is wrong is believed."""

import json
import multiprocessing
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crug
from crug.errors import CrugError
from crug.runs import store
from signed import signed, taken_apart
from waves import START, wave


@pytest.fixture(scope="module")
def learned():
    model = crug.Model(units=32, seed=3, settings=START)
    return model.learn(wave(), "first", 0.1, epochs=2, progress=False).learn(
        wave(3, 1.7), "second", 0.1, epochs=2, progress=False
    )


# who saves last


def test_a_file_that_somebody_else_has_changed_is_not_overwritten(learned, tmp_path):
    file = tmp_path / "lab.crug"
    learned.extract("first").save(file)
    one, two = crug.load(file), crug.load(file)
    one.grow(8).save(file)
    before = file.read_bytes()
    with pytest.raises(CrugError, match=r"lab\.crug: has changed since this model was loaded from it.*load it again"):
        two.grow(4).save(file)
    assert file.read_bytes() == before
    one.grow(4).save(file)  # its own changes are no surprise
    two.save(tmp_path / "other.crug")
    two.save(tmp_path / "other.crug")
    file.unlink()
    two.save(file)
    assert crug.load(file).units == two.units


def _learn_and_save(file: str, number: int, ready: Any, go: Any, told: Any) -> None:
    model = crug.load(file)
    ready.release()
    go.wait()
    try:
        model.grow(number + 1).save(file)
        told.put(number)
    except CrugError:
        told.put(None)


@pytest.mark.slow
def test_of_several_processes_that_load_and_save_one_wins_and_the_others_are_told(learned, tmp_path):
    file = tmp_path / "lab.crug"
    learned.extract("first").save(file)
    units = crug.load(file).units
    spawn = multiprocessing.get_context("spawn")
    ready, go, told = spawn.Semaphore(0), spawn.Event(), spawn.Queue()
    processes = [spawn.Process(target=_learn_and_save, args=(str(file), i, ready, go, told)) for i in range(3)]
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    go.set()
    answers = [told.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    winners = [number for number in answers if number is not None]
    assert len(winners) == 1
    assert crug.load(file).units == units + winners[0] + 1


def test_a_save_waits_for_nobody_who_works_for_long(learned, tmp_path, monkeypatch):
    monkeypatch.setattr("crug.model.file.PATIENCE", 0.1)
    file = tmp_path / "lab.crug"
    learned.save(file)
    descriptor = os.open(tmp_path / ".lab.crug.lock", os.O_RDWR | os.O_CREAT)
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(CrugError, match="another crug is working on it"):
        crug.load(file).save(file)
    os.close(descriptor)
    crug.load(file).save(file)
    assert [path.name for path in tmp_path.iterdir()] == ["lab.crug"]


@pytest.mark.parametrize("place", [".", "", "..", "folder"])
def test_a_folder_is_no_file(learned, tmp_path, monkeypatch, place):
    (tmp_path / "here" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(CrugError, match="is a folder"):
        learned.save(place)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "here"]


# what comes in


def test_what_is_numpys_becomes_pythons_and_is_saved(tmp_path):
    settings = {**START, "path.most": np.int64(12), "training.clip": np.float32(0.5), "select": np.str_("best")}
    sizes: dict[str, Any] = {"units": np.int64(16), "seed": np.int64(1)}
    model = crug.Model(**sizes, settings=settings)
    how: dict[str, Any] = {"epochs": np.int64(2), "units": np.int16(12), "progress": False}
    how |= {"dt": np.float32(0.1), "columns": np.array(["a", "b"])}
    model.learn(wave(), "w", **how)
    model.save(tmp_path / "m.crug")
    again = crug.load(tmp_path / "m.crug")
    assert (again.seed, again.about("w").columns) == (1, ("a", "b"))
    assert again.settings["training"]["clip"] == 0.5


BAD: dict[str, dict[str, Any]] = {
    "no end": {"training.clip": float("inf")},
    "no number": {"training.lr": float("nan")},
    "beyond 32 bits": {"training.lr": 1e300},
    "too many": {"epochs": 10**30},
    "more than can be shown": {"epochs": 10**5000},
    "no setting": {"training": 3},
    "an object": {"path.most": object()},
}


@pytest.mark.parametrize("name", BAD)
def test_settings_that_could_never_learn_are_refused_when_they_come_in(name):
    with pytest.raises(CrugError) as refused:
        crug.Model(units=16, settings=BAD[name])
    assert "\n" not in str(refused.value)
    assert next(iter(BAD[name])).split(".")[0] in str(refused.value)


@pytest.mark.parametrize("seed", [-1, 2**63, 10**5000, 1.5, "a", None, True], ids=range(7))
def test_a_seed_is_a_whole_number_within_bounds(seed):
    with pytest.raises(CrugError, match=r"seed = .*; give a whole number from 0 to 9223372036854775807"):
        crug.Model(units=16, seed=seed)


# what is in a file


@pytest.fixture(scope="module")
def stored(learned, tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "lab.crug"
    learned.save(file)
    return taken_apart(file)


def _changed(said: Any, path: Sequence[Any], value: Any) -> Any:
    """What is said, with one thing in it replaced."""
    said = json.loads(json.dumps(said))
    place = said
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return said


def _used(file: Path) -> None:
    """Whatever is in a file, read."""
    model = crug.load(file)
    for name in model.tasks:
        model.rollout(name, 5)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("seed",), -1),
        (("seed",), "x"),
        (("free",), -1),
        (("free",), 10**30),
        (("settings",), []),
        (("settings",), {"training": {"clip": "inf"}}),
        (("records",), {}),
        (("records", 0), {}),
        (("records", 0, "listed", "name"), "second"),
        (("records", 0, "listed", "name"), "free"),
        (("records", 0, "listed", "name"), "third"),
        (("records", 0, "listed", "linear"), 1),
        (("records", 0, "listed", "heard"), ["second"]),
        (("records", 1, "listed", "heard"), ["first"]),
        (("records", 0, "listed", "seconds"), []),
        (("records", 0, "start"), -1),
        (("stranger",), 3),
    ],
)
def test_a_model_said_to_be_another_is_refused_with_its_name(stored, tmp_path, path, value):
    file = tmp_path / "odd.crug"
    signed(file, stored, lambda entry: _changed(entry, path, value))
    with pytest.raises(CrugError, match=r"odd\.crug: not what crug wrote"):
        _used(file)


@pytest.mark.parametrize(("path", "value"), [(("start",), 0), (("length",), 10**9), (("listed", "digest"), "0" * 64)])
def test_a_record_is_where_its_entry_says_or_nowhere(stored, tmp_path, path, value):
    file = tmp_path / "odd.crug"
    signed(file, stored, lambda entry: _changed(entry, ("records", 0, *path), value))
    with pytest.raises(CrugError, match=r"odd\.crug: (damaged|not a model of crug, or a damaged one)"):
        _used(file)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("about",), {}),
        (("about", "name"), "second"),
        (("about", "dt"), 0),
        (("about", "dt"), "div."),
        (("about", "kind"), "driven"),
        (("about", "kind"), "other"),
        (("about", "columns"), ["a"]),
        (("about", "columns"), []),
        (("about", "inputs"), ["u"]),
        (("heard",), ["first"]),
        (("stranger",), 3),
        (("learned",), {}),
        (("learned", "chosen"), 99),
        (("learned", "chosen"), None),
        (("learned", "history"), []),
        (("learned", "own", "values"), {}),
        (("learned", "own", "rank"), None),
    ],
)
def test_said_otherwise_a_record_is_refused_with_its_file(stored, tmp_path, path, value):
    file, (first, *others) = tmp_path / "odd.crug", stored.pieces
    changed = first._replace(said=_changed(first.said, path, value))
    signed(file, stored._replace(pieces=[changed, *others]))
    with pytest.raises(CrugError, match=r"odd\.crug: not what crug wrote"):
        _used(file)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "3", '{"seed": NaN}', "[" * 100_000])
@pytest.mark.parametrize("version", ["1", "2"])
def test_other_json_is_refused_in_every_format(stored, tmp_path, text, version):
    file = tmp_path / "odd.crug"
    store.write_arrays(file, stored.pieces[0].arrays, format=f"crug model {version}", model=text)
    with pytest.raises(CrugError, match=r"odd\.crug: "):
        crug.load(file)


ARRAYS: dict[str, Any] = {
    "no scale": ("std", lambda v: 0 * v),
    "a scale that is no number": ("mean", lambda v: np.nan * v),
    "a negative scale": ("std", lambda v: -v),
    "another shape": ("test", lambda v: v[:, :1]),
    "an empty test part": ("test", lambda v: v[:0]),
    "a test part without end": ("test", lambda v: v + np.float32(np.inf)),
    "units beyond the network": ("units.readout", lambda v: v + np.int32(900)),
    "one unit twice": ("units.readout", lambda v: 0 * v),
    "units of others": ("units.owner", lambda v: v),
    "a matrix that is none": ("units.W", lambda v: v[0]),
    "weights that are no numbers": ("units.W", lambda v: np.nan * v),
    "other numbers": ("units.a", lambda v: v.astype(np.float64)),
    "a stranger": ("units.x", lambda v: v),
    "breaks outside": ("breaks", lambda v: np.array([10**9])),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_other_arrays_are_refused_with_the_name_of_the_file(stored, tmp_path, name):
    file, (first, *others) = tmp_path / "odd.crug", stored.pieces
    which, change = ARRAYS[name]
    arrays = {**first.arrays, which: change(first.arrays.get(which, np.zeros(2)))}
    signed(file, stored._replace(pieces=[first._replace(arrays=arrays), *others]))
    with pytest.raises(CrugError, match=r"odd\.crug: not "):
        _used(file)


@pytest.mark.parametrize(
    "use", [crug.Model.arrays, lambda model: model.network, lambda model: model.rollout_all({}, 5)]
)
def test_whoever_puts_records_together_looks_at_them_first(stored, tmp_path, use):
    file, (first, *others) = tmp_path / "odd.crug", stored.pieces
    arrays = {**first.arrays, "units.W": np.nan * first.arrays["units.W"]}
    signed(file, stored._replace(pieces=[first._replace(arrays=arrays), *others]))
    with pytest.raises(CrugError, match=r"odd\.crug: not a network of crug \(W is not finite\)"):
        use(crug.load(file))


# which machine


def test_verify_gives_no_alarm_where_only_the_instructions_or_flags_differ(learned, monkeypatch):
    """There the same network rounds otherwise: its parameters decide."""
    monkeypatch.setattr("crug.model.known.Known.rollout_digest", lambda *_: "another")
    assert not any(learned.verify().values())
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    assert not any(learned.verify().values())  # which changes nothing
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=SSE4_2")
    assert all(learned.verify().values())


def test_verify_sees_what_a_processor_can_do(learned, monkeypatch):
    from crug.runs import proof

    monkeypatch.setattr("crug.model.known.Known.rollout_digest", lambda *_: "another")
    monkeypatch.setattr(proof, "_said_of_cpu", lambda *names: "flags : fpu sse4_2" if "flags" in names else "AMD EPYC")
    assert all(learned.verify().values())


def test_what_could_not_be_saved_is_refused_before_it_is_learned():
    model = crug.Model(units=40, seed=3, settings=START)
    model.settings["path"]["gently"] = (0.5,)  # a file has lists only
    with pytest.raises(CrugError, match=r"recording 'w': could not be saved \(its settings would be others"):
        model.learn(wave(), "w", 0.1, epochs=2, progress=False)
    assert model.tasks == ()
