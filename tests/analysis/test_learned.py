"""Networks learned from data (tests/data/three.crug, by benchmarks/recognition.py), beside the true systems."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import crug
from crug.analysis import Map, Subject, analyse, judged, spectrum
from crug.analysis.analysis import disagreement
from crug.analysis.basins import CHAOS, CYCLE, DIVERGENT, LOOP
from crug.analysis.recognition import FEWEST, GRACE, Candidate, ranked
from crug.analysis.verdict import WORDS
from crug.core.network import Network, commit, create, from_arrays
from crug.errors import CrugError
from crug.model.recognised import recognised
from crug.readers import Recording, shaped
from crug.runs.store import read_arrays
from crug.tasks.attractor import spread
from crug.tasks.systems import SYSTEMS, generate
from waves import QUICK, START, wave

DATA = Path(__file__).parents[1] / "data"
THREE = DATA / "three.crug"


@pytest.fixture(scope="module")
def model():
    return crug.load(THREE)


def unseen(name: str, samples: int = 2_000) -> np.ndarray:
    return generate(SYSTEMS[name], 0).test[:samples]


def of_run(name: str) -> Subject:
    """A task of `crug run vlrc --seed 0`, its network cut out by `crug.core.network.alone`."""
    network = from_arrays(read_arrays(DATA / f"{name}.safetensors"))
    return Subject(network, 0, generate(SYSTEMS[name], 0), (name,))


def test_lorenz_63_learned_from_data():
    subject = of_run("lorenz")
    system, x = subject.network.task_system(0), generate(SYSTEMS["lorenz"], 0).test
    found = spectrum(Map.of(system), system.start(spread(x, 4)), 0.01, (60_000, 2_000), None, 3)
    assert found.per_time[0] == pytest.approx(0.906, rel=0.1)
    assert found.per_time[1] == pytest.approx(0, abs=0.05)
    assert found.dimension == pytest.approx(2.06, abs=0.03)
    # fixed points, beside the true ones at (+-8.485, +-8.485, 27) in the units of the data
    analysis = analyse(subject)
    assert (analysis.limit.kind, analysis.disagreement) == (CHAOS, "")
    found = list(zip(analysis.orbits.found, analysis.places, strict=True))

    def nearest(*true: float):
        """The fixed point, and how far off it is in parts of the attractor's size."""
        off = [float((np.abs(place[0] - true) / np.ptp(x, axis=0)).max()) for _, place in found]
        return found[int(np.argmin(off))][0], min(off)

    # Around both the true system spirals out. This network does too around one; around the other it spirals in, and
    # goes out changing sides at every step, which makes it a saddle.
    right, off = nearest(1.07, 0.94, 0.40)
    assert off < 0.05
    assert right.kind == "unstable focus"
    left, off = nearest(-1.07, -0.94, 0.40)
    assert off < 0.05
    assert (left.kind, left.leading) == ("saddle", "distances times 1.07 a sample, changing sides")
    assert left.multipliers[1].imag != 0
    origin, off = nearest(0, 0, -2.70)
    assert off < 0.1
    assert (origin.kind, origin.leading) == ("saddle", "distances times 1.11 a sample")


def test_the_fixed_points_of_chua_are_those_of_the_circuit(model):
    """Two unstable foci that are each other's mirror image, and a saddle between them."""
    found = model.analyse("chua")
    kinds = {orbit.kind: [] for orbit in found.orbits.found}
    for orbit, place in zip(found.orbits.found, found.places, strict=True):
        kinds[orbit.kind].append(place[0])
    size = np.ptp(model.held_out("chua"), axis=0)
    assert {kind: len(places) for kind, places in kinds.items()} == {"unstable focus": 2, "saddle": 1}
    assert np.abs(np.sum(kinds["unstable focus"], axis=0) / size).max() < 0.05
    assert np.abs(kinds["saddle"][0] / size).max() < 0.05


def test_an_analysis_takes_a_few_seconds(model):
    model.analyse("lorenz")  # which compiles
    began = time.process_time()
    model.analyse("lorenz")
    assert time.process_time() - began < 10


def test_van_der_pol_learned_from_data():
    found = analyse(of_run("van-der-pol"))
    assert found.limit.kind in (LOOP, CYCLE)  # of the steps of a loop, some numbers close exactly
    assert found.exponents.per_time[0] == pytest.approx(0, abs=0.05)
    assert found.exponents.per_time[1] < -1
    assert list(found.exponents.signs[:2]) == [0, -1]
    assert found.exponents.dimension == 1
    assert sum(basin.share for basin in found.basins) == pytest.approx(1)


