"""Synaptic intelligence (paper, appendix A.7): what each parameter did for the loss on its way decides how firmly it is
held afterwards.

    omega_i <- omega_i - g_i * (change of theta_i)         at every step; g is the gradient of the whole loss before it,
                                                            clipped as the optimiser has it
    Omega_i <- Omega_i + max(0, omega_i / ((theta_i_end - theta_i_start)^2 + xi))                when a task ends
    loss = task + strength * sum_i Omega_i (theta_i - theta_i^previous)^2

Clipped, because a path integral of the first order is wrong where a gradient explodes: without it, no strength gets
half of the answers of the cognitive tasks right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from pydantic import Field

from crug.block import Block, Params
from crug.config import NonNegative, Positive, RunConfig
from crug.methods.base import LEARNED, Lesson, Memory, by_unit
from crug.methods.shared import Anchored, Shared, anchors
from crug.network import Network


class SiConfig(RunConfig):
    strength: Annotated[NonNegative, Field(description="price of moving what earlier tasks moved to their profit")] = (
        100.0
    )
    xi: Annotated[Positive, Field(description="keeps a parameter that ended where it began from weighing too much")] = (
        1e-3
    )

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "blgf": {"strength": 1e4},
        "cognitive": {"strength": 500.0},
    }
    search: ClassVar[dict[str, tuple[float, float]]] = {"strength": (1e-2, 3e5)}


@dataclass(frozen=True)
class Intelligence(Anchored):
    """The running account is omega."""

    def begin(self, params: Params) -> Params:
        return {n: jnp.zeros_like(params[n]) for n in LEARNED}

    def account(self, running: Params, gradients: Params, change: Params) -> Params:
        return {n: running[n] - gradients[n] * change[n] for n in LEARNED}


class Si(Shared):
    name: ClassVar[str] = "si"
    summary: ClassVar[str] = "synaptic intelligence: holds parameters by what they did for the loss on their way"
    Config: ClassVar[type[RunConfig]] = SiConfig
    objective = Intelligence()

    def recall(self, memory: Memory, block: Block) -> dict[str, Any]:
        return anchors(self.config.strength, memory, block)

    def remember(self, before: Network, after: Network, lesson: Lesson, memory: Memory) -> Memory:
        omega = by_unit(lesson.block, lesson.running)
        kept = {}
        for name in LEARNED:
            start, end = getattr(before, name), getattr(after, name)
            gained = np.maximum(0, omega[name] / ((end - start) ** 2 + np.float32(self.config.xi)))
            kept[f"weight.{name}"] = memory.get(f"weight.{name}", np.zeros_like(gained)) + gained
            kept[f"anchor.{name}"] = end
        return kept
