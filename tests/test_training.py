"""Training: compaction is exact, closed gates stay closed, the same seed gives the same bits."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug.block import compact, open_block, system
from crug.data import Recipe, make_windows
from crug.gates import gate
from crug.methods.gating import Gating
from crug.network import commit, create
from crug.phases import Phase, controls
from crug.training import start, train_epochs, unit_costs, window_loss

RECIPE = Recipe(window=40, batch=4, batches=6)
NOBODY = np.array([], np.int64)


@pytest.fixture(scope="module")
def x():
    t = 0.05 * np.arange(3_000)
    return np.stack([np.sin(t), np.cos(1.7 * t)], axis=1)


def opened(M=24, P=10, feeders=NOBODY, network=None):
    network = network or create(M, P, 2, np.random.default_rng(0))
    free = network.free()
    return network, *open_block(network, free, free[:2], feeders)


def go(state, block, windows, phase, first, count, objective=None, key=0):
    key = jax.random.key(key)
    return train_epochs(
        state,
        block.fixed,
        windows,
        controls(phase),
        key,
        jnp.int32(first),
        jnp.int32(count),
        objective or Gating(),
        RECIPE,
    )


PRICED = Phase("price", 100, 1e-2, 1e-3, gates=True, gate_lr=0.1, price_linear=0.05, price_relu=0.05)


def test_compacted_training_equals_uncompacted(x):
    network, block, params = opened()
    windows = make_windows(network, NOBODY, x, RECIPE, np.random.default_rng(0))
    closed = params["log_alpha"].at[jnp.array([3, 4, 9, 10, 11, 16, 17, 18, 23])].set(-4.0)
    state, _ = go(start({**params, "log_alpha": closed}, RECIPE, Gating()), block, windows, PRICED, 0, 8)
    g = np.asarray(gate(state.params["log_alpha"]))
    keep = np.flatnonzero((g > 0) | (np.arange(len(g)) < 2))
    assert len(keep) == 15
    small_block, small = compact(network, block, state, keep)
    large_after, large_loss = go(state, block, windows, PRICED, 8, 12)
    small_after, small_loss = go(small, small_block, windows, PRICED, 8, 12)
    np.testing.assert_allclose(large_loss, small_loss, rtol=1e-4)
    for name, value in small_after.params.items():
        reference = np.asarray(large_after.params[name])
        for axis in range(reference.ndim if name != "lateral" else 0):
            if reference.shape[axis] == 24:
                reference = np.take(reference, keep, axis=axis)
        real = np.asarray(value)[tuple(slice(s) for s in reference.shape)]
        np.testing.assert_allclose(real, reference, rtol=2e-3, atol=2e-5)


def test_a_closed_gate_never_opens_and_has_no_influence(x):
    network, block, params = opened()
    windows = make_windows(network, NOBODY, x, RECIPE, np.random.default_rng(0))
    closed = params["log_alpha"].at[5].set(-4.0)
    state, _ = go(start({**params, "log_alpha": closed}, RECIPE, Gating()), block, windows, PRICED, 0, 8)
    assert float(state.params["log_alpha"][5]) == -4.0
    other = {**params, "log_alpha": closed, "a": params["a"].at[5].set(77.0)}
    again, _ = go(start(other, RECIPE, Gating()), block, windows, PRICED, 0, 8)
    assert np.array_equal(state.params["W"], again.params["W"])


def test_the_price_closes_gates_and_learning_lowers_the_loss(x):
    network, block, params = opened()
    windows = make_windows(network, NOBODY, x, RECIPE, np.random.default_rng(0))
    free = Phase("open", 30, 5e-2, 5e-3)
    _, losses = go(start(params, RECIPE, Gating()), block, windows, free, 0, 30)
    assert float(losses[29]) < 0.5 * float(losses[0])
    priced, _ = go(start(params, RECIPE, Gating()), block, windows, replace(PRICED, gate_lr=1.0), 0, 30)
    assert float(gate(priced.params["log_alpha"])[2:].mean()) < 0.5


def test_same_seed_same_bits_and_chunks_do_not_matter(x):
    network, block, params = opened()
    windows = make_windows(network, NOBODY, x, RECIPE, np.random.default_rng(0))
    whole, _ = go(start(params, RECIPE, Gating()), block, windows, PRICED, 0, 10)
    part, _ = go(start(params, RECIPE, Gating()), block, windows, PRICED, 0, 3)
    part, _ = go(part, block, windows, PRICED, 3, 7)
    for name in whole.params:
        assert np.array_equal(whole.params[name], part.params[name])
    other, _ = go(start(params, RECIPE, Gating()), block, windows, PRICED, 0, 10, key=1)
    assert not np.array_equal(whole.params["W"], other.params["W"])


@pytest.mark.parametrize("kind", ["free", "l0", "l1", "l2"])
def test_transfer_learns_from_committed_units_without_touching_them(x, kind):
    rng = np.random.default_rng(4)
    network = create(24, 10, 2, rng)
    units = np.array([0, 1, 14])
    own = {"a": rng.uniform(0, 1, 3), "W": 0.1 * rng.normal(size=(3, 3)), "h": rng.normal(size=3)}
    own |= {"V": np.zeros((3, 0)), "C": np.zeros((3, 0))}
    network = commit(network, units, units[:2], own, NOBODY)
    _, block, params = opened(feeders=units, network=network)
    windows = make_windows(network, units, x, RECIPE, np.random.default_rng(0))
    phase = Phase("price", 20, 1e-2, 1e-3, gates=True, gate_lr=0.1, price_transfer=1e-3)
    state, losses = go(start(params, RECIPE, Gating()), block, windows, phase, 0, 20, Gating(kind))
    assert np.asarray(state.params["V"]).any()
    assert float(losses[19]) < float(losses[0])
    moved = not np.array_equal(state.params["lateral"], params["lateral"])
    assert moved == (kind == "l0")
    effective = Gating(kind).effective(state.params, block.fixed, controls(phase))
    whole, _encoder, readout = system(network, block, effective)
    assert whole["W"].shape == (27, 27)
    assert readout.tolist() == [3, 4]
    assert not whole["W"][:3, 3:].any()


def test_stored_drive_is_what_the_committed_units_do(x):
    """The driven block gives the same loss as the committed and new units computed together."""
    rng = np.random.default_rng(5)
    network = create(16, 6, 2, rng)
    units = np.array([0, 1, 10])
    own = {"a": rng.uniform(0, 0.8, 3), "W": 0.2 * rng.normal(size=(3, 3)), "h": 0.1 * rng.normal(size=3)}
    network = commit(network, units, units[:2], own | {"V": np.zeros((3, 0)), "C": np.zeros((3, 0))}, NOBODY)
    _, block, params = opened(feeders=units, network=network)
    params = {**params, "V": jnp.asarray(0.1 * rng.normal(size=params["V"].shape), jnp.float32)}
    windows = make_windows(network, units, x, RECIPE, np.random.default_rng(0))
    phase = Phase("settle", 1, 1e-3, 1e-3)
    effective = Gating("free").effective(params, block.fixed, controls(phase))
    loss = window_loss(effective, block.fixed, windows, jnp.arange(3), RECIPE)
    whole, encoder, readout = system(network, block, effective)
    errors = []
    for begin in np.asarray(windows.starts)[:3]:
        z = encoder @ x[begin]
        for t in range(RECIPE.window):
            if t % RECIPE.interval == 0:
                z[readout] = x[begin + t]
            z = whole["a"] * z + whole["W"] @ np.maximum(z, whole["floor"]) + whole["h"]
            errors.append((z[readout] - x[begin + t + 1]) ** 2)
    np.testing.assert_allclose(float(loss), np.mean(errors), rtol=1e-4)


def test_unit_costs_are_the_losses_without_each_unit(x):
    network, block, params = opened()
    windows = make_windows(network, NOBODY, x, RECIPE, np.random.default_rng(0))
    state, _ = go(start(params, RECIPE, Gating()), block, windows, Phase("open", 20, 1e-2, 1e-3), 0, 20)
    effective = Gating().effective(state.params, block.fixed, controls(Phase("open", 1, 1e-3, 1e-3)))
    index = jnp.arange(8)
    costs = unit_costs(effective, block.fixed, windows, index, RECIPE)
    for unit in (1, 7, 23):
        open_ = jnp.ones(24).at[unit].set(0)
        cut = {"a": open_ * effective["a"], "W": open_[:, None] * effective["W"] * open_, "h": open_ * effective["h"]}
        alone = window_loss({**cut, "V": effective["V"]}, block.fixed, windows, index, RECIPE)
        np.testing.assert_allclose(float(costs[unit]), float(alone), rtol=1e-5)


def test_leaving_the_observed_range_has_a_price(x):
    network, block, params = opened()
    windows = make_windows(network, NOBODY, x, RECIPE, np.random.default_rng(0))
    effective = Gating().effective(params, block.fixed, controls(Phase("open", 1, 1e-3, 1e-3)))
    outside = {**effective, "h": effective["h"].at[:2].set(3.0)}
    weighted = RECIPE._replace(range_weight=10.0)
    plain = window_loss(effective, block.fixed, windows, jnp.arange(4), RECIPE)
    np.testing.assert_allclose(window_loss(effective, block.fixed, windows, jnp.arange(4), weighted), plain, rtol=1e-5)
    assert window_loss(outside, block.fixed, windows, jnp.arange(4), weighted) > 2 * window_loss(
        outside, block.fixed, windows, jnp.arange(4), RECIPE
    )
