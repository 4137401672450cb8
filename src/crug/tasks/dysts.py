"""The database of chaotic systems that the package dysts (William Gilpin, 2021) brings. Its Lorenz is the task
"dysts.Lorenz" here, and so on.

A system begins at the database's own reference state, and is observed 100 times in its dominant period. Systems with a
delay are left out: their state is a function. Forced systems carry their phase as a column, mapped to a bounded one as
the database does.

Integration takes seconds to minutes a system, so samples are kept in the user's cache folder under their checksum. They
do not depend on a seed.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import json
import warnings
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy.integrate import solve_ivp

from crug.errors import CrugError
from crug.readers import Recording
from crug.runtime import cache_folder
from crug.sections import Section
from crug.tasks.base import Family
from crug.tasks.recordings import RecordingTask
from crug.tasks.scale import Scale

PREFIX = "dysts."
TRAIN, TEST = 20_000, 4_000
PER_PERIOD = 100
PRECISE = 1e-10
"""Relative error of a step of the integration; absolute ones are as small beside the system's own spread."""
PATIENCE = 2_000
"""Evaluations of a system's equations, for each sample, after which it counts as too stiff for the explicit method."""
MISSING = 'the systems of dysts need the package: pip install "crug[dysts]"'


def listed() -> list[str]:
    """The systems of the database without delay; none where the package is not installed."""
    return [name for name, about in _database().items() if not about["delay"]]


def asked_for(text: str) -> list[str]:
    """The systems that a text stands for: one by its name ("Lorenz"), or the first so many of the list ("10")."""
    names = listed()
    if not (text.isascii() and text.isdecimal()):
        if text not in names:
            raise unknown(text)
        return [text]
    if not names:
        raise CrugError(MISSING)
    if not 0 < int(text[:9]) <= len(names):
        raise CrugError(f"dysts:{text[:9]}: write the first so many systems as dysts:2, up to dysts:{len(names)}")
    return names[: int(text)]


def unknown(name: str) -> CrugError:
    """That there is no such system."""
    names = listed()
    if not names:
        return CrugError(MISSING)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return CrugError(f"no system of dysts is called {name!r}; {hint}`crug sequences` lists all {len(names)}")


def interval(name: str) -> float:
    """Time between two samples."""
    return _database()[name]["period"] / PER_PERIOD


def samples(name: str, count: int = TRAIN + TEST) -> np.ndarray:
    """So many samples (count, N) of a system, in its own units, from its reference state on."""
    if name not in listed():
        raise unknown(name)
    file = cache_folder() / f"dysts-{version('dysts')}" / f"{name}-{count}.safetensors"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            kept = _kept(file)
            if kept is None:
                kept = _integrated(name, count)
                _keep(file, kept)
    except (OSError, SafetensorError) as error:
        why = getattr(error, "strerror", None) or error
        raise CrugError(f"{file}: cannot be written ({why})", "make room in the cache folder, and try again") from None
    return kept


def recording(name: str, count: int = TRAIN + TEST) -> Recording:
    """So many samples of a system as a user would have recorded them."""
    x = samples(name, count)
    return Recording(PREFIX + name, x, tuple(f"x{i + 1}" for i in range(x.shape[1])), dt=interval(name))


def load(task: str, seed: int = 0, settings: Section | None = None) -> RecordingTask:
    """A system as a task; its data do not depend on the seed."""
    found = recording(task.removeprefix(PREFIX))
    scale = Scale.of(found.values[:TRAIN])
    x = scale.standardise(found.values)
    return RecordingTask(task, TITLES[task], x[:TRAIN], x[TRAIN:], found.dt or 1.0, columns=found.columns)


@cache
def _database() -> dict[str, Any]:
    """What the package says of its systems, without importing it."""
    found = importlib.util.find_spec("dysts")
    if found is None or found.origin is None:
        return {}
    return json.loads((Path(found.origin).parent / "data" / "chaotic_attractors.json").read_text())


def _integrated(name: str, count: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that numba is not installed
        from dysts import flows  # pyright: ignore[reportMissingImports]
    system = getattr(flows, name)()
    start = np.asarray(system.ic, np.float64)
    times = interval(name) * np.arange(count)
    spread = np.asarray(_database()[name].get("std") or np.abs(start) + 1, np.float64)
    calls = 0

    def speed(t: float, x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > PATIENCE * count:
            raise TimeoutError
        return np.asarray(system.rhs(x, t), np.float64)

    how = {"t_eval": times, "rtol": PRECISE, "atol": PRECISE * np.maximum(spread, 1e-12)}
    with np.errstate(all="ignore"):
        found = None
        for method in ("DOP853", "LSODA"):
            calls = 0
            try:
                found = solve_ivp(speed, (0, times[-1]), start, method, **how)
            except TimeoutError:
                continue
            if found.success:
                break
        x = np.empty((0, len(start))) if found is None else found.y.T
        if hasattr(system, "_postprocessing"):
            x = np.stack(system._postprocessing(*x.T), axis=1)
    if len(x) < count or not np.isfinite(x).all():
        raise CrugError(f"{name}: could not be integrated for {count} samples from the state that dysts gives")
    return np.ascontiguousarray(x)


def _keep(file: Path, x: np.ndarray) -> None:
    """Put samples into the cache, all or none."""
    part = file.with_suffix(".part")
    try:
        save_file({"x": x}, part, {"sha256": _digest(x)})
        part.replace(file)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _kept(file: Path) -> np.ndarray | None:
    """What the cache has, if that is whole."""
    try:
        with safe_open(file, "np") as stored:
            x, digest = stored.get_tensor("x"), (stored.metadata() or {}).get("sha256")
    except (OSError, SafetensorError):
        return None
    return x if _digest(x) == digest else None


def _digest(x: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()


TITLES = {PREFIX + name: name for name in listed()}

FAMILY = Family(
    "dysts",
    TITLES,
    load,
    sequences={"dysts": tuple(TITLES)} if TITLES else {},
    units=32,
    listing=f"systems of dysts: {', '.join(list(TITLES)[:3])} ... {list(TITLES)[-1]}" if TITLES else MISSING,
)
