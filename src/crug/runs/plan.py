"""What a run is of: which tasks in which order, by which method, from which seed; as against how (`RunSettings`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, field_validator

from crug import methods
from crug.errors import CrugError
from crug.sections import Seed, Stored, checked_seed
from crug.tasks import SEQUENCES, TASKS, unknown
from crug.training.settings import case_of


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

    @classmethod
    def make(cls, sequence: str | Sequence[str], method: str = "crug", seed: int = 0) -> Plan:
        """The plan of a named sequence, or of any tasks in any order.

        `method` is a name, or the path of a file: a run belongs to the file as it is now.
        """
        names = _tasks(sequence)
        called = sequence if isinstance(sequence, str) else ",".join(names)
        if (source := methods.checksum(method)) is not None:
            method = os.path.relpath(method)
        return cls(sequence=called, tasks=names, method=method, seed=checked_seed(seed), source=source)


def _tasks(sequence: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(sequence, str):
        if sequence not in SEQUENCES:
            raise CrugError(
                f"no sequence is called {sequence!r}; there are: {', '.join(SEQUENCES)}",
                "or give a list of tasks",
                "or use --tasks",
            )
        return SEQUENCES[sequence]
    for name in sequence:
        if name not in TASKS:
            raise unknown(name)
    if not sequence:
        raise CrugError("there are no tasks to learn; name one at least")
    return tuple(sequence)