def test_an_analysis_says_what_it_found(model):
    found = model.analyse("chua", cycles=2)
    said = str(found)
    assert said.startswith("chua: a chaotic attractor\nlargest exponent 0.")
    assert f"visits {found.regions.count} linear region" in said
    edges = found.regions.graph.edges
    assert f"it goes most often from {edges[0][0] + 1} to {edges[0][1] + 1} (" in said
    assert found.orbits.complete[:1] == (1,)
    stored = found.to_json()
    first = {"from": edges[0][0] + 1, "to": edges[0][1] + 1, "count": edges[0][2]}
    assert stored["regions"]["transitions"][0] == first
    assert len(stored["regions"]["shares"]) <= found.regions.count
    assert stored["kind"] == CHAOS
    assert stored["orbits"][0]["place"] == found.places[0].tolist()
    assert sum(basin["share"] for basin in stored["basins"]) == pytest.approx(1)
    for cycles in (0, 51):
        with pytest.raises(CrugError, match=f"cycles = {cycles}; give a number from 1, .* to 50"):
            model.analyse("chua", cycles=cycles)


def test_stretches_are_recognised_and_others_are_new(model):
    for name in model.tasks:
        found = model.recognise(unseen(name)[:500])
        assert found.name == name, str(found)
        assert str(found).startswith(f"{name}: its forecasts are ")
        assert found.margin > 3
    noisy = unseen("lorenz")[:500] + 0.05 * np.random.default_rng(0).standard_normal((500, 3))
    assert model.recognise(noisy).name == "lorenz"
    for name in ("rossler", "laser", "lorenz-160"):
        assert model.recognise(unseen(name)[:500]).name is None
    assert str(model.recognise(unseen("rossler")[:500])).startswith("new: forecasts of the nearest, ")
    assert str(model.recognise(np.zeros((200, 5)))) == "new: no known recording has as many columns"
    other = model.recognise(Recording("x.csv", unseen("lorenz")[:500], ("x", "y", "z"), dt=0.5))
    assert not other.ranking
    assert str(other).startswith("new: lorenz cannot be compared: its samples are 0.01 apart, these 0.5")


@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("columns", [2, 3])
def test_noise_is_no_known_system(model, scale, columns):
    noise = scale * np.random.default_rng(0).standard_normal((500, columns))
    assert model.recognise(noise).name is None


@pytest.mark.parametrize("name", ["van-der-pol", "lorenz", "chua"])
def test_a_known_system_out_of_order_or_out_of_scale_is_new(model, name):
    rng, x = np.random.default_rng(0), unseen(name)[:500]
    for other in (rng.permutation(x), x[::-1], 1e8 * x, 100 * x, np.tile(x[:1], (500, 1))):
        assert model.recognise(other).name is None
    assert model.recognise(x + 0.05 * rng.standard_normal(x.shape)).name == name


def test_forecasts_that_are_no_better_than_a_guess_recognise_nothing():
    found = ranked([Candidate("one", 1.0, 1.5, 1.1)], {})
    assert found.name is None
    assert str(found) == "new: forecasts of the nearest, one, are no better than a guess"


def test_a_recording_with_too_short_a_held_out_part_is_left_out(model):
    """Its network cannot be calibrated; the others can."""
    known = model.recordings[1]
    short = replace(known, task=replace(known.task, test=known.task.test[:100]))
    placed = [(one, *model._placed(one.name)) for one in (short, model.recordings[2])]
    found = recognised(placed, unseen("chua")[:500])
    assert found.name == "chua"
    assert dict(found.left_out) == {"lorenz": "of what was held out no piece has 150 samples"}
    assert str(recognised(placed[:1], unseen("lorenz")[:500])).startswith("new: lorenz cannot be compared: of what ")


def test_a_stretch_longer_than_what_was_held_out_is_compared_with_different_parts_of_it(model):
    known = model.recordings[1]
    half = replace(known, task=replace(known.task, test=known.task.test[:600]))
    (found,) = recognised([(half, *model._placed(known.name))], unseen("lorenz", 2_000)).ranking
    assert found.limit > 1.05 * GRACE


def test_delayed_copies_are_made_as_they_were_learned():
    t = 0.1 * np.arange(3_000)
    x = np.sin(t)[:, None] + 0.3 * np.sin(2 * t)[:, None]
    model = crug.Model(units=24, seed=0, settings=START)
    model.learn(shaped(Recording("x", x[:2_500], ("x",), 0.1), lags=[8, 16]), name="wave", **QUICK)
    found = model.recognise(x[2_500:])
    assert [one.name for one in found.ranking] == ["wave"]
    assert found.ranking == model.recognise(shaped(Recording("x", x[2_500:], ("x",)), lags=[8, 16])).ranking


