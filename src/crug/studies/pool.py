"""Engines: who carries out the runs that a study wants. Here the one that needs nothing: processes on this machine.

Every run is a process of its own with one thread. A process that is killed loses the last minute or so of its run,
which another process then goes on with. The coordinator only waits.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from crug.errors import CrugError
from crug.runs import Result
from crug.studies.wanted import Wanted
from crug.studies.worker import FAILED

TRIES = 3
"""Processes that may die over one run before it counts as failed."""


class Done(NamedTuple):
    """A run that is over: its result, or why there is none."""

    wanted: Wanted
    result: Result | None
    error: str = ""


class Engine(Protocol):
    """Carries runs out, several at a time."""

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
        self.runs, self.workers = runs, workers

    def carry_out(self, wanted: Sequence[Wanted]) -> Iterator[Done]:
        todo: queue.SimpleQueue[Wanted] = queue.SimpleQueue()
        for one in wanted:
            todo.put(one)
        done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        crew = [_Hand(self.runs, todo, done) for _ in range(min(self.workers, len(wanted)))]
        for hand in crew:
            hand.start()
        try:
            for _ in wanted:
                yield done.get()
        finally:
            for hand in crew:
                hand.stop()
            for hand in crew:
                hand.join()


class _Hand(threading.Thread):
    """Starts one process after another and waits for each."""

    def __init__(self, runs: Path, todo: queue.SimpleQueue[Wanted], done: queue.SimpleQueue[Done]):
        super().__init__(daemon=True)
        self.runs, self.todo, self.done = runs, todo, done
        self.process: subprocess.Popen[str] | None = None
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                wanted = self.todo.get_nowait()
            except queue.Empty:
                return
            self.done.put(self._one(wanted))

    def stop(self) -> None:
        """No further run, and an end to the one under way; what is done of it stays."""
        self.stopping.set()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def _one(self, wanted: Wanted) -> Done:
        try:
            return Done(wanted, one_run(wanted, self.runs / wanted.place, self._begun))
        except CrugError as error:
            return Done(wanted, None, str(error))

    def _begun(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        if self.stopping.is_set():
            process.kill()
            raise CrugError("stopped")


def one_run(wanted: Wanted, folder: Path, begun: Callable[[subprocess.Popen[str]], None] | None = None) -> Result:
    """A run in a process of its own, and where that is killed in another one, which goes on from there."""
    said = ""
    for _ in range(TRIES):
        code, said = _process(wanted, folder, begun)
        if code == 0:
            return Result.read(folder)
        if code == FAILED:
            break
    raise CrugError(said.strip().splitlines()[-1] if said.strip() else f"{wanted.place}: its process was killed")


def _process(wanted: Wanted, folder: Path, begun: Callable[[subprocess.Popen[str]], None] | None) -> tuple[int, str]:
    """A worker: its exit status, and what it said of errors. It is told the run, and lives as long as the pipe."""
    command = [sys.executable, "-m", "crug.studies.worker", str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(wanted.model_dump_json() + "\n")
            process.stdin.flush()
            if begun is not None:
                begun(process)
        except BrokenPipeError:
            pass
        said = process.stderr.read()
        return process.wait(), said
