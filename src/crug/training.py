"""Windows, loss, optimiser, epochs as one compiled call, and the compaction of a block.

A block is the units that learn now, readouts first, with the frozen units that feed them. Its arrays are padded to
multiples of eight, so that few shapes are compiled; a padded or closed unit has a gate of exactly zero and therefore
neither influence nor gradient.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax

from crug.dynamics import driven, forced_unroll, forcing, trajectories
from crug.gates import START
from crug.network import Network

GRAIN = 8
CHUNK = 32
"""Most epochs in one compiled call: how often the host may look."""
DRIVE_BYTES = 256 * 2**20
"""Memory for the stored trajectories of the units that feed a block."""

Params = dict[str, Array]
UNIT_AXES = {"a": (0,), "W": (0, 1), "V": (0,), "C": (0,), "h": (0,), "log_alpha": (0,), "lateral": ()}
"""Which axes of a parameter run over the block's units."""


class Recipe(NamedTuple):
    """How gradient steps are taken; part of what is compiled."""

    window: int = 200
    batch: int = 16
    batches: int = 31
    interval: int = 16
    strength: float = 1.0
    optimiser: str = "radam"
    clip: float = 10.0
    range_weight: float = 0.0
    fixed_windows: bool = False


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


@dataclass(frozen=True)
class Objective:
    """What a method does to the parameters and adds to the loss. Hashable: part of what is compiled.

    As it stands it is the task's loss and nothing else; a method overrides what it needs. Where training is given other
    tasks (`View`), one of them is drawn for an extra step after every `replay` steps; with 0, all tasks take turns.
    """

    replay: int = field(default=0, kw_only=True)

    @property
    def lateral(self) -> bool:
        """Whether the units that feed the block have gates of their own."""
        return False

    def effective(self, params: Params, fixed: Fixed, controls: dict[str, Array]) -> Params:
        """The parameters that run. A padded unit has none."""
        on = fixed.alive
        rows = {name: on[:, None] * params[name] for name in ("V", "C")}
        return {"a": on * params["a"], "W": on[:, None] * params["W"] * on, "h": on * params["h"], **rows}

    def penalty(
        self, params: Params, effective: Params, fixed: Fixed, controls: dict[str, Array], progress: Array
    ) -> Array:
        """What is added to the task's loss."""
        return jnp.float32(0)

    def freeze(self, updates: Params, params: Params) -> Params:
        """The last word on an update, e.g. to hold a closed gate."""
        return updates

    def begin(self, params: Params) -> Params:
        """The account at the start of a phase, arrays by name."""
        return {}

    def account(self, running: Params, gradients: Params, change: Params) -> Params:
        """The account after a step: the gradients of the whole loss before it, and the change that it made."""
        return running


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
    step = recipe.window if recipe.fixed_windows else 1
    edges = [0, *breaks, len(x)]
    starts = np.concatenate([np.arange(a, b - recipe.window, step) for a, b in itertools.pairwise(edges)])
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


def answers(effective: Params, fixed: Fixed, trials: TrialSet, index: Array) -> Array:
    """The outputs (T, batch, outputs) of the block in the trials `index`."""
    e, n = effective, len(effective["a"])
    drive = jnp.concatenate([trials.inputs[index], trials.drive[index]], axis=2).swapaxes(0, 1)
    steps, batch = drive.shape[:2]
    V = jnp.concatenate([e["C"], e["V"]], axis=1)
    z0, unforced = jnp.zeros((batch, n), jnp.float32), jnp.zeros((steps, batch, 0), jnp.float32)
    states: Any = forced_unroll(
        e["a"], e["W"], V, e["h"], z0, unforced, drive, jnp.zeros(steps, jnp.float32), fixed.floor, n
    )
    return states @ fixed.decoder


def task_loss(effective: Params, fixed: Fixed, data: Data, index: Array, recipe: Recipe) -> Array:
    """The loss of a task on the windows, or the trials, `index`."""
    if isinstance(data, Windows):
        return window_loss(effective, fixed, data, index, recipe)
    error = (answers(effective, fixed, data, index) - data.targets[index].swapaxes(0, 1)) ** 2
    return jnp.mean(data.weight[:, None, None] * error)


