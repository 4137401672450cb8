"""What a task is: one thing to learn, which knows its data, its loss, how it is scored and how it is shown.

A family of tasks is one file. It brings a class that answers the questions of `Task`, and says in a `Family` which
tasks and sequences it has by name. Nobody outside this room asks what kind a task is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import jax
import numpy as np

from crug.core.block import Block, Fixed, Params, View, reordered, seen_as
from crug.core.dynamics import System
from crug.core.network import Network
from crug.core.noise import Noise
from crug.sections import NetworkSettings, Section, TrainingSettings

if TYPE_CHECKING:
    from crug.tasks.variability import Variability

FAR = 3.0
"""Above the rank of a perfect model: networks that kept some of the attractor's shape rank lower, those that lost it 5
to 20."""


@dataclass(frozen=True)
class Score:
    """What was measured of one task.

    Parameters
    ----------
    values : the measures by name, e.g. {"d_stsp": 0.4, "d_h": 0.05}; infinite where divergent.
    rank : one number to compare scores of the same task by; less is better.
    main : the one measure that a margin applies to; less is better.
    errors : standard errors, of the rank and of measures by name, as far as several rollouts tell them.
    """

    values: Mapping[str, float]
    rank: float
    main: float
    errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """The standard error of the rank."""
        return self.errors.get("rank", 0.0)

    def apart(self, other: Score) -> float:
        """The standard error of the difference of two ranks."""
        return float(np.hypot(self.error, other.error))

    def measures(self) -> dict[str, float]:
        """All measures by name."""
        return dict(self.values)

    def __getitem__(self, measure: str) -> float:
        return self.values[measure]

    def verdict(self, floor: float = 0.0) -> str:
        """In words, where a perfect model would rank `floor`."""
        if not np.isfinite(self.main):
            return "divergent"
        return "not what was recorded" if self.rank >= floor + FAR else "what was recorded"


class Data(Protocol):
    """What a block is trained on. It is a pytree: its arrays are traced, its numbers are part of what is compiled."""

    @property
    def count(self) -> int:
        """How many pieces (windows, trials) there are to draw batches from."""
        ...

    def loss(self, effective: Params, fixed: Fixed, index: jax.Array) -> jax.Array:
        """The loss of the block on the pieces `index`."""
        ...


class Look(Enum):
    """How a block is looked at. Every checkpoint gets a quick look, one that may be the best so far a close look, and
    what a phase kept in the end a fresh one: from places that nothing was chosen by."""

    QUICK = "quick"
    CLOSE = "close"
    FRESH = "fresh"


class Scorer(ABC):
    """Judges a block while it trains, on the part that it is trained on."""

    floor: float = 0.0
    """What a perfect model would rank; nothing can be told below it."""
    names: tuple[str, ...]
    """The measures of its scores."""
    uncertain: bool = False
    """Whether another look tells more than the first. All looks of a scorer that is certain are the same."""

    @abstractmethod
    def score(self, network: Network, block: Block, effective: Params, look: Look = Look.QUICK) -> Score:
        """The score of a block as it would run if it were committed."""

    @abstractmethod
    def states(self, network: Network, block: Block, effective: Params) -> np.ndarray:
        """What every unit of the block does while it is scored: (several, steps, units)."""


class RolloutScorer(Scorer):
    """Judges rollouts, and also how they vary."""

    @abstractmethod
    def varied(self, system: System, noise: Noise | None) -> Score:
        """The score of a system's rollouts by which noise is chosen, under noise if there is any."""


class WorstOf(Scorer):
    """Of several tasks that one block learns at once, the worst score counts.

    Parameters
    ----------
    own : the scorer of the block's own task.
    others : the scorers of the others, each with the block's view of that task.
    """

    def __init__(self, own: Scorer, others: Sequence[tuple[Scorer, View]]):
        self.own, self.others = own, others
        self.names, self.uncertain = own.names, own.uncertain
        self.floor = max(own.floor, *(scorer.floor for scorer, _ in others))

    def score(self, network: Network, block: Block, effective: Params, look: Look = Look.QUICK) -> Score:
        scores = [self.own.score(network, block, effective, look)]
        for scorer, view in self.others:
            scores.append(scorer.score(network, seen_as(block, view), reordered(effective, view.order), look))
        return max(scores, key=lambda score: score.rank)

    def states(self, network: Network, block: Block, effective: Params) -> np.ndarray:
        return self.own.states(network, block, effective)


