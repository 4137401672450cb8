"""What CRUG and CLNP share: a task learns in free units only, and what it keeps is frozen for good."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crug.block import Block, Params
from crug.errors import Exhausted
from crug.methods.base import Lesson, Memory, OnePhase, Opening, by_unit, draw_decoder
from crug.network import Network, commit, recycle
from crug.tasks import AnyTask

NOBODY = np.array([], np.int64)
FEWEST = 2


class Isolating(OnePhase):
    transfer = True
    """Whether new units may listen to committed ones."""
    remedy: str = "use a larger network (network.M)"

    def open(self, network: Network, tasks: Sequence[AnyTask], number: int) -> Opening:
        free, dim = network.free(), tasks[number].dim
        linear, relu = free[~network.relu[free]], free[network.relu[free]]
        if len(linear) < dim:
            raise Exhausted(
                f"{len(linear)} free linear units are left, the task needs {dim} to be read out; {self.remedy}"
            )
        if len(free) < FEWEST:
            raise Exhausted(f"{len(free)} free units are left, a task needs at least {FEWEST}; {self.remedy}")
        decoder = draw_decoder(network, tasks[number], self.config.seed, number)
        return Opening(linear[:dim], linear[dim:], relu, network.committed() if self.transfer else NOBODY, decoder)

    def close(
        self, network: Network, lesson: Lesson, memory: Memory, rng: np.random.Generator
    ) -> tuple[Network, Memory]:
        return self.freeze(network, lesson.block, lesson.params, rng), memory

    def freeze(self, network: Network, block: Block, params: Params, rng: np.random.Generator) -> Network:
        """Commit the block to the task and recycle every other free unit."""
        units = np.sort(block.members)
        readout = block.members[: block.dim]
        committed = commit(network, units, readout, by_unit(block, params), block.feeders, block.decoder)
        return recycle(committed, rng)
