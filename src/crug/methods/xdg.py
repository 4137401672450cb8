"""Context-dependent gating (paper, appendix A.7): every task runs on a random subset of the units, drawn beforehand.

A task's readouts are its own and always on. All other units (those that no task reads out) are on for a task with
probability 1 - `masked`. A masked unit takes no part in the dynamics, in training and in rollouts alike, so only the
active ones are computed. Where the subsets of two tasks meet, the later one overwrites the earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from crug.config import RunConfig, Share
from crug.errors import Exhausted
from crug.methods.base import Opening, draw_decoder
from crug.methods.shared import Shared, readouts
from crug.network import Network
from crug.tasks import AnyTask

MASKS = 7
"""The stream of randomness that the masks are drawn from."""


class XdgConfig(RunConfig):
    masked: Annotated[Share, Field(description="chance that a unit is off for a task")] = 0.94

    presets: ClassVar[dict[str, dict[str, Any]]] = {"blgf": {"masked": 0.95}, "cognitive": {"masked": 0.8}}
    search: ClassVar[dict[str, tuple[float, float]]] = {"masked": (0.08, 0.95)}


class Xdg(Shared):
    name: ClassVar[str] = "xdg"
    summary: ClassVar[str] = "context-dependent gating: every task on a random subset of the units"
    Config: ClassVar[type[RunConfig]] = XdgConfig

    def open(self, network: Network, tasks: Sequence[AnyTask], number: int) -> Opening:
        own = readouts(network, tasks)
        drawn = np.random.default_rng([self.config.seed, MASKS, number]).random(network.size) >= self.config.masked
        drawn[np.concatenate(own)] = False
        linear, relu = np.flatnonzero(drawn & ~network.relu), np.flatnonzero(drawn & network.relu)
        if not len(own[number]) + len(linear) + len(relu):
            raise Exhausted(f"of {network.size} units none was drawn for it; set masked lower, or take another seed")
        decoder = draw_decoder(network, tasks[number], self.config.seed, 0)
        return Opening(own[number], linear, relu, np.array([], np.int64), decoder)