def optimiser(recipe: Recipe) -> optax.GradientTransformation:
    scale = {"radam": optax.scale_by_radam, "adam": optax.scale_by_adam}[recipe.optimiser]
    return optax.chain(optax.clip_by_global_norm(recipe.clip), scale())


def start(params: Params, recipe: Recipe, objective: Objective) -> State:
    return State(params, optimiser(recipe).init(params), objective.begin(params))


def window_loss(effective: Params, fixed: Fixed, windows: Windows, index: Array, recipe: Recipe) -> Array:
    """Mean squared error of the unforced predictions over the windows `index`, and what leaving the range costs.

    A sheet of the attractor that lies at the edge of the observed range (Rossler's disc) is a place where a tiny error
    of the prediction puts the rollout where no observation ever was. The squared error does not see it; a price on the
    distance beyond the range does.
    """
    length, dim = recipe.window, windows.x.shape[1]
    cut = jax.vmap(lambda i: lax.dynamic_slice(windows.x, (windows.starts[i], 0), (length + 1, dim)))
    x = cut(index).swapaxes(0, 1)
    z0 = x[0] @ fixed.encoder.T
    z0 = jnp.concatenate([x[0], z0[:, dim:]], axis=1)
    if windows.drive.shape[2]:
        drive = windows.drive[index].swapaxes(0, 1)
    else:
        drive = jnp.zeros((length, len(index), 0), jnp.float32)
    force = forcing(length, recipe.interval, recipe.strength)
    e = effective
    predicted: Any = forced_unroll(e["a"], e["W"], e["V"], e["h"], z0, x[:-1], drive, force, fixed.floor, dim)
    error = (predicted - x[1:]) ** 2
    if recipe.range_weight:
        error += recipe.range_weight * (predicted - jnp.clip(predicted, windows.low, windows.high)) ** 2
    return jnp.mean(error)


@partial(jax.jit, static_argnames="recipe")
def unit_costs(effective: Params, fixed: Fixed, windows: Data, index: Array, recipe: Recipe) -> Array:
    """The loss (n,) that would remain without each of the block's units in turn."""

    def without(open_: Array) -> Array:
        e = effective
        e = {
            "a": open_ * e["a"],
            "W": open_[:, None] * e["W"] * open_,
            "V": open_[:, None] * e["V"],
            "C": open_[:, None] * e["C"],
            "h": open_ * e["h"],
        }
        return task_loss(e, fixed, windows, index, recipe)

    return lax.map(without, 1 - jnp.eye(len(effective["a"]), dtype=jnp.float32))


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


