"""Rollouts with the variability of life: noise on the readouts, of a kind that depends on where they are.

No deterministic network has the small differences from stride to stride or from beat to beat. A task may carry a
`Noise`: the state space in regions, each with a sample of what the network, corrected at every step, failed to foresee
there. In a rollout every step adds one of these to the readouts, which never leave the range that was observed by more
than a little: a rollout under noise cannot run away through them. Where hidden units run away all the same, the network
is begun anew from where its readouts are. Noise of the system goes on in the network; of noise that was only measured,
the network itself hears nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Float32, Int

from crug.core.dynamics import Numbers, System, one_step, rollout, run_freely, run_under

AWAY = 1e3
"""Standard deviations beyond which a unit has run away. The network is then begun anew from where its readouts are."""
PIECE = 100_000
"""Steps of a long rollout that are computed at a time."""


class Noise(NamedTuple):
    """Of one task, in its standardised units."""

    centres: Float32[Numbers, "K N"]  # of the regions: the nearest one counts
    draws: Float32[Numbers, "K L N"]  # in region k, one of draws[k] is added
    low: Float32[Numbers, " N"]
    high: Float32[Numbers, " N"]
    heard: Float32[Numbers, ""]  # the part of it that goes on in the network

    def scaled(self, scale: float) -> "Noise":
        """So many times as strong."""
        return self._replace(draws=np.float32(scale) * self.draws)

    def centred(self) -> "Noise":
        """Without its mean in every region."""
        draws = np.asarray(self.draws)
        return self._replace(draws=draws - draws.mean(axis=1, keepdims=True))


def roll_out(
    system: System,
    x0: np.ndarray,
    rollout: tuple[int, int],
    noise: Noise | None = None,
    seed: int | None = None,
    inputs: np.ndarray | None = None,
) -> np.ndarray:
    """What the readouts do from observations x0 (batch, N), under inputs (batch, T, Q) if there are any, and under
    noise if there is any and a seed: (batch, steps - skip, N), where `rollout` are the steps and how many of the first
    are dropped.

    The noise of row i follows from the seed and i alone, not from how many rows there are.
    """
    steps, skip = rollout
    if noise is None or seed is None:
        if inputs is None:
            return run_freely(system, x0, steps, skip)
        return run_under(system, x0, inputs[:, :steps])[:, skip:]
    z0 = system.start(x0)
    given = np.zeros((len(z0), steps, 0), np.float32) if inputs is None else np.asarray(inputs, np.float32)
    channels = min(given.shape[2], system.C.shape[1])  # other tasks of the network may have more or fewer
    system = system._replace(C=system.C[:, :channels])
    pushes = given[:, :steps, :channels].swapaxes(0, 1)
    return np.asarray(_disturbed(system, noise, z0, pushes, jax.random.key(seed))[1][skip:]).swapaxes(0, 1)


def in_pieces(
    system: System, x0: np.ndarray, steps: int, noise: Noise | None = None, seed: int | None = None
) -> Iterator[np.ndarray]:
    """What `roll_out` gives without inputs, to the same bits, some steps after others: (batch, at most PIECE, N)."""
    z, done = system.start(x0), 0
    while done < steps:
        count = min(PIECE, steps - done)
        if noise is None or seed is None:
            states = np.asarray(rollout(system, z, np.arange(len(system.a)), count))
            z, seen = states[:, -1], np.take(states, system.readout, axis=2)
        else:
            none = np.zeros((count, len(z), 0), np.float32)
            at = jnp.int32(done)
            z, out = _disturbed(system._replace(C=system.C[:, :0]), noise, z, none, jax.random.key(seed), at)
            z, seen = np.asarray(z), np.asarray(out).swapaxes(0, 1)
        done += count
        yield seen


@jax.jit
def _disturbed(
    system: System,
    noise: Noise,
    z0: Float[Array, "batch n"],
    inputs: Float[Array, "T batch Q"],
    key: Array,
    first: Int[Array, ""] | int = 0,
) -> tuple[Float[Array, "batch n"], Float[Array, "T batch N"]]:
    W_t, C_t, readout = system.W.T, system.C.T, system.readout
    rows = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(len(z0)))
    squares = (noise.centres**2).sum(axis=1)
    count = noise.draws.shape[1]
    draw = jax.vmap(lambda row, t: jax.random.randint(jax.random.fold_in(row, t), (), 0, count), (0, None))
    drawn = jax.vmap(draw, (None, 0))(rows, first + jnp.arange(len(inputs)))  # all at once: a step at a time is slow

    def one(z, item):
        number, s = item
        z = one_step(z, jnp.maximum(z, system.floor), system.a, W_t, s @ C_t + system.h)
        x = z[:, readout]
        region = jnp.argmin(squares - 2 * x @ noise.centres.T, axis=1)
        added = noise.draws[region, number]
        seen = jnp.clip(x + added, noise.low, noise.high)
        heard = jnp.clip(x + noise.heard * added, noise.low, noise.high)
        begun = (heard @ system.encoder.T).at[:, readout].set(heard)
        z = z.at[:, readout].set(heard)
        gone = ~(jnp.abs(z).max(axis=1, keepdims=True) < AWAY)
        return jnp.where(gone, begun, z), seen

    return lax.scan(one, z0, (drawn, inputs))
