"""What the methods share that keep one network for all tasks: every task trains every unit, in one phase.

Each task is read out of linear units of its own. Nothing is frozen, so `final` may be worse than `own`: that is the
forgetting which these methods fight in the loss (EWC, SI), with old data (ER, GR), with masks (XdG), or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from crug.core.block import LEARNED, Block, Fixed, Opening, Params, by_unit, in_block
from crug.core.network import Network, share
from crug.errors import Exhausted
from crug.methods.base import Assignment, Closing, Lesson, Memory, Method, draw_decoder
from crug.tasks.base import Task
from crug.training.objective import Controls, Objective

NOBODY = np.array([], np.int64)
ALTERNATING: Mapping[str, Any] = {"training": {"optimiser": "radam", "lr_end": 1e-5}}
"""For methods whose steps alternate between tasks: a rate that falls, or each step undoes a part of the one before; and
a gentle beginning, or the first steps on a new task ruin the others."""


class Shared(Method):
    """One network for all tasks. As it stands, nothing is done against forgetting."""

    def open(self, assignment: Assignment) -> Opening:
        network = assignment.network
        readout = readouts(network, assignment.sequence)[assignment.number]
        return opening(assignment, readout, np.setdiff1d(np.arange(network.size), readout))

    def close(self, lesson: Lesson, rng: np.random.Generator) -> Closing:
        after = self.write(lesson, [lesson.block.members[: lesson.block.dim]])
        return Closing(after, self.remember(lesson, after))

    def write(self, lesson: Lesson, readouts: Sequence[np.ndarray]) -> Network:
        """The network with the block as training left it, and the next tasks read out of it."""
        units = np.sort(lesson.block.members)
        return share(lesson.before, units, readouts, by_unit(lesson.block, lesson.params), lesson.block.decoder)

    def remember(self, lesson: Lesson, after: Network) -> Memory:
        """The memory with which the next task begins, where `after` is the network."""
        return lesson.memory


@dataclass(frozen=True)
class Anchored(Objective):
    """Adds strength * sum_i weight_i (theta_i - anchor_i)^2. Controls: `strength`; by parameter `weight`, `anchor`."""

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: Controls):
        weight, anchor = controls["weight"], controls["anchor"]
        return controls["strength"] * sum(jnp.sum(weight[n] * (params[n] - anchor[n]) ** 2) for n in LEARNED)


class Anchoring(Shared):
    """A shared network whose parameters are held where earlier tasks left them, each by a weight of its own. A method
    says in `remember` what weights and anchors (`weight.NAME`, `anchor.NAME`) there are."""

    objective: Objective = Anchored()

    def recall(self, memory: Memory, block: Block) -> Controls:
        """Without a memory, nothing is held."""
        found: Controls = {"strength": jnp.float32(self.settings.strength)}
        for what in ("weight", "anchor"):
            kept = {name: memory[f"{what}.{name}"] for name in LEARNED} if memory else {}
            found[what] = in_block(block, kept) if kept else dict.fromkeys(LEARNED, jnp.float32(0))
        return found


def opening(assignment: Assignment, readout: np.ndarray, others: np.ndarray) -> Opening:
    """A task read out of `readout` that may also train the units `others`, under the one decoder of all tasks."""
    relu = assignment.network.relu[others]
    decoder = draw_decoder(assignment.network, assignment.task, assignment.seed, 0)
    return Opening(readout, others[~relu], others[relu], NOBODY, decoder)


def readouts(network: Network, tasks: Sequence[Task]) -> list[np.ndarray]:
    """Each task's own linear units, taken from the first on."""
    linear = np.flatnonzero(~network.relu)
    ends = np.cumsum([task.dim for task in tasks])
    if ends[-1] > len(linear):
        raise Exhausted(
            f"{len(linear)} linear units cannot be read out by {len(tasks)} tasks of {ends[-1]} dimensions in all; "
            "use a larger network (network.M)"
        )
    return np.split(linear[: ends[-1]], ends[:-1])
