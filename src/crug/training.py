"""Loss, optimiser, and many epochs as one compiled call."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

from crug.block import Fixed, Params, State
from crug.data import Data, Recipe, TrialSet, View, Windows
from crug.dynamics import forced_unroll, forcing

CHUNK = 32
"""Most epochs in one compiled call: how often the host may look."""


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
        """The account after a step: the gradients of the whole loss before it, clipped, and the change that it made."""
        return running


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
    """`count` (at most CHUNK) epochs from epoch `first` of a phase, and each one's mean task loss (CHUNK,): infinite
    where not a single step could be taken.

    `controls` holds the phase's numbers: `lr`, `lr_end`, `gate_lr`, `epochs`, and whatever the objective asks for.
    """
    step_rule = optimiser(recipe)
    pool = len(windows.starts)

    def step(state, index, progress, view):
        """One gradient step on the windows `index` of the block's own task, or of another one; the task's loss, and
        whether the step was taken: without a finite gradient it is not."""

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
        clipped: Any = optax.clip_by_global_norm(recipe.clip).update(gradients, optax.EmptyState())[0]
        running = objective.account(state.running, clipped, change)
        good = jnp.isfinite(optax.tree.norm(gradients))
        new = State(params, inner, running)
        return jax.tree.map(lambda new, old: jnp.where(good, new, old), new, state), (task, good)

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
        state, out = step(state, index, progress, None)
        pause = lambda state, key, progress: (state, out)  # noqa: E731
        state, _ = lax.switch(who, [pause, *branches], state, key, progress)
        return state, out

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
        state, (tasks, taken) = lax.scan(partial(turn, first + i), state, items)
        return state, losses.at[i].set(jnp.where(taken.any(), tasks.mean(), jnp.inf))

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
