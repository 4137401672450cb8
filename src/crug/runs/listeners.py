"""Who is told how learning goes: nobody, or a script's reader. `report/terminal.py` has the command line's."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from crug.runs.result import Learned
from crug.tasks.base import Task
from crug.training.phases import Phase, Progress


class Listener(Protocol):
    """Who watches."""

    def begins(self, task: Task, /) -> None:
        """A task begins to be learned."""
        ...

    def chunk(self, phase: Phase, progress: Progress, spent: int, /) -> None:
        """Some more epochs are over: `spent` of the task so far."""
        ...

    def learned(self, name: str, learned: Learned, units: dict[str, int], /) -> None:
        """A task has been learned, now or before."""
        ...


class Silent:
    """A listener that says nothing."""

    def begins(self, *_: object) -> None: ...

    def chunk(self, *_: object) -> None: ...

    def learned(self, *_: object) -> None: ...


LOGGED = 60.0
"""Seconds between two lines of a log."""


class Ticker:
    """A listener for scripts and notebooks. It keeps one line up to date, or adds one a minute where lines stay, as in
    the file of a log."""

    def __init__(self, epochs: int):
        self.epochs, self.began = epochs, time.monotonic()
        self.told, self.lines_stay = self.began, not (sys.stderr.isatty() or "ipykernel" in sys.modules)

    def begins(self, task: Task) -> None:
        self.name, self.began = task.name, time.monotonic()
        self._tell(f"{task.name}: starting")

    def chunk(self, phase: Phase, progress: Progress, spent: int) -> None:
        now = time.monotonic()
        if self.lines_stay and now < self.told + LOGGED:
            return
        left = (now - self.began) * max(0.0, self.epochs / max(1, spent) - 1) / 60
        units = len(progress.block.members)
        self._tell(f"{self.name}: {phase.kind}, {units} units, loss {progress.loss:.1e}, at most {left:.1f} min left")

    def learned(self, name: str, learned: Learned, units: dict[str, int]) -> None:
        measures = ", ".join(f"{measure} {value:.2f}" for measure, value in learned.own.measures().items())
        self._tell(f"{name}: {measures}, {sum(units.values())} units", last=True)
        if learned.noisy:
            print(f"{name}: {learned.noisy}", file=sys.stderr)

    def _tell(self, text: str, last: bool = False) -> None:
        self.told = time.monotonic()
        over = "\n" if last or self.lines_stay else ""
        print(text if self.lines_stay else f"\r{text:79s}", end=over, file=sys.stderr, flush=True)
