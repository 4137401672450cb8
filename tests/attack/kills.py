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
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import crug
from attack.tally import Tally
from crug.model.file import load
from crug.runs import store
from crug.training import phases
from waves import START, wave

SMALL: dict[str, Any] = {
    "epochs": 60,
    "network": {"M": 24, "P": 10},
    "training": {"window": 400},
    "path": {"start": 8, "every": 4},
}
TASKS = ["van-der-pol", "chua"]
LONGEST = 300
"""Seconds after which an attempt hangs."""


def run(folder: Path) -> None:
    """A run of two tasks, which saves after every chunk of epochs."""
    phases.SAVE_SECONDS = 0
    crug.run(TASKS, out=folder, **SMALL)


def model(folder: Path) -> None:
    """A model of two recordings, each saved before the next begins."""
    phases.SAVE_SECONDS = 0
    file = folder / "lab.crug"
    folder.mkdir(exist_ok=True)
    known = load(file) if file.exists() else crug.Model(units=32, seed=3, settings=START)
    for name, x in (("first", wave()), ("second", wave(3, 1.7))):
        if name not in known.tasks:
            known.learn(x, name, 0.1, epochs=40, progress=False, scratch=folder)
            known.save(file)
            store.clear(folder / "crug-progress")


class Killing:
    """Kills its own process at one of the next moments around a write: a file is opened, half of it is written, all of
    it is written, it is on the disk, it has taken its place. What is written into a file that there is, a model's, is
    written half too."""

    def __init__(self, moment: int):
        self.left = moment

    def moment(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        fsync, replace, pwrite = os.fsync, os.replace, os.pwrite

        def opened(path: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            file = builtins.open(path, mode, *rest, **more)  # noqa: SIM115 - who asked for it closes it
            if "w" in mode:
                self.moment()
                if self.left == 1:  # the next moment would come after it: half a file is left
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
            if self.left == 1:
                pwrite(number, content[: len(content) // 2], start)
                self.moment()
            done = pwrite(number, content, start)
            self.moment()
            return done

        setattr(store, "open", opened)  # noqa: B010 - it covers the builtin
        os.fsync, os.replace, os.pwrite = synced, replaced, put


def forked(job: Callable[[Path], None], folder: Path, moment: int, seconds: float) -> str:
    """One attempt, killed at a moment of its writes or after some seconds: how it ended."""
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
            if moment:
                Killing(moment).install()
            job(folder)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return waited(child, seconds)


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
    """So many kills of a run, and the end beside one that nobody killed."""
    return _killed(place, "run", run, kills, seed)


def of_a_model(place: Path, kills: int, seed: int = 0) -> Tally:
    """So many kills of a model that learns, and the end beside one that nobody killed."""
    return _killed(place, "model", model, kills, seed)


def _killed(place: Path, name: str, job: Callable[[Path], None], kills: int, seed: int) -> Tally:
    tally = Tally(f"kills of a {name}", "the same command goes on, and ends with the same bytes")
    rng, folder, rounds = random.Random(seed), place / name, 0
    whole = place / f"{name}-whole"
    assert forked(job, whole, 0, 0) == "finished", whole.with_suffix(".log").read_text()
    while tally.outcomes["killed"] < kills:
        late = rng.random() < 0.3
        began = time.monotonic()
        how = forked(job, folder, 0 if late else rng.randint(1, 12), rng.uniform(0.05, 8) if late else 0)
        tally.slowest = max(tally.slowest, time.monotonic() - began)
        if how == "finished":
            rounds += 1
            same = bare(folder) == bare(whole)
            tally.count("ends with the same bytes", "" if same else f"round {rounds} differs")
            folder = place / f"{name}-{rounds}"
        else:
            log = folder.with_suffix(".log")
            tally.count(how, "" if how == "killed" else (log.read_text()[-1_000:] if log.exists() else how))
            if tally.broken:
                break
    for _ in range(3):  # the last one, in peace
        if forked(job, folder, 0, 0) == "finished":
            break
    same = folder.exists() and bare(folder) == bare(whole)
    tally.count("ends with the same bytes", "" if same else "the last round differs")
    return tally


# several recordings at once


def together(place: Path, kills: int, seed: int = 0) -> Tally:
    """`crug learn --workers 2`, of which so many processes are killed: workers, and the one that coordinates them."""
    tally = Tally(
        "kills of several at once", "the same command goes on, and ends with the records of one after another"
    )
    rng = random.Random(seed)
    (place / "together").mkdir()
    names = []
    for k in range(4):
        names.append(f"r{k}.npy")
        np.save(place / "together" / names[-1], wave(2, 1 + 0.2 * k, 1_000))
    command = [sys.executable, "-m", "crug", "learn"]
    how = ["--epochs", "60", "--units", "8", "--size", "64"]

    def learn(file: str, *more: str) -> Any:
        line = [*command, file, *names, *how, *more]
        return subprocess.Popen(line, cwd=place / "together", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    assert learn("one.crug").wait() == 0
    left = kills
    process = learn("two.crug", "--workers", "2")
    while process.poll() is None:
        time.sleep(rng.uniform(2, 6))
        workers = children(process.pid)
        victim = rng.choice([process.pid, *workers, *workers])
        if left and process.poll() is None:
            left -= 1
            os.kill(victim, signal.SIGKILL)
            tally.count("killed", "")
        if process.poll() not in (None, 0):
            process = learn("two.crug", "--workers", "2")
    one, two = (load(place / "together" / file) for file in ("one.crug", "two.crug"))
    same = [kept.content() for kept in one.kept] == [kept.content() for kept in two.kept]
    left_over = [path.name for path in (place / "together").iterdir() if path.suffix not in (".npy", ".crug")]
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
