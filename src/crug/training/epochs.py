"""Gradient steps, and many epochs of them as one compiled call."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int

from crug.core.block import Fixed, Params, State, View, masked, reordered
from crug.sections import TrainingSettings
from crug.training.objective import Controls, Objective

CHUNK = 32
"""Most epochs in one compiled call: how often the host may look."""


class Recipe(NamedTuple):
    """How gradient steps are taken; part of what is compiled."""

    batch: int = 16
    batches: int = 31
    optimiser: str = "adam"
    clip: float = 10.0
    shuffled: bool = False
    """Every piece of data at most once an epoch, or drawn anew for every step."""

    @classmethod
    def of(cls, settings: TrainingSettings, samples: int) -> "Recipe":
        """For so many samples: unless told otherwise, as many batches in an epoch as one pass over them gives."""
        t = settings
        batches = t.batches or max(1, samples // t.window // t.batch)
        return cls(t.batch, batches, t.optimiser, t.clip, t.windows == "fixed")


class Given(NamedTuple):
    """What the compiled epochs work on and do not change."""

    fixed: Fixed
    data: Any  # see tasks.base.Data
    controls: Controls
    others: tuple[View, ...] = ()


class Rules(NamedTuple):
    """What the epochs are compiled for."""

    objective: Objective
    recipe: Recipe


def optimiser(recipe: Recipe) -> optax.GradientTransformation:
    """Clipping and the rule of the step, without its rate."""
    scale = {"radam": optax.scale_by_radam, "adam": optax.scale_by_adam}[recipe.optimiser]
    return optax.chain(optax.clip_by_global_norm(recipe.clip), scale())


def start(params: Params, rules: Rules) -> State:
    """Training before its first step."""
    return State(params, optimiser(rules.recipe).init(params), rules.objective.begin(params))


@partial(jax.jit, static_argnames="rules")
def train_epochs(
    state: State, given: Given, key: Array, first: Int[Array, ""], count: Int[Array, ""], rules: Rules
) -> tuple[State, Float[Array, " chunk"]]:
    """`count` (at most CHUNK) epochs from epoch `first` of a phase, and each one's mean task loss: infinite where not a
    single step could be taken."""
    recipe, pool = rules.recipe, given.data.count
    turn = _turns(rules, given)

    def epoch(i, carry):
        state, losses = carry
        shape = (recipe.batches, recipe.batch)
        epoch_key = jax.random.fold_in(key, first + i)
        if recipe.shuffled:
            index = jax.random.permutation(epoch_key, pool)[: shape[0] * shape[1]].reshape(shape)
        else:
            index = jax.random.randint(epoch_key, shape, 0, pool)
        items: tuple[Any, ...] = (jnp.arange(recipe.batches), index)
        if given.others:
            draw, *keys = jax.random.split(jax.random.fold_in(epoch_key, 1), 1 + recipe.batches)
            done = (first + i) * recipe.batches
            who = turns(draw, done, recipe.batches, len(given.others), rules.objective.replay)
            items = (*items, who, jnp.stack(keys))
        state, (tasks, taken) = lax.scan(partial(turn, first + i), state, items)
        return state, losses.at[i].set(jnp.where(taken.any(), tasks.mean(), jnp.inf))

    return lax.fori_loop(0, count, epoch, (state, jnp.zeros(CHUNK, jnp.float32)))


def gradient_step(rules: Rules, given: Given, state: State, index: Array, view: View | None) -> tuple[State, Any]:
    """One gradient step on the pieces `index` of the block's own task, or of another one; the task's loss, and whether
    the step was taken: without a finite gradient it is not."""
    objective, controls = rules.objective, given.controls

    def loss(params):
        effective = objective.effective(params, given.fixed, controls)
        if view is None:
            task = given.data.loss(effective, given.fixed, index)
        else:
            task = view.data.loss(reordered(effective, view.order), view.fixed, index)
        return task + objective.penalty(params, effective, given.fixed, controls), task

    gradients, task = jax.grad(loss, has_aux=True)(state.params)
    updates: Any
    updates, inner = optimiser(rules.recipe).update(gradients, state.optimiser)
    lr = controls["lr"] * (controls["lr_end"] / controls["lr"]) ** controls["progress"]
    rates = {**dict.fromkeys(updates, lr), **objective.rates(controls)}
    updates = {name: -rates[name] * update for name, update in updates.items()}
    params: Any = optax.apply_updates(state.params, objective.freeze(updates, state.params, controls))
    change = {name: params[name] - state.params[name] for name in params}
    clipped: Any = optax.clip_by_global_norm(rules.recipe.clip).update(gradients, optax.EmptyState())[0]
    account = objective.account(state.account, clipped, change)
    good = jnp.isfinite(optax.tree.norm(gradients))
    new = State(params, inner, account)
    return jax.tree.map(lambda new, old: jnp.where(good, new, old), new, state), (task, good)


def _turns(rules: Rules, given: Given):
    """The body of an epoch: one step, on the block's own task or whichever has its turn, and a step of replay when it
    is due."""
    recipe = rules.recipe

    def at(epoch, number) -> Given:
        progress = (epoch + number / recipe.batches) / given.controls["epochs"]
        return given._replace(controls={**given.controls, "progress": progress})

    def other(view, now, state, key):
        index = jax.random.randint(key, (recipe.batch,), 0, view.data.count)
        return gradient_step(rules, now, state, index, view)

    def alone(epoch, state, item):
        number, index = item
        return gradient_step(rules, at(epoch, number), state, index, None)

    def in_turns(epoch, state, item):
        number, index, who, key = item
        now = at(epoch, number)
        own = [lambda state, key: gradient_step(rules, now, state, index, None)]
        return lax.switch(who, own + [partial(other, view, now) for view in given.others], state, key)

    def with_replay(epoch, state, item):
        number, index, who, key = item
        now = at(epoch, number)
        state, out = gradient_step(rules, now, state, index, None)
        pause = [lambda state, key: (state, out)]
        state, _ = lax.switch(who, pause + [partial(other, view, now) for view in given.others], state, key)
        return state, out

    if not given.others:
        return alone
    return with_replay if rules.objective.replay else in_turns


def turns(key: Array, done: Array | int, steps: int, others: int, replay: int) -> Int[Array, " steps"]:
    """Whose turn it is at each of `steps` steps after the first `done`: 0 is the block's own task, k the k-th other.

    In turns, everyone gets the same number of steps. With replay, it is the task of the extra step, drawn uniformly
    after every `replay` steps; 0 means that none is due.
    """
    count = done + jnp.arange(steps)
    if not replay:
        return count % (others + 1)
    drawn = jax.random.randint(key, (steps,), 1, others + 1) if others else jnp.zeros(steps, jnp.int32)
    return jnp.where((count + 1) % replay == 0, drawn, 0)


@jax.jit
def unit_costs(effective: Params, fixed: Fixed, data: Any, index: Int[Array, " batch"]) -> Float[Array, " n"]:
    """The loss that would remain without each of the block's units in turn."""

    def without(open_: Array) -> Array:
        return data.loss(masked(effective, open_), fixed, index)

    return lax.map(without, 1 - jnp.eye(len(effective["a"]), dtype=jnp.float32))