def test_what_cannot_be_recognised_is_refused(model):
    with pytest.raises(CrugError, match=f"at least {FEWEST}"):
        model.recognise(np.zeros((20, 3)))
    with pytest.raises(CrugError, match="not finite"):
        model.recognise(np.full((500, 3), np.nan))


def test_a_score_stands_beside_its_floor_and_has_a_verdict(model):
    for name in model.tasks:
        judged = model.judged(name)
        assert 0 < judged.floor["d_stsp"] < 3
        assert model.verdict(name) == "indistinguishable from the recording"
        assert judged.beside(model.learned(name).own.measures()).startswith("a perfect model: ")
    old = crug.load(DATA / "model-0.1.0.crug")
    assert [old.verdict(name) for name in old.tasks] == [""] * len(old.tasks)


def test_new_data_are_scored(model):
    right, wrong = (model.score("chua", unseen(name, 4_000)) for name in ("chua", "lorenz"))
    assert model.judged("chua", unseen("chua", 4_000)).word(right.measures()) in WORDS[:2]
    assert model.judged("chua", unseen("lorenz", 4_000)).word(wrong.measures()) == WORDS[3]
    again = model.score("chua", model.held_out("chua"))
    assert again["d_stsp"] == pytest.approx(model.score("chua")["d_stsp"], abs=0.01)
    with pytest.raises(CrugError, match="too few for a score"):
        model.score("chua", unseen("chua", 100))
    with pytest.raises(CrugError, match="without inputs"):
        model.score("chua", unseen("chua"), inputs=np.zeros((2_000, 1)))


def test_forecasts_stand_beside_simple_models(model):
    errors = model.forecast_errors("lorenz")
    assert set(errors) == {"network", "persistence", "VAR"}
    assert errors["network"][50] < errors["VAR"][50] < errors["persistence"][50]
    assert model.forecast_errors("lorenz", unseen("lorenz", 300)) == {}


def test_samples_of_a_single_column_need_no_second_axis():
    model = crug.Model(units=24, seed=0, settings=START)
    x = wave(1)
    model.learn(x, "one", 0.1, **QUICK)
    new = x[:600, 0]
    assert model.score("one", new).measures() == model.score("one", new[:, None]).measures()
    assert model.recognise(new) == model.recognise(new[:, None])
    np.testing.assert_array_equal(model.forecast("one", new, 10), model.forecast("one", new[:, None], 10))
    assert model.rollout("one", 5, x0=np.array([0.3])).shape == (5, 1)


def test_simple_models_hear_no_inputs():
    x, u = wave(2), wave(1, 0.3)
    model = crug.Model(units=24, seed=0, settings=START)
    model.learn(x, "driven", 0.1, inputs=u, epochs=2, progress=False)
    assert model.forecast_errors("driven") == model.forecast_errors("driven", x) == {}
    assert model.judged("driven", x, u).floor["error"] == 0


def test_chaos_in_a_network_of_a_periodic_recording_is_remarked(model):
    """Its task with the network of another one."""
    circle = np.stack([np.sin(0.08 * np.arange(4_000) + phase) for phase in range(3)], axis=1)
    periodic = replace(model.recordings[1].task, test=circle)
    remarks = judged(model.network, 1, periodic).remarks
    assert any("the network is chaotic, the recording is not" in remark for remark in remarks)
    assert any(remark.startswith("its ") for remark in remarks)


def running_away(growth: float) -> Network:
    """A network that turns, and goes outwards."""
    turn = growth * np.array([[np.cos(0.08), -np.sin(0.08)], [np.sin(0.08), np.cos(0.08)]], np.float32)
    empty = np.zeros((2, 0), np.float32)
    parts = {"a": np.zeros(2, np.float32), "W": turn, "C": empty, "h": np.zeros(2, np.float32), "V": empty}
    network = create(4, 0, 2, np.random.default_rng(0))
    return commit(network, np.arange(2), np.arange(2), parts, np.array([], np.int64))


def test_a_network_that_runs_away_slowly_is_not_called_chaotic(model):
    t = 0.08 * np.arange(6_000)[:, None]
    rng = np.random.default_rng(0)
    circle = np.concatenate([np.cos(t), np.sin(t)], axis=1) + 0.01 * rng.standard_normal((6_000, 2))
    task = replace(model.recordings[0].task, test=circle)
    network = running_away(1.002)
    found = analyse(Subject(network, 0, task, (task.name,)))
    assert found.recorded is not None
    assert "the network is chaotic" in disagreement(found.exponents, found.recorded)  # by the numbers alone
    assert (found.limit.kind, found.disagreement) == (DIVERGENT, "")
    assert not [remark for remark in judged(network, 0, task).remarks if "chaotic" in remark]
