"""What a method is: a name, settings, and answers to the questions that the loop in `runs` asks.

The loop owns control. For every task it asks which units learn and what feeds them (`open`), what else to train on
(`rehearse`), then again and again what to do next given how it went so far (`next_phase`), which phase's network to
keep (`choose`), and what becomes of it (`close`). All answers follow from the arguments alone, so a run that was
interrupted asks again and gets the same ones.

What a method has to remember from task to task is its `Memory`: named arrays that the loop stores with the run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from crug.core.block import Block, Opening, Params
from crug.core.network import Network
from crug.core.streams import Stream, generator
from crug.tasks.base import Data, Scorer, Task
from crug.training.epochs import Recipe
from crug.training.objective import Controls, Objective
from crug.training.phases import Outcome, Phase
from crug.training.settings import RunSettings

Memory = dict[str, np.ndarray]


@dataclass(frozen=True)
class Assignment:
    """The task to learn next, and what there is when it begins.

    `number` is how many tasks the network has learned before. `sequence` are all tasks of the run, where there is one;
    otherwise the task alone.
    """

    task: Task
    number: int
    network: Network
    memory: Memory
    seed: int
    sequence: tuple[Task, ...]


class Rehearsal(NamedTuple):
    """Another task to train on beside the present one: the units that it is read out of, and its data, as
    `Task.examples` or `Task.imagine` gave them. With `scored`, checkpoints are scored on it too, and the worst score
    counts."""

    task: Task
    readout: np.ndarray
    examples: Sequence[np.ndarray]
    scored: bool = False


class Hints(NamedTuple):
    """What is known before training: the task's number and how many there are, the units to draw from, the task's
    dimension, the rank of a perfect model, the steps of an epoch."""

    number: int
    tasks: int
    available: int
    dim: int
    floor: float
    steps: int


@dataclass(frozen=True)
class Lesson:
    """A task that has just been learned, as `close` finds it."""

    assignment: Assignment
    block: Block
    params: Params  # of the block: plain ones that run as they are
    account: Params  # the objective's, at the end of training
    data: Data
    recipe: Recipe
    scorer: Scorer

    @property
    def task(self) -> Task:
        return self.assignment.task

    @property
    def number(self) -> int:
        return self.assignment.number

    @property
    def before(self) -> Network:
        """The network before the task."""
        return self.assignment.network

    @property
    def memory(self) -> Memory:
        return self.assignment.memory


class Closing(NamedTuple):
    """The network and the memory with which the next task begins."""

    network: Network
    memory: Memory


class Method(ABC):
    """A way to learn the next task without losing the earlier ones.

    `open` and `close` have to be answered. The other answers given here are the plain way: the task's loss, one phase,
    the checkpoint that the settings ask for.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type[RunSettings]] = RunSettings
    exact: ClassVar[bool] = False
    """Whether a task's rollouts are the same bits after any later task."""
    edition: ClassVar[int] = 1
    """Raised when the method's results change: records of an earlier edition are marked."""
    objective: Objective = Objective()
    """What happens inside a gradient step."""

    def __init__(self, settings: RunSettings):
        self.settings: Any = settings  # of the method's own class

    @abstractmethod
    def open(self, assignment: Assignment) -> Opening:
        """Who learns the task; raises Exhausted where the pool cannot hold it."""

    def rehearse(self, assignment: Assignment) -> list[Rehearsal]:
        """Other tasks to train on while this one is learned."""
        return []

    def recall(self, memory: Memory, block: Block) -> Controls:
        """What the objective is given as `controls` besides the phase's numbers."""
        return {}

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        """What to do next, after the phases in `history`; None when the task is learned."""
        if history:
            return None
        s, t = self.settings, self.settings.training
        score_from = 1.0 if s.select == "last" else 0.5
        return Phase("train", s.epochs, t.lr, t.lr_end, score_from=score_from, select=s.select)

    def choose(self, history: Sequence[Outcome], hints: Hints) -> int:
        """The phase whose network is kept."""
        return 0

    @abstractmethod
    def close(self, lesson: Lesson, rng: np.random.Generator) -> Closing:
        """The network and the memory with which the next task begins."""


def draw_decoder(network: Network, task: Task, seed: int, number: int) -> np.ndarray | None:
    """A fixed random readout over all units for a task with outputs (appendix A.10); None where units are read out."""
    if not task.outputs:
        return None
    draw = generator(seed, Stream.DECODER, number).normal(0, 0.1, (network.size, task.outputs))
    return draw.astype(np.float32)
