"""Noise that a recording carries: found where it varies and nowhere else, and kept like all else that is learned."""

import json
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.core.block import Opening, open_block
from crug.core.dynamics import System, floors
from crug.core.following import foreseen
from crug.core.network import create
from crug.core.noise import Noise
from crug.errors import CrugError
from crug.report.figures import drawn
from crug.runs import store
from crug.runs.verify import verify
from crug.tasks.attractor import AttractorScorer
from crug.tasks.base import Look, RolloutScorer, Score
from crug.tasks.variability import Variability, Varied, unforeseen, variability
from crug.tasks.windows import NOBODY
from waves import QUICK, START, altered, wave


def cycle(samples: int = 6_000, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    """A rhythm whose strength wanders: noise drives a radius that returns to 1."""
    rng, x = np.random.default_rng(seed), np.zeros((samples, 2))
    x[0] = 1, 0
    turn = np.array([[np.cos(0.15), -np.sin(0.15)], [np.sin(0.15), np.cos(0.15)]])
    for t in range(samples - 1):
        x[t + 1] = turn @ (x[t] * (1 + 0.1 * (1 - np.hypot(*x[t])))) + noise * rng.standard_normal(2)
    return x


@pytest.fixture(scope="module")
def model():
    """A recording that varies, between two that do not."""
    model = crug.Model(units=64, seed=0, settings={**START, "noise": True})
    model.learn(wave(), "before", 0.1, **QUICK)
    model.learn(cycle(), "cycle", 0.1, smooth=False, epochs=120, progress=False)
    return model.learn(wave(3, 1.7), "after", 0.1, **QUICK)


def test_a_recording_that_varies_carries_noise_that_helps(model):
    found = model.learned("cycle").noisy
    assert found.scale > 0
    assert found.rank < 0.8 * found.without
    still, varied = model.score("cycle"), model.score("cycle", noise=True)
    assert varied["d_stsp"] < 0.6 * still["d_stsp"]
    assert varied == found.own
    radius = np.hypot(*model.rollout("cycle", 4_000, noise=True)[500:].T)
    truth = np.hypot(*cycle().T)
    assert radius.std() == pytest.approx(truth.std(), rel=0.4)
    assert np.hypot(*model.rollout("cycle", 4_000)[500:].T).std() < 0.5 * truth.std()


def test_one_that_does_not_vary_carries_none(model):
    assert model.learned("after").noisy is None
    with pytest.raises(CrugError, match="carries no noise"):
        model.rollout("after", 10, noise=True)
    with pytest.raises(CrugError, match="carries no noise"):
        model.score("after", noise=True)


def test_the_noise_is_kept_to_the_bit(model, tmp_path):
    rolled = model.rollout("cycle", 200, noise=True, seed=3)
    assert not np.array_equal(rolled, model.rollout("cycle", 200, noise=True, seed=4))
    model.save(tmp_path / "lab.crug")
    again = crug.load(tmp_path / "lab.crug")
    shorter = crug.load(tmp_path / "lab.crug").remove("before")
    for other in (again, again.extract("cycle"), shorter, again.grow(8)):
        assert np.array_equal(other.rollout("cycle", 200, noise=True, seed=3), rolled)
        assert all(other.verify().values())


def test_verify_sees_changed_noise(model):
    noise = model.network.noises[model.tasks.index("cycle")]
    changed = altered(model, "cycle", noise=noise.scaled(1.001))
    assert changed.verify() == {"before": True, "cycle": False, "after": True}


def test_asked_for_without_noise_there_is_none():
    model = crug.Model(units=32, seed=0, settings=START)
    model.learn(cycle(2_000), "cycle", 0.1, smooth=False, **QUICK)
    assert model.learned("cycle").noisy is None
    assert not any(name.startswith("noise") for name in model.arrays())
    assert crug.Model().prepared(cycle(2_000), "cycle").task.suggests()["noise"]  # where nothing is said


def test_on_the_command_line(model, tmp_path):
    model.save(lab := tmp_path / "lab.crug")

    def crug_(*args: object) -> str:
        return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False).output

    crug_("rollout", lab, "cycle", "--steps", 50, "--noise", "--seed", 2, "--out", tmp_path / "a.npy")
    assert np.array_equal(np.load(tmp_path / "a.npy"), model.rollout("cycle", 50, noise=True, seed=2))
    crug_("rollout", lab, "cycle", "--steps", 50, "--out", tmp_path / "b.npy")
    assert np.array_equal(np.load(tmp_path / "b.npy"), model.rollout("cycle", 50))
    scores = json.loads(crug_("score", lab, "--json"))
    assert scores["cycle"]["noise"]["d_stsp"] == pytest.approx(model.score("cycle", noise=True)["d_stsp"])
    assert "noise" not in scores["after"]
    assert "with noise" in crug_("score", lab, "cycle")
    assert "D_stsp, noise" in crug_("info", lab, "--figures", tmp_path / "pictures")
    assert (tmp_path / "pictures" / "portraits.png").exists()
    rows = json.loads(crug_("info", lab, "--json"))["tasks"]
    assert ["noise" in row for row in rows] == [name == "cycle" for name in model.tasks]


