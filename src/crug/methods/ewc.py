"""Elastic weight consolidation (paper, appendix A.7): parameters that mattered to an earlier task are held where that
task left them, each as firmly as its diagonal Fisher information says.

    loss = task + strength * sum over earlier tasks k and parameters i of F_i^k (theta_i - theta_i^k)^2

F^k is taken once, when task k ends: the mean over windows of the *squared gradient of each single window*, with the
window's mean squared error as the negative log-likelihood. (The square of a batch's mean gradient, a common mistake,
would be near zero where training has converged.) A window in which the network runs away has no gradient and is left
out: one number that is not finite would forbid every later step.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from pydantic import Field

from crug.block import Block, Fixed, Params
from crug.config import NonNegative, RunConfig
from crug.data import Data, Recipe
from crug.methods.base import LEARNED, Lesson, Memory, by_unit
from crug.methods.shared import Anchored, Shared, anchors
from crug.network import Network
from crug.training import Objective, task_loss


class EwcConfig(RunConfig):
    strength: Annotated[NonNegative, Field(description="price of moving what matters to earlier tasks")] = 4214.16

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "blgf": {"strength": 10.0},
        "cognitive": {"strength": 1e5, "training": {"lr": 0.1}},
    }
    search: ClassVar[dict[str, tuple[float, float]]] = {"strength": (1.0, 1e5)}


class Ewc(Shared):
    name: ClassVar[str] = "ewc"
    summary: ClassVar[str] = "elastic weight consolidation: a Fisher-weighted pull to where earlier tasks ended"
    Config: ClassVar[type[RunConfig]] = EwcConfig
    objective = Anchored()

    def recall(self, memory: Memory, block: Block) -> dict[str, Any]:
        return anchors(self.config.strength, memory, block)

    def remember(self, before: Network, after: Network, lesson: Lesson, memory: Memory) -> Memory:
        """Adds the task's Fisher information and moves the anchors to the mean of all tasks' ends that it weighs.

        A sum of parabolas is one parabola: sum_k F_k (theta - theta_k)^2 = F (theta - m)^2 + a constant, with F the sum
        of the F_k and m the mean of the theta_k weighted by them. So the memory does not grow with the tasks.
        """
        pool, count = len(lesson.windows.starts), lesson.recipe.batches * lesson.recipe.batch
        index = jnp.asarray(np.linspace(0, pool - 1, min(pool, count)), jnp.int32)
        found = by_unit(lesson.block, fisher(lesson.params, lesson.block.fixed, lesson.windows, index, lesson.recipe))
        kept = {}
        for name in LEARNED:
            end = getattr(after, name)
            old = memory.get(f"weight.{name}", np.zeros_like(end))
            total = old + found[name]
            part = np.divide(found[name], total, out=np.ones_like(total), where=total > 0)
            anchor = memory.get(f"anchor.{name}", end)
            kept[f"weight.{name}"], kept[f"anchor.{name}"] = total, anchor + part * (end - anchor)
        return kept


@partial(jax.jit, static_argnames="recipe")
def fisher(params: Params, fixed: Fixed, windows: Data, index: Array, recipe: Recipe) -> Params:
    """The mean over the windows `index` of each one's squared gradient, where it is finite."""

    def loss(learned: Params, i: Array) -> Array:
        return task_loss(Objective().effective({**params, **learned}, fixed, {}), fixed, windows, i[None], recipe)

    def add(total: Params, i: Array) -> tuple[Params, Array]:
        gradients = jax.grad(loss)({n: params[n] for n in LEARNED}, i)
        squares = {n: gradients[n] ** 2 for n in LEARNED}
        good = jnp.isfinite(sum(jnp.sum(square) for square in squares.values()))
        return {n: total[n] + jnp.where(good, squares[n], 0) for n in LEARNED}, good

    total, good = lax.scan(add, {n: jnp.zeros_like(params[n]) for n in LEARNED}, index)
    return {n: total[n] / jnp.maximum(good.sum(), 1) for n in LEARNED}
