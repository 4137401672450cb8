"""Training: compaction is exact, closed gates stay closed, the same seed gives the same bits."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug.core.block import Block, Opening, Params, State, compact, system_of
from crug.core.network import commit, create
from crug.methods.crug.gates import Gating, gate
from crug.sections import TrainingSettings
from crug.tasks.attractor import AttractorScorer
from crug.tasks.recordings import STEPS, TRANSIENT
from crug.tasks.windows import Windows, make_windows
from crug.training.epochs import Given, Recipe, Rules, start, train_epochs, unit_costs
from crug.training.phases import Course, Phase

SETTINGS = TrainingSettings(window=40, batch=4, batches=6)
RECIPE = Recipe(batch=4, batches=6)
NOBODY = np.array([], np.int64)
OFF = {"gates": 0.0, "gate_lr": 0.0, "price_linear": 0.0, "price_relu": 0.0, "price_transfer": 0.0, "warm": 0.0}


@pytest.fixture(scope="module")
def x():
    t = 0.05 * np.arange(3_000)
    return np.stack([np.sin(t), np.cos(1.7 * t)], axis=1)


class Opened(NamedTuple):
    course: Course
    block: Block
    params: Params

    @property
    def data(self) -> Windows:
        return self.course.data

    def start(self, **other: Any) -> State:
        """Training before its first step, with other parameters than the network's where they are given."""
        return start({**self.params, **other}, self.course.rules)

    def effective(self, params: Params, phase: Phase) -> Params:
        return self.course.objective.effective(params, self.block.fixed, self.course.controls(phase))


def opened(x, feeders=NOBODY, network=None, objective=None, **settings) -> Opened:
    network = network or create(24, 10, 2, np.random.default_rng(0))
    free = network.free()
    rest = free[2:]
    opening = Opening(free[:2], rest[~network.relu[rest]], rest[network.relu[rest]], feeders)
    training = SETTINGS.model_copy(update=settings)
    windows = make_windows(network, feeders, x, training, np.random.default_rng(0))
    rules = Rules(objective or Gating(), RECIPE)
    course = Course(network, opening, windows, rules, AttractorScorer(x, (STEPS, TRANSIENT)))
    progress = course.open(None)
    return Opened(course, progress.block, progress.state.params)


def go(course, state, block, phase, epochs, key=0):
    given = Given(block.fixed, course.data, course.controls(phase))
    first, count = jnp.int32(epochs.start), jnp.int32(len(epochs))
    return train_epochs(state, given, jax.random.key(key), first, count, course.rules)


PRICED = Phase(
    "price", 100, 1e-2, 1e-3, controls={**OFF, "gates": 1.0, "gate_lr": 0.1, "price_linear": 0.05, "price_relu": 0.05}
)
PLAIN = Phase("open", 1, 1e-3, 1e-3, controls=OFF)


def test_compacted_training_equals_uncompacted(x):
    made = opened(x)
    course, block, params = made
    closed = params["log_alpha"].at[jnp.array([3, 4, 9, 10, 11, 16, 17, 18, 23])].set(-4.0)
    state, _ = go(course, made.start(log_alpha=closed), block, PRICED, range(8))
    g = np.asarray(gate(state.params["log_alpha"]))
    keep = np.flatnonzero((g > 0) | (np.arange(len(g)) < 2))
    assert len(keep) == 15
    small_block, small = compact(course.network, block, state, keep, course.axes)
    large_after, large_loss = go(course, state, block, PRICED, range(8, 20))
    small_after, small_loss = go(course, small, small_block, PRICED, range(8, 20))
    np.testing.assert_allclose(large_loss, small_loss, rtol=1e-4)
    for name, value in small_after.params.items():
        reference = np.asarray(large_after.params[name])
        for axis in range(reference.ndim if name != "lateral" else 0):
            if reference.shape[axis] == 24:
                reference = np.take(reference, keep, axis=axis)
        real = np.asarray(value)[tuple(slice(s) for s in reference.shape)]
        np.testing.assert_allclose(real, reference, rtol=2e-3, atol=2e-5)


def test_a_closed_gate_never_opens_and_has_no_influence(x):
    made = opened(x)
    course, block, params = made
    closed = params["log_alpha"].at[5].set(-4.0)
    state, _ = go(course, made.start(log_alpha=closed), block, PRICED, range(8))
    assert float(state.params["log_alpha"][5]) == -4.0
    again, _ = go(course, made.start(log_alpha=closed, a=params["a"].at[5].set(77.0)), block, PRICED, range(8))
    assert np.array_equal(state.params["W"], again.params["W"])


def test_the_price_closes_gates_and_learning_lowers_the_loss(x):
    made = opened(x)
    course, block, _ = made
    free = Phase("open", 30, 5e-2, 5e-3, controls=OFF)
    _, losses = go(course, made.start(), block, free, range(30))
    assert float(losses[29]) < 0.5 * float(losses[0])
    fast = replace(PRICED, controls={**PRICED.controls, "gate_lr": 1.0})
    priced, _ = go(course, made.start(), block, fast, range(30))
    assert float(gate(priced.params["log_alpha"])[2:].mean()) < 0.5


