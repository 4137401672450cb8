"""Processes on this machine that carry out pieces of work, each with one thread.

A process that is killed loses the last minute or so of its work, which another process then goes on with. A process
ends when its standard input does: whoever started it is gone then, and nobody waits for what it does. What is done of
it stays in its folder.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from crug.errors import CrugError
from crug.runtime import ONE_THREAD

TRIES = 3
"""Processes that may die over one piece of work before it counts as failed."""
FAILED = 2
"""The exit status after an error of the work itself; another try would fail alike."""
LEFT = 3
"""The exit status where whoever asked for the work has gone."""

T = TypeVar("T")
R = TypeVar("R")
Made = TypeVar("Made", covariant=True)
Begun = Callable[["subprocess.Popen[str]"], None]
"""Is told of every process."""


class Crew(Protocol[T, Made]):
    """Carries out pieces of work, several at a time."""

    def give(self, work: T, /) -> None:
        """One more piece of work."""
        ...

    def next(self) -> tuple[T, Made | CrugError]:
        """A piece of work that is over, and what came of it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None:
        """Whatever is under way ends; what is done of it stays."""
        ...


class Hands(Generic[T, R]):
    """A crew of processes on this machine: `work` starts them, telling whoever asks for it."""

    def __init__(self, workers: int, work: Callable[[T, Begun], R]):
        self.work, self.stopping = work, threading.Event()
        self.todo: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[tuple[T, R | CrugError]] = queue.SimpleQueue()
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self.threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(workers)]

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for process in list(self.processes.values()):
            process.kill()
        for _thread in self.threads:
            self.todo.put(None)
        for thread in self.threads:
            thread.join()

    def give(self, work: T) -> None:
        self.todo.put(work)

    def next(self) -> tuple[T, R | CrugError]:
        return self.done.get()

    def _serve(self) -> None:
        while (work := self.todo.get()) is not None and not self.stopping.is_set():
            try:
                self.done.put((work, self.work(work, self._begun)))
            except CrugError as error:
                self.done.put((work, error))
            except Exception as error:  # whoever asks what came of it would wait for ever
                self.done.put((work, CrugError(f"it could not be carried out ({type(error).__name__}: {error})")))

    def _begun(self, process: subprocess.Popen[str]) -> None:
        self.processes[threading.get_ident()] = process
        if self.stopping.is_set():
            process.kill()
            raise CrugError("stopped")


def in_a_process(module: str, folder: Path, told: str, begun: Begun | None = None) -> None:
    """Work in a process of its own, `python -m module folder`, and where that is killed in another one, which goes on
    from there. `told` is a line that it is given."""
    said = ""
    for _ in range(TRIES):
        code, said = _process(module, folder, told, begun)
        if code == 0:
            return
        if code == FAILED:
            break
    raise CrugError(said.strip().splitlines()[-1] if said.strip() else f"{folder}: its process was killed")


def _process(module: str, folder: Path, told: str, begun: Begun | None) -> tuple[int, str]:
    """A process: its exit status, and what it said of errors."""
    pipe, environment = subprocess.PIPE, {**os.environ, **ONE_THREAD, "XLA_FLAGS": os.environ.get("XLA_FLAGS", "")}
    with subprocess.Popen(
        [sys.executable, "-m", module, str(folder)],
        stdin=pipe,
        stdout=subprocess.DEVNULL,
        stderr=pipe,
        text=True,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(told + "\n")
            process.stdin.flush()
            if begun is not None:
                begun(process)
        except BrokenPipeError:
            pass
        said = process.stderr.read()
        return process.wait(), said


def serve(work: Callable[[str, Path], object]) -> None:
    """What such a process does: it is told a line, and works in the folder that it was started with."""
    from crug.runtime import one_thread

    one_thread()
    told = sys.stdin.readline()
    threading.Thread(target=_watch, daemon=True).start()
    try:
        work(told, Path(sys.argv[1]))
    except CrugError as error:
        print(error, file=sys.stderr)
        raise SystemExit(FAILED) from None


def _watch() -> None:
    while sys.stdin.readline():
        pass
    os._exit(LEFT)