def test_pictures_show_a_rollout_under_noise_below_the_others(model):
    pictures = [model.picture(name) for name in ("cycle", "after")]
    assert [list(picture.parts) for picture in pictures] == [["truth", "network", "noisy"], ["truth", "network"]]
    assert abs(pictures[0].parts["noisy"].mean() - cycle().mean()) < 0.2  # in the user's units
    titles = [ax.get_title() for ax in drawn(pictures)["portraits"].axes]
    expected = ["truth", "network", "with noise"]
    assert titles == [*(f"cycle: {kind}" for kind in expected), *(f"after: {kind}" for kind in expected[:2])]


def test_a_run_measures_both_and_proves_both(tmp_path, monkeypatch):
    for limit in ("FAR", "LOST"):  # of a network that has learned next to nothing
        monkeypatch.setattr(f"crug.tasks.variability.{limit}", 20.0)
    quick: dict[str, Any] = {"epochs": 60, "network": {"M": 32, "P": 16}, "path": {"start": 12, "every": 16}}
    quick["select"] = "best"
    quick["training"] = {"batches": 4}
    noisy = crug.run(["lorenz"], out=tmp_path / "noisy", noise=True, **quick)
    assert noisy.tasks[0].noisy["d_stsp"] < noisy.tasks[0].final["d_stsp"]
    line, same = next(verify(tmp_path / "noisy"))
    assert same
    assert "half of them under noise" in line
    arrays = store.read_arrays(file := tmp_path / "noisy" / "network.safetensors")
    store.write_arrays(file, {**arrays, "noise.0.draws": 2 * arrays["noise.0.draws"]})
    assert not next(verify(tmp_path / "noisy"))[1]


# how it is found


class Judge(AttractorScorer):
    """Ranks by the strength of the noise, as told, or noise with its mean by what is said of that."""

    def __init__(self, ranks: dict[float, float], whole: float, as_it_is: float | None):
        self.ranks, self.whole, self.as_it_is, self.seen = ranks, whole, as_it_is, []
        self.floor = 0.0

    def varied(self, system, noise):
        scale = 0.0 if noise is None else round(strength(noise) / self.whole, 2)
        self.seen.append(scale)
        whole = noise is not None and abs(np.asarray(noise.draws).mean(axis=1)).max() > 1e-6
        return Score({}, self.as_it_is if whole and self.as_it_is else self.ranks[scale], 0.0)


def judged(model, ranks, as_it_is: float | None = None) -> tuple[Any, list[float]]:
    number = model.tasks.index("cycle")
    system, x = model.network.task_system(number), model.recordings[number].scale.standardise(cycle())
    judge = Judge(ranks, strength(unforeseen(system, x, ())[0]), as_it_is)
    return variability(system, x, (), judge), judge.seen


