"""Results that stay: a small file for every run that is over, without its networks.

A record says which edition of the method and of the tasks made it, as the run noted when it began. An edition is raised
when numbers change, and a record of an earlier one is marked, as is one of a run that did not note its edition.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from crug import methods
from crug.errors import CrugError
from crug.runs import Result, store
from crug.runs.folder import read_config
from crug.runs.plan import Origin
from crug.studies.wanted import Wanted, place_of
from crug.training.settings import departures

NOT_RECORDED, OUTDATED = "not recorded", "outdated"
DIGITS = 6
"""Significant ones of the measures in a record."""


class Record(Origin):
    """A run that is over: its result, and what made it."""

    result: Result

    @property
    def mark(self) -> str:
        """What is to be said of it in tables: nothing where the code as it is now would make the same."""
        if self.edition is None:
            return f"edition {NOT_RECORDED}"
        return "" if self.edition == self.result.plan.edition else OUTDATED

    @classmethod
    def of(cls, result: Result) -> Record:
        """The record of a run, which says what made it."""
        origin = result.origin or Origin(version=NOT_RECORDED)
        return cls(**origin.model_dump(), result=result.model_copy(update={"origin": None}))

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
        return min(found, key=lambda record: (record.mark == OUTDATED, record.mark), default=None)

    def seeds(self, wanted: Wanted) -> list[int]:
        """Of which there are records of such a run, by whatever settings."""
        plans = [record.result.plan for record in self.records]
        return sorted({plan.seed for plan in plans if plan.model_copy(update={"seed": wanted.seed}) == wanted.plan})

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

    def noted(folder: Path) -> Result:
        result = Result.read(folder)
        return result.model_copy(update={"origin": result.origin or read_config(folder).origin})

    return [shelf.add(noted(folder)) for folder in folders]
