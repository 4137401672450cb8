"""A block: the units that learn now, readouts first, with the frozen units that feed them; and its compaction.

The arrays are padded to multiples of eight, so that few shapes are compiled; a padded unit has parameters of exactly
zero and therefore neither influence nor gradient.

| paper | here | shape | meaning |
|---|---|---|---|
| a, W, h, C | `a`, `W`, `h`, `C` | (n,), (n, n), (n,), (n, Q) | parameters among the block's own units |
| transfer block of W | `V` | (n, d) | what the block hears from the committed units that feed it |
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int

from crug.core.dynamics import System, floors
from crug.core.network import Network

GRAIN = 8
Params = dict[str, jax.Array]
UNIT_AXES: dict[str, tuple[int, ...]] = {"a": (0,), "W": (0, 1), "V": (0,), "C": (0,), "h": (0,)}
"""Which axes of a parameter run over the block's units."""
LEARNED = ("a", "W", "C", "h")
"""The parameters that learn under every method; a block that hears committed units also learns `V`."""


class Fixed(NamedTuple):
    """What does not learn: arrays over the block's units."""

    floor: Float32[Array, " n"]  # -inf for a linear unit, 0 for a ReLU unit
    alive: Float32[Array, " n"]  # 1, or 0 for padding
    hidden: Float32[Array, " n"]  # 1 for every live unit but the readouts
    relu: Float32[Array, " n"]  # 1 for a ReLU unit
    encoder: Float32[Array, "n N"]
    decoder: Float32[Array, "n outputs"]  # no columns where units are read out themselves


class State(NamedTuple):
    """What training moves on. `account` is what the objective keeps of every step (see Objective.account)."""

    params: Params
    optimiser: Any
    account: Params


class View(NamedTuple):
    """Another task as the same block sees it: `order` puts that task's own readouts first."""

    data: Any  # of the other task, see tasks.base.Data
    fixed: Fixed
    order: Int[Array, " n"]


@dataclass(frozen=True)
class Block:
    """Who learns: global indices of the units in the order of the arrays (-1 pads), and of those that feed them."""

    units: Int[np.ndarray, " n"]
    feeders: Int[np.ndarray, " d"]
    dim: int
    fixed: Fixed
    decoder: np.ndarray | None = None

    @property
    def members(self) -> np.ndarray:
        return self.units[self.units >= 0]

    @property
    def counts(self) -> tuple[int, int]:
        """How many linear and ReLU units there are."""
        relu = int(np.asarray(self.fixed.relu).sum())
        return len(self.members) - relu, relu


