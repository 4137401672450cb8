"""What can be learned: families of tasks, by name and in named sequences, and how a user's samples become a task.

A family is one file here and one line in `FAMILIES`; a kind of recording that `Model.learn` takes is one file and one
line in `RECORDINGS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from crug.errors import CrugError
from crug.readers import Recording
from crug.tasks import cognitive, dysts, gait, systems
from crug.tasks.base import Data, Family, Picture, Score, Scorer, Task
from crug.tasks.driven import DrivenTask
from crug.tasks.recordings import Prepared, RecordingTask
from crug.tasks.samples import as_recordings
from crug.tasks.scale import Scale

FAMILIES: dict[str, Family] = {
    family.name: family for family in (systems.FAMILY, gait.FAMILY, cognitive.FAMILY, dysts.FAMILY)
}

RECORDINGS: dict[str, type[RecordingTask]] = {kind.kind: kind for kind in (RecordingTask, DrivenTask)}
"""The kinds of recordings that a user's model learns."""

SEQUENCES: dict[str, tuple[str, ...]] = {
    name: names for family in FAMILIES.values() for name, names in family.sequences.items()
}
TASKS: dict[str, str] = {name: title for family in FAMILIES.values() for name, title in family.titles.items()}
"""The titles of all tasks by name."""


def family_of(names: Sequence[str]) -> Family | None:
    """The family that all of these tasks belong to."""
    found = (family for family in FAMILIES.values() if names and all(name in family.titles for name in names))
    return next(found, None)


def load(name: str, seed: int = 0, settings: Any = None) -> Task:
    """The task of that name.

    Parameters
    ----------
    name : as `crug sequences` lists them, e.g. "lorenz" or "go-nogo".
    seed : the data of generated tasks follow from it.
    settings : of a run; the task's family takes its own section of them.
    """
    family = family_of([name])
    if family is None:
        raise unknown(name)
    return family.load(name, seed, getattr(settings, family.section, None) if family.section else None)


def unknown(name: str) -> CrugError:
    """That there is no such task, and which there are."""
    near = difflib.get_close_matches(name, TASKS, n=1)
    there = "; ".join(family.listing or ", ".join(family.titles) for family in FAMILIES.values())
    return CrugError(f"no task is called {name!r}; {f'did you mean {near[0]}? ' if near else ''}there are: {there}")


def prepare(pieces: Sequence[Recording], name: str, smooth: bool = True, hold_out: bool = True) -> Prepared:
    """The task that a user's recording makes: by its kind, with inputs or without."""
    kind = "recording" if pieces[0].inputs is None else "driven"
    return RECORDINGS[kind].prepare(pieces, name, smooth, hold_out)


__all__ = [
    "FAMILIES",
    "RECORDINGS",
    "SEQUENCES",
    "TASKS",
    "Data",
    "Family",
    "Picture",
    "Prepared",
    "RecordingTask",
    "Scale",
    "Score",
    "Scorer",
    "Task",
    "as_recordings",
    "family_of",
    "load",
    "prepare",
    "unknown",
]