def strength(noise: Noise) -> float:
    """How far it is spread in the first region, whatever its mean."""
    return float(np.asarray(noise.draws)[0].std())


def test_the_best_scale_is_taken_and_the_search_stops_when_it_gets_worse(model):
    found, seen = judged(model, {0: 1.0, 0.15: 0.9, 0.3: 0.5, 0.45: 0.7, 0.6: 0.6, 0.8: 0.1, 1: 0.1})
    assert (found.scale, found.without, found.rank) == (0.3, 1.0, 0.5)
    assert seen == [0.0, 0.15, 0.3, 0.45, 0.6, 0.3]


def test_its_mean_is_kept_unless_that_is_clearly_worse(model):
    ranks = {0: 1.0, 0.15: 0.9, 0.3: 0.5, 0.45: 0.7, 0.6: 0.6}

    def kept(as_it_is: float) -> tuple[bool, float]:
        found = judged(model, ranks, as_it_is)[0]
        assert found.scale == 0.3
        return abs(found.noise.draws.mean(axis=1)).max() > 1e-4, found.rank

    assert kept(0.4) == (True, 0.4)
    assert kept(0.54) == (True, 0.54)
    assert kept(0.6) == (False, 0.5)


def test_what_hardly_helps_is_left_out(model):
    assert judged(model, {0: 1.0, 0.15: 0.97, 0.3: 0.96, 0.45: 0.98, 0.6: 0.99})[0] is None
    assert judged(model, {0: 0.10, 0.15: 0.09, 0.3: 0.08, 0.45: 0.07, 0.6: 0.06, 0.8: 0.06, 1: 0.06})[0] is None
    assert judged(model, {0: np.inf, 0.15: np.inf, 0.3: np.inf, 0.45: 1.0, 0.6: 1.0})[0] is None


def test_a_network_that_fails_does_so_under_noise(model):
    ranks = {0: 20.0, 0.15: 15.0, 0.3: 10.0, 0.45: 5.0, 0.6: 4.5, 0.8: 4.0, 1: 3.5}
    assert judged(model, ranks)[0] is None
    assert judged(model, {**ranks, 1: 2.5})[0].rank == 2.5


def test_a_network_that_stands_little_correction_is_corrected_a_little():
    """A hidden unit that grows unless the readout gives way to it: put back on the data, it runs away."""
    W, zero = np.array([[0.3, -0.5], [1.0, 0.2]], np.float32), np.zeros(2, np.float32)
    a = np.array([0.0, 1.0], np.float32)
    system = System(a, W, np.zeros((2, 0), np.float32), zero, floors(zero > 0), np.ones((2, 1), "f"), np.array([0]))
    rng, z = np.random.default_rng(0), np.zeros(2)
    x = np.empty((4_000, 1))
    for t in range(len(x)):
        z = a * z + W @ z + [0.1 * rng.standard_normal(), 0]
        x[t] = z[0]
    assert not np.isfinite(foreseen(system, x)).all()
    assert np.isfinite(foreseen(system, x, 0.1)).all()
    process, both, measured = unforeseen(system, x, ())
    assert 0.001 < process.draws.std() < measured.draws.std() == both.draws.std()
    assert process.heard == 1 > both.heard > 0 == measured.heard


def test_a_network_that_correction_drives_away_has_no_noise(model):
    number = model.tasks.index("cycle")
    system = model.network.task_system(number)
    hidden = ~np.isin(np.arange(len(system.a)), system.readout)
    x = model.recordings[number].scale.standardise(cycle())
    assert unforeseen(system._replace(a=np.where(hidden, np.float32(3), system.a)), x, ()) == []


