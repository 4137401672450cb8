"""What an attack tried, and what happened: counted, so that nothing is left out of the table."""

from __future__ import annotations

import resource
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from crug.errors import CrugError

HANG = 30
"""Seconds after which something hangs."""
SWOLLEN = 2_000_000
"""Kilobytes that a process may take in all."""


class Hang(BaseException):
    """Raised where something takes too long. No library catches it."""


@dataclass
class Tally:
    """The outcomes of one attack. `broken` are those that must not be, each with what was tried."""

    name: str
    promise: str
    outcomes: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    slowest: float = 0.0

    @property
    def tried(self) -> int:
        return sum(self.outcomes.values())

    def count(self, outcome: str, broken: str = "") -> None:
        """Enter one outcome; `broken` says what was tried where it must not be."""
        self.outcomes["broken" if broken else outcome] += 1
        if broken:
            self.broken.append(f"{outcome}: {broken}"[:2_000])

    def attempt(self, what: str, call: Callable[[], Any], right: Callable[[Any], str] | None = None) -> None:
        """Try something: it may be refused in one line. Where it is taken, `right` says what became of it, or raises an
        AssertionError."""
        began = time.monotonic()
        try:
            with limited():
                found = call()
                outcome = "taken" if right is None else right(found)
            self.count(outcome)
        except CrugError as error:
            said = error.on_the_command_line
            one = "\n" not in said and len(said) < 2_000
            self.count("refused in a line", "" if one else f"{what}: {said[:300]!r}")
        except Hang:
            self.count("hang", what)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.count(type(error).__name__, f"{what}: {error} ({where.filename}:{where.lineno})")
        self.slowest = max(self.slowest, time.monotonic() - began)

    def row(self) -> str:
        """A line of the table."""
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return f"| {self.name} | {self.promise} | {self.tried:,} | {outcomes} | {self.slowest:.1f} |"


@contextmanager
def limited() -> Iterator[None]:
    """Half a minute, not more."""

    def ring(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(HANG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def swollen() -> int:
    """The most memory that this process and those it started ever had, in kilobytes."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def table(tallies: list[Tally]) -> str:
    """All attacks, in Markdown."""
    head = "| attack | what is promised | tried | what happened | slowest, s |\n|---|---|---|---|---|"
    return "\n".join([head, *(tally.row() for tally in tallies)])
