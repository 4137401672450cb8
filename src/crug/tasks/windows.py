"""Windows of a recording, with what committed units do meanwhile, and the loss on them (section 2.1)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from crug.core.block import Block, Fixed, Opening, Params, View, make_block
from crug.core.dynamics import Drive, forced_unroll, forcing, heard
from crug.core.network import Network
from crug.sections import TrainingSettings

DRIVE_BYTES = 256 * 2**20
"""Memory for the stored trajectories of the units that feed a block."""
NOBODY = np.array([], np.int64)


class Forcing(NamedTuple):
    """How a window is unrolled and what leaving the observed range costs: part of what is compiled."""

    window: int
    interval: int
    strength: float
    range_weight: float

    @classmethod
    def of(cls, settings: TrainingSettings) -> Forcing:
        return cls(settings.window, settings.interval, settings.strength, settings.range_weight)


@partial(jax.tree_util.register_dataclass, data_fields=["x", "starts", "drive", "low", "high"], meta_fields=["forcing"])
@dataclass(frozen=True)
class Windows:
    """Training data as they are drawn: window i starts at `starts[i]` and is driven by `drive[i]`."""

    x: Array  # (T, N)
    starts: Array  # (windows,)
    drive: Array  # (windows, steps, d), d = 0 where nothing feeds the block
    low: Array  # (N,) the observed range
    high: Array
    forcing: Forcing

    @property
    def count(self) -> int:
        return len(self.starts)

    def cut(self, x: Array, index: Array, length: int) -> Array:
        """`length` samples of x (T, N) from where the windows `index` start: (length, batch, N)."""
        take = jax.vmap(lambda i: lax.dynamic_slice(x, (self.starts[i], 0), (length, x.shape[1])))
        return take(index).swapaxes(0, 1)

    def driven_by(self, index: Array) -> Array:
        """What feeds the block in the windows `index`: (steps, batch, d)."""
        if self.drive.shape[2]:
            return self.drive[index].swapaxes(0, 1)
        return jnp.zeros((self.forcing.window, len(index), 0), jnp.float32)

    def loss(self, effective: Params, fixed: Fixed, index: Array) -> Array:
        x = self.cut(self.x, index, self.forcing.window + 1)
        return self.error(effective, effective["V"], fixed, x, self.driven_by(index))

    def error(self, effective: Params, V: Array, fixed: Fixed, x: Array, drive: Array) -> Array:
        """Mean squared error of the unforced predictions of x (T + 1, batch, N), and what leaving the range costs.

        A sheet of the attractor that lies at the edge of the observed range (Rossler's disc) is a place where a tiny
        error of the prediction puts the rollout where no observation ever was. The squared error does not see it; a
        price on the distance beyond the range does.
        """
        how, dim = self.forcing, x.shape[2]
        z0 = x[0] @ fixed.encoder.T
        z0 = jnp.concatenate([x[0], z0[:, dim:]], axis=1)
        given = Drive(x[:-1], drive, forcing(how.window, how.interval, how.strength), fixed.floor)
        e = effective
        predicted: Any = forced_unroll((e["a"], e["W"], V, e["h"]), z0, given, dim)
        error = (predicted - x[1:]) ** 2
        if how.range_weight:
            error += how.range_weight * (predicted - jnp.clip(predicted, self.low, self.high)) ** 2
        return jnp.mean(error)


def make_windows(
    network: Network,
    feeders: np.ndarray,
    x: np.ndarray,
    settings: TrainingSettings,
    rng: np.random.Generator,
    breaks: Sequence[int] = (),
) -> Windows:
    """All windows of a recording, none across a break; where units feed the block, as many random ones as memory holds.

    Committed units never hear from the block: their trajectory under a window is a constant, computed once here.
    """
    starts = window_starts([0, *breaks, len(x)], settings)
    if len(feeders):
        starts = affordable(starts, len(feeders), settings, rng)
        drive = feed(network, feeders, x[starts], settings.window)
    else:
        drive = jnp.zeros((1, settings.window, 0), jnp.float32)
    return bounded(x, starts, drive, settings)


def bounded(x: np.ndarray, starts: np.ndarray, drive: Array, settings: TrainingSettings) -> Windows:
    """Windows that know the range of their recording."""
    x = np.asarray(x, np.float32)
    low, high = jnp.asarray(x.min(axis=0)), jnp.asarray(x.max(axis=0))
    return Windows(jnp.asarray(x), jnp.asarray(starts, jnp.int32), drive, low, high, Forcing.of(settings))


def window_starts(edges: Sequence[int], settings: TrainingSettings) -> np.ndarray:
    """Where windows may start so that none spans an edge."""
    step = settings.window if settings.windows == "fixed" else 1
    return np.concatenate([np.arange(a, b - settings.window, step) for a, b in itertools.pairwise(edges)])


def affordable(starts: np.ndarray, width: int, settings: TrainingSettings, rng: np.random.Generator) -> np.ndarray:
    """As many of the starts, drawn at random, as there is memory for what so many units do from each."""
    room = max(settings.batch, DRIVE_BYTES // (4 * settings.window * width))
    return np.sort(rng.choice(starts, room, replace=False)) if room < len(starts) else starts


def feed(network: Network, feeders: np.ndarray, x0: np.ndarray, steps: int, inputs: np.ndarray | None = None) -> Array:
    """Phi*(z) of committed units started from observations x0 (windows, N): (windows, steps, d)."""
    z0 = x0.astype(np.float32) @ network.B[feeders, : x0.shape[1]].T
    return heard(network.system(feeders, NOBODY), z0, steps, inputs)


def window_view(
    network: Network, block: Block, readout: np.ndarray, pieces: Sequence[np.ndarray], settings: TrainingSettings
) -> View:
    """Another recording for the same block: `readout` are its units, pieces (T, N) its data. No window spans two."""
    members = block.members
    place = np.searchsorted(members, readout, sorter=(sorter := np.argsort(members)))
    first = sorter[place]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(block.units)), first)])
    opening = Opening(readout, NOBODY, NOBODY, block.feeders)
    seen = make_block(network, opening, members[order[order < len(members)]])
    starts = window_starts([0, *np.cumsum([len(piece) for piece in pieces])], settings)
    nothing = jnp.zeros((1, settings.window, 0), jnp.float32)
    return View(bounded(np.concatenate(pieces), starts, nothing, settings), seen.fixed, jnp.asarray(order, jnp.int32))
