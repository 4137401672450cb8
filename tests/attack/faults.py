"""A disk that fills up, several processes that write one file, and Ctrl-C while a command starts."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import crug
from attack.tally import Tally
from attack.tampered import TASKS, TINY, small_run
from crug.errors import CrugError


def full_disk(place: Path, count: int) -> Tally:
    """The disk is full at the first write, at the second, and so on; then there is room again."""
    tally = Tally("full disk", "a line that names the file, nothing left behind, and the same bytes afterwards")
    whole = small_run(place / "full-whole") / "network.safetensors"
    usual = os.fsync
    for moment in range(1, count + 1):
        folder, left = place / f"full-{moment}", [moment]

        def full(number: int, left: list[int] = left) -> None:
            left[0] -= not stat.S_ISDIR(os.fstat(number).st_mode)  # a full disk has room for the names of files
            if left[0] == 0:
                raise OSError(28, "No space left on device")
            usual(number)

        os.fsync = full
        try:
            crug.run(TASKS, out=folder, **TINY)
            outcome, broken = "finished before it was full", ""
        except CrugError as error:
            outcome = "told in a line that names the file"
            broken = "" if "cannot be written (No space left on device)" in str(error) else str(error)
        finally:
            os.fsync = usual
        broken = broken or ", ".join(map(str, folder.rglob(".*")))
        crug.run(TASKS, out=folder, **TINY)
        same = (folder / "network.safetensors").read_bytes() == whole.read_bytes()
        tally.count(outcome, broken if same else f"moment {moment}: other bytes")
    return tally


def writers(place: Path, rounds: int) -> Tally:
    """Four processes load a model, enlarge it and save it, all at once. Nothing of JAX is used before."""
    tally = Tally("concurrent writers", "of several that load and save, one wins and the others are told")
    file = place / "shared.crug"
    for round_ in range(rounds):
        file.unlink(missing_ok=True)
        crug.Model(units=16, seed=0).save(file)
        at = time.monotonic() + 1.0
        children = []
        for number in range(4):
            child = os.fork()
            if not child:
                code = 1
                try:
                    model = crug.load(file).grow(number + 1)
                    while time.monotonic() < at:
                        pass
                    model.save(file)
                    code = 0
                except CrugError:
                    code = 3
                finally:
                    os._exit(code)
            children.append(child)
        codes = [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children]
        winners = [number for number, code in enumerate(codes) if code == 0]
        right = len(winners) == 1 and 1 not in codes and crug.load(file).units == 17 + winners[0]
        tally.count("one won", "" if right else f"round {round_}: {codes}")
    return tally


READY = "import os; os.write(1, b'.'); from crug.cli import main; main()"
"""The command, which says when its own code begins: before, Python itself would have to be told."""


def ctrl_c(place: Path, count: int) -> Tally:
    """Ctrl-C at a random moment of the first seconds of a command."""
    tally = Tally("Ctrl-C", "one line and exit 130, from the first moment on")
    rng = random.Random(0)
    sets = [part for s in ("network.M=24", "network.P=12", "path.start=10") for part in ("--set", s)]
    for number in range(count):
        delay = rng.choice([rng.uniform(0.1, 1), rng.uniform(1, 8)])
        line = ["run", "--tasks", "lorenz,chua", *sets, "--out", f"ctrl-{number}"]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process: Any = subprocess.Popen([sys.executable, "-c", READY, *line], cwd=place, **pipes)
        assert process.stdout is not None
        process.stdout.read(1)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        try:
            said = process.communicate(timeout=30)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            said = "it hangs"
        tally.slowest = max(tally.slowest, time.monotonic() - began)
        lines = [part for part in said.splitlines() if part.strip()]
        right = process.returncode == 130 and bool(lines) and lines[-1].startswith("crug: stopped")
        right = right and "Traceback" not in said
        tally.count(
            "one line, exit 130", "" if right else f"after {delay:.2f} s: {process.returncode}, {said[-500:]!r}"
        )
    return tally
