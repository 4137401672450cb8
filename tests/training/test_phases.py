"""The loop that runs a phase: it recovers from a blow-up, presses to size, and keeps what it is told to."""

import json
import zlib
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug.core.block import Opening
from crug.core.network import create
from crug.methods.crug.gates import Gating
from crug.runs.result import HISTORY
from crug.sections import TrainingSettings
from crug.tasks.attractor import AttractorScorer, attractor_score
from crug.tasks.base import Look, Scorer
from crug.tasks.recordings import STEPS, TRANSIENT
from crug.tasks.windows import make_windows
from crug.training import phases
from crug.training.epochs import Recipe, Rules
from crug.training.phases import Course, Phase, outcome, run_phase

NOBODY = np.array([], np.int64)
RECIPE = Recipe(batch=4, batches=6, clip=0.1)
OFF = {"gates": 0.0, "gate_lr": 0.0, "price_linear": 0.0, "price_relu": 0.0, "price_transfer": 0.0, "warm": 0.0}


def plain(kind, epochs, lr, lr_end, **other):
    """A phase without gates."""
    return Phase(kind, epochs, lr, lr_end, controls=OFF, **other)


@pytest.fixture(scope="module")
def course():
    t = 0.05 * np.arange(4_000)
    x = np.stack([np.sin(t), np.cos(t)], axis=1)
    network = create(20, 8, 2, np.random.default_rng(0))
    settings = TrainingSettings(window=40, batch=4)
    windows = make_windows(network, NOBODY, x, settings, np.random.default_rng(0))
    opening = Opening(np.arange(2), np.arange(2, 12), np.arange(12, 20), NOBODY)
    return Course(network, opening, windows, Rules(Gating(), RECIPE), AttractorScorer(x, (STEPS, TRANSIENT)))


def go(course, phase, progress=None):
    progress = progress or course.open(None)
    run_phase(course, phase, 0, progress, jax.random.key(0), lambda progress, due: None)
    return progress


def test_a_blow_up_is_undone_and_the_rate_lowered(course, monkeypatch):
    wild = go(course, plain("open", 60, 30.0, 30.0))
    assert wild.stumbles > 0
    assert all(np.isfinite(np.asarray(value)).all() for value in wild.state.params.values())
    monkeypatch.setattr(phases, "BLOWN_UP", np.inf)
    assert go(course, plain("open", 60, 1e-2, 1e-3)).stumbles == 0


class Broken(Gating):
    """A penalty whose gradient is not a number, though it is one itself."""

    def penalty(self, params, effective, fixed, controls):
        return jnp.sqrt(0 * jnp.sum(params["a"] ** 2))


def test_a_gradient_that_is_never_finite_is_told(course):
    broken = replace(course, rules=Rules(Broken(), RECIPE))
    with pytest.warns(UserWarning, match="nothing was learned in 40 epochs"):
        progress = go(broken, plain("train", 40, 1e-2, 1e-3))
    assert np.isinf([point.loss for point in progress.curves]).all()


def test_presses_to_the_size_asked_for_and_never_drops_a_readout(course):
    opened = go(course, plain("open", 30, 3e-2, 3e-3))
    assert opened.kept is not None
    pressed = go(course, plain("rung", 40, 1e-2, 1e-3, begin=0, size=7), course.go_on(*opened.kept))
    result = outcome(plain("rung", 40, 1e-2, 1e-3), pressed)
    assert result.units == 7
    assert pressed.block.members[:2].tolist() == [0, 1]


def scored(progress):
    """The points of the learning curves at which a network was scored that did not diverge."""
    return [point for point in progress.curves if np.isfinite(point.measures.get("d_stsp", np.nan))]


def rank(point):
    return attractor_score(point.measures).rank


def test_keeps_the_best_or_the_last(course):
    phase = plain("open", 64, 3e-2, 3e-3, score_from=0.0)
    best, last = go(course, phase), go(course, replace(phase, select="last"))
    ranks = [rank(point) for point in scored(best)]
    assert len(ranks) >= 4
    assert best.score is not None
    assert last.score is not None
    assert best.score.rank == min(ranks)
    assert last.score.rank == ranks[-1]
    assert last.kept is not None
    assert np.array_equal(last.kept[1]["W"], last.state.params["W"])