class Picture(NamedTuple):
    """What a task looks like, for `report` to draw: `kind` says how, `parts` are the arrays by name."""

    kind: str
    title: str
    parts: dict[str, np.ndarray]
    labels: tuple[str, ...] = ()
    """Names of the columns that are drawn."""


class Observed(NamedTuple):
    """Samples that a task was not learned from, for others to compare its network with: x (T, N), standardised, `dt`
    apart; several trajectories where there are `breaks`; the inputs (T, Q) that they had, if any. `rollout` is how many
    steps a rollout has that is compared with them, and how many of the first are dropped."""

    x: np.ndarray
    dt: float
    columns: tuple[str, ...]
    rollout: tuple[int, int]
    breaks: tuple[int, ...] = ()
    inputs: np.ndarray | None = None


class Task(ABC):
    """One thing to learn.

    `dim` units are read out as the task's observation; where it is 0, `outputs` channels are made of all units by a
    fixed random decoder instead. `samples` is how much there is to train on, in steps or trials.
    """

    name: str
    title: str
    dim: int
    outputs: int = 0
    quick: ClassVar[bool] = False
    """Whether an evaluation costs next to nothing, so that all earlier tasks are evaluated after every new one."""
    pieces: ClassVar[str] = "windows"
    """What training draws."""

    @property
    @abstractmethod
    def samples(self) -> int: ...

    @abstractmethod
    def data(self, network: Network, feeders: np.ndarray, settings: TrainingSettings, rng: np.random.Generator) -> Data:
        """What a block that listens to the committed units `feeders` is trained on."""

    @abstractmethod
    def scorer(self, network: Network, feeders: np.ndarray, settings: TrainingSettings) -> Scorer:
        """How checkpoints of such a block are compared."""

    @abstractmethod
    def evaluate(self, network: Network, number: int, seed: int | None = None) -> Score:
        """The paper's measures of task `number` of the network, on this task's test part. With a seed, rollouts are
        under the noise that the task carries."""

    def variability(self, system: System, scorer: Scorer) -> Variability | None:
        """The noise that would do rollouts of a system good that has learned this task, by a scorer of the task; None
        where none does."""
        return None

    def gain(self, network: Network, number: int) -> float:
        """How closely task `number` is to follow the context of a forecast."""
        return network.gains[number]

    def observed(self) -> Observed | None:
        """What a rollout of this task is to be like; None where there is no such thing, as for tasks of trials."""
        return None

    def floor(self) -> dict[str, float]:
        """What a perfect model would score on the test part, by measure; empty where nobody knows."""
        return {}

    @abstractmethod
    def worst(self) -> Score:
        """The score where nothing was learned."""

    @abstractmethod
    def examples(self) -> list[np.ndarray]:
        """The training data as a method may keep them for rehearsal."""

    @abstractmethod
    def imagine(self, network: Network, number: int) -> list[np.ndarray]:
        """What the network itself makes of the task, in place of `examples`; nothing where it runs away."""

    @abstractmethod
    def view(
        self,
        network: Network,
        block: Block,
        readout: np.ndarray,
        examples: Sequence[np.ndarray],
        settings: TrainingSettings,
    ) -> View:
        """This task, to be rehearsed by a block that learns another one: `readout` are its own units in the network."""

    @abstractmethod
    def picture(self, network: Network, number: int) -> Picture:
        """Task `number` of the network as a reader sees it beside the truth."""

    @abstractmethod
    def new_network(self, sizes: NetworkSettings, tasks: Sequence[Task], rng: np.random.Generator) -> Network:
        """An untrained network for a sequence of `tasks` that begins with this one."""

    @abstractmethod
    def recycle(self, network: Network, rng: np.random.Generator) -> Network:
        """The network with every free unit as a task of this family wants to find it."""


@dataclass(frozen=True)
class Family:
    """Tasks of one kind, by name.

    Parameters
    ----------
    name : of the family.
    titles : the names of its tasks, with their titles.
    load : makes a task from its name, a seed, and the settings of the family.
    sequences : named orders of its tasks.
    presets : settings that a run of its tasks takes where nothing else is asked for, under every method.
    units : of a run's network, for each task, where nothing else is asked for; None: as many as `presets` say.
    section : the name of the family's own settings in those of a run, if it has any.
    listing : how the names are summed up where there are many.
    edition : raised when results on its tasks change under every method; records of an earlier edition are marked.
    """

    name: str
    titles: Mapping[str, str]
    load: Callable[[str, int, Section | None], Task]
    sequences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    presets: Mapping[str, Any] = field(default_factory=dict)
    units: int | None = None
    section: str | None = None
    listing: str = ""
    edition: int = 1
