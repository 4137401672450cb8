"""What a run is of: which tasks in which order, by which method, from which seed; as against how (`RunSettings`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, field_validator

from crug import methods
from crug.errors import CrugError
from crug.sections import Seed, Stored, checked_seed
from crug.tasks import SEQUENCES, TASKS, dysts, family_of, unknown
from crug.training.settings import Given, case_of, merged, nested

OWN = 0
"""The edition of a method, or of tasks, that are not crug's."""


class Origin(Stored):
    """What made a run, as it was when the run began: the version of crug, the editions of the method and of the tasks,
    and the machine. An earlier crug noted the version only."""

    version: str
    edition: tuple[int, int] | None = None
    machine: str | None = None


class Plan(Stored):
    """What a run is of."""

    sequence: str
    tasks: tuple[str, ...]
    method: str
    seed: Seed = 0
    source: Annotated[str | None, Field(description="checksum of the method's file, where it is the user's own")] = None

    @field_validator("tasks")
    @classmethod
    def _there(cls, tasks: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in tasks if name not in TASKS]:
            raise ValueError(f"no task is called {unknown[0]!r}")
        return tasks

    @property
    def case(self) -> str:
        """Whose presets the run takes."""
        return case_of(self.sequence, self.tasks)

    @property
    def edition(self) -> tuple[int, int]:
        """Of the method and of the tasks, as the code is now."""
        method, family = methods.METHODS.get(self.method), family_of(self.tasks)
        return (method.edition if method else OWN), (family.edition if family else OWN)

    def settled(self, given: Given) -> Given:
        """The settings that are given, and the network's size where it follows from how many tasks there are."""
        family = family_of(self.tasks)
        if family is None or family.units is None:
            return given
        units = family.units * len(self.tasks)
        return merged([nested(given), {"network": {"M": units, "P": units // 2}}])

    @classmethod
    def make(cls, sequence: str | Sequence[str], method: str = "crug", seed: int = 0) -> Plan:
        """The plan of a named sequence, of its first tasks ("dysts:10"), or of any tasks in any order.

        `method` is a name, or the path of a file: a run belongs to the file as it is now.
        """
        names = _tasks(sequence)
        called = sequence if isinstance(sequence, str) else ",".join(names)
        if (source := methods.checksum(method)) is not None:
            method = os.path.relpath(method)
        return cls(sequence=called, tasks=names, method=method, seed=checked_seed(seed), source=source)


def _tasks(sequence: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(sequence, str):
        name, _, count = sequence.partition(":")
        if name not in SEQUENCES:
            more = "" if dysts.TITLES else f" ({dysts.MISSING})"
            raise CrugError(
                f"no sequence is called {sequence!r}; there are: {', '.join(SEQUENCES)}{more}",
                "or give a list of tasks",
                "or use --tasks",
            )
        names = SEQUENCES[name]
        if count and not (count.isdecimal() and 0 < int(count) <= len(names)):
            raise CrugError(
                f"{sequence}: write the first so many tasks of {name} as {name}:2, up to {name}:{len(names)}"
            )
        return names[: int(count)] if count else names
    for name in sequence:
        if name not in TASKS:
            raise unknown(name)
    if not sequence:
        raise CrugError("there are no tasks to learn; name one at least")
    return tuple(sequence)
