"""Records: what a recording becomes follows from itself, and a model grows by what is learned."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.errors import CrugError, Exhausted
from crug.model import kept as kept_module
from crug.model.asked import Asked
from crug.model.kept import Kept, packed, unpacked
from crug.model.known import Known
from crug.model.order import label, ordered
from crug.readers import Recording
from crug.tasks import as_recordings
from waves import wave

TINY: dict[str, Any] = {
    "path": {"start": 6, "most": 6, "gently": [], "every": 16},
    "training": {"starts": 2},
    "select": "best",
    "noise": False,
}
HOW: dict[str, Any] = {"dt": 0.1, "epochs": 2, "progress": False}
WAVES = {name: wave(2, frequency, 400) for name, frequency in (("a", 1.0), ("b", 1.3), ("c", 1.7))}


def new(units: int = 40, seed: int = 3) -> crug.Model:
    return crug.Model(units=units, seed=seed, settings=TINY)


def learned(model: crug.Model, names: Any) -> crug.Model:
    for name in names:
        model.learn(WAVES[name], name, **HOW)
    return model


def bits(model: crug.Model) -> dict[str, bytes]:
    return {one.name: one.content() for one in model.kept}


@pytest.fixture(scope="module")
def one() -> crug.Model:
    return learned(new(), "abc")


# order does not matter


@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(order=st.permutations("abc"), cut=st.integers(0, 3), units=st.integers(18, 90), turned=st.booleans())
def test_any_order_any_split_and_any_merge_give_the_same_records(one, tmp_path_factory, order, cut, units, turned):
    parts = [learned(new(units), order[:cut]), learned(new(units + 7), order[cut:])]
    files = [tmp_path_factory.mktemp("split") / "part.crug" for _ in parts]
    for part, file in zip(parts, files, strict=True):
        part.save(file)
    merged = crug.merge(*map(crug.load, files[:: -1 if turned else 1]))
    assert bits(merged) == bits(one)
    assert merged.units == 2 * units + 7
    assert all(merged.verify().values())


def test_two_workers_give_the_same_records_and_go_on_where_they_were(one, tmp_path, monkeypatch):
    first = new().learn_many(WAVES, workers=2, scratch=tmp_path, **HOW)
    assert bits(first) == bits(one)
    assert (first.tasks, first.ledger) == (one.tasks, one.ledger)
    monkeypatch.setattr("crug.runs.hands.subprocess.Popen", None)  # nothing is learned twice
    again = new().learn_many(WAVES, workers=2, scratch=tmp_path, **HOW)
    assert bits(again) == bits(one)
    assert bits(again.learn_many(WAVES, workers=2, scratch=tmp_path, **HOW)) == bits(one)


def test_a_recording_under_another_name_becomes_the_same_network(one):
    other = new(seed=3).learn(WAVES["b"], "another", **HOW)
    mine, its = (model.kept[k].record.units.arrays() for model, k in ((one, 1), (other, 0)))
    assert {k: v.tobytes() for k, v in mine.items()} == {k: v.tobytes() for k, v in its.items()}
    elsewhere = new(seed=4).learn(WAVES["b"], "another", **HOW).kept[0].record.units
    assert not np.array_equal(elsewhere.a, other.kept[0].record.units.a)


def test_where_units_run_out_it_is_as_if_one_had_been_learned_after_another(tmp_path):
    """A block may be doubled while there are units; the second finds fewer than its process was told."""
    wide = {**TINY, "path": {**TINY["path"], "most": None, "far": 0.0}}
    sequential, together = (crug.Model(units=20, seed=3, settings=wide) for _ in range(2))
    two = {name: WAVES[name] for name in "ab"}
    longer: dict[str, Any] = {**HOW, "epochs": 40}
    for model, workers in ((sequential, 1), (together, 2)):
        model.learn_many(two, workers=workers, scratch=tmp_path / str(workers), **longer)
    assert bits(together) == bits(sequential)
    assert len(list((tmp_path / "2").rglob("record-*"))) == 3  # one of them was learned twice


def test_the_one_that_finds_no_units_is_named_and_those_before_it_are_kept(one):
    model = new(units=5 + sum(sum(one.ledger[name].values()) for name in "ab"))
    with pytest.raises(Exhausted, match="'c': 5 units are free, a recording begins with 6"):
        model.learn_many(WAVES, workers=2, **HOW)
    assert model.tasks == ("a", "b")


def test_what_cannot_be_learned_ends_the_others_as_if_they_came_one_after_another(tmp_path):
    recordings = {"a": WAVES["a"], "few": wave(samples=100), "c": WAVES["c"]}
    with pytest.raises(CrugError, match="'few': has 100 samples"):
        new().learn_many(recordings, workers=2, **HOW)
    with pytest.raises(CrugError, match="workers = 0; give a positive number"):
        new().learn_many(WAVES, workers=0, **HOW)
    with pytest.raises(CrugError, match="each brings its own"):
        new().learn_many(WAVES, inputs=np.zeros((400, 1)), **HOW)


def test_with_transfer_recordings_are_learned_one_after_another_and_it_says_so():
    listening = {**TINY, "transfer": {"kind": "free"}}
    model = crug.Model(units=40, seed=3, settings=listening)
    two = {name: WAVES[name] for name in "ab"}
    with pytest.warns(UserWarning, match="learned one after another"):
        model.learn_many(two, workers=2, **HOW)
    assert [one.listed.heard for one in model.kept] == [(), ("a",)]
    sequential = crug.Model(units=40, seed=3, settings=listening)
    for name, x in two.items():
        sequential.learn(x, name, **HOW)
    assert bits(model) == bits(sequential)


def test_models_that_differ_under_one_name_are_not_merged(one):
    other = new(seed=9).learn(WAVES["a"], "a", **HOW)
    with pytest.raises(CrugError, match="different recordings called 'a'"):
        crug.merge(one, other)
    assert crug.merge(one, learned(new(), "a")).tasks == ("a", "b", "c")


# a model grows by what is learned


def copies(model: crug.Model, count: int) -> crug.Model:
    """A model of so many recordings, which differ in a number and in their names."""
    record = model.kept[0].record
    found = []
    for k in range(count):
        known, units = record.known, replace(record.units, h=record.units.h + np.float32(1e-3 * k))
        about = known.about.model_copy(update={"name": f"r{k}"})
        arrays = known.arrays()
        found.append(Kept.of(replace(record, units=units, known=Known.restored(about, known.learned, arrays))))
    return crug.Model.restored(model.seed, model.settings, tuple(found), 10)


def test_file_and_save_are_linear_in_what_was_learned(one, tmp_path):
    file, sizes = tmp_path / "lab.crug", {}
    many = copies(one, 60)
    for count in range(1, 61):
        before = file.read_bytes() if file.exists() else b""
        model = crug.load(file) if before else crug.Model.restored(one.seed, one.settings, (), 500)
        model.add(many.kept[count - 1])
        model.save(file)
        sizes[count] = file.stat().st_size
        assert file.read_bytes()[1_536 : len(before)] == before[1_536:]
    assert sizes[60] - sizes[30] == pytest.approx(30 * (sizes[2] - sizes[1]), rel=0.01)
    copies(one, 60).save(tmp_path / "whole.crug")
    assert sizes[60] < 1.1 * (tmp_path / "whole.crug").stat().st_size


def test_a_record_is_read_when_it_is_asked_for(one, tmp_path, monkeypatch):
    file = tmp_path / "lab.crug"
    copies(one, 5).save(file)
    read: list[str] = []

    def counted(content: bytes, listed: Any, where: str) -> Any:
        read.append(listed.name)
        return unpacked(content, listed, where)

    monkeypatch.setattr(kept_module, "unpacked", counted)
    model = crug.load(file)
    assert (len(model.tasks), model.units_free, model.ledger["r2"]) == (5, 10, one.ledger["a"])
    assert not read
    model.rollout("r3", 5)
    model.rollout("r3", 5)
    assert read == ["r3"]
    model.remove("r3").save(tmp_path / "less.crug")
    assert read == ["r3"]
    assert bits(crug.load(tmp_path / "less.crug")) == {k: v for k, v in bits(copies(one, 5)).items() if k != "r3"}


def test_a_damaged_record_spoils_no_other(one, tmp_path):
    file = tmp_path / "lab.crug"
    one.save(file)
    place = crug.load(file).kept[1].place
    assert place is not None
    content = bytearray(file.read_bytes())
    content[place.start + place.length // 2] ^= 1
    file.write_bytes(content)
    model = crug.load(file)
    model.rollout("a", 5)
    with pytest.raises(CrugError, match=r"lab\.crug: damaged \(its checksum differs\)"):
        model.rollout("b", 5)
    model.rollout("c", 5)
    assert model.verify() == {"a": True, "b": False, "c": True}
    done = CliRunner().invoke(app, ["verify", str(file)])
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["a", "b", "c"]
    assert "b: CHANGED, " in lines[1]
    assert "its checksum differs" in lines[1]


def test_a_loaded_model_outlives_its_file(one, tmp_path):
    file = tmp_path / "lab.crug"
    copies(one, 3).save(file)
    model = crug.load(file)
    crug.load(file).remove("r1").save(file)
    with pytest.raises(CrugError, match="has changed since"):
        model.save(file)
    file.unlink()
    model.save(file)
    assert bits(crug.load(file)) == bits(copies(one, 3))


def test_a_record_read_again_has_the_same_bytes(one):
    for kept in one.kept:
        content = kept.content()
        again = unpacked(content, kept.listed, "here")
        assert packed(again) == content
        assert Kept.of(again).listed == kept.listed
        assert again.known.learned == kept.record.known.learned


def test_time_that_learning_took_is_beside_the_record(one):
    kept = one.kept[0]
    assert kept.listed.seconds[0] > 0
    assert len(kept.listed.seconds) == 1 + len(kept.record.known.learned.history)
    slower = kept.listed.model_copy(update={"seconds": tuple(2 * s for s in kept.listed.seconds)})
    assert unpacked(kept.content(), slower, "").known.learned.seconds == 2 * kept.listed.seconds[0]


def test_inputs_and_several_trajectories_go_through_a_process(tmp_path):
    s = np.sin(0.11 * np.arange(400))[:, None]
    x = np.cumsum(0.1 * s, axis=0) * 0.3
    driven = Recording("d", x, ("x",), 0.1, s, ("s",))
    recordings = {"driven": driven, "several": [wave(samples=300), wave(samples=350)]}
    how = {key: value for key, value in HOW.items() if key != "dt"}
    one, two = (new().learn_many(recordings, workers=workers, scratch=tmp_path, **how) for workers in (1, 2))
    assert bits(one) == bits(two)
    assert one.about("driven").inputs == ("s",)


def test_the_same_samples_under_other_inputs_are_another_recording():
    s = np.sin(0.11 * np.arange(400))[:, None]
    x = np.cumsum(0.1 * s, axis=0) * 0.3
    how = {key: value for key, value in HOW.items() if key != "dt"}

    def driven(inputs):
        return {"d": Recording("d", x, ("x",), 0.1, inputs, () if inputs is None else ("s",))}

    model = new().learn_many(driven(s), **how)
    assert model.learn_many(driven(s), **how).tasks == ("d",)
    early = np.where(np.arange(400)[:, None] < 100, -s, s)  # other inputs of the training part only
    for other in (-s, early, None):
        with pytest.raises(CrugError, match="already has a recording called 'd'"):
            model.learn_many(driven(other), **how)


@pytest.mark.parametrize(
    "asked",
    [{"smooth": False}, {"hold_out": False}, {"epochs": 3}, {"units": 5}, {"tolerance": 0.5}, {"precision": "high"}],
)
def test_a_process_is_told_all_that_was_asked_for(asked):
    orders = [ordered(new(), "a", as_recordings(WAVES["a"], "a"), Asked.of(how)) for how in ({}, asked)]
    assert label(orders[0]) != label(orders[1])


def test_how_an_array_lies_in_memory_makes_no_difference():
    """A file's columns lie one after another, and a process that learns them has them row by row."""
    x = wave(2, 1.3, 400)
    wide = np.zeros((400, 4))
    wide[:, ::2] = x
    scales = [new().prepared(a, "w", 0.1).scale for a in (x, np.asfortranarray(x), wide[:, ::2])]
    assert len({scale.mean.tobytes() + scale.std.tobytes() for scale in scales}) == 1


@pytest.mark.slow
def test_one_more_of_many_is_saved_and_one_of_many_rolls_out_as_fast_as_alone(one, tmp_path):
    file = tmp_path / "lab.crug"
    copies(one, 300).save(file)
    began = time.perf_counter()
    model = crug.load(file)
    assert time.perf_counter() - began < 1
    model.add(Kept.of(replace(one.kept[1].record)))
    began = time.perf_counter()
    model.save(file)
    assert time.perf_counter() - began < 1
    small, times = model.extract("r7"), {"large": np.inf, "small": np.inf}
    for _ in range(10):
        for name, each in (("large", model), ("small", small)):
            began = time.perf_counter()
            each.rollout("r7", 20_000)
            times[name] = min(times[name], time.perf_counter() - began)
    assert times["large"] < 1.2 * times["small"]
