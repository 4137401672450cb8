"""Elastic weight consolidation (paper, appendix A.7): parameters that mattered to an earlier task are held where that
task left them, each as firmly as its diagonal Fisher information says.

    loss = task + strength * sum over earlier tasks k and parameters i of F_i^k (theta_i - theta_i^k)^2

F^k is taken once, when task k ends: the mean over windows of the *squared gradient of each single window*, with the
window's mean squared error as the negative log-likelihood. (The square of a batch's mean gradient, a common mistake,
would be near zero where training has converged.) A window in which the network runs away has no gradient and is left
out: one number that is not finite would forbid every later step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from pydantic import Field

from crug.core.block import LEARNED, Fixed, Params, by_unit, masked
from crug.core.network import Network
from crug.methods.base import Lesson, Memory
from crug.methods.shared import Anchoring
from crug.sections import NonNegative
from crug.training.settings import Given, RunSettings


class EwcSettings(RunSettings):
    strength: Annotated[NonNegative, Field(description="price of moving what matters to earlier tasks")] = 4214.16

    presets: ClassVar[Mapping[str, Given]] = {
        "blgf": {"strength": 10.0},
        "cognitive": {"strength": 1e5, "training": {"lr": 0.1}},
    }
    search: ClassVar[Mapping[str, tuple[float, float]]] = {"strength": (1.0, 1e5)}


class Ewc(Anchoring):
    name: ClassVar[str] = "ewc"
    summary: ClassVar[str] = "elastic weight consolidation: a Fisher-weighted pull to where earlier tasks ended"
    Settings: ClassVar[type[RunSettings]] = EwcSettings

    def remember(self, lesson: Lesson, after: Network) -> Memory:
        """Adds the task's Fisher information and moves the anchors to the mean of all tasks' ends that it weighs.

        A sum of parabolas is one parabola: sum_k F_k (theta - theta_k)^2 = F (theta - m)^2 + a constant, with F the sum
        of the F_k and m the mean of the theta_k weighted by them. So the memory does not grow with the tasks.
        """
        pool, count, memory = lesson.data.count, lesson.recipe.batches * lesson.recipe.batch, lesson.memory
        index = jnp.asarray(np.linspace(0, pool - 1, min(pool, count)), jnp.int32)
        found = by_unit(lesson.block, fisher(lesson.params, lesson.block.fixed, lesson.data, index))
        kept = {}
        for name in LEARNED:
            end = getattr(after, name)
            old = memory.get(f"weight.{name}", np.zeros_like(end))
            total = old + found[name]
            part = np.divide(found[name], total, out=np.ones_like(total), where=total > 0)
            anchor = memory.get(f"anchor.{name}", end)
            kept[f"weight.{name}"], kept[f"anchor.{name}"] = total, anchor + part * (end - anchor)
        return kept


@jax.jit
def fisher(params: Params, fixed: Fixed, data: Any, index: Array) -> Params:
    """The mean over the pieces `index` of the data of each one's squared gradient, where it is finite."""

    def loss(learned: Params, i: Array) -> Array:
        return data.loss(masked({**params, **learned}, fixed.alive), fixed, i[None])

    def add(total: Params, i: Array) -> tuple[Params, Array]:
        gradients = jax.grad(loss)({n: params[n] for n in LEARNED}, i)
        squares = {n: gradients[n] ** 2 for n in LEARNED}
        good = jnp.isfinite(sum(jnp.sum(square) for square in squares.values()))
        return {n: total[n] + jnp.where(good, squares[n], 0) for n in LEARNED}, good

    total, good = lax.scan(add, {n: jnp.zeros_like(params[n]) for n in LEARNED}, index)
    return {n: total[n] / jnp.maximum(good.sum(), 1) for n in LEARNED}
