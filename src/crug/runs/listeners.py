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


class Ticker:
    """A listener that keeps one line up to date, for scripts and notebooks."""

    def __init__(self, epochs: int):
        self.epochs, self.began = epochs, time.monotonic()

    def begins(self, task: Task) -> None:
        self.name, self.began = task.name, time.monotonic()
        print(f"{task.name}: starting", end="", file=sys.stderr, flush=True)

    def chunk(self, phase: Phase, progress: Progress, spent: int) -> None:
        left = (time.monotonic() - self.began) * max(0.0, self.epochs / max(1, spent) - 1)
        units = len(progress.block.members)
        text = (
            f"\r{self.name}: {phase.kind}, {units} units, loss {progress.loss:.1e}, at most {left / 60:.1f} min left "
        )
        print(text, end="", file=sys.stderr, flush=True)

    def learned(self, name: str, learned: Learned, units: dict[str, int]) -> None:
        measures = ", ".join(f"{measure} {value:.2f}" for measure, value in learned.own.measures().items())
        text = f"\r{name}: {measures}, {sum(units.values())} units"
        print(f"{text:70s}", file=sys.stderr)
        if learned.noisy:
            print(f"{name}: {learned.noisy}", file=sys.stderr)
