"""A method of your own: copy this file, change it, and run it.

    crug run vlrc --method path/to/mine.py

As it stands it holds every parameter where the last task left it, all equally firmly. It is explained line by line in
docs/write-your-own-method.md.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import jax.numpy as jnp
from pydantic import Field

from crug.core.block import LEARNED, in_block
from crug.methods.shared import Shared
from crug.sections import NonNegative
from crug.training import Objective, RunSettings


class MineSettings(RunSettings):
    strength: Annotated[NonNegative, Field(description="how firmly parameters are held")] = 0.01


@dataclass(frozen=True)
class Stay(Objective):
    def penalty(self, params, effective, fixed, controls):
        moved = sum(jnp.sum((params[n] - controls["before"][n]) ** 2) for n in LEARNED)
        return controls["strength"] * moved


class Mine(Shared):
    name: ClassVar[str] = "mine"
    summary: ClassVar[str] = "holds every parameter where the last task left it"
    Settings: ClassVar[type[RunSettings]] = MineSettings
    objective = Stay()

    def recall(self, memory, block):
        before = in_block(block, memory) if memory else {n: jnp.float32(0) for n in LEARNED}
        return {"strength": jnp.float32(self.settings.strength if memory else 0), "before": before}

    def remember(self, lesson, after):
        return {n: getattr(after, n) for n in LEARNED}
