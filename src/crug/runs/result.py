"""What comes out of a run: the result, a typed object that reads and writes result.json; what is kept of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import AfterValidator, Field, NonNegativeInt, TypeAdapter, model_validator

from crug.analysis.verdict import Judged
from crug.core.network import Network
from crug.metrics import MEASURES
from crug.runs import store
from crug.runs.plan import Origin, Plan
from crug.sections import Stored
from crug.tasks.base import Score
from crug.training.phases import Outcome
from crug.training.settings import RunSettings

FILE = "result.json"


NOISE_SEED = 0
"""Of the noise under which rollouts are measured."""


@dataclass(frozen=True)
class Noisy:
    """What is said of the noise that a task carries: which part of what its network does not foresee it is, the ranks
    of rollouts on the training data without it and with it, and their score on the test data."""

    scale: float
    without: float
    rank: float
    own: Score

    def __str__(self) -> str:
        return (
            f"varies more than a network by itself; noise of {self.scale:g} times what it does not foresee "
            f"brings the rank on the training part from {self.without:.1f} to {self.rank:.1f}"
        )


@dataclass(frozen=True)
class Learned:
    """One task as it was right after its own training.

    `history` are the phases, `chosen` the one whose network was kept, `floor` the rank of a perfect model on the
    training data. `earlier` is what the tasks before have become, where that costs nothing to know; `noisy` what is
    said of its noise, where it carries some.
    """

    own: Score
    history: list[Outcome]
    chosen: int | None
    floor: float
    seconds: float
    earlier: list[Score] = field(default_factory=list)
    noisy: Noisy | None = None

    def __post_init__(self) -> None:
        there = not self.history if self.chosen is None else 0 <= self.chosen < len(self.history)
        if not there or not self.own.values:
            raise ValueError(f"of {len(self.history)} phases {self.chosen} was chosen")

    def to_json(self) -> dict[str, Any]:
        return LEARNED.dump_python(self)

    @classmethod
    def from_json(cls, stored: Any, source: Path | str) -> Learned:
        """What `to_json` made; `source` is named where it is something else."""
        return store.checked(LEARNED, stored, source)


LEARNED: TypeAdapter[Learned] = TypeAdapter(Learned)
HISTORY: TypeAdapter[list[Outcome]] = TypeAdapter(list[Outcome])


def _known(measures: dict[str, float]) -> dict[str, float]:
    if unknown := [name for name, value in measures.items() if name not in MEASURES or np.isnan(value)]:
        raise ValueError(f"no value of a measure that there is: {unknown[0]}")
    return measures


def _kinds(units: dict[str, int]) -> dict[str, int]:
    if units.keys() != {"linear", "relu"}:
        raise ValueError("units are linear or relu")
    return units


Measures = Annotated[dict[str, float], AfterValidator(_known)]
"""Values by the names that `crug.metrics.MEASURES` has."""


class TaskResult(Stored):
    """One task of a run: its measures right after its own training and at the end, the latter also under noise where it
    carries some, the units that it has, and standard errors of measures at the end. `floor` is what a perfect model
    would score, `remarks` what is wrong with its rollouts that scores do not see."""

    name: str
    own: Measures
    final: Measures
    units: Annotated[dict[str, NonNegativeInt], AfterValidator(_kinds)]
    noisy: Measures = Field(default_factory=dict)
    errors: dict[str, float] = Field(default_factory=dict)
    floor: dict[str, float] = Field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def judged(self) -> Judged:
        """What its scores at the end are judged by."""
        return Judged(self.floor, self.remarks)

    @property
    def size(self) -> int:
        """How many units it has."""
        return sum(self.units.values())


class Result(Stored):
    """The result of a run, as result.json holds it.

    `overall` sums up the tasks at the end: the worst of every measure, or the mean where a measure is in percent. Where
    every task was evaluated after each, `matrix` has the measures: a row for each task learned, an entry for each task
    so far. A run that ran out of units says in `stopped` where and why. `origin` is what made it, where that is known.
    """

    plan: Plan
    settings: dict[str, Any]
    tasks: list[TaskResult]
    overall: Measures
    units: NonNegativeInt
    shared: bool
    memory_bytes: NonNegativeInt
    completed: bool
    seconds: Annotated[float, Field(ge=0)]
    matrix: list[list[Measures]] = Field(default_factory=list)
    stopped: str | None = None
    origin: Origin | None = None

    @model_validator(mode="after")
    def _of_its_plan(self):
        if (names := tuple(row.name for row in self.tasks)) != self.plan.tasks or not names:
            raise ValueError(f"has the tasks {', '.join(names) or '(none)'}, its plan {', '.join(self.plan.tasks)}")
        if any(row.own.keys() != row.final.keys() for row in self.tasks) or self.completed != (self.stopped is None):
            raise ValueError("its parts contradict each other")
        known = {key: value for key, value in self.settings.items() if key in RunSettings.model_fields}
        RunSettings.model_validate(known)
        return self

    @property
    def size(self) -> int:
        """The units of the network."""
        return self.settings["network"]["M"]

    def write(self, folder: Path) -> Self:
        """Into a run's folder. Returns what `read` would."""
        store.write_json(folder / FILE, self.model_dump())
        return type(self).model_validate(store.decode(store.encode(self.model_dump())))

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        """The result of the run in a folder."""
        file = Path(folder) / FILE
        return store.checked(RESULT, store.read_json(file), file)


RESULT: TypeAdapter[Result] = TypeAdapter(Result)


@dataclass(frozen=True)
class Ending:
    """A run that is over: its network, the learned tasks, the scores of all tasks by the final network."""

    network: Network
    memory_bytes: int
    learned: Sequence[Learned]
    final: Sequence[Score]
    noisy: Sequence[Score | None]
    """The same under the noise that they carry."""
    worst: Sequence[Score]
    """What counts for tasks that were not reached."""
    stopped: str | None
    quick: bool
    """Whether every task was evaluated after each."""
    judged: Sequence[Judged] = ()
    """What the scores of the learned tasks are judged by."""


def make_result(plan: Plan, settings: dict[str, Any], ending: Ending, origin: Origin) -> Result:
    """Everything that is said of a run."""
    e, rows = ending, []
    for number, name in enumerate(plan.tasks):
        done = number < len(e.learned)
        own = e.learned[number].own if done else e.worst[number]
        final = e.final[number] if done else own
        units = e.network.units_of(number)
        noisy = e.noisy[number] if done else None
        under = {} if noisy is None else noisy.measures()
        beside = e.judged[number] if number < len(e.judged) else Judged()
        judged = {"floor": dict(beside.floor), "remarks": tuple(beside.remarks)}
        measures: dict[str, Any] = {"own": own.measures(), "final": final.measures(), "errors": dict(final.errors)}
        rows.append(TaskResult(name=name, units=units, noisy=under, **measures, **judged))
    names = [n for n in MEASURES if all(n in row.final for row in rows)]
    return Result(
        plan=plan,
        settings=settings,
        tasks=rows,
        overall={name: MEASURES[name].overall([row.final[name] for row in rows]) for name in names},
        units=len(e.network.used()),
        shared=len(e.network.used()) > len(e.network.committed()),
        memory_bytes=e.memory_bytes,
        completed=e.stopped is None,
        seconds=round(sum(record.seconds for record in e.learned), 1),
        matrix=[[s.measures() for s in (*r.earlier, r.own)] for r in e.learned] if e.quick else [],
        stopped=e.stopped,
        origin=origin,
    )
