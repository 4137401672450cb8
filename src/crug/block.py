"""A block: the units that learn now, readouts first, with the frozen units that feed them; and its compaction.

The arrays are padded to multiples of eight, so that few shapes are compiled; a padded or closed unit has a gate of
exactly zero and therefore neither influence nor gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from crug.gates import START
from crug.network import Network

GRAIN = 8
Params = dict[str, Array]
UNIT_AXES = {"a": (0,), "W": (0, 1), "V": (0,), "C": (0,), "h": (0,), "log_alpha": (0,), "lateral": ()}
"""Which axes of a parameter run over the block's units."""


class Fixed(NamedTuple):
    """What does not learn: arrays over the block's units."""

    floor: Array  # (n,) -inf for a linear unit, 0 for a ReLU unit
    alive: Array  # (n,) 1, or 0 for padding
    gated: Array  # (n,) 1 where the gate learns: every live unit but the readouts
    relu: Array  # (n,) 1 for a ReLU unit
    encoder: Array  # (n, N)
    decoder: Array  # (n, outputs) for a task of trials, otherwise (n, 0)


class State(NamedTuple):
    """What training moves on. `running` is what the objective keeps a running account of (see Objective.account)."""

    params: Params
    optimiser: Any
    running: Params


@dataclass(frozen=True)
class Block:
    """Who learns: global indices of the units in the order of the arrays (-1 pads), and of those that feed them."""

    units: np.ndarray
    feeders: np.ndarray
    dim: int
    fixed: Fixed
    decoder: np.ndarray | None = None

    @property
    def members(self) -> np.ndarray:
        return self.units[self.units >= 0]


def padded(n: int) -> int:
    return -(-n // GRAIN) * GRAIN


def open_block(
    network: Network,
    units: np.ndarray,
    readout: np.ndarray,
    feeders: np.ndarray,
    decoder: np.ndarray | None = None,
) -> tuple[Block, Params]:
    """A block of `units` (the readouts among them) with the network's present parameters."""
    rest = np.setdiff1d(units, readout)
    order = np.concatenate([readout, rest]).astype(np.int64)
    params = {
        "a": network.a[order],
        "W": network.W[np.ix_(order, order)],
        "V": network.W[np.ix_(order, feeders)],
        "C": network.C[order],
        "h": network.h[order],
        "log_alpha": np.full(len(order), START, np.float32),
        "lateral": np.full(len(feeders), START, np.float32),
    }
    block = make_block(network, order, np.asarray(feeders, np.int64), len(readout), decoder)
    keep = np.arange(len(order))
    return block, {name: jnp.asarray(gather(name, value, keep)) for name, value in params.items()}


def make_block(
    network: Network, order: np.ndarray, feeders: np.ndarray, dim: int, decoder: np.ndarray | None = None
) -> Block:
    n = padded(len(order))
    units = np.concatenate([order, np.full(n - len(order), -1)]).astype(np.int64)
    alive = units >= 0
    relu = np.where(alive, network.relu[units], False)
    encoder = np.where(alive[:, None], network.B[units, :dim], 0)
    outputs = np.zeros((n, 0)) if decoder is None else np.where(alive[:, None], decoder[units], 0)
    f32 = np.float32
    return Block(
        units,
        feeders,
        dim,
        Fixed(
            floor=jnp.asarray(np.where(relu, 0, -np.inf).astype(f32)),
            alive=jnp.asarray(alive.astype(f32)),
            gated=jnp.asarray((alive & (np.arange(n) >= dim)).astype(f32)),
            relu=jnp.asarray(relu.astype(f32)),
            encoder=jnp.asarray(encoder.astype(f32)),
            decoder=jnp.asarray(outputs.astype(f32)),
        ),
        decoder,
    )


def compact(network: Network, block: Block, state: State, keep: np.ndarray) -> tuple[Block, State]:
    """The same training with only the units at positions `keep`: exact where the others' gates are zero."""
    smaller = make_block(network, block.units[keep], block.feeders, block.dim, block.decoder)

    def shrink(path, leaf):
        name = next((k.key for k in reversed(path) if isinstance(k, jax.tree_util.DictKey)), None)
        return jnp.asarray(gather(name, np.asarray(leaf), keep)) if name in UNIT_AXES else leaf

    return smaller, jax.tree_util.tree_map_with_path(shrink, state)


def gather(name: str | None, value: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """The kept units of one array, zero-padded again."""
    extra = padded(len(keep)) - len(keep)
    for axis in UNIT_AXES[name] if name else ():
        width = [(0, extra if i == axis else 0) for i in range(value.ndim)]
        value = np.pad(np.take(value, keep, axis=axis), width)
    return value


def system(network: Network, block: Block, effective: Params) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """What runs freely: the units that feed the block and the block, as parameters, encoder rows and readout."""
    e = {name: np.asarray(effective[name]) for name in ("a", "W", "V", "h")}
    f, d = block.feeders, len(block.feeders)
    W = np.block([[network.W[np.ix_(f, f)], np.zeros((d, len(e["a"])), np.float32)], [e["V"], e["W"]]])
    params = {
        "a": np.concatenate([network.a[f], e["a"]]),
        "W": W,
        "h": np.concatenate([network.h[f], e["h"]]),
        "floor": np.concatenate([np.where(network.relu[f], 0, -np.inf), block.fixed.floor]).astype(np.float32),
    }
    encoder = np.concatenate([network.B[f, : block.dim], block.fixed.encoder])
    return params, encoder, d + np.arange(block.dim)
