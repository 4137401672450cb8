"""Kills: a run and a model in a process that is killed again and again, around every write and at random moments.

Each attempt is a fork of this process, in which JAX has been imported and never used: it saves the time of importing.
"""

from __future__ import annotations

import builtins
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import crug
from attack.tally import Tally
from crug.model.file import load
from crug.runs import store
from crug.training import phases
from waves import START, wave

SMALL: dict[str, Any] = {
    "network": {"M": 24, "P": 10},
    "training": {"window": 400, "starts": 2},
    "path": {"start": 8, "every": 4},
}
TASKS = ["van-der-pol", "chua"]
LONGEST = 900
"""Seconds after which an attempt hangs."""
AT_START, BETWEEN = 0.2, 0.2
"""Parts of the kills that come at a random moment: of the first seconds, or after a write."""
A_WRITE = 6
"""Moments around the write of a file, about."""


def run(folder: Path, kills: int) -> None:
    """A run of two tasks, which saves after every chunk of epochs: more often than so many kills let it."""
    phases.SAVE_SECONDS = 0
    crug.run(TASKS, out=folder, epochs=60 * max(1, kills // 25), **SMALL)


def model(folder: Path, kills: int) -> None:
    """A model of several recordings, each saved before the next begins: more than so many kills let it learn."""
    phases.SAVE_SECONDS = 0
    file, count = folder / "lab.crug", 2 + kills // 20
    folder.mkdir(exist_ok=True)
    known = load(file) if file.exists() else crug.Model(units=16 * count, seed=3, settings=START)
    for k in range(count):
        if f"r{k}" not in known.tasks:
            known.learn(wave(2 + k % 2, 1 + 0.1 * k), f"r{k}", 0.1, epochs=40, progress=False, scratch=folder)
            known.save(file)
            store.clear(folder / "crug-progress")


class Kill(NamedTuple):
    """When a process is to be killed: so many seconds after its start, or at a moment of its writes, or so many
    seconds after that moment."""

    moment: int = 0
    seconds: float = 0.0

    @classmethod
    def drawn(cls, rng: random.Random, idle: int) -> Kill:
        """Any; the later the more attempts before it, `idle` of them, came to nothing."""
        kind = rng.random()
        if kind < AT_START:
            return cls(0, rng.uniform(0.05, 2))
        moment = rng.randint(1, 2 * A_WRITE) + A_WRITE * idle
        return cls(moment, rng.uniform(0, 0.5) if kind < AT_START + BETWEEN else 0.0)


NEVER = Kill()


class Killing:
    """Kills its own process at one of the next moments around a write: a file is opened, half of it is written, all of
    it is written, it is on the disk, it has taken its place. What is written into a file that there is, a model's, is
    written half too."""

    def __init__(self, kill: Kill):
        self.left, self.delay = kill.moment, kill.seconds

    def moment(self) -> None:
        self.left -= 1
        if self.left == 0:
            if self.delay:
                threading.Timer(self.delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    @property
    def half(self) -> bool:
        """Whether the next moment is the last one: what is written before it is written half."""
        return self.left == 1 and not self.delay

    def install(self) -> None:
        fsync, replace, pwrite = os.fsync, os.replace, os.pwrite

        def opened(path: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            file = builtins.open(path, mode, *rest, **more)  # noqa: SIM115 - who asked for it closes it
            if "w" in mode:
                self.moment()
                if self.half:
                    file.write(b"half")
                    file.flush()
                    self.moment()
            return file

        def synced(number: int) -> None:
            self.moment()
            fsync(number)
            self.moment()

        def replaced(one: Any, other: Any) -> None:
            replace(one, other)
            self.moment()

        def put(number: int, content: bytes, start: int) -> int:
            self.moment()
            if self.half:  # of a line of the head its text, behind which there are zeros only
                pwrite(number, content[: len(content.rstrip(b"\0")) // 2], start)
                self.moment()
            done = pwrite(number, content, start)
            self.moment()
            return done

        setattr(store, "open", opened)  # noqa: B010 - it covers the builtin
        os.fsync, os.replace, os.pwrite = synced, replaced, put


def forked(job: Callable[[Path], None], folder: Path, kill: Kill = NEVER) -> str:
    """One attempt, killed or not: how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        log = os.open(folder.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 2)
        code = 1
        try:
            warnings.simplefilter("ignore")
            if kill.moment:
                Killing(kill).install()
            job(folder)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return waited(child, 0 if kill.moment else kill.seconds)


def waited(child: int, seconds: float) -> str:
    """How a process ended, which is killed after some seconds if there are any."""
    began = time.monotonic()
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        spent = time.monotonic() - began
        if spent > LONGEST or (seconds and spent > seconds):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hang" if spent > LONGEST else "killed"
        time.sleep(0.01)
    if os.WIFSIGNALED(status):
        return "killed" if os.WTERMSIG(status) == signal.SIGKILL else f"signal {os.WTERMSIG(status)}"
    return "finished" if os.WEXITSTATUS(status) == 0 else "error"


def of_a_run(place: Path, kills: int, seed: int = 0) -> Tally:
    """So many kills in a row of one run, and its end beside one that nobody killed."""
    return _killed(place, "run", lambda folder: run(folder, kills), kills, seed)


def of_a_model(place: Path, kills: int, seed: int = 0) -> Tally:
    """So many kills in a row of one model that learns, and its end beside one that nobody killed."""
    return _killed(place, "model", lambda folder: model(folder, kills), kills, seed)


def _killed(place: Path, name: str, job: Callable[[Path], None], kills: int, seed: int) -> Tally:
    tally = Tally(f"kills of a {name}", "the same command goes on, and ends with the same bytes")
    rng, folder, whole, idle = random.Random(seed), place / name, place / f"{name}-whole", 0
    assert forked(job, whole) == "finished", whole.with_suffix(".log").read_text()
    log = folder.with_suffix(".log")
    while tally.outcomes["killed"] < kills and not tally.broken:
        began, before = time.monotonic(), written(folder)
        how = forked(job, folder, Kill.drawn(rng, idle))
        tally.slowest = max(tally.slowest, time.monotonic() - began)
        idle = idle + 1 if written(folder) == before else 0
        if how == "finished":
            tally.count(how, f"after {tally.outcomes['killed']} kills of {kills}: there was too little to do")
        else:
            tally.count(how, "" if how == "killed" else (log.read_text()[-1_000:] if log.exists() else how))
    if not tally.broken:
        how = forked(job, folder)
        same = how == "finished" and bare(folder) == bare(whole)
        tally.count("ends with the same bytes", "" if same else f"{how}, and it differs")
    return tally


def written(folder: Path) -> set[tuple[str, int]]:
    """The files in a folder that are whole, each with the time of its last change."""
    files = (file for file in folder.rglob("*") if file.is_file() and not store.leftover(file))
    return {(str(file), file.stat().st_mtime_ns) for file in files}


# several recordings at once


def together(place: Path, kills: int, seed: int = 0) -> Tally:
    """`crug learn --workers 2`, of which so many processes are killed: a worker and the one that coordinates them, by
    turns. Where a file is finished before that, there is another one."""
    tally = Tally(
        "kills of several at once", "the same command goes on, and ends with the records of one after another"
    )
    rng, folder, left = random.Random(seed), place / "together", kills
    folder.mkdir()
    names = [f"r{k}.npy" for k in range(4)]
    for k, name in enumerate(names):
        np.save(folder / name, wave(2, 1 + 0.2 * k, 1_000))
    command = [sys.executable, "-m", "crug", "learn"]
    how = ["--epochs", "60", "--units", "8"]

    def learn(file: str, *more: str) -> Any:
        if not (folder / file).exists():
            crug.Model(units=64, settings=START).save(folder / file)
        line = [*command, file, *names, *how, *more]
        return subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    assert learn("one.crug").wait() == 0
    files = 0
    while left or not files:
        files += 1
        file, process, began = f"{files}.crug", None, time.monotonic()
        while process is None or process.poll() != 0:
            assert time.monotonic() - began < LONGEST, "it comes to no end"
            if process is None or process.poll() is not None:
                process = learn(file, "--workers", "2")
            time.sleep(rng.uniform(0.5, 4))
            workers = children(process.pid)
            if left and workers and process.poll() is None:
                coordinator = left % 2 == 0
                os.kill(process.pid if coordinator else rng.choice(workers), signal.SIGKILL)
                tally.count("the coordinator killed" if coordinator else "a worker killed")
                left -= 1
                if coordinator:
                    process.wait()
        one, other = (load(folder / name) for name in ("one.crug", file))
        same = [kept.content() for kept in one.kept] == [kept.content() for kept in other.kept]
        left_over = [path.name for path in folder.iterdir() if path.suffix not in (".npy", ".crug")]
        tally.count("ends with the same records", "" if same and not left_over else f"it differs; {left_over}")
    return tally


def children(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            status = (entry / "stat").read_text()
        except OSError:
            continue
        if int(status.rpartition(")")[2].split()[1]) == parent:
            found.append(int(entry.name))
    return found


def bare(folder: Path) -> dict[str, Any]:
    """All that is in a folder, without the time that it took."""
    found: dict[str, Any] = {}
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        if file.suffix == ".json":
            found[name] = untimed(json.loads(file.read_text()))
        elif file.suffix == ".crug":
            known = load(file)
            found[name] = known.seed, known.settings, known.units_free, [one.content() for one in known.kept]
        elif file.is_file():
            found[name] = file.read_bytes()
    return found


def untimed(value: Any) -> Any:
    """Stored JSON without the time that it took, and without the checksums that cover it."""
    if isinstance(value, dict):
        return {k: untimed(v) for k, v in value.items() if k not in ("seconds", "sha256")}
    if isinstance(value, list):
        return [untimed(item) for item in value]
    return np.float64(value).item() if isinstance(value, float) else value