def test_trajectories_are_not_foreseen_across_their_breaks(model):
    """The jump from one to the next is not noise."""
    number = model.tasks.index("cycle")
    system, scale = model.network.task_system(number), model.recordings[number].scale
    parts = [scale.standardise(cycle(400, seed=i)) for i in range(20)]
    x = np.concatenate([part if i % 2 else part[::-1] for i, part in enumerate(parts)])
    x[::400] += 50  # each begins far away

    def strongest(breaks):
        return np.abs(unforeseen(system, x, breaks)[0].draws).max()

    assert strongest(range(400, 8_000, 400)) < 0.2 * strongest(())


def test_noise_that_was_only_measured_is_told_from_noise_of_the_system():
    """The same rhythm, once driven by noise and once measured with it, and a network that has the rhythm itself."""
    turn = np.array([[np.cos(0.15), -np.sin(0.15)], [np.sin(0.15), np.cos(0.15)]], np.float32)
    zero = np.zeros(2, np.float32)
    system = System(zero, turn, np.zeros((2, 0), "f"), zero, floors(zero > 0), np.ones((2, 2), "f"), np.arange(2))
    t = 0.15 * np.arange(20_000)
    clean = np.stack([np.cos(t), np.sin(t)], axis=1)
    measured = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    found = variability(system, measured, (), AttractorScorer(measured, (10_000, 1_000)))
    assert found is not None
    assert found.noise.heard == 0
    assert found.noise.draws.std() == pytest.approx(0.1, rel=0.3)
    assert variability(system, clean, (), AttractorScorer(clean, (10_000, 1_000))) is None


def test_a_checkpoint_is_scored_with_the_noise_that_its_recording_has():
    t = 0.15 * np.arange(6_000)
    x = np.stack([np.cos(t), np.sin(t)], axis=1) + 0.1 * np.random.default_rng(0).standard_normal((6_000, 2))
    network = create(8, 2, 2, np.random.default_rng(0))
    block, params = open_block(network, Opening(np.arange(2), np.array([], int), np.array([], int), np.array([], int)))
    turn = np.array([[np.cos(0.15), -np.sin(0.15)], [np.sin(0.15), np.cos(0.15)]])
    perfect = {**params, "a": 0 * params["a"], "W": params["W"].at[:2, :2].set(turn)}
    ranks = [
        AttractorScorer(x, (10_000, 1_000), noisy=noisy).score(network, block, perfect).rank for noisy in (False, True)
    ]
    assert ranks[1] < 0.5 * ranks[0]


# what it means for the choice of a network


class Told(RolloutScorer):
    """Ranks as told."""

    names, uncertain, floor = ("d_stsp",), True, 0.4

    def __init__(self, rank: float):
        self.rank = rank

    def score(self, network, block, effective, look=Look.QUICK):
        return Score({"d_stsp": self.rank}, self.rank, self.rank)

    def varied(self, system, noise):
        raise NotImplementedError

    def states(self, network, block, effective):
        return np.zeros((1, 1, 1))


@pytest.mark.parametrize(
    ("rank", "look", "expected"),
    [
        (5.0, Look.FRESH, 3.0),  # far off: half by what it is with noise
        (5.0, Look.CLOSE, 5.0),  # while checkpoints race, noise is not looked at
        (0.6, Look.FRESH, 0.6),  # near a perfect model: neither
        (np.inf, Look.FRESH, np.inf),
    ],
)
def test_a_network_far_off_ranks_half_by_what_it_is_with_the_noise_that_does_it_good(rank, look, expected):
    network = create(8, 4, 1, np.random.default_rng(0))
    block, params = open_block(network, Opening(np.arange(1), np.arange(1, 4), np.arange(4, 8), NOBODY))
    noise = Noise(*(np.zeros(shape, np.float32) for shape in ((1, 1), (1, 1, 1), 1, 1, ())))
    both = Varied(Told(rank), lambda system, scorer: Variability(noise, 0.5, 4.0, 1.0))
    score = both.score(network, block, params, look)
    assert score.rank == expected
    assert score.main == rank
    assert (both.floor, both.names, both.uncertain) == (0.4, ("d_stsp",), True)
    none = Varied(Told(rank), lambda system, scorer: None)
    assert none.score(network, block, params, look).rank == rank