@partial(jax.jit, static_argnames=("objective", "recipe"))
def train_epochs(
    state: State,
    fixed: Fixed,
    windows: Data,
    controls: dict[str, Array],
    key: Array,
    first: Array,
    count: Array,
    objective: Objective,
    recipe: Recipe,
    others: tuple[View, ...] = (),
) -> tuple[State, Array]:
    """`count` (at most CHUNK) epochs from epoch `first` of a phase, and each one's mean task loss (CHUNK,).

    `controls` holds the phase's numbers: `lr`, `lr_end`, `gate_lr`, `epochs`, and whatever the objective asks for.
    """
    step_rule = optimiser(recipe)
    pool = len(windows.starts)

    def step(state, index, progress, view):
        """One gradient step on the windows `index` of the block's own task, or of another one."""

        def loss(params):
            effective = objective.effective(params, fixed, controls)
            if view is None:
                task = task_loss(effective, fixed, windows, index, recipe)
            else:
                task = task_loss(reordered(effective, view.order), view.fixed, view.windows, index, recipe)
            return task + objective.penalty(params, effective, fixed, controls, progress), task

        gradients, task = jax.grad(loss, has_aux=True)(state.params)
        updates: Any
        updates, inner = step_rule.update(gradients, state.optimiser)
        lr = controls["lr"] * (controls["lr_end"] / controls["lr"]) ** progress
        rate = {name: controls["gate_lr"] if name in ("log_alpha", "lateral") else lr for name in updates}
        updates = {name: -rate[name] * update for name, update in updates.items()}
        params: Any = optax.apply_updates(state.params, objective.freeze(updates, state.params))
        change = {name: params[name] - state.params[name] for name in params}
        running = objective.account(state.running, gradients, change)
        good = jnp.isfinite(optax.tree.norm(gradients))
        new = State(params, inner, running)
        return jax.tree.map(lambda new, old: jnp.where(good, new, old), new, state), task

    def other(view, state, key, progress):
        index = jax.random.randint(key, (recipe.batch,), 0, len(view.windows.starts))
        return step(state, index, progress, view)

    def turn(epoch, state, item):
        """One step, on the block's own task or whichever has its turn, and a step of replay when it is due."""
        (number, index), *rest = item
        progress = (epoch + number / recipe.batches) / controls["epochs"]
        if not others:
            return step(state, index, progress, None)
        who, key = rest
        branches = [partial(other, view) for view in others]
        if not objective.replay:
            own = lambda state, key, progress: step(state, index, progress, None)  # noqa: E731
            return lax.switch(who, [own, *branches], state, key, progress)
        state, task = step(state, index, progress, None)
        pause = lambda state, key, progress: (state, task)  # noqa: E731
        state, _ = lax.switch(who, [pause, *branches], state, key, progress)
        return state, task

    def epoch(i, carry):
        state, losses = carry
        shape = (recipe.batches, recipe.batch)
        epoch_key = jax.random.fold_in(key, first + i)
        if recipe.fixed_windows:
            index = jax.random.permutation(epoch_key, pool)[: shape[0] * shape[1]].reshape(shape)
        else:
            index = jax.random.randint(epoch_key, shape, 0, pool)
        items: tuple[Any, ...] = ((jnp.arange(recipe.batches), index),)
        if others:
            draw, *keys = jax.random.split(jax.random.fold_in(epoch_key, 1), 1 + recipe.batches)
            who = turns(draw, (first + i) * recipe.batches, recipe.batches, len(others), objective.replay)
            items = (*items, who, jnp.stack(keys))
        state, tasks = lax.scan(partial(turn, first + i), state, items)
        return state, losses.at[i].set(tasks.mean())

    return lax.fori_loop(0, count, epoch, (state, jnp.zeros(CHUNK, jnp.float32)))


def turns(key: Array, done: Array | int, steps: int, others: int, replay: int) -> Array:
    """Whose turn it is at each of `steps` steps after the first `done`: 0 is the block's own task, k the k-th other.

    In turns, everyone gets the same number of steps. With replay, it is the task of the extra step, drawn uniformly
    after every `replay` steps; 0 means that none is due.
    """
    count = done + jnp.arange(steps)
    if not replay:
        return count % (others + 1)
    drawn = jax.random.randint(key, (steps,), 1, others + 1) if others else jnp.zeros(steps, jnp.int32)
    return jnp.where((count + 1) % replay == 0, drawn, 0)


def reordered(effective: Params, order: Array) -> Params:
    e = effective
    rows = {name: e[name][order] for name in ("a", "V", "C", "h")}
    return {**rows, "W": e["W"][order][:, order]}


def make_view(
    network: Network, block: Block, readout: np.ndarray, pieces: Sequence[np.ndarray], recipe: Recipe
) -> View:
    """Another task for the same block: `readout` are its units, pieces (T, N) its data. No window spans two pieces."""
    members = block.members
    place = np.searchsorted(members, readout, sorter=(sorter := np.argsort(members)))
    first = sorter[place]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(block.units)), first)])
    seen = make_block(network, members[order[order < len(members)]], block.feeders, len(readout))
    ends = np.cumsum([len(piece) for piece in pieces])
    starts = np.concatenate([np.arange(e - len(p), e - recipe.window) for e, p in zip(ends, pieces, strict=True)])
    x = np.concatenate(pieces).astype(np.float32)
    drive = jnp.zeros((1, recipe.window, 0), jnp.float32)
    windows = Windows(jnp.asarray(x), jnp.asarray(starts, jnp.int32), drive, x.min(axis=0), x.max(axis=0))
    return View(windows, seen.fixed, jnp.asarray(order, jnp.int32))
