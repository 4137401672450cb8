"""Engines: who carries out the runs that a study wants. Here the one that needs nothing: processes on this machine.

Every run is a process of its own with one thread. A process that is killed loses the last minute or so of its run,
which another process then goes on with. The coordinator only waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from crug.errors import CrugError
from crug.runs import Result
from crug.runs.hands import Begun, Hands, in_a_process
from crug.studies.wanted import Wanted

WORKER = "crug.studies.worker"


class Done(NamedTuple):
    """A run that is over: its result, or why there is none."""

    wanted: Wanted
    result: Result | None
    error: str = ""


class Engine(Protocol):
    """Carries runs out, several at a time."""

    @property
    def at_once(self) -> int:
        """How many."""
        ...

    def carry_out(self, wanted: Sequence[Wanted], /) -> Iterator[Done]:
        """All of these runs, each as it ends. A caller that stops early leaves the rest undone."""
        ...


class Pool:
    """Processes on this machine.

    Parameters
    ----------
    runs : the store of runs: a folder in which every run has one.
    workers : how many at a time.
    """

    def __init__(self, runs: Path, workers: int = 1):
        self.runs, self.at_once = runs, workers

    def carry_out(self, wanted: Sequence[Wanted]) -> Iterator[Done]:
        def work(one: Wanted, begun: Begun) -> Result:
            return one_run(one, self.runs / one.place, begun)

        with Hands(min(self.at_once, len(wanted)), work) as hands:
            for one in wanted:
                hands.give(one)
            for _ in wanted:
                one, found = hands.next()
                yield Done(one, None, str(found)) if isinstance(found, CrugError) else Done(one, found)


def one_run(wanted: Wanted, folder: Path, begun: Begun | None = None) -> Result:
    """A run in a process of its own."""
    in_a_process(WORKER, folder, wanted.model_dump_json(), begun)
    return Result.read(folder)
