"""What a method is: a name, a configuration, and answers to the questions that the loop in sequence.py asks.

The loop owns control. For every task it asks which units learn and what feeds them (`open`), what else to train on
(`rehearse`), then again and again what to do next given how it went so far (`next_phase`), which phase's network to
keep (`choose`), and what becomes of it (`close`). All answers follow from the arguments alone, so a run that was
interrupted asks again and gets the same ones.

What a method has to remember from task to task is its `Memory`: named arrays that the loop stores with the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np

from crug.block import UNIT_AXES, Block, Params, gather
from crug.config import RunConfig
from crug.data import Data, Recipe
from crug.evaluation import Scorer
from crug.network import Network
from crug.phases import Outcome, Phase
from crug.tasks import AnyTask, TrialTask
from crug.tasks.cognitive import OUTPUTS
from crug.training import Objective

Memory = dict[str, np.ndarray]


class Opening(NamedTuple):
    """Who takes part in learning a task."""

    readout: np.ndarray  # (N,) the units that are read out
    linear: np.ndarray  # the other linear units that may learn, in the order in which they are taken
    relu: np.ndarray  # the same for ReLU units
    feeders: np.ndarray  # committed units that the learning ones may listen to
    decoder: np.ndarray | None = None  # (M, outputs) for a task of trials: what its outputs are made of

    @property
    def size(self) -> int:
        return len(self.readout) + len(self.linear) + len(self.relu)

    def units(self, size: int | None) -> np.ndarray:
        """All of them, or `size` of them: the readouts, then as many of each kind as there are."""
        rest = self.size - len(self.readout) if size is None else max(0, size - len(self.readout))
        relu = min(len(self.relu), max((rest + 1) // 2, rest - len(self.linear)))
        return np.concatenate([self.readout, self.linear[: rest - relu], self.relu[:relu]])


class Rehearsal(NamedTuple):
    """Another task to train on beside the present one: the units that it is read out of, and pieces of data (T, N);
    for a task of trials the inputs and targets (trials, T, channels), and the weight (T,) of the steps. Where `task` is
    given, checkpoints are scored on it too, and the worst score counts."""

    readout: np.ndarray
    pieces: Sequence[np.ndarray]
    task: AnyTask | None = None


def examples(task: AnyTask) -> list[np.ndarray]:
    """A task's training data as a rehearsal holds them."""
    if isinstance(task, TrialTask):
        return [task.train.inputs, task.train.targets, np.asarray(task.weight, np.float32)]
    return np.split(np.asarray(task.train, np.float32), task.breaks)


class Hints(NamedTuple):
    """What is known before training: the task's number, the units to draw from, the score of a perfect model, the
    steps of an epoch."""

    task: int
    available: int
    dim: int
    floor: float
    weight: float
    steps: int

    def total(self, outcome: Outcome) -> float:
        return outcome.score.total(self.weight)


@dataclass(frozen=True)
class Lesson:
    """A task that has just been learned, as `close` finds it."""

    number: int
    tasks: Sequence[AnyTask]
    block: Block
    params: Params  # of the block, without gates
    running: Params  # the objective's account at the end of training
    windows: Data
    recipe: Recipe
    scorer: Scorer

    @property
    def task(self) -> AnyTask:
        return self.tasks[self.number]


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

    def open(self, network: Network, tasks: Sequence[AnyTask], number: int) -> Opening:
        """Who learns task `number`; raises Exhausted where the pool cannot hold it."""
        ...

    def rehearse(self, network: Network, tasks: Sequence[AnyTask], number: int, memory: Memory) -> list[Rehearsal]:
        """Other tasks to train on while this one is learned."""
        ...

    def recall(self, memory: Memory, block: Block) -> Params:
        """What the objective is given as `controls` besides the phase's numbers."""
        ...

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None: ...

    def choose(self, history: Sequence[Outcome], hints: Hints) -> int: ...

    def close(
        self, network: Network, lesson: Lesson, memory: Memory, rng: np.random.Generator
    ) -> tuple[Network, Memory]:
        """The network and the memory with which the next task begins."""
        ...


class OnePhase:
    """The plain way to learn a task: the task's loss, one phase, the checkpoint that the configuration asks for."""

    Config: ClassVar[type[RunConfig]] = RunConfig
    objective: Objective = Objective()
    threshold: float = 0.5

    def __init__(self, config: RunConfig):
        self.config: Any = config  # of the method's own Config

    def rehearse(self, network: Network, tasks: Sequence[AnyTask], number: int, memory: Memory) -> list[Rehearsal]:
        return []

    def recall(self, memory: Memory, block: Block) -> dict[str, Any]:
        return {}

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        if history:
            return None
        c, t = self.config, self.config.training
        score_from = 1.0 if c.select == "last" else 0.5
        return Phase("train", c.epochs, t.lr, t.lr_end, score_from=score_from, select=c.select)

    def choose(self, history: Sequence[Outcome], hints: Hints) -> int:
        return 0


def draw_decoder(network: Network, task: AnyTask, seed: int, number: int) -> np.ndarray | None:
    """A fixed random readout over all units for a task of trials (appendix A.10); None for a recording."""
    if not isinstance(task, TrialTask):
        return None
    return np.random.default_rng([seed, DECODERS, number]).normal(0, 0.1, (network.size, OUTPUTS)).astype(np.float32)


DECODERS = 5
"""The stream of randomness that decoders are drawn from."""
LEARNED = ("a", "W", "C", "h")
"""The parameters that learn under every method."""


def in_block(block: Block, parameters: dict[str, np.ndarray]) -> Params:
    """Arrays over the whole network, by the parameter they belong to, in the order of the block."""
    return {name: jnp.asarray(gather(name, value, block.members)) for name, value in parameters.items()}


def by_unit(block: Block, params: Params) -> dict[str, np.ndarray]:
    """The inverse: the block's arrays in ascending order of its units, without padding."""
    order = np.argsort(block.members)
    found = {}
    for name, value in params.items():
        found[name] = np.asarray(value)
        for axis in UNIT_AXES[name]:
            found[name] = np.take(found[name], order, axis=axis)
    return found
