"""Results that stay: a small file for every run that is over, without its networks.

A record says which edition of the method and of the tasks made it. An edition is raised when numbers change, and a
record of an earlier one is marked.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from crug import methods
from crug.errors import CrugError
from crug.runs import Result, store
from crug.runs.proof import machine
from crug.sections import Section
from crug.studies.wanted import Wanted, place_of
from crug.tasks import family_of
from crug.training.settings import departures

OWN = 0
"""The edition of a method that is not one of crug's."""
DIGITS = 6
"""Significant ones of the measures in a record."""


class Record(Section):
    """A run that is over: its result, and what made it."""

    version: str
    edition: tuple[int, int]
    machine: str
    result: Result

    @property
    def current(self) -> bool:
        """Whether the code as it is now would make the same."""
        return self.edition == edition_of(self.result)

    @classmethod
    def of(cls, result: Result) -> Record:
        """The record of a run that was made by the code as it is now, on this machine."""
        return cls(version=version("crug"), edition=edition_of(result), machine=machine(), result=result)

    @property
    def place(self) -> str:
        """Where it is kept, in a folder of records."""
        plan = self.result.plan
        try:
            settings = methods.find(plan.method).Settings
        except CrugError:  # a file that has gone away
            settings = methods.METHODS["naive"].Settings
        return place_of(plan, departures(settings, plan.case, self.result.settings)) + ".json"

    def write(self, folder: Path) -> Path:
        """Into a folder of records."""
        file = folder / self.place
        content = _rounded(store.encode(self.model_dump(mode="python")))
        store.write_bytes(file, (json.dumps(content, separators=(",", ":")) + "\n").encode())
        return file


def edition_of(result: Result) -> tuple[int, int]:
    """Of the method and of the tasks of a run, as the code is now."""
    family = family_of(result.plan.tasks)
    method = methods.METHODS.get(result.plan.method)
    return (method.edition if method else OWN), (family.edition if family else OWN)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


class Shelf:
    """The records in a folder.

    Parameters
    ----------
    folder : where they are; one that does not exist holds none.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.records = [_read(file) for file in sorted(folder.glob("*/*/*.json"))]
        self._by_plan: dict[Any, list[Record]] = defaultdict(list)
        for record in self.records:
            self._by_plan[record.result.plan].append(record)

    def find(self, wanted: Wanted) -> Record | None:
        """The record of a run, one of today's code first."""
        found = [record for record in self._by_plan[wanted.plan] if wanted.matches(record.result)]
        return max(found, key=lambda record: record.current, default=None)

    def add(self, result: Result) -> Path:
        """A run that has just ended."""
        record = Record.of(result)
        file = record.write(self.folder)
        self._by_plan[result.plan].append(_read(file))
        self.records.append(self._by_plan[result.plan][-1])
        return file


RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def _read(file: Path) -> Record:
    return store.checked(RECORD, store.read_json(file), file)


def collect(folders: Iterable[Path], shelf: Shelf) -> list[Path]:
    """Keep the results of finished runs, by their folders."""
    return [shelf.add(Result.read(folder)) for folder in folders]