class Opening(NamedTuple):
    """Who takes part in learning a task."""

    readout: np.ndarray  # (N,) the units that are read out
    linear: np.ndarray  # the other linear units that may learn, in the order in which they are taken
    relu: np.ndarray  # the ReLU units that may learn, in the order in which they are taken
    feeders: np.ndarray  # committed units that the learning ones may listen to
    decoder: np.ndarray | None = None  # (M, outputs) where outputs are made of all units instead of read out

    @property
    def size(self) -> int:
        return len(self.readout) + len(self.linear) + len(self.relu)

    def units(self, size: int | None) -> np.ndarray:
        """All of them, or `size` of them: the readouts, then as many of each kind as there are."""
        rest = self.size - len(self.readout) if size is None else max(0, size - len(self.readout))
        relu = min(len(self.relu), max((rest + 1) // 2, rest - len(self.linear)))
        return np.concatenate([self.readout, self.linear[: rest - relu], self.relu[:relu]])


def padded(n: int) -> int:
    """The size of the arrays of a block of n units."""
    return -(-n // GRAIN) * GRAIN


def open_block(network: Network, opening: Opening, size: int | None = None) -> tuple[Block, Params]:
    """A block of all units of the opening, or `size` of them, with the network's present parameters."""
    order = np.concatenate([opening.readout, np.setdiff1d(opening.units(size), opening.readout)]).astype(np.int64)
    block = make_block(network, opening, order)
    params = {
        "a": network.a[order],
        "W": network.W[np.ix_(order, order)],
        "V": network.W[np.ix_(order, block.feeders)],
        "C": network.C[order],
        "h": network.h[order],
    }
    return block, {
        name: jnp.asarray(gather(value, np.arange(len(order)), UNIT_AXES[name])) for name, value in params.items()
    }


def make_block(network: Network, opening: Opening, order: np.ndarray) -> Block:
    """The block of the units `order`, the opening's readouts first."""
    n, dim, decoder = padded(len(order)), len(opening.readout), opening.decoder
    units = np.concatenate([order, np.full(n - len(order), -1)]).astype(np.int64)
    alive = units >= 0
    relu = np.where(alive, network.relu[units], False)
    encoder = np.where(alive[:, None], network.B[units, :dim], 0)
    outputs = np.zeros((n, 0)) if decoder is None else np.where(alive[:, None], decoder[units], 0)
    f32 = np.float32
    fixed = Fixed(
        floor=jnp.asarray(floors(relu)),
        alive=jnp.asarray(alive.astype(f32)),
        hidden=jnp.asarray((alive & (np.arange(n) >= dim)).astype(f32)),
        relu=jnp.asarray(relu.astype(f32)),
        encoder=jnp.asarray(encoder.astype(f32)),
        decoder=jnp.asarray(outputs.astype(f32)),
    )
    return Block(units, np.asarray(opening.feeders, np.int64), dim, fixed, decoder)


def compact(
    network: Network, block: Block, state: State, keep: np.ndarray, axes: Mapping[str, tuple[int, ...]] = UNIT_AXES
) -> tuple[Block, State]:
    """The same training with only the units at positions `keep`: exact where the others have no influence.

    `axes` says which axes of every array run over units, where a method brings arrays of its own.
    """
    nobody = np.array([], np.int64)
    opening = Opening(block.units[: block.dim], nobody, nobody, block.feeders, block.decoder)
    smaller = make_block(network, opening, block.units[keep])

    def shrink(path, leaf):
        name = next((k.key for k in reversed(path) if isinstance(k, jax.tree_util.DictKey)), "")
        return jnp.asarray(gather(np.asarray(leaf), keep, axes[name])) if name in axes else leaf

    return smaller, jax.tree_util.tree_map_with_path(shrink, state)


def gather(value: np.ndarray, keep: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The kept units of one array along `axes`, zero-padded again."""
    extra = padded(len(keep)) - len(keep)
    for axis in axes:
        width = [(0, extra if i == axis else 0) for i in range(value.ndim)]
        value = np.pad(np.take(value, keep, axis=axis), width)
    return value


def in_block(block: Block, parameters: Mapping[str, np.ndarray]) -> Params:
    """Arrays over the whole network, by the parameter they belong to, in the order of the block."""
    return {name: jnp.asarray(gather(value, block.members, UNIT_AXES[name])) for name, value in parameters.items()}


def by_unit(block: Block, params: Mapping[str, jax.Array]) -> dict[str, np.ndarray]:
    """The block's arrays in ascending order of its units, without padding: the inverse of `in_block`."""
    order = np.argsort(block.members)
    found = {}
    for name, value in params.items():
        found[name] = np.asarray(value)
        for axis in UNIT_AXES.get(name, ()):
            found[name] = np.take(found[name], order, axis=axis)
    return found


def masked(params: Params, mask: Float32[Array, " n"]) -> Params:
    """The parameters with every unit weighted by `mask`: what it is, hears and says to the others."""
    rows = {name: mask[:, None] * params[name] for name in ("V", "C")}
    return {"a": mask * params["a"], "W": mask[:, None] * params["W"] * mask, "h": mask * params["h"], **rows}


def reordered(effective: Params, order: Int[Array, " n"]) -> Params:
    """The parameters with the units in another order."""
    rows = {name: effective[name][order] for name in ("a", "V", "C", "h")}
    return {**rows, "W": effective["W"][order][:, order]}


def seen_as(block: Block, view: View) -> Block:
    """The block as another task sees it."""
    return replace(block, units=block.units[np.asarray(view.order)], dim=view.fixed.encoder.shape[1], fixed=view.fixed)


def system_of(network: Network, block: Block, effective: Params) -> System:
    """What runs freely: the units that feed the block, and the block behind them."""
    e = {name: np.asarray(effective[name]) for name in ("a", "W", "V", "C", "h")}
    f, d = block.feeders, len(block.feeders)
    return System(
        a=np.concatenate([network.a[f], e["a"]]),
        W=np.block([[network.W[np.ix_(f, f)], np.zeros((d, len(e["a"])), np.float32)], [e["V"], e["W"]]]),
        C=np.concatenate([network.C[f], e["C"]]),
        h=np.concatenate([network.h[f], e["h"]]),
        floor=np.concatenate([floors(network.relu[f]), block.fixed.floor]),
        encoder=np.concatenate([network.B[f, : block.dim], block.fixed.encoder]),
        readout=d + np.arange(block.dim),
    )
