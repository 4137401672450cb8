"""What a block is trained on: windows of a recording or trials, and what committed units do meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from crug.block import Block, Fixed, make_block
from crug.dynamics import driven, trajectories
from crug.network import Network

DRIVE_BYTES = 256 * 2**20
"""Memory for the stored trajectories of the units that feed a block."""


class Recipe(NamedTuple):
    """How gradient steps are taken; part of what is compiled."""

    window: int = 200
    batch: int = 16
    batches: int = 31
    interval: int = 16
    strength: float = 1.0
    optimiser: str = "adam"
    clip: float = 10.0
    range_weight: float = 0.0
    fixed_windows: bool = False


class Windows(NamedTuple):
    """Training data as they are drawn: window i starts at `starts[i]` and is driven by `drive[i]`."""

    x: Array  # (T, N)
    starts: Array  # (windows,)
    drive: Array  # (windows, steps, d), d = 0 where nothing feeds the block
    low: Array  # (N,) the observed range
    high: Array


class TrialSet(NamedTuple):
    """Trials to train on; `drive` is what committed units do meanwhile."""

    inputs: Array  # (trials, T, Q)
    targets: Array  # (trials, T, outputs)
    weight: Array  # (T,) of each step in the loss
    drive: Array  # (trials, T, d)

    @property
    def starts(self) -> Array:
        """As many as there are to draw from."""
        return self.inputs[:, 0, 0]


Data = Windows | TrialSet


class View(NamedTuple):
    """Another task as the same block sees it: its own data, and `order`, which puts its own readouts first."""

    windows: Data
    fixed: Fixed
    order: Array  # (n,)


def make_windows(
    network: Network,
    feeders: np.ndarray,
    x: np.ndarray,
    recipe: Recipe,
    rng: np.random.Generator,
    breaks: Sequence[int] = (),
) -> Windows:
    """All windows of a recording, none across a break; where units feed the block, as many random ones as memory holds.

    Committed units never hear from the block: their trajectory under a window is a constant, computed once here.
    """
    starts = _starts([0, *breaks, len(x)], recipe)
    width = len(feeders)
    if width:
        room = max(recipe.batch, DRIVE_BYTES // (4 * recipe.window * width))
        if room < len(starts):
            starts = np.sort(rng.choice(starts, room, replace=False))
        drive = feed(network, feeders, x[starts], recipe.window)
    else:
        drive = jnp.zeros((1, recipe.window, 0), jnp.float32)
    x = np.asarray(x, np.float32)
    return Windows(jnp.asarray(x), jnp.asarray(starts, jnp.int32), drive, x.min(axis=0), x.max(axis=0))


def _starts(edges: Sequence[int], recipe: Recipe) -> np.ndarray:
    """Where windows may start so that none spans an edge."""
    step = recipe.window if recipe.fixed_windows else 1
    return np.concatenate([np.arange(a, b - recipe.window, step) for a, b in itertools.pairwise(edges)])


def feed(network: Network, feeders: np.ndarray, x0: np.ndarray, steps: int) -> Array:
    """Phi*(z) of committed units started from observations x0 (windows, N): (windows, steps, d)."""
    floor = np.where(network.relu[feeders], 0, -np.inf).astype(np.float32)
    z0 = x0.astype(np.float32) @ network.B[feeders, : x0.shape[1]].T
    run = trajectories(network.a[feeders], network.W[np.ix_(feeders, feeders)], network.h[feeders], floor, z0, steps)
    return run.swapaxes(0, 1)


def make_trials(
    network: Network, feeders: np.ndarray, inputs: np.ndarray, targets: np.ndarray, weight: np.ndarray
) -> TrialSet:
    """Trials, with what the committed units do in each: they never hear from the block, so it is computed once."""
    s = jnp.asarray(inputs, jnp.float32)
    if len(feeders):
        floor = np.where(network.relu[feeders], 0, -np.inf).astype(np.float32)
        own = (network.a[feeders], network.W[np.ix_(feeders, feeders)], network.C[feeders], network.h[feeders])
        states = driven(*own, floor, s.swapaxes(0, 1))
        before = jnp.concatenate([jnp.zeros_like(states[:1]), states[:-1]])  # a unit hears what the others were
        drive = jnp.maximum(before, floor).swapaxes(0, 1)
    else:
        drive = jnp.zeros((len(s), s.shape[1], 0), jnp.float32)
    return TrialSet(s, jnp.asarray(targets, jnp.float32), jnp.asarray(weight, jnp.float32), drive)


def make_view(
    network: Network, block: Block, readout: np.ndarray, pieces: Sequence[np.ndarray], recipe: Recipe
) -> View:
    """Another task for the same block: `readout` are its units, pieces (T, N) its data. No window spans two pieces."""
    members = block.members
    place = np.searchsorted(members, readout, sorter=(sorter := np.argsort(members)))
    first = sorter[place]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(block.units)), first)])
    seen = make_block(network, members[order[order < len(members)]], block.feeders, len(readout))
    starts = _starts([0, *np.cumsum([len(piece) for piece in pieces])], recipe)
    x = np.concatenate(pieces).astype(np.float32)
    drive = jnp.zeros((1, recipe.window, 0), jnp.float32)
    windows = Windows(jnp.asarray(x), jnp.asarray(starts, jnp.int32), drive, x.min(axis=0), x.max(axis=0))
    return View(windows, seen.fixed, jnp.asarray(order, jnp.int32))
