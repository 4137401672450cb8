"""The hot loop: a free rollout, and the teacher-forced unroll with its hand-written adjoint (paper, section 2.1).

| paper | here | shape | meaning |
|---|---|---|---|
| z_t | `z` | (batch, n) | latent state of the block; the readout units come first |
| Phi*(z) | `maximum(z, floor)` | | floor is 0 for a ReLU unit and -inf for a linear one |
| W, a, h | `W`, `a`, `h` | (n, n), (n,), (n,) | effective (gated) parameters |
| transfer block, C | `V` | (n, d) | weights of whatever drives the block: committed units, inputs |
| s_t and Phi*(z^committed_t) | `drive` | (T, batch, d) | known beforehand, no gradient enters it |
| x_t | `x` | (T, batch, k) | what the first k units are forced to |
| alpha [t = n tau] | `force` | (T,) | forcing strength at each step, 0 between the forcing times |

One step: z~_t = (1 - f_t) z_t + f_t x_t on the first k units, then z_{t+1} = a z~_t + W Phi*(z~_t) + V d_t + h.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax


def forcing(steps: int, interval: int, strength: float) -> Array:
    """f_t for sparse teacher forcing: `strength` at t = 0, interval, 2 interval, ..."""
    return jnp.where(jnp.arange(steps) % interval == 0, strength, 0.0).astype(jnp.float32)


@partial(jax.custom_vjp, nondiff_argnums=(9,))
def forced_unroll(
    a: Array, W: Array, V: Array, h: Array, z0: Array, x: Array, drive: Array, force: Array, floor: Array, outputs: int
) -> Array:
    """The states z_1 ... z_T of the first `outputs` units before forcing, (T, batch, outputs)."""
    return _forward(a, W, V, h, z0, x, drive, force, floor, outputs)[0]


def _forward(a, W, V, h, z0, x, drive, force, floor, outputs):
    k, W_t = x.shape[2], W.T
    push = drive @ V.T + h if drive.shape[2] else jnp.broadcast_to(h, (len(force), 1, len(h)))

    def step(z, inputs):
        x_t, push_t, f = inputs
        forced = jnp.concatenate([(1 - f) * z[:, :k] + f * x_t, z[:, k:]], axis=1)
        z = a * forced + jnp.maximum(forced, floor) @ W_t + push_t
        return z, (forced, z[:, :outputs])

    _, (states, predictions) = lax.scan(step, z0, (x, push, force))
    return predictions, (a, W, states, drive, force, floor, k)


def _backward(outputs, saved, d_predictions):
    a, W, states, drive, force, floor, k = saved
    n, d = len(a), drive.shape[2]

    def step(grad_z, inputs):
        """From dL/dz_{t+1} through the dynamics to dL/dz_t; emits the former, complete with its own loss term."""
        d_t, state, f = inputs
        grad_z = jnp.concatenate([grad_z[:, :outputs] + d_t, grad_z[:, outputs:]], axis=1)
        back = a * grad_z + jnp.where(state > floor, grad_z @ W, 0)
        return jnp.concatenate([(1 - f) * back[:, :k], back[:, k:]], axis=1), grad_z

    grad_z0, grads = lax.scan(step, jnp.zeros_like(states[0]), (d_predictions, states, force), reverse=True)
    grads, states = grads.reshape(-1, n), states.reshape(-1, n)
    ones = jnp.ones(len(grads), grads.dtype)
    return (
        ones @ (grads * states),
        grads.T @ jnp.maximum(states, floor),
        grads.T @ drive.reshape(len(grads), d),
        ones @ grads,
        grad_z0,
        *(None,) * 4,
    )


forced_unroll.defvjp(_forward, _backward)


@partial(jax.jit, static_argnames=("steps", "skip"))
def rollout(a: Array, W: Array, h: Array, floor: Array, z0: Array, outputs: Array, steps: int, skip: int = 0) -> Array:
    """Run freely from z0 (batch, n) for `steps` steps and return what the units `outputs` (N,) did after the first
    `skip` of them, as (batch, steps - skip, N)."""
    W_t = W.T

    def step(z, _):
        z = a * z + jnp.maximum(z, floor) @ W_t + h
        return z, z[:, outputs]

    def quiet(_, z):
        return step(z, None)[0]

    z = lax.fori_loop(0, skip, quiet, z0)
    return lax.scan(step, z, None, length=steps - skip)[1].swapaxes(0, 1)


@jax.jit
def driven(a: Array, W: Array, C: Array, h: Array, floor: Array, inputs: Array) -> Array:
    """The states z_1 ... z_T (T, batch, n) of units that start at zero and are driven by inputs (T, batch, Q)."""
    W_t, C_t = W.T, C.T

    def step(z, s):
        z = a * z + jnp.maximum(z, floor) @ W_t + s @ C_t + h
        return z, z

    return lax.scan(step, jnp.zeros((inputs.shape[1], len(a)), jnp.float32), inputs)[1]


@partial(jax.jit, static_argnames=("steps",))
def trajectories(a: Array, W: Array, h: Array, floor: Array, z0: Array, steps: int) -> Array:
    """Phi*(z_t) for t = 0 ... steps - 1 of units that run by themselves, (steps, batch, n): what drives a block."""
    W_t = W.T

    def step(z, _):
        active = jnp.maximum(z, floor)
        return a * z + active @ W_t + h, active

    return lax.scan(step, z0, None, length=steps)[1]
