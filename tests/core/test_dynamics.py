"""The hot loop: the adjoint against automatic differentiation, the rollout against a plain loop."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug.core.dynamics import Drive, System, forced_unroll, forcing, rollout, trajectories


def plain_unroll(weights, z0, given, outputs):
    """The same equations as a scan that JAX differentiates by itself."""
    a, W, V, h = weights
    x, drive, force, floor = given

    def step(z, inputs):
        x_t, d_t, f = inputs
        k = x_t.shape[1]
        forced = jnp.concatenate([(1 - f) * z[:, :k] + f * x_t, z[:, k:]], axis=1)
        z = a * forced + jnp.maximum(forced, floor) @ W.T + d_t @ V.T + h
        return z, z[:, :outputs]

    return jax.lax.scan(step, z0, (x, drive, force))[1]


CASES = {
    "no ReLU units": dict(n=7, relu=0, drive=0, forced=3, outputs=3),
    "only ReLU units": dict(n=5, relu=5, drive=0, forced=2, outputs=2),
    "inputs, no forcing, all states out": dict(n=6, relu=3, drive=4, forced=0, outputs=6),
    "transfer": dict(n=9, relu=4, drive=5, forced=3, outputs=3),
    "one unit": dict(n=1, relu=0, drive=0, forced=1, outputs=1),
    "mixing instead of replacing": dict(n=8, relu=4, drive=2, forced=3, outputs=3, strength=0.3),
}


@pytest.mark.parametrize("name", CASES)
def test_adjoint_equals_automatic_differentiation(name):
    case = CASES[name]
    n, d, k, steps, batch = case["n"], case["drive"], case["forced"], 37, 3
    rng = np.random.default_rng(1)
    a, W, V, h = rng.uniform(0.2, 0.9, n), rng.normal(size=(n, n)) / n, rng.normal(size=(n, d)), rng.normal(size=n)
    z0, x, drive = rng.normal(size=(batch, n)), rng.normal(size=(steps, batch, k)), rng.normal(size=(steps, batch, d))
    target = rng.normal(size=(steps, batch, case["outputs"]))
    floor = np.where(np.arange(n) < n - case["relu"], -np.inf, 0)
    with jax.enable_x64(True):
        force = jnp.asarray(forcing(steps, 16, case.get("strength", 1.0)), jnp.float64)

        given = Drive(*map(jnp.asarray, (x, drive, force, floor)))

        def loss(unroll, params):
            return jnp.mean((unroll(*params, given, case["outputs"]) - target) ** 2)

        params = tuple(map(jnp.asarray, (a, W, V, h))), jnp.asarray(z0)
        ours = jax.grad(lambda p: loss(forced_unroll, p))(params)
        theirs = jax.grad(lambda p: loss(plain_unroll, p))(params)
    for mine, reference in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        scale = np.abs(reference).max() if reference.size else 1.0
        np.testing.assert_allclose(mine, reference, atol=1e-5 * max(scale, 1e-12), rtol=1e-5)


def test_forced_readouts_pass_no_gradient_back():
    n, steps = 4, 6
    rng = np.random.default_rng(0)
    W = jnp.asarray(rng.normal(size=(n, n)) / n, jnp.float32)
    x = jnp.asarray(rng.normal(size=(steps, 2, n)), jnp.float32)
    ones = jnp.ones(n)

    def last(z0):
        given = Drive(x, jnp.zeros((steps, 2, 0)), jnp.ones(steps), 0 * ones)
        out: Any = forced_unroll((0.5 * ones, W, jnp.zeros((n, 0)), ones), z0, given, n)
        return out[-1].sum()

    assert np.all(np.asarray(jax.grad(last)(jnp.ones((2, n)))) == 0)


def test_rollout_follows_the_equation_and_skips_the_transient():
    rng = np.random.default_rng(2)
    n, steps, skip = 6, 50, 20
    a, W, h = rng.uniform(0, 0.8, n), 0.3 * rng.normal(size=(n, n)), rng.normal(size=n)
    floor, z = np.where(np.arange(n) < 3, -np.inf, 0), rng.normal(size=(2, n))
    with jax.enable_x64(True):
        nothing = np.zeros((n, 0))
        system = System(a, W, nothing, h, floor, nothing, np.array([], np.int64))
        got = rollout(system, jnp.asarray(z), jnp.array([4, 0]), steps, skip)
        drive = trajectories(system, jnp.asarray(z), 3)
    np.testing.assert_allclose(drive[0], np.maximum(z, floor))
    expected = []
    for _ in range(steps):
        z = a * z + np.maximum(z, floor) @ W.T + h
        expected.append(z[:, [4, 0]])
    np.testing.assert_allclose(got, np.stack(expected[skip:], axis=1), rtol=1e-9)
