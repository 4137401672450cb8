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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import jax.numpy as jnp
import numpy as np
from pydantic import Field

from crug.core.block import LEARNED, Params, by_unit
from crug.core.network import Network
from crug.methods.base import Lesson, Memory
from crug.methods.shared import Anchored, Anchoring
from crug.sections import NonNegative, Positive
from crug.training.settings import Given, RunSettings


class SiSettings(RunSettings):
    strength: Annotated[NonNegative, Field(description="price of moving what earlier tasks moved to their profit")] = (
        100.0
    )
    xi: Annotated[Positive, Field(description="keeps a parameter that ended where it began from weighing too much")] = (
        1e-3
    )

    presets: ClassVar[Mapping[str, Given]] = {
        "blgf": {"strength": 1e4},
        "cognitive": {"strength": 500.0},
    }
    search: ClassVar[Mapping[str, tuple[float, float]]] = {"strength": (1e-2, 3e5)}


@dataclass(frozen=True)
class Intelligence(Anchored):
    """The account is omega."""

    def begin(self, params: Params) -> Params:
        return {n: jnp.zeros_like(params[n]) for n in LEARNED}

    def account(self, account: Params, gradients: Params, change: Params) -> Params:
        return {n: account[n] - gradients[n] * change[n] for n in LEARNED}


class Si(Anchoring):
    name: ClassVar[str] = "si"
    summary: ClassVar[str] = "synaptic intelligence: holds parameters by what they did for the loss on their way"
    Settings: ClassVar[type[RunSettings]] = SiSettings
    objective = Intelligence()

    def remember(self, lesson: Lesson, after: Network) -> Memory:
        omega, memory = by_unit(lesson.block, lesson.account), lesson.memory
        kept = {}
        for name in LEARNED:
            start, end = getattr(lesson.before, name), getattr(after, name)
            gained = np.maximum(0, omega[name] / ((end - start) ** 2 + np.float32(self.settings.xi)))
            kept[f"weight.{name}"] = memory.get(f"weight.{name}", np.zeros_like(gained)) + gained
            kept[f"anchor.{name}"] = end
        return kept
