"""How a model grows: file, memory and time of a thousand recordings; and how many recordings two workers learn at once.

    python benchmarks/records.py [many] [workers]

`many` copies one small network a thousand times, each a little different: what is measured is the bookkeeping. Each
copy is saved by itself, as recordings are that are learned one after another.
`workers` learns eight recordings of the Lorenz system from eight starts, with one worker and with two.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from crug.runtime import one_thread

one_thread()

import numpy as np  # noqa: E402
from scipy.integrate import solve_ivp  # noqa: E402

from crug.model import Model, load  # noqa: E402
from crug.model.kept import Kept  # noqa: E402
from crug.model.known import Known  # noqa: E402

COUNTS = (1, 10, 100, 1_000)
STEPS = 20_000
EPOCHS = 600


def timed(what: Callable[[], Any], times: int = 1) -> float:
    """Seconds, the fewest of so many times."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        what()
        found.append(time.perf_counter() - began)
    return min(found)


def memory() -> float:
    """Megabytes that the process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def copy_of(kept: Kept, k: int) -> Kept:
    """The record under another name, a little different."""
    record = kept.record
    known, units = record.known, replace(record.units, h=record.units.h + np.float32(1e-4 * k))
    about = known.about.model_copy(update={"name": f"r{k}"})
    return Kept.of(replace(record, units=units, known=Known.restored(about, known.learned, known.arrays())))


def many(place: Path) -> None:
    t = 0.1 * np.arange(3_000)
    x = np.stack([np.sin(t), np.cos(1.3 * t)], axis=1)
    warnings.simplefilter("ignore")  # that so little training makes no good network
    small = Model(units=64, seed=0).learn(x, "wave", 0.1, epochs=40, progress=False)
    file, model = place / "lab.crug", Model(units=10**6, seed=0)
    print("recordings   units   file, KB   opening, s   rollout, ms   one more saved, s   reading all, MB more")
    for count in COUNTS:
        while len(model.tasks) < count:
            model.add(copy_of(small.kept[0], len(model.tasks)))
            model.save(file)
        opening = timed(lambda: load(file), 3)
        last, size, free = model.tasks[-1], file.stat().st_size / 1e3, model.units_free
        opened = load(file)
        rollout = timed(lambda opened=opened, last=last: opened.rollout(last, STEPS), 5)
        before = memory()
        for name in opened.tasks:
            opened.learned(name)
        read = memory() - before
        model.add(copy_of(small.kept[0], count))
        saving = timed(lambda: model.save(file))
        print(
            f"{count:10,} {10**6 - free:7,} {size:10,.0f} {opening:12.3f} {1e3 * rollout:13.1f} "
            f"{saving:19.3f} {read:22.1f}",
            flush=True,
        )


def lorenz(start: int) -> np.ndarray:
    def rhs(_: float, z: np.ndarray) -> list[float]:
        return [10 * (z[1] - z[0]), z[0] * (28 - z[2]) - z[1], z[0] * z[1] - 8 / 3 * z[2]]

    t = 0.02 * np.arange(6_500)
    z0 = np.random.default_rng(start).normal([0.0, 0.0, 25.0], 5)
    return solve_ivp(rhs, (0, t[-1]), z0, t_eval=t, rtol=1e-9, atol=1e-9).y.T[500:]


def workers() -> None:
    recordings, models = {f"r{k}": lorenz(k) for k in range(8)}, {}
    for count in (1, 2):
        model = models[count] = Model(units=1_024, seed=0)
        spent = timed(lambda model=model, count=count: _learn(model, recordings, count))
        print(f"{count} worker{'s' * (count > 1)}: {spent:.0f} s", flush=True)
    one, two = ([kept.content() for kept in models[count].kept] for count in (1, 2))
    print("the same records to the bit" if one == two else "THE RECORDS DIFFER")


def _learn(model: Model, recordings: dict[str, np.ndarray], count: int) -> None:
    model.learn_many(recordings, workers=count, dt=0.02, epochs=EPOCHS, progress=False)


if __name__ == "__main__":
    asked = sys.argv[1:] or ["many", "workers"]
    with tempfile.TemporaryDirectory() as folder:
        if "many" in asked:
            many(Path(folder))
        if "workers" in asked:
            workers()
