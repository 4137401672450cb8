"""CLNP: the price, the activity, the threshold, and what it freezes."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from crug.core.block import LEARNED
from crug.core.network import Network, create, create_for_trials
from crug.errors import Exhausted
from crug.methods.base import Memory
from crug.methods.clnp import Clnp, activity
from crug.tasks.attractor import AttractorScorer
from crug.tasks.recordings import RecordingTask
from lessons import NOBODY, On, assigned, begun, block_of, lesson_of, make, opened, task, train, two_tasks, windows_of


def clnp(**settings: Any) -> Clnp:
    method = make("clnp", **settings)[1]
    assert isinstance(method, Clnp)
    return method


def test_clnp_prices_what_comes_into_a_unit_by_its_kind():
    network = create_for_trials(20, 8, 3, np.random.default_rng(0))
    block, params = block_of(network, np.arange(4, 20), NOBODY, np.arange(4))
    assert (params["V"].shape, params["C"].shape) == ((16, 4), (16, 3))
    rng = np.random.default_rng(1)
    params = {n: jnp.asarray(rng.normal(size=p.shape), jnp.float32) for n, p in params.items()}
    method = clnp(l1={"linear": 0.5, "relu": 2.0})
    effective = method.objective.effective(params, block.fixed, {})
    found = method.objective.penalty(params, effective, block.fixed, method.recall({}, block))
    p = {n: np.abs(np.asarray(v)) for n, v in params.items()}
    incoming = p["a"] + p["W"].sum(1) + p["V"].sum(1) + p["C"].sum(1) + p["h"]
    np.testing.assert_allclose(float(found), (np.where(network.relu[4:], 2.0, 0.5) * incoming).sum(), rtol=1e-5)


def test_clnp_measures_activity_in_free_rollouts_by_that_of_the_readouts():
    """Against a plain loop, with committed units that feed the block."""
    rng = np.random.default_rng(3)
    network = create(20, 8, 3, rng)
    W, h = 0.05 * rng.normal(size=(20, 20)), 0.1 * rng.normal(size=20)
    network = replace(network, W=W.astype(np.float32), h=h.astype(np.float32))
    block, params = block_of(network, np.arange(4, 20), np.array([5, 6]), np.arange(4))
    params["V"] = jnp.asarray(0.3 * rng.normal(size=params["V"].shape), jnp.float32) * block.fixed.alive[:, None]
    params = {n: p.at[7].set(0.0) if n in ("a", "W", "V", "C", "h") else p for n, p in params.items()}
    data = task(2, 1.0)
    windows = windows_of(network, data, np.arange(4))
    lesson = lesson_of(assigned(network, [data], 0), block, begun(params), windows)
    active = activity(lesson)
    assert np.isinf(active[:2]).all()
    assert active[7] == 0
    W, a, h = np.zeros((20, 20)), np.zeros(20), np.zeros(20)
    first, units = np.arange(4), block.members
    own = {n: np.asarray(p)[: len(units)] for n, p in params.items()}
    W[np.ix_(first, first)], a[first], h[first] = network.W[:4, :4], network.a[:4], network.h[:4]
    W[np.ix_(units, units)], W[np.ix_(units, first)] = own["W"][:, : len(units)], own["V"]
    a[units], h[units] = own["a"], own["h"]
    scorer = lesson.scorer
    assert isinstance(scorer, AttractorScorer)
    x0 = scorer.x0
    z = x0 @ network.B[:, :2].astype(np.float64).T
    z[:, units[:2]] = x0
    total = np.zeros(20)
    for t in range(scorer.steps):
        z = a * z + np.where(network.relu, np.maximum(z, 0), z) @ W.T + h
        total += np.abs(z).sum(axis=0) * (t >= scorer.skip)
    np.testing.assert_allclose(active[2:], total[units[2:]] / total[units[:2]].mean(), rtol=1e-3)


def two_oscillators(size: int = 10, dims: int = 2) -> tuple[Network, RecordingTask]:
    """A network that runs as two oscillators, one of them shifted, and data of what it does.

    x(t + 1) = 2 cos(w) x(t) - x(t - 1): units 2 and 3 remember what the readouts were. Unit 4 is constant and shifts
    the second readout a little. Units 5 to 9 are heard by nobody, each louder than the last, all quieter than unit 4.
    """
    w, shift = 0.05, 0.05
    angle = w * np.arange(3_000)
    x = np.stack([np.sin(angle), np.sin(angle + 1) + shift], axis=1)
    network = create(size, 3, dims, np.random.default_rng(0))
    W, a, h, B = np.zeros((size, size)), np.zeros(size), np.zeros(size), network.B.astype(np.float64)
    a[:2] = 2 * np.cos(w)
    W[0, 2] = W[1, 3] = -0.5
    W[2, 0] = W[3, 1] = 2
    h[4] = 0.05
    W[1, 4] = shift * (2 - 2 * np.cos(w)) / h[4]
    h[5:10] = np.logspace(-5, -2, 5)
    before, _, _, _ = np.linalg.lstsq(x[1:], x[:-1], rcond=None)
    B[2:4, :2] = 2 * before.T
    arrays = {name: value.astype(np.float32) for name, value in {"W": W, "a": a, "h": h, "B": B}.items()}
    return replace(network, **arrays), RecordingTask("oscillators", "Oscillators", x, x, 1.0)


@pytest.mark.parametrize(("margin", "kept"), [(0.0, 5), (0.05, 5), (100.0, 4)])
def test_clnp_prunes_to_the_largest_threshold_within_the_margin(margin, kept):
    """The silent units go, the shift goes where the margin allows it, and without its memory nothing moves."""
    network, oscillators = two_oscillators()
    method = clnp(margin=margin)
    block, params = block_of(network, np.arange(10), np.arange(2))
    state, windows = begun(params, method.objective), windows_of(network, oscillators)
    pruned, _ = method.prune(lesson_of(assigned(network, [oscillators], 0), block, state, windows))
    assert pruned.members.tolist() == list(range(kept))


def test_clnp_leaves_committed_rows_alone_and_runs_out_of_units_as_an_outcome():
    network, oscillators = two_oscillators(size=20, dims=3)
    tasks = [oscillators, task(3, 1.7)]
    method = clnp(margin=0.0)
    memory: Memory = {}
    units, rows = NOBODY, {}
    for number in range(2):
        assignment = assigned(network, tasks, number, memory)
        block, params = opened(method, assignment)
        windows = windows_of(network, tasks[number], block.feeders)
        state = begun(params, method.objective)
        if number == 1:
            on = On(block, windows, recalled=method.recall(memory, block))
            state = train(params, on, method.objective, 4, lr=3e-2)
        lesson = lesson_of(assignment, block, state, windows)
        network, memory = method.close(lesson, np.random.default_rng(number))
        if number == 0:
            units = network.committed()
            rows = {n: getattr(network, n)[units].copy() for n in LEARNED}
            assert units.tolist() == [0, 1, 2, 3, 4]
            assert not any(part.any() for part in (network.W[5:], network.W[:, 5:], network.h[5:]))
            assert ((network.a[5:] >= 0.3) & (network.a[5:] <= 0.9)).all()
    assert len(network.committed()) > 5
    for n in LEARNED:
        assert rows[n].tobytes() == getattr(network, n)[units].tobytes()
    full = replace(network, owner=np.zeros(20, np.int32))
    with pytest.raises(Exhausted, match="free linear units are left"):
        method.open(assigned(full, tasks, 1))


def test_clnp_keeps_a_divergent_network_whole():
    network, tasks, block, params, windows, _ = two_tasks()
    wild = begun({**params, "a": 2 + 0 * params["a"]})
    lesson = lesson_of(assigned(network, tasks, 0), block, wild, windows)
    assert len(clnp().prune(lesson)[0].members) == 20