def test_same_seed_same_bits_and_chunks_do_not_matter(x):
    made = opened(x)
    course, block, _ = made
    whole, _ = go(course, made.start(), block, PRICED, range(10))
    part, _ = go(course, made.start(), block, PRICED, range(3))
    part, _ = go(course, part, block, PRICED, range(3, 10))
    for name in whole.params:
        assert np.array_equal(whole.params[name], part.params[name])
    other, _ = go(course, made.start(), block, PRICED, range(10), key=1)
    assert not np.array_equal(whole.params["W"], other.params["W"])


@pytest.mark.parametrize("kind", ["free", "l0", "l1", "l2"])
def test_transfer_learns_from_committed_units_without_touching_them(x, kind):
    rng = np.random.default_rng(4)
    network = create(24, 10, 2, rng)
    units = np.array([0, 1, 14])
    own = {"a": rng.uniform(0, 1, 3), "W": 0.1 * rng.normal(size=(3, 3)), "h": rng.normal(size=3)}
    own |= {"V": np.zeros((3, 0)), "C": np.zeros((3, 0))}
    network = commit(network, units, units[:2], own, NOBODY)
    made = opened(x, units, network, Gating(kind))
    course, block, params = made
    phase = Phase("price", 20, 1e-2, 1e-3, controls={**OFF, "gates": 1.0, "gate_lr": 0.1, "price_transfer": 1e-3})
    state, losses = go(course, made.start(), block, phase, range(20))
    assert np.asarray(state.params["V"]).any()
    assert float(losses[19]) < float(losses[0])
    moved = not np.array_equal(state.params["lateral"], params["lateral"])
    assert moved == (kind == "l0")
    whole = system_of(network, block, made.effective(state.params, phase))
    assert whole.W.shape == (27, 27)
    assert whole.readout.tolist() == [3, 4]
    assert not whole.W[:3, 3:].any()


def test_stored_drive_is_what_the_committed_units_do(x):
    """The driven block gives the same loss as the committed and new units computed together."""
    rng = np.random.default_rng(5)
    network = create(16, 6, 2, rng)
    units = np.array([0, 1, 10])
    own = {"a": rng.uniform(0, 0.8, 3), "W": 0.2 * rng.normal(size=(3, 3)), "h": 0.1 * rng.normal(size=3)}
    network = commit(network, units, units[:2], own | {"V": np.zeros((3, 0)), "C": np.zeros((3, 0))}, NOBODY)
    made = opened(x, units, network, Gating("free"))
    _, block, params = made
    params = {**params, "V": jnp.asarray(0.1 * rng.normal(size=params["V"].shape), jnp.float32)}
    effective = made.effective(params, PLAIN)
    loss = made.data.loss(effective, block.fixed, jnp.arange(3))
    whole = system_of(network, block, effective)
    errors = []
    for begin in np.asarray(made.data.starts)[:3]:
        z = np.asarray(whole.encoder) @ x[begin]
        for t in range(SETTINGS.window):
            if t % SETTINGS.interval == 0:
                z[whole.readout] = x[begin + t]
            z = whole.a * z + whole.W @ np.maximum(z, whole.floor) + whole.h
            errors.append((z[whole.readout] - x[begin + t + 1]) ** 2)
    np.testing.assert_allclose(float(loss), np.mean(errors), rtol=1e-4)


def test_unit_costs_are_the_losses_without_each_unit(x):
    made = opened(x)
    course, block, _ = made
    state, _ = go(course, made.start(), block, Phase("open", 20, 1e-2, 1e-3, controls=OFF), range(20))
    effective = made.effective(state.params, PLAIN)
    index = jnp.arange(8)
    costs = unit_costs(effective, block.fixed, made.data, index)
    for unit in (1, 7, 23):
        open_ = jnp.ones(24).at[unit].set(0)
        cut = {"a": open_ * effective["a"], "W": open_[:, None] * effective["W"] * open_, "h": open_ * effective["h"]}
        alone = made.data.loss({**cut, "V": effective["V"]}, block.fixed, index)
        np.testing.assert_allclose(float(costs[unit]), float(alone), rtol=1e-5)


def test_leaving_the_observed_range_has_a_price(x):
    made, index = opened(x), jnp.arange(4)
    fixed, free, weighted = made.block.fixed, made.data, opened(x, range_weight=10.0).data
    effective = made.effective(made.params, PLAIN)
    outside = {**effective, "h": effective["h"].at[:2].set(3.0)}
    plain = free.loss(effective, fixed, index)
    np.testing.assert_allclose(weighted.loss(effective, fixed, index), plain, rtol=1e-5)
    assert weighted.loss(outside, fixed, index) > 2 * free.loss(outside, fixed, index)
