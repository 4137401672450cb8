"""The loop that runs a phase: it recovers from a blow-up, presses to size, and keeps what it is told to."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug import phases
from crug.block import open_block
from crug.data import Recipe, make_windows
from crug.evaluation import Score, TrainingScore
from crug.methods.gating import Gating
from crug.network import create
from crug.phases import Bench, Phase, begin, outcome, run_phase
from crug.tasks import Task

NOBODY = np.array([], np.int64)
RECIPE = Recipe(window=40, batch=4, batches=6, clip=0.1)


@pytest.fixture(scope="module")
def bench():
    t = 0.05 * np.arange(4_000)
    x = np.stack([np.sin(t), np.cos(t)], axis=1)
    network = create(20, 8, 2, np.random.default_rng(0))
    windows = make_windows(network, NOBODY, x, RECIPE, np.random.default_rng(0))
    return Bench(network, windows, Gating(), RECIPE, TrainingScore(Task("circle", "Circle", x, x, 0.05)), 0.5)


def go(bench, phase, progress=None):
    if progress is None:
        block, params = open_block(bench.network, np.arange(20), np.arange(2), NOBODY)
        progress = begin(block, params, RECIPE, bench.objective)
    run_phase(bench, phase, 0, progress, jax.random.key(0), lambda _: None, lambda _: None)
    return progress


def test_a_blow_up_is_undone_and_the_rate_lowered(bench, monkeypatch):
    wild = go(bench, Phase("open", 60, 30.0, 30.0))
    assert wild.stumbles > 0
    assert all(np.isfinite(np.asarray(value)).all() for value in wild.state.params.values())
    monkeypatch.setattr(phases, "BLOWN_UP", np.inf)
    assert go(bench, Phase("open", 60, 1e-2, 1e-3)).stumbles == 0


class Broken(Gating):
    """A penalty whose gradient is not a number, though it is one itself."""

    def penalty(self, params, *_):
        return jnp.sqrt(0 * jnp.sum(params["a"] ** 2))


def test_a_gradient_that_is_never_finite_is_told(bench):
    broken = replace(bench, objective=Broken())
    with pytest.warns(UserWarning, match="nothing was learned in 40 epochs"):
        progress = go(broken, Phase("train", 40, 1e-2, 1e-3))
    assert np.isinf([row[2] for row in progress.curves]).all()


def test_presses_to_the_size_asked_for_and_never_drops_a_readout(bench):
    opened = go(bench, Phase("open", 30, 3e-2, 3e-3))
    assert opened.kept is not None
    pressed = go(bench, Phase("rung", 40, 1e-2, 1e-3, begin=0, size=7), begin(*opened.kept, RECIPE, Gating()))
    result = outcome(Phase("rung", 40, 1e-2, 1e-3), pressed)
    assert result.units == 7
    assert pressed.block.members[:2].tolist() == [0, 1]


def test_keeps_the_best_or_the_last(bench):
    phase = Phase("open", 64, 3e-2, 3e-3, score_from=0.0)
    best, last = go(bench, phase), go(bench, replace(phase, select="last"))
    scores = [bench.scorer.total(Score(*row[6:8])) for row in best.curves if np.isfinite(row[6])]
    assert len(scores) >= 4
    assert bench.scorer.total(best.score) == min(scores)
    assert bench.scorer.total(last.score) == scores[-1]
    assert last.kept is not None
    assert np.array_equal(last.kept[1]["W"], last.state.params["W"])


class Counting(Gating):
    """Its account is the number of steps."""

    def begin(self, params):
        return {"steps": jnp.int32(0)}

    def account(self, running, gradients, change):
        return {"steps": running["steps"] + 1}


def test_the_account_that_is_kept_is_that_of_the_network_that_is_kept(bench):
    progress = go(replace(bench, objective=Counting()), Phase("open", 64, 3e-2, 3e-2, score_from=0.0))
    best = min(
        (row for row in progress.curves if np.isfinite(row[6])), key=lambda row: bench.scorer.total(Score(*row[6:8]))
    )
    assert best[0] < 64
    assert int(progress.account["steps"]) == best[0] * RECIPE.batches
