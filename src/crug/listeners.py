"""Who is told how a run goes: nobody, or a script's reader. `report/terminal.py` has the command line's."""

from __future__ import annotations

import sys
import time

from crug.evaluation import AnyScore
from crug.phases import Phase, Progress
from crug.tasks import AnyTask


class Silent:
    """A listener that says nothing."""

    def task(self, *_: object) -> None: ...

    def chunk(self, *_: object) -> None: ...

    def learned(self, *_: object) -> None: ...


class Ticker:
    """A listener that keeps one line up to date, for scripts and notebooks."""

    def __init__(self, epochs: int):
        self.epochs, self.began = epochs, time.monotonic()

    def task(self, number: int, task: AnyTask) -> None:
        self.name = task.name
        print(f"{task.name}: starting", end="", file=sys.stderr, flush=True)

    def chunk(self, phase: Phase, progress: Progress, spent: int) -> None:
        left = (time.monotonic() - self.began) * max(0.0, self.epochs / max(1, spent) - 1)
        units = len(progress.block.members)
        text = (
            f"\r{self.name}: {phase.kind}, {units} units, loss {progress.loss:.1e}, at most {left / 60:.1f} min left "
        )
        print(text, end="", file=sys.stderr, flush=True)

    def learned(self, number: int, name: str, score: AnyScore, units: dict[str, int]) -> None:
        measures = ", ".join(f"{measure} {value:.2f}" for measure, value in score._asdict().items())
        text = f"\r{name}: {measures}, {sum(units.values())} units"
        print(f"{text:70s}", file=sys.stderr)
