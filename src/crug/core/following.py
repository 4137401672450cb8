"""A network beside a recording: corrected by each sample, it follows what was recorded, and foresees the next one.

Its readouts are pulled to the data at every step. Its hidden units are only carried along, and after some samples they
no longer show how they were started: the network is synchronised.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from crug.core.dynamics import System, driven, hearing, one_step, rollout


def foreseen(system: System, x: np.ndarray, strength: float = 1.0, inputs: np.ndarray | None = None) -> np.ndarray:
    """What the network expects next at every sample of x (T, N) under inputs (T, Q) if there are any, corrected by each
    of them: (T, N), row t foresees x[t + 1]. At full strength a correction replaces the readouts, with less it mixes.
    """
    given = None if inputs is None else inputs[None]
    return np.asarray(_follow(*_along(system, x[None], given), jnp.float32(strength))[1])[:, 0]


def forecast(
    system: System, context: np.ndarray, steps: int, gain: float, inputs: np.ndarray | None = None
) -> np.ndarray:
    """What comes after contexts (batch, T, N): the readouts (batch, steps, N) of the network that has followed them,
    corrected by the part `gain` of what it missed, and then runs freely. Where there are inputs (batch, T - 1 + steps,
    Q), they begin with those of the contexts. Without a gain only the last sample counts."""
    before = None if inputs is None else inputs[:, : context.shape[1] - 1]
    z = synchronised(system, context, gain, before)
    if inputs is None:
        return np.asarray(rollout(system, z, system.readout, steps))
    states = np.asarray(driven(*hearing(system, inputs[:, context.shape[1] - 1 :][:, :steps], z)))
    return np.take(states, system.readout, axis=2).swapaxes(0, 1)


def synchronised(system: System, x: np.ndarray, gain: float, inputs: np.ndarray | None = None) -> np.ndarray:
    """The states (batch, n) of the network that has followed x (batch, T, N), under inputs (batch, T - 1, Q) if there
    are any, corrected by the last sample too."""
    if not gain or x.shape[1] == 1:
        return system.start(x[:, -1])
    z = np.array(_follow(*_along(system, x[:, :-1], inputs), jnp.float32(gain))[0])
    z[:, system.readout] += np.float32(gain) * (x[:, -1].astype(np.float32) - z[:, system.readout])
    return z


def _along(
    system: System, x: np.ndarray, inputs: np.ndarray | None
) -> tuple[System, np.ndarray, jax.Array, np.ndarray]:
    """What `_follow` takes for x (batch, T, N)."""
    given = np.zeros((*x.shape[:2], 0), np.float32) if inputs is None else inputs
    system, z0, heard = hearing(system, given, system.start(x[:, 0]))
    return system, z0, heard, np.asarray(x, np.float32).swapaxes(0, 1)


@jax.jit
def _follow(
    system: System,
    z0: Float[Array, "batch n"],
    inputs: Float[Array, "T batch Q"],
    x: Float[Array, "T batch N"],
    strength: Float[Array, ""],
) -> tuple[Float[Array, "batch n"], Float[Array, "T batch N"]]:
    """The states after the last sample, and what was read out one step after each."""
    W_t, C_t, readout = system.W.T, system.C.T, system.readout

    def one(z, item):
        x_t, s = item
        z = z.at[:, readout].set((1 - strength) * z[:, readout] + strength * x_t)
        z = one_step(z, jnp.maximum(z, system.floor), system.a, W_t, s @ C_t + system.h)
        return z, z[:, readout]

    return lax.scan(one, z0, (x, inputs))
