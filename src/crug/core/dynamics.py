"""The hot loop: free and driven rollouts, and the teacher-forced unroll with its hand-written adjoint (section 2.1).

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

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

Numbers = jax.Array | np.ndarray


class System(NamedTuple):
    """Units that run, apart from the network they are part of: all that a rollout needs."""

    a: Float[Numbers, " n"]
    W: Float[Numbers, "n n"]
    C: Float[Numbers, "n Q"]
    h: Float[Numbers, " n"]
    floor: Float[Numbers, " n"]
    encoder: Float[Numbers, "n N"]
    readout: Int[Numbers, " N"]  # the positions of the units that are read out

    def start(self, x0: Float[Numbers, "batch N"]) -> np.ndarray:
        """z_0 (batch, n) for observations x0 (batch, N): B x_0, then the readout coordinates set to x_0."""
        x0 = np.asarray(x0, np.float32)
        z0 = x0 @ np.asarray(self.encoder).T
        z0[:, self.readout] = x0
        return z0


def floors(relu: np.ndarray) -> np.ndarray:
    """What a unit's state is cut at: 0 where it rectifies, nothing where it is linear."""
    return np.where(relu, 0, -np.inf).astype(np.float32)


def one_step(z, active, a, W_t, push):
    """One step of equation 1: `active` is Phi*(z), `push` is all that comes from outside, biases included."""
    return a * z + active @ W_t + push


# running freely


def run_freely(
    system: System, x0: np.ndarray, steps: int, skip: int = 0, watched: np.ndarray | None = None
) -> np.ndarray:
    """What the readouts, or the units `watched`, do after the first `skip` of `steps` steps from observations x0
    (batch, N): (batch, steps - skip, units)."""
    units = system.readout if watched is None else watched
    return np.asarray(rollout(system, system.start(x0), units, steps, skip))


def run_under(system: System, x0: np.ndarray, inputs: np.ndarray, watched: np.ndarray | None = None) -> np.ndarray:
    """What the readouts, or the units `watched`, do under inputs (batch, T, Q) from observations x0 (batch, N):
    (batch, T, units)."""
    units = system.readout if watched is None else watched
    states = np.asarray(driven(*hearing(system, inputs, system.start(x0))))
    return np.take(states, units, axis=2).swapaxes(0, 1)


def hearing(system: System, inputs: Numbers, z0: np.ndarray) -> tuple[System, np.ndarray, jax.Array]:
    """What `driven` takes for inputs (batch, T, Q); other tasks of the network may have more or fewer."""
    channels = min(inputs.shape[2], system.C.shape[1])
    given = jnp.asarray(inputs, jnp.float32).swapaxes(0, 1)[:, :, :channels]
    return system._replace(C=system.C[:, :channels]), z0, given


def heard(system: System, z0: np.ndarray, steps: int, inputs: Numbers | None = None) -> jax.Array:
    """Phi*(z_t) for t = 0 ... steps - 1 of units that start at z0 (batch, n), under inputs (batch, T, Q) if there are
    any: what drives a block that listens to them, (batch, steps, n)."""
    if inputs is None:
        return trajectories(system, z0, steps).swapaxes(0, 1)
    states = driven(*hearing(system, inputs, z0))
    before = jnp.concatenate([jnp.asarray(z0)[None], states[:-1]])  # a unit hears what the others were
    return jnp.maximum(before, system.floor).swapaxes(0, 1)


@partial(jax.jit, static_argnames=("steps", "skip"))
def rollout(
    system: System, z0: Float[Array, "batch n"], outputs: Int[Array, " N"], steps: int, skip: int = 0
) -> Float[Array, "batch T N"]:
    """Run freely from z0 for `steps` steps; what the units `outputs` did after the first `skip` of them."""
    a, W_t, h, floor = system.a, system.W.T, system.h, system.floor

    def step(z, _):
        z = one_step(z, jnp.maximum(z, floor), a, W_t, h)
        return z, z[:, outputs]

    def quiet(_, z):
        return step(z, None)[0]

    z = lax.fori_loop(0, skip, quiet, z0)
    return lax.scan(step, z, None, length=steps - skip)[1].swapaxes(0, 1)


@jax.jit
def driven(system: System, z0: Float[Array, "batch n"], inputs: Float[Array, "T batch Q"]) -> Float[Array, "T batch n"]:
    """The states z_1 ... z_T of units that start at z0 and are driven by `inputs`."""
    a, W_t, C_t, h, floor = system.a, system.W.T, system.C.T, system.h, system.floor

    def step(z, s):
        z = one_step(z, jnp.maximum(z, floor), a, W_t, s @ C_t) + h
        return z, z

    return lax.scan(step, z0, inputs)[1]


@partial(jax.jit, static_argnames=("steps",))
def trajectories(system: System, z0: Float[Array, "batch n"], steps: int) -> Float[Array, "T batch n"]:
    """Phi*(z_t) for t = 0 ... steps - 1 of units that run by themselves."""
    a, W_t, h, floor = system.a, system.W.T, system.h, system.floor

    def step(z, _):
        active = jnp.maximum(z, floor)
        return one_step(z, active, a, W_t, h), active

    return lax.scan(step, z0, None, length=steps)[1]


# training


class Drive(NamedTuple):
    """What a teacher-forced unroll is given besides the parameters: no gradient enters it."""

    x: Float[Array, "T batch k"]
    drive: Float[Array, "T batch d"]
    force: Float[Array, " T"]
    floor: Float[Array, " n"]


def forcing(steps: int, interval: int, strength: float) -> Float[Array, " steps"]:
    """f_t for sparse teacher forcing: `strength` at t = 0, interval, 2 interval, ..."""
    return jnp.where(jnp.arange(steps) % interval == 0, strength, 0.0).astype(jnp.float32)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def forced_unroll(
    weights: tuple[Float[Array, " n"], Float[Array, "n n"], Float[Array, "n d"], Float[Array, " n"]],
    z0: Float[Array, "batch n"],
    given: Drive,
    outputs: int,
) -> Float[Array, "T batch outputs"]:
    """The states z_1 ... z_T of the first `outputs` units before forcing, from `weights` a, W, V and h."""
    return _forward(weights, z0, given, outputs)[0]


def _forward(weights, z0, given, outputs):
    a, W, V, h = weights
    x, drive, force, floor = given
    k, W_t = x.shape[2], W.T
    push = drive @ V.T + h if drive.shape[2] else jnp.broadcast_to(h, (len(force), 1, len(h)))

    def step(z, inputs):
        x_t, push_t, f = inputs
        forced = jnp.concatenate([(1 - f) * z[:, :k] + f * x_t, z[:, k:]], axis=1)
        z = one_step(forced, jnp.maximum(forced, floor), a, W_t, push_t)
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
    weights = (
        ones @ (grads * states),
        grads.T @ jnp.maximum(states, floor),
        grads.T @ drive.reshape(len(grads), d),
        ones @ grads,
    )
    return weights, grad_z0, None


forced_unroll.defvjp(_forward, _backward)
