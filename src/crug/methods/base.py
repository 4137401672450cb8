"""What a method is: a name, a configuration, and answers to the questions that the loop in sequence.py asks.

The loop owns control. For every task it asks which units learn and what feeds them (`open`), then again and again what
to do next given how it went so far (`next_phase`), and at last which phase's network to commit (`choose`). All answers
follow from the arguments alone, so a run that was interrupted asks again and gets the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from crug.config import RunConfig
from crug.network import Network
from crug.phases import Outcome, Phase
from crug.training import Objective


class Opening(NamedTuple):
    """Who takes part in learning a task."""

    readout: np.ndarray  # (N,) the units that are read out
    linear: np.ndarray  # the other linear units that may learn, in the order in which they are taken
    relu: np.ndarray  # the same for ReLU units
    feeders: np.ndarray  # committed units that the learning ones may listen to

    @property
    def size(self) -> int:
        return len(self.readout) + len(self.linear) + len(self.relu)

    def units(self, size: int | None) -> np.ndarray:
        """All of them, or `size` of them: the readouts, then as many of each kind as there are."""
        rest = self.size - len(self.readout) if size is None else max(0, size - len(self.readout))
        relu = min(len(self.relu), max((rest + 1) // 2, rest - len(self.linear)))
        return np.concatenate([self.readout, self.linear[: rest - relu], self.relu[:relu]])


class Hints(NamedTuple):
    """What the data say before training: the number of units to draw from, and the score of a perfect model."""

    available: int
    dim: int
    floor: float
    weight: float

    def total(self, outcome: Outcome) -> float:
        return outcome.score.d_stsp + self.weight * outcome.score.d_h


class Method(Protocol):
    name: ClassVar[str]
    summary: ClassVar[str]
    Config: ClassVar[type[RunConfig]]

    def __init__(self, config: RunConfig): ...

    @property
    def objective(self) -> Objective:
        """What the method does to the parameters and adds to the loss."""
        ...

    @property
    def threshold(self) -> float:
        """A unit whose gate is above it is kept."""
        ...

    def open(self, network: Network, dim: int) -> Opening:
        """Who learns the next task; raises Exhausted where the pool cannot hold it."""
        ...

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None: ...

    def choose(self, history: Sequence[Outcome], hints: Hints) -> int: ...
