"""Context-dependent gating (paper, appendix A.7): every task runs on a random subset of the units, drawn beforehand.

A task's readouts are its own and always on. All other units (those that no task reads out) are on for a task with
probability 1 - `masked`. A masked unit takes no part in the dynamics, in training and in rollouts alike, so only the
active ones are computed. Where the subsets of two tasks meet, the later one overwrites the earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from crug.core.block import Opening
from crug.core.streams import Stream, generator
from crug.errors import Exhausted
from crug.methods.base import Assignment
from crug.methods.shared import Shared, opening, readouts
from crug.sections import Share
from crug.training.settings import Given, RunSettings


class XdgSettings(RunSettings):
    masked: Annotated[Share, Field(description="chance that a unit is off for a task")] = 0.94

    presets: ClassVar[Mapping[str, Given]] = {"blgf": {"masked": 0.95}, "cognitive": {"masked": 0.8}}
    search: ClassVar[Mapping[str, tuple[float, float]]] = {"masked": (0.08, 0.95)}


class Xdg(Shared):
    name: ClassVar[str] = "xdg"
    summary: ClassVar[str] = "context-dependent gating: every task on a random subset of the units"
    Settings: ClassVar[type[RunSettings]] = XdgSettings

    def open(self, assignment: Assignment) -> Opening:
        network, number = assignment.network, assignment.number
        own = readouts(network, assignment.sequence)
        drawn = generator(assignment.seed, Stream.MASKS, number).random(network.size) >= self.settings.masked
        drawn[np.concatenate(own)] = False
        found = opening(assignment, own[number], np.flatnonzero(drawn))
        if not found.size:
            raise Exhausted(f"of {network.size} units none was drawn for it; set masked lower, or take another seed")
        return found
