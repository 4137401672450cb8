"""The user's model: recordings added over time, none forgotten, and no failure leaves a trace."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import crug
from crug.errors import CrugError, Exhausted
from crug.model.asked import Asked
from crug.readers import Recording
from crug.runs import Silent, store
from crug.tasks import RecordingTask, as_recordings, prepare
from crug.tasks.attractor import DIVERGENT, attractor_score
from waves import QUICK, START, altered, copied, nudged, wave


def fresh(units=48):
    return crug.Model(units=units, seed=3, settings=START)


@pytest.fixture(scope="module")
def learned():
    model = fresh()
    model.learn(wave(offset=7.0), "first", 0.1, **QUICK)
    model.learn(wave(3, 1.7), "second", 0.1, **QUICK)
    return model


def test_what_was_learned_can_be_had_back(learned):
    assert learned.tasks == ("first", "second")
    ledger = learned.ledger
    assert sum(sum(kinds.values()) for kinds in ledger.values()) == 48
    assert learned.units_free == sum(ledger["free"].values())
    out = learned.rollout("first", 300)
    assert out.shape == (300, 2)
    assert abs(out.mean() - 7) < 1  # in the user's own units, not standardised
    several = learned.rollout("second", 50, np.zeros((4, 3)))
    assert several.shape == (4, 50, 3)
    assert np.array_equal(several[1], learned.rollout("second", 50, np.zeros(3)))
    score = learned.score("second")
    assert 0 <= score["d_stsp"] < np.inf
    assert score == learned.learned("second").own
    assert learned.held_out("first").shape == (250, 2)
    np.testing.assert_allclose(learned.held_out("first"), wave(offset=7.0)[-250:], rtol=1e-5)
    curve = learned.capacity_curve("second")
    assert sum(size.committed for size in curve) == 1
    assert next(size.units for size in curve if size.committed) == sum(ledger["second"].values())


def test_forecasts_go_on_from_a_context(learned):
    x = wave(offset=7.0)
    ahead = learned.forecast("first", x[-60:], 80)
    assert ahead.shape == (80, 2)
    assert abs(ahead.mean() - 7) < 1
    assert np.array_equal(ahead, learned.forecast("first", Recording("now", x[-60:], ("a", "b")), 80))
    if learned.network.gains[0]:
        assert not np.array_equal(ahead, learned.forecast("first", x[-1:], 80))
    np.testing.assert_allclose(learned.forecast("first", x[-1], 80), learned.rollout("first", 80, x[-1]), rtol=1e-4)
    assert 0 <= learned.score("first")["valid"] <= 125
    for context, steps, message in (
        (x[-60:, :1], 80, "the context is"),
        (x[:0], 80, "no samples"),
        (np.full((5, 2), np.nan), 80, "not finite"),
        (x[-60:], 0, "positive number"),
    ):
        with pytest.raises(CrugError, match=message):
            learned.forecast("first", context, steps)
    with pytest.raises(CrugError, match="without inputs"):
        learned.forecast("first", x[-60:], 80, inputs=np.zeros((200, 1)))


def test_the_gain_of_forecasts_is_saved_and_part_of_what_is_verified(learned, tmp_path):
    learned.save(tmp_path / "m.crug")
    again = crug.load(tmp_path / "m.crug")
    assert again.network.gains == learned.network.gains
    assert altered(again, "second", gain=0.77).verify() == {"first": True, "second": False}


def test_the_whole_network_runs_every_recording_at_once(learned):
    start = np.array([0.1, -0.2, 0.3])
    out = learned.rollout_all({"second": start}, 200)
    np.testing.assert_allclose(out["second"], learned.rollout("second", 200, start), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(out["first"], learned.rollout("first", 200), rtol=1e-3, atol=1e-3)


def test_saved_loaded_and_continued_gives_the_same_bits_as_one_sequence(learned, tmp_path):
    model = fresh().learn(wave(offset=7.0), "first", 0.1, **QUICK)
    model.save(tmp_path / "lab.crug")
    later = crug.load(tmp_path / "lab.crug").learn(wave(3, 1.7), "second", 0.1, **QUICK)
    for name, value in learned.arrays().items():
        assert value.tobytes() == later.arrays()[name].tobytes(), name
    assert np.array_equal(later.rollout("second", 100), learned.rollout("second", 100))
    later.save(tmp_path / "b.crug")
    learned.save(tmp_path / "a.crug")
    again = crug.load(tmp_path / "a.crug")
    assert again.score("first") == learned.score("first")
    assert again.about("second").columns == ("1", "2", "3")
    assert all(again.verify().values())
    odd = fresh().learn(wave(), "div.", 0.1, **QUICK)
    odd.save(tmp_path / "odd.crug")
    assert crug.load(tmp_path / "odd.crug").tasks == ("div.",)


def test_the_tenth_recording_leaves_the_first_nine_alone(tmp_path):
    model = crug.Model(units=120, seed=0, settings={**START, "path": {**START["path"], "start": 6, "most": 8}})
    quick: dict[str, Any] = {**QUICK, "epochs": 6}
    for i in range(3):
        model.learn(wave(1 + i % 3, 1 + 0.2 * i), f"r{i}", **quick)
    for i in range(3, 9):
        copied(model, f"r{i % 3}", f"r{i}")
    model.save(tmp_path / "lab.crug")
    model = crug.load(tmp_path / "lab.crug")
    before = {name: model.rollout(name, 400).tobytes() for name in model.tasks}
    model.learn(wave(4, 0.7), "tenth", **quick)
    assert model.arrays()["B"].shape[1] == 4
    assert {name: model.rollout(name, 400).tobytes() for name in model.tasks[:9]} == before
    assert all(model.verify().values())
    assert sum(model.ledger["tenth"].values()) <= 8


def test_growing_touches_nothing(learned):
    model = learned.extract("first")
    assert model.units_free == 0
    bits = learned.rollout("first", 500).tobytes()
    assert model.rollout("first", 500).tobytes() == bits
    assert all(model.verify().values())
    with pytest.raises(Exhausted, match=r"'more': 0 units are free.*model\.grow\(16\)"):
        model.learn(wave(), "more", **QUICK)
    model.grow(20).learn(wave(frequency=2.0), "more", **QUICK)
    assert model.tasks == ("first", "more")
    assert model.rollout("first", 500).tobytes() == bits
    assert all(model.verify().values())


def test_removing_a_recording_gives_its_units_back_and_leaves_the_others_alone(learned, tmp_path):
    model = crug.Model(units=60, seed=3, settings=START)
    for name, frequency in (("a", 1.0), ("b", 1.7), ("c", 2.3)):
        model.learn(wave(frequency=frequency), name, 0.1, **QUICK)
    free, owned = model.units_free, sum(model.ledger["b"].values())
    rolled = {name: model.rollout(name, 200) for name in ("a", "c")}
    assert model.remove("b").tasks == ("a", "c")
    assert model.units_free == free + owned
    assert all(np.array_equal(model.rollout(name, 200), rolled[name]) for name in rolled)
    assert model.verify() == {"a": True, "c": True}
    model.learn(wave(3, 0.6), "d", 0.1, **QUICK).save(tmp_path / "lab.crug")
    assert crug.load(tmp_path / "lab.crug").verify() == {"a": True, "c": True, "d": True}
    listening = crug.Model(units=60, seed=3, settings={**START, "transfer.kind": "free"})
    listening.learn(wave(), "a", 0.1, **QUICK).learn(wave(frequency=1.7), "b", 0.1, **QUICK)
    with pytest.raises(CrugError, match="'b' draws on 'a'"):
        listening.remove("a")
    assert listening.remove("b").remove("a").units_free == 60
    assert not listening.arrays()["W"].any()


def test_a_short_recording_is_learned_and_its_limits_are_told():
    """All of it where nothing is held out; of less than one turn there is too little to know."""
    x = wave(3, 0.1, samples=400)
    model = fresh()
    with pytest.warns(UserWarning, match=r"short: 400 samples show too little of it to tell a good network"):
        model.learn(x, "short", **QUICK)
    assert model.held_out("short").shape == (67, 3)
    with pytest.warns(UserWarning, match="too little"):
        model.learn(x, "whole", hold_out=False, **QUICK)
    assert [model.about(name).held_out for name in model.tasks] == [True, False]
    assert model.prepared(x, "again", hold_out=False).task.train.shape == (400, 3)
    assert model.prepared(x, "again").task.train.shape == (333, 3)
    assert not fresh().learn(wave(1, samples=5_000), "wave", **QUICK).recordings[0].undecided


def test_a_recording_of_a_file_brings_its_interval_and_its_columns(tmp_path):
    table = np.concatenate([0.05 * np.arange(1_500)[:, None], wave()], axis=1)
    np.savetxt(tmp_path / "w.csv", table, delimiter=",", header="t,x,y", comments="")
    model = fresh().learn(crug.read(tmp_path / "w.csv"), "w", **QUICK)
    assert (model.about("w").dt, model.about("w").columns) == (pytest.approx(0.05), ("x", "y"))


def test_a_failure_says_so(learned):
    known = learned.recordings[0]
    floor, opened = known.learned.floor, known.learned.history[0]
    good, bad = (attractor_score({"d_stsp": d_stsp, "d_h": d_h}) for d_stsp, d_h in ((floor, 0.1), (floor + 9, 0.2)))
    for score, said in (
        (good, ""),
        (bad, f"first: not what was recorded; on the training part it ranks {floor + 10:.1f} ("),
        (DIVERGENT, "first: divergent; on the training part it ranks inf ("),
    ):
        after = replace(known, learned=replace(known.learned, history=[replace(opened, score=score)], chosen=0))
        assert after.failed.startswith(said)
        assert bool(after.failed) == bool(said)
        assert (f"a perfect model would rank about {floor:.1f}" in after.failed) == bool(said)
    with pytest.warns(UserWarning, match="w: not what was recorded; .* `remove` takes it out"):
        fresh().learn(wave(), "w", epochs=1, progress=False)


def test_verify_sees_one_nudged_weight(learned, tmp_path):
    nudged(learned, "first").save(tmp_path / "nudged.crug")
    assert crug.load(tmp_path / "nudged.crug").verify() == {"first": False, "second": True}


class Stopping(Silent):
    def chunk(self, *_: object) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("how", ["bad data", "interrupt", "same name", "too few units", "bad setting"])
def test_a_failed_lesson_leaves_the_model_as_it_was(learned, how):
    before = {name: value.tobytes() for name, value in learned.arrays().items()}
    x, name, more = wave(2, 3.0), "third", dict(QUICK)
    error: type[BaseException] = CrugError
    if how == "bad data":
        x[50, 1] = np.nan
    elif how == "interrupt":
        more["progress"], error = Stopping(), KeyboardInterrupt
    elif how == "same name":
        name = "first"
    elif how == "too few units":
        more["units"] = 2
    else:
        more["tolerance"] = -1.0
    with pytest.raises(error):
        learned.learn(x, name, **more)
    assert {name: value.tobytes() for name, value in learned.arrays().items()} == before
    assert learned.tasks == ("first", "second")


def test_several_trajectories_many_dimensions_and_one(tmp_path):
    model = crug.Model(units=60, seed=0, settings=START)
    model.learn([wave(samples=700), wave(samples=800)], "two", **QUICK)
    model.learn(wave(5), "five", **QUICK)
    model.learn(wave(1)[:, 0], "one", **QUICK)
    assert model.about("two").samples == 1_500
    assert np.isfinite(model.score("five")["d_stsp"])
    assert model.rollout("one", 30).shape == (30, 1)
    from crug.report.figures import draw_model

    draw_model(model, tmp_path)
    assert (tmp_path / "portraits.png").stat().st_size > 10_000


@dataclass(frozen=True)
class Suggesting(RecordingTask):
    def suggests(self) -> dict[str, Any]:
        return {"training": {"window": 50, "interval": 9}}


def test_what_learn_is_told_wins_over_the_models_settings():
    model = crug.Model(settings={"epochs": 7, "path": {"tolerance": 0.5, "start": 8}, "training": {"window": 90}})
    prepared = Suggesting.prepare(as_recordings(wave(), "w"), "w")
    settings = model._settings(Asked.of({"epochs": 3, "tolerance": 0.05}), prepared)
    assert (settings.epochs, settings.path.tolerance, settings.path.start) == (3, 0.05, 8)
    assert (settings.training.window, settings.training.interval) == (90, 9)


def test_a_folder_given_for_scratch_keeps_what_is_in_it(tmp_path):
    (tmp_path / "precious.csv").write_text("1,2")
    fresh().learn(wave(), "w", 0.1, scratch=tmp_path, **QUICK)
    assert (tmp_path / "precious.csv").read_text() == "1,2"


def test_a_recording_that_finds_no_room_is_refused_before_any_work():
    few = crug.Model(units=20, seed=0)
    with pytest.raises(Exhausted, match=r"20 units are free, a recording begins with 32; make a larger model"):
        few.learn(wave(), "w", progress=Stopping())
    with pytest.raises(KeyboardInterrupt):  # asked for less, it begins
        few.learn(wave(), "w", units=20, progress=Stopping())
    bounded = crug.Model(units=10, settings={"path": {"start": 16, "most": 8}})
    with pytest.raises(KeyboardInterrupt):  # as it does where the model's settings ask for less
        bounded.learn(wave(), "w", progress=Stopping())
    with pytest.warns(UserWarning, match="relu does nothing"):
        crug.Model(units=20, relu=7)


def test_errors_say_what_there_is(learned, tmp_path):
    with pytest.raises(CrugError, match="no recording called 'x'; it has: first, second"):
        learned.rollout("x", 10)
    wrong_starts: tuple[Any, ...] = (np.zeros(3), np.zeros((2, 2, 2)), 1.0)
    for x0 in wrong_starts:
        with pytest.raises(CrugError, match=r"'first' has 2 dimensions; x0 is \(N,\) or \(several, N\), not"):
            learned.rollout("first", 10, x0)
    with pytest.raises(CrugError, match="'first': x0 has values that are not finite"):
        learned.rollout("first", 10, np.array([np.nan, 1.0]))
    with pytest.raises(CrugError, match="steps = -3; give a positive number"):
        learned.rollout("first", -3)
    for use in (learned.rollout, learned.rollout_in_pieces, lambda name, steps: learned.forecast(name, wave(), steps)):
        with pytest.raises(CrugError, match="steps = '10'; give a positive number, a whole one"):
            list(use("first", "10"))
    with pytest.raises(CrugError, match="x0 of 'first' has 2 starts"):
        learned.rollout_all({"first": np.zeros((2, 2))}, 10)
    starts: list[Any] = [[[0.5, 0.2]], [0.5, 0.2]]
    one, other = (learned.rollout_all({"first": x0}, 10)["first"] for x0 in starts)
    assert np.array_equal(one, other)
    mistakes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"name": 3}, "name = 3: a recording is called by a text"),
        ({"name": "free"}, "no recording can be called 'free'"),
        ({"units": 3}, "units = 3; it needs at least 4"),
        ({"units": "8"}, "units = '8'; give a positive number, a whole one"),
        ({"dt": "0.1"}, "dt = '0.1'; the interval between samples is a positive number"),
        ({"epochs": "many"}, "epochs = 'many'"),
        ({"columns": ["a"]}, "has 2 columns, 1 names are given"),
        ({"x": np.arange(1_500)}, "column '1' rises evenly, like a clock or an index"),
        ({"x": np.arange(1_500), "columns": ["depth"], "dt": 0}, "dt = 0"),
    )
    for wrong, message in mistakes:
        with pytest.raises(CrugError, match=message):
            learned.learn(**{"x": wave(), "name": "new", **QUICK, **wrong})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'epoch'; did you mean epochs\?"):
        learned.learn(**{"x": wave(), "name": "new", "epoch": 3})
    assert prepare(as_recordings(np.arange(1_500), "depth", 1.0, ["depth"]), "depth").task.dim == 1
    with pytest.raises(CrugError, match=r"no\.crug: there is no such file; Model\(\)\.learn.*makes it") as missing:
        crug.load(tmp_path / "no.crug")
    assert f"there is no such file; crug learn {tmp_path / 'no.crug'} RECORDING" in missing.value.on_the_command_line
    learned.save(tmp_path / "lab.crug")
    whole = (tmp_path / "lab.crug").read_bytes()
    for content in (b"nothing", b"", b"x,y\n1,2\n", whole[:100], whole[:-1]):
        (tmp_path / "no.crug").write_bytes(content)
        with pytest.raises(CrugError, match=r"not a model of crug, or a damaged one.*restore it from a backup"):
            crug.load(tmp_path / "no.crug")
    (tmp_path / "no.crug").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(CrugError, match="its checksum differs"):
        crug.load(tmp_path / "no.crug")
    store.write_arrays(tmp_path / "other.crug", {"x": np.zeros(3)})
    with pytest.raises(CrugError, match="another file of crug, not a model"):
        crug.load(tmp_path / "other.crug")
    store.write_arrays(tmp_path / "new.crug", {"x": np.zeros(3)}, format="crug model 99", model="{}")
    with pytest.raises(CrugError, match="made by a newer crug"):
        crug.load(tmp_path / "new.crug")
    with pytest.raises(CrugError, match="there is no such setting"):
        crug.Model(settings={"pathh": {}})
    with pytest.raises(CrugError, match="given by units"):
        crug.Model(settings={"network.M": 64})
    assert crug.Model(settings={"path.start": 8}).settings == {"path": {"start": 8}}


def test_a_few_short_trajectories_do_not_shorten_the_windows_of_the_others():
    def suggested(*pieces: np.ndarray) -> dict[str, Any]:
        return prepare(as_recordings(list(pieces), "w", 0.1), "w").task.suggests()["training"]

    long = wave(samples=3_000)
    assert suggested(long, wave(samples=60))["window"] == suggested(long)["window"]
    short = suggested(*(wave(frequency=0.02, samples=60) for _ in range(40)))
    assert short["window"] == 25
    assert short["interval"] <= 25


@pytest.mark.slow
def test_one_of_twenty_recordings_rolls_out_as_fast_as_alone():
    """Only a recording's own units are computed, so the size of the model does not matter."""
    large = crug.Model(units=240, seed=0, settings={**START, "path": {**START["path"], "start": 6, "most": 6}})
    large.learn(wave(), "r0", epochs=2, progress=False)
    for i in range(1, 20):
        copied(large, "r0", f"r{i}")
    small = large.extract("r7")
    times = {"large": np.inf, "small": np.inf}
    for _ in range(20):  # in turns, and the fastest counts: machines are noisy
        for name, model in (("large", large), ("small", small)):
            began = time.perf_counter()
            model.rollout("r7", 40_000)
            times[name] = min(times[name], time.perf_counter() - began)
    assert times["large"] < 1.2 * times["small"]


def test_a_price_has_no_tolerance():
    model = crug.Model(units=48, settings={"allocation": "price"})
    with pytest.raises(CrugError, match="for the path"):
        model.learn(wave(), "first", 0.1, tolerance=0.2, **QUICK)
