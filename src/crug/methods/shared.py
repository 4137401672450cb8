"""What the methods share that keep one network for all tasks: every task trains every unit, in one phase.

Each task is read out of linear units of its own. Nothing is frozen, so `final` may be worse than `own`: that is the
forgetting which these methods fight in the loss (EWC, SI), with old data (ER, GR), with masks (XdG), or not at all.
This class is naive fine-tuning; the others override what they do differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from crug.block import Block, Fixed, Params
from crug.errors import Exhausted
from crug.methods.base import LEARNED, Lesson, Memory, OnePhase, Opening, by_unit, draw_decoder, in_block
from crug.network import Network, share
from crug.tasks import AnyTask
from crug.training import Objective

ALTERNATING: dict[str, Any] = {"training": {"optimiser": "radam", "lr_end": 1e-5}}
"""For methods whose steps alternate between tasks: a rate that falls, or each step undoes a part of the one before; and
a gentle beginning, or the first steps on a new task ruin the others."""


class Shared(OnePhase):
    def open(self, network: Network, tasks: Sequence[AnyTask], number: int) -> Opening:
        readout = readouts(network, tasks)[number]
        others = np.setdiff1d(np.arange(network.size), readout)
        decoder = draw_decoder(network, tasks[number], self.config.seed, 0)
        linear, relu = others[~network.relu[others]], others[network.relu[others]]
        return Opening(readout, linear, relu, np.array([], np.int64), decoder)

    def close(
        self, network: Network, lesson: Lesson, memory: Memory, rng: np.random.Generator
    ) -> tuple[Network, Memory]:
        after = self.write(network, lesson, [lesson.block.members[: lesson.block.dim]])
        return after, self.remember(network, after, lesson, memory)

    def write(self, network: Network, lesson: Lesson, readouts: Sequence[np.ndarray]) -> Network:
        units = np.sort(lesson.block.members)
        return share(network, units, readouts, by_unit(lesson.block, lesson.params), lesson.block.decoder)

    def remember(self, before: Network, after: Network, lesson: Lesson, memory: Memory) -> Memory:
        """The memory with which the next task begins."""
        return memory


@dataclass(frozen=True)
class Anchored(Objective):
    """Adds strength * sum_i weight_i (theta_i - anchor_i)^2. Controls: `strength`; by parameter `weight`, `anchor`."""

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: dict[str, Any], progress: Array):
        weight, anchor = controls["weight"], controls["anchor"]
        return controls["strength"] * sum(jnp.sum(weight[n] * (params[n] - anchor[n]) ** 2) for n in LEARNED)


def anchors(strength: float, memory: Memory, block: Block) -> dict[str, Any]:
    """The controls of `Anchored`, from a memory of `weight.NAME` and `anchor.NAME`; without one, nothing is held."""
    found = {}
    for what in ("weight", "anchor"):
        found[what] = (
            in_block(block, {p: memory[f"{what}.{p}"] for p in LEARNED})
            if memory
            else dict.fromkeys(LEARNED, jnp.float32(0))
        )
    return {"strength": jnp.float32(strength), **found}


def readouts(network: Network, tasks: Sequence[AnyTask]) -> list[np.ndarray]:
    """Each task's own linear units, taken from the first on."""
    linear = np.flatnonzero(~network.relu)
    ends = np.cumsum([task.dim for task in tasks])
    if ends[-1] > len(linear):
        raise Exhausted(
            f"{len(linear)} linear units cannot be read out by {len(tasks)} tasks of {ends[-1]} dimensions in all; "
            "use a larger network (network.M)"
        )
    return np.split(linear[: ends[-1]], ends[:-1])
