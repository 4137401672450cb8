"""A run that a study wants: what it is of, and the settings in which it departs from the defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from crug import methods
from crug.errors import CrugError
from crug.methods.base import Method
from crug.runs import Plan, Result, store
from crug.sections import Section
from crug.training.settings import RunSettings, departures, flat

LONGEST = 120
"""Characters of a folder's name, which operating systems limit."""


class Wanted(Section):
    """One run: a method through a sequence of tasks from a seed, with some settings given."""

    sequence: str | tuple[str, ...]
    method: str = "crug"
    seed: int = Field(0, ge=0)
    given: dict[str, Any] = Field(default_factory=dict)

    @cached_property
    def plan(self) -> Plan:
        return Plan.make(
            self.sequence if isinstance(self.sequence, str) else list(self.sequence), self.method, self.seed
        )

    @property
    def kind(self) -> type[Method]:
        return methods.find(self.method)

    @cached_property
    def settings(self) -> RunSettings:
        """All settings, as they are resolved for the case."""
        return self.kind.Settings.resolve(self.plan.case, self.plan.settled(self.given))

    @cached_property
    def place(self) -> str:
        """The path of the run in a store of runs, and that of its record among records: readable, one for each run."""
        plan = self.plan
        return place_of(plan, departures(self.kind.Settings, plan.case, self.settings.model_dump(mode="json")))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Wanted:
        """Another run, which works out its plan and settings anew."""
        return type(self)(**{**self.model_dump(), **(update or {})})

    def at(self, epochs: int) -> Wanted:
        """The same with so many epochs."""
        return self.model_copy(update={"given": {**self.given, "epochs": epochs}})

    @property
    def key(self) -> str:
        """What tells it apart from others that are asked for."""
        return self.model_dump_json()

    def matches(self, result: Result) -> bool:
        """Whether a result is of this run: of the same plan, and by the same settings. One that was not yet there when
        the result was made had the value that it has by default; one that is gone does not count."""
        if result.plan != self.plan:
            return False
        mine, theirs = (flat(decoded(s)) for s in (self.settings.model_dump(mode="json"), result.settings))
        try:
            usual = self.kind.Settings.resolve(self.plan.case, {key: theirs[key] for key in theirs if key in mine})
        except CrugError:  # a value that no longer exists
            return False
        return flat(decoded(usual.model_dump(mode="json"))) == mine


def decoded(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from a file, where lists and tuples are the same."""
    return store.decode(store.encode(settings))


def place_of(plan: Plan, departs: str) -> str:
    """`SEQUENCE/METHOD[,KEY=VALUE...]/SEED`."""
    name = Path(plan.method).stem + "".join(f",{part}" for part in departs.split(" ") if part)
    name = re.sub(r"[^\w.,=+-]+", "_", name)
    if len(name) > LONGEST:
        from crug.runs.proof import digest

        name = f"{name[:LONGEST]}~{digest(name.encode())[:8]}"
    sequence = re.sub(r"[^\w.,+-]+", "_", plan.sequence)[:LONGEST]
    return f"{sequence}/{name}/{plan.seed}"
