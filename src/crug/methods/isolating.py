"""What CRUG and CLNP share: a task learns in free units only, and what it keeps is frozen for good."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crug.core.block import Block, Opening, Params, by_unit
from crug.core.network import commit
from crug.errors import Exhausted
from crug.methods.base import Assignment, Closing, Lesson, Method, draw_decoder
from crug.methods.shared import NOBODY

FEWEST = 2
"""Units without which no task can be learned."""


class Isolating(Method):
    """Every task in free units of its own, which are frozen afterwards; the others are recycled."""

    exact: ClassVar[bool] = True
    transfer: bool = True
    """Whether new units may listen to committed ones."""
    remedy: str = "use a larger network (network.M)"

    def open(self, assignment: Assignment) -> Opening:
        network, dim = assignment.network, assignment.task.dim
        free = network.free()
        linear, relu = free[~network.relu[free]], free[network.relu[free]]
        if len(linear) < dim:
            raise Exhausted(
                f"{len(linear)} free linear units are left, the task needs {dim} to be read out", self.remedy
            )
        if len(free) < FEWEST:
            raise Exhausted(f"{len(free)} free units are left, a task needs at least {FEWEST}", self.remedy)
        decoder = draw_decoder(network, assignment.task, assignment.seed, assignment.number)
        return Opening(linear[:dim], linear[dim:], relu, network.committed() if self.transfer else NOBODY, decoder)

    def close(self, lesson: Lesson, rng: np.random.Generator) -> Closing:
        return self.freeze(lesson, lesson.block, lesson.params, rng)

    def freeze(self, lesson: Lesson, block: Block, params: Params, rng: np.random.Generator) -> Closing:
        """Commit the block to the task and recycle every other free unit."""
        units, readout = np.sort(block.members), block.members[: block.dim]
        committed = commit(lesson.before, units, readout, by_unit(block, params), block.feeders, block.decoder)
        return Closing(lesson.task.recycle(committed, rng), lesson.memory)
