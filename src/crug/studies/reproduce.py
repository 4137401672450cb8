"""What a study still lacks, how long that takes, and an engine that makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crug.errors import CrugError
from crug.studies.pool import Done, Engine
from crug.studies.records import OUTDATED, Shelf
from crug.studies.study import FULL, Budget, Study
from crug.studies.wanted import Wanted

PAPER, MOST = 2000, 10
"""Epochs a task in the paper, and the most times as many that a budget may have."""


class Stock(NamedTuple):
    """What there is of a study: all runs that it wants, those that are missing, and the seconds that these take."""

    wanted: list[Wanted]
    missing: list[Wanted]
    seconds: float | None
    """None where no run like one of them is stored."""


class Desk(NamedTuple):
    """Where results are kept: records, and the folders of runs. Of a budget, or else of the largest that there is."""

    shelf: Shelf
    runs: Path
    budget: Budget | None = None


def stock(study: Study, desk: Desk, seeds: Sequence[int] | None = None) -> Stock:
    """What there is of a study, and what is not."""
    wanted = study.runs(desk.budget or FULL, seeds)
    drawn = {one.key for one in study.runs(desk.budget or FULL, seeds, drawn=True)}
    missing = [one for one in wanted if not there(one, desk, one.key in drawn)]
    times = [expected(one, desk.shelf) for one in missing]
    known = [time for time in times if time is not None]
    return Stock(wanted, missing, sum(known) if len(known) == len(times) else None)


def there(wanted: Wanted, desk: Desk, networks: bool) -> bool:
    """Whether a run is stored, by the code as it is now; where its networks are drawn, with its folder."""
    if (record := desk.shelf.find(wanted)) is None or record.mark == OUTDATED:
        return False
    return not networks or (desk.runs / wanted.place / "network.safetensors").exists()


def expected(wanted: Wanted, shelf: Shelf) -> float | None:
    """The seconds that a run takes, by the stored ones of its method and tasks; None where there are none."""
    plan, epochs = wanted.plan, wanted.settings.epochs
    alike = [
        r.result for r in shelf.records if (r.result.plan.method, r.result.plan.tasks) == (plan.method, plan.tasks)
    ]
    times = [r.seconds * epochs / r.settings["epochs"] for r in alike if r.completed]
    return float(np.median(times)) if times else None


def carry_out(missing: Sequence[Wanted], desk: Desk, engine: Engine, tell: Callable[[Done], None]) -> list[Done]:
    """Make what is missing, record by record as runs end; returns those that failed."""
    failed = []
    for done in engine.carry_out(missing):
        if done.result is None:
            failed.append(done)
        else:
            desk.shelf.add(done.result)
        tell(done)
    return failed


def budget_of(text: str) -> Budget:
    """A budget as it is written: `paper`, a part such as `25%`, epochs a task such as `500`, or `toy`."""
    if text in ("paper", "toy"):
        return Budget(toy=text == "toy")
    try:
        found = Budget(float(text[:-1]) / 100) if text.endswith("%") else Budget(epochs=int(text))
    except ValueError:
        found = Budget(0)
    epochs = PAPER if found.epochs is None else found.epochs
    if not (0 < found.share <= MOST and 0 < epochs <= MOST * PAPER):
        raise CrugError(f"budget {text}: write paper, a part such as 25%, epochs a task such as 500, or toy")
    return found


def seeds_of(text: str) -> list[int]:
    """Seeds as they are written: `0-9`, `3`, or `0,2,5-7`."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    except ValueError:
        raise CrugError(f"seeds {text}: write them like 0-9 or 0,2,5-7") from None
    if not found:
        raise CrugError(f"seeds {text}: there are none; write them like 0-9")
    return sorted(set(found))
