"""Hard attention: the mask and its gradient, what is frozen, and what a later task may still do."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug.core.block import masked
from crug.core.network import create
from crug.methods.hat import LIMIT, Attention, Hat
from crug.training.epochs import Rules
from crug.training.phases import Course, Phase, absorbed
from lessons import RECIPE, TRAINING, On, assigned, begun, lesson_of, make, opened, task, train, windows_of

SMAX = 50.0


def hat(**settings: Any) -> Hat:
    method = make("hat", **{"smax": SMAX, **settings})[1]
    assert isinstance(method, Hat)
    return method


def first(method: Hat, number: int = 0, memory=None, network=None):
    """A block of the task `number` of two, with embeddings, and its data."""
    network = network or create(20, 8, 3, np.random.default_rng(0))
    tasks = [task(2, 1.0), task(3, 1.7)]
    assignment = assigned(network, tasks, number, memory)
    block, params = opened(method, assignment)
    arrays = {n: jnp.asarray(np.pad(v, (0, 4))) for n, v in method.objective.arrays(20, 0).items()}
    recalled = method.recall(assignment.memory, block)
    return assignment, block, {**params, **arrays}, On(block, windows_of(network, tasks[number]), (), recalled)


def controls(method: Hat, block, progress=0.0, epochs=10.0):
    return {"progress": jnp.float32(progress), "epochs": jnp.float32(epochs), **method.recall({}, block)}


@pytest.mark.parametrize(("part", "scale"), [(0.0, 1 / SMAX), (0.5, (SMAX + 1 / SMAX) / 2)])
def test_the_mask_hardens_within_every_epoch_and_keeps_the_slope_of_a_soft_one(part, scale):
    method = hat()
    _, block, params, _ = first(method)
    e = jnp.linspace(-0.3, 0.3, 24)
    found = controls(method, block, progress=(3 + part) / 10)

    def mask(e):
        return Attention().attention({**params, "embedding": e}, block.fixed, found)

    expected = np.where(np.asarray(block.fixed.hidden) > 0, jax.nn.sigmoid(scale * e), 1.0)
    np.testing.assert_allclose(mask(e), expected, rtol=1e-3)
    slope = jax.grad(lambda e: mask(e).sum())(e)
    soft = np.asarray(jax.nn.sigmoid(e) * (1 - jax.nn.sigmoid(e))) * np.asarray(block.fixed.hidden)
    np.testing.assert_allclose(slope, soft, rtol=1e-4)


def test_only_units_that_nobody_uses_cost_something():
    method = hat(strength=2.0)
    _, block, params, _ = first(method)
    found = controls(method, block, progress=0.05)
    found["protected"] = jnp.asarray(np.arange(24) % 3 == 0, jnp.float32)
    e = jnp.where(jnp.arange(24) < 10, LIMIT, -LIMIT)  # the first ten are on
    penalty = Attention().penalty({**params, "embedding": e}, params, block.fixed, found)
    new = (np.asarray(block.fixed.hidden) > 0) & (np.arange(24) % 3 > 0)
    assert float(penalty) == pytest.approx(2.0 * (new & (np.arange(24) < 10)).sum() / new.sum(), rel=1e-3)


def test_what_earlier_tasks_use_does_not_move_and_everything_else_does():
    method = hat()
    protected = np.zeros(20, np.float32)
    protected[[0, 1, 5, 13]] = 1
    _, block, params, on = first(method, 1, {"protected": protected})
    numbers = {**(on.recalled or {}), "embedding_lr": jnp.float32(1e-2)}
    state = train(params, on._replace(recalled=numbers), method.objective, 3)
    was, now = ({n: np.asarray(p[n])[:20] for n in ("a", "W", "h")} for p in (params, state.params))
    kept = np.isin(block.members, [0, 1, 5, 13])
    for name in ("a", "h"):
        assert np.array_equal(was[name][kept], now[name][kept])
        assert (was[name][~kept] != now[name][~kept]).all()
    both = np.outer(kept, kept)
    assert np.array_equal(was["W"][:, :20][both], now["W"][:, :20][both])
    assert (was["W"][:, :20][~both] != now["W"][:, :20][~both]).mean() > 0.9


def test_the_cut_keeps_used_units_as_they_are_and_the_memory_names_all_of_them():
    method = hat()
    assignment, block, params, on = first(method)
    e = jnp.where(jnp.arange(24) % 2 == 0, 0.02, -0.02)  # barely on or off: at smax = 50 they are 0.73 and 0.27
    scorer = assignment.task.scorer(assignment.network, block.feeders, TRAINING)
    rules = Rules(method.objective, RECIPE)
    course = Course(assignment.network, method.open(assignment), on.data, rules, scorer, (), on.recalled or {})
    small, plain = absorbed(course, Phase("train", 1, 1e-2, 1e-2), block, {**params, "embedding": e})
    assert small.members.tolist() == [u for i, u in enumerate(block.members) if i < 2 or i % 2 == 0]
    alive = masked(params, block.fixed.alive)
    order = [block.members.tolist().index(u) for u in small.members]
    assert np.array_equal(np.asarray(plain["a"])[: len(order)], np.asarray(alive["a"])[order])
    lesson = lesson_of(assignment, small, begun(plain), on.data)
    network, memory = method.close(lesson, np.random.default_rng(0))
    assert set(np.flatnonzero(memory["protected"])) == set(small.members.tolist())
    assert network.runs[0].tolist() == sorted(small.members.tolist())


def test_a_price_frees_units_and_embeddings_stay_within_reach():
    method = hat(strength=100.0, embedding_lr=1.0)
    _, _, params, on = first(method)
    state = train(params, on, method.objective, 4)
    e = np.asarray(state.params["embedding"])[2:20]
    assert (e < 0).all()
    assert e.min() >= -LIMIT