class Chancy(Scorer):
    """Every checkpoint has a quality of its own; a quick look sees it through noise, a close one hardly, a fresh one
    through noise of its own."""

    names = ("d_stsp", "d_h")

    def __init__(self, uncertain: bool = True):
        self.uncertain, self.looks, self.qualities = uncertain, [], []

    def score(self, network, block, effective, look=Look.QUICK):
        seen = np.asarray(effective["W"]).tobytes()
        quality = np.random.default_rng(zlib.crc32(seen)).uniform(0, 1)
        noise = {Look.QUICK: 0.3, Look.CLOSE: 0.01, Look.FRESH: 0.02}[look]
        off = np.random.default_rng(zlib.crc32(look.value.encode() + seen)).normal()
        self.looks.append(look)
        self.qualities.append(quality)
        return replace(attractor_score({"d_stsp": quality + noise * off, "d_h": 0.0}), errors={"rank": noise})

    def states(self, network, block, effective):
        raise NotImplementedError


def test_the_surest_is_the_best_by_a_close_look_and_scored_by_a_fresh_one(course):
    chancy, phase = Chancy(), plain("open", 64, 3e-2, 3e-3, score_from=0.0, score_every=2, select="surest")
    surest = go(replace(course, scorer=chancy), phase)
    assert surest.score is not None
    best = min(chancy.qualities)
    assert surest.score.errors["rank"] == 0.02
    assert surest.score.main == pytest.approx(best, abs=0.1)
    looks = [look for look in chancy.looks if look is not Look.QUICK]
    assert len(chancy.looks) - len(looks) == 32  # every checkpoint gets a quick look
    assert 1 < len(looks) < 30
    assert looks[-1] is Look.FRESH
    assert looks.count(Look.FRESH) == 1


def test_the_best_is_taken_by_quick_looks_and_so_is_the_surest_where_a_scorer_is_certain(course):
    for select, uncertain in (("best", True), ("last", True), ("surest", False)):
        chancy = Chancy(uncertain)
        go(replace(course, scorer=chancy), plain("open", 32, 3e-2, 3e-3, select=select))
        assert set(chancy.looks) == {Look.QUICK}


class Counting(Gating):
    """Its account is the number of steps."""

    def begin(self, params):
        return {"steps": jnp.int32(0)}

    def account(self, account, gradients, change):
        return {"steps": account["steps"] + 1}


def test_the_account_that_is_kept_is_that_of_the_network_that_is_kept(course):
    counting = replace(course, rules=Rules(Counting(), RECIPE))
    progress = go(counting, plain("open", 64, 3e-2, 3e-2, score_from=0.0))
    best = min(scored(progress), key=rank)
    assert best.epoch < 64
    assert int(progress.account["steps"]) == best.epoch * RECIPE.batches


def test_a_phase_may_have_a_forcing_of_its_own(course):
    asked = []

    def make(forcing):
        asked.append(dict(forcing))
        return replace(course.data, forcing=course.data.forcing._replace(**forcing))

    gentle, pull = replace(course, make=make), {"interval": 1, "strength": 0.3, "window": 60}
    strict = go(gentle, plain("open", 20, 3e-2, 3e-3))
    assert not asked
    gently = go(gentle, plain("open", 20, 3e-2, 3e-3, forcing=pull))
    assert asked == [pull]
    assert gently.loss < strict.loss  # what is pulled at every step strays less
    assert gently.loss == go(gentle, plain("open", 20, 3e-2, 3e-3, forcing=pull)).loss


def test_the_forcing_of_a_phase_is_read_back_as_it_was(course):
    pull = {"interval": 1, "strength": 0.3, "window": 60}
    progress = go(course, plain("open", 4, 3e-2, 3e-3))
    history = [outcome(plain("open", 4, 3e-2, 3e-3, forcing=pull), progress)]
    again = HISTORY.validate_python(json.loads(json.dumps(HISTORY.dump_python(history))))
    assert again[0].phase.forcing == pull
    assert [type(value) for value in again[0].phase.forcing.values()] == [int, float, int]
