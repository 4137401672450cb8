"""From a recording to a task: cut, decimate, embed; hold out a test part; standardise, and remember how.

Also the recording's own time scale, from which the forcing interval and the window length follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import decimate as anti_aliased
from scipy.spatial import KDTree

from crug.errors import CrugError
from crug.tasks.base import TESTED, Task
from crug.tasks.columns import Recording, checked, constant
from crug.tasks.noise import noise, smoothed

FEWEST = 1_000
"""Samples below which nothing can be said about an attractor."""
SHORTEST = 50
"""And of a single trajectory."""
HELD_OUT = 1 / 6
"""The part of every trajectory, at its end, that is kept for testing; as in the paper's 100,000 to 20,000."""
LEAST = 4
"""Units that a task needs at the very least."""


@dataclass(frozen=True)
class Scale:
    """How a recording was standardised."""

    mean: np.ndarray
    std: np.ndarray

    def standardise(self, x: np.ndarray) -> np.ndarray:
        return (np.asarray(x, np.float64) - self.mean) / self.std

    def restore(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x, np.float64) * self.std + self.mean


def shaped(recording: Recording, cut: int = 0, decimate: int = 1, lags: Sequence[int] | str | None = None) -> Recording:
    """Cut `cut` samples from both ends, decimate behind an anti-alias filter, and add delayed copies of all columns.

    `lags` are in samples after decimation; "auto" takes the memory of the recording, and twice that.
    """
    x, source = recording.values, recording.source
    if cut:
        if 2 * cut >= len(x):
            raise CrugError(f"{source}: has {len(x)} samples, {cut} cannot be cut from both ends")
        x = x[cut:-cut]
    if decimate > 1:
        if len(x) // decimate < SHORTEST:
            raise CrugError(f"{source}: {len(x)} samples decimated by {decimate} leave too few; {SHORTEST} are needed")
        # the ends go on by reflection, or the filter would pull them to zero
        x = np.pad(x, ((20 * decimate,) * 2, (0, 0)), mode="reflect", reflect_type="odd")
        x = anti_aliased(x, decimate, ftype="fir", axis=0)[20:-20]
    columns = list(recording.columns)
    if lags:
        steps = automatic_lags(x) if isinstance(lags, str) else [int(lag) for lag in lags]
        if min(steps) < 1 or max(steps) >= len(x):
            raise CrugError(f"{source}: lags {steps} do not fit {len(x)} samples; they are in samples, from 1")
        longest = max(steps)
        x = np.concatenate([x[longest:], *(x[longest - s : len(x) - s] for s in steps)], axis=1)
        columns += [f"{name}-{s}" for s in steps for name in recording.columns]
    dt = None if recording.dt is None else recording.dt * decimate
    return Recording(source, x, tuple(columns), dt)


def prepare(
    x: Any, name: str, dt: float, units: int | None = None, columns: Sequence[str] = (), smooth: bool = True
) -> tuple[list[Any], Task, Scale]:
    """The trajectories of a recording, the task that they make, and how they were standardised; or what is wrong."""
    if not isinstance(name, str) or not name.strip():
        raise CrugError(f"name = {name!r}: a recording is called by a text, e.g. 'monday'")
    if name == "free":
        raise CrugError("no recording can be called 'free', which stands for the free units; choose another name")
    pieces = _pieces(x)
    task, scale = make_task(name, pieces, dt, columns, smooth)
    if units is not None and units < max(LEAST, task.dim + 1):
        raise CrugError(f"recording {name!r}: units = {units}; it needs at least {max(LEAST, task.dim + 1)}")
    return pieces, task, scale


def _pieces(x: Any) -> list[Any]:
    """The trajectories of what `learn` is given."""
    if getattr(x, "ndim", 3) < 3:
        return [x if isinstance(x, np.ma.MaskedArray) else np.asarray(x)]
    return list(x)


def make_task(
    name: str, pieces: Sequence[np.ndarray], dt: float, columns: Sequence[str] = (), smooth: bool = True
) -> tuple[Task, Scale]:
    """A task from one or several trajectories (T, N) of one system, and how it was standardised.

    Columns that have names were chosen: one of them may rise evenly. With `smooth`, noise is taken out of the part to
    learn from; the part that is held out stays as it was recorded.
    """
    arrays = [_plain(name, piece) for piece in pieces]
    if not arrays:
        raise CrugError(f"recording {name!r}: there are no samples")
    if not np.isfinite(dt) or dt <= 0:
        raise CrugError(f"recording {name!r}: dt = {dt:g}; the interval between samples is a positive number")
    for i, x in enumerate(arrays):
        where = f"recording {name!r}" if len(arrays) == 1 else f"recording {name!r}, trajectory {i + 1}"
        if x.ndim == 1:
            arrays[i] = x = x[:, None]
        if x.ndim != 2:
            raise CrugError(f"{where}: has {x.ndim} dimensions; give samples as (time, columns)")
        if x.shape[1] != arrays[0].shape[1]:
            raise CrugError(
                f"{where}: has {x.shape[1]} columns, the first has {arrays[0].shape[1]}; they must be the same"
            )
        if len(x) < SHORTEST:
            raise CrugError(f"{where}: has {len(x)} samples; a trajectory needs at least {SHORTEST}")
        if columns and len(columns) != x.shape[1]:
            raise CrugError(f"{where}: has {x.shape[1]} columns, {len(columns)} names are given")
        names = tuple(columns) or tuple(str(k + 1) for k in range(x.shape[1]))
        checked(Recording(where, x, names), chosen=bool(columns))
    total = sum(len(x) for x in arrays)
    if total < FEWEST:
        raise CrugError(f"recording {name!r}: has {total} samples; at least {FEWEST} are needed")
    ends = [len(x) - min(round(HELD_OUT * len(x)), TESTED // len(arrays)) for x in arrays]
    parts = [x[:end] for x, end in zip(arrays, ends, strict=True)]
    test = np.concatenate([x[end:] for x, end in zip(arrays, ends, strict=True)])[:TESTED]
    widths = []
    for i in range(test.shape[1]):
        column = [x[:, i] for x in parts]
        if constant(np.concatenate(column)):
            raise CrugError(f"recording {name!r}: column {i + 1} is constant in the part to learn from; leave it out")
        widths.append(noise(column).width if smooth else 0)
    train = np.concatenate([smoothed(x, widths) for x in parts])
    scale = Scale(train.mean(axis=0), train.std(axis=0))
    breaks = tuple(int(b) for b in np.cumsum(ends)[:-1])
    widths = tuple(widths) if any(widths) else ()
    return Task(name, name, scale.standardise(train), scale.standardise(test), dt, breaks, smoothed=widths), scale


def _plain(name: str, piece: Any) -> np.ndarray:
    """Real numbers; what a mask hides is missing."""
    if isinstance(piece, np.ma.MaskedArray):
        piece = np.where(np.ma.getmaskarray(piece), np.nan, piece.data)
    x = np.asarray(piece)
    if x.dtype.kind not in "fiub":
        raise CrugError(f"recording {name!r}: holds {x.dtype}, not real numbers")
    return x.astype(np.float64)


def first_zero(x: np.ndarray) -> int:
    """The first lag at which the mean autocorrelation of the columns is not positive."""
    mean = autocorrelation(x).mean(axis=1)
    below = np.flatnonzero(mean <= 0)
    return max(1, int(below[0])) if len(below) else max(1, len(mean) // 10)


def automatic_lags(x: np.ndarray) -> list[int]:
    """The memory of the recording and twice that. The first zero of the autocorrelation, which serves for a wave as
    well, is far beyond what can be predicted where a system dwells on one side for long (Lorenz)."""
    lag = memory_length(x)
    return [lag, 2 * lag]


def memory_length(x: np.ndarray) -> int:
    """The lag at which the fastest column has lost all but 1/e of its autocorrelation."""
    r = autocorrelation(x)
    lags = [np.flatnonzero(r[:, i] < np.exp(-1)) for i in range(r.shape[1])]
    found = [int(lag[0]) for lag in lags if len(lag)]
    return max(1, min(found)) if found else len(r)


def autocorrelation(x: np.ndarray) -> np.ndarray:
    """Of each column, for lags up to a quarter of the recording (at most its first 50,000 samples)."""
    x = np.asarray(x[:50_000], np.float64)
    x = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(x, 2 * len(x), axis=0)) ** 2
    r = np.fft.irfft(power, axis=0)[: max(2, len(x) // 4)]
    return r / r[0]


def parting_time(x: np.ndarray, breaks: Sequence[int] = ()) -> float:
    """The steps in which neighbours part by a factor e, on average; infinite where they stay together.

    Neighbours are samples whose pasts are alike too (two delays), so that a column or two of a larger system do. What
    noise adds is over after two steps, and is not counted.
    """
    x = np.asarray(x[:50_000], np.float64)
    lag, apart = max(1, memory_length(x) // 2), 2 * first_zero(x)
    ends = np.array([*(b for b in breaks if b < len(x)), len(x)])
    horizon = min(200, int(np.median(np.diff([0, *ends]))) // 2)
    pasts = np.concatenate([x[2 * lag :], x[lag:-lag], x[: -2 * lag]], axis=1)
    time = np.arange(2 * lag, len(x))
    left = ends[np.minimum(np.searchsorted(ends, time, side="right"), len(ends) - 1)] - time
    time, pasts = time[left > horizon], pasts[left > horizon]
    if len(time) < 100 or horizon < 4:
        return np.inf
    asked = np.linspace(0, len(time) - 1, min(1_000, len(time))).astype(int)
    found = np.asarray(KDTree(pasts).query(pasts[asked], k=min(60, len(time)))[1])
    far = np.abs(time[found] - time[asked, None]) > apart
    some = far.any(axis=1)
    if not some.any():
        return np.inf
    one, other = time[asked[some]], time[found[some, far[some].argmax(axis=1)]]
    steps = np.arange(horizon)
    distance = np.linalg.norm(x[one[:, None] + steps] - x[other[:, None] + steps], axis=2)
    growth = np.log(np.maximum(distance, 1e-12)).mean(axis=0)
    grown = np.flatnonzero(growth - growth[2] >= 1)
    return float(grown[0]) if len(grown) else np.inf


def time_scale(x: np.ndarray, breaks: Sequence[int] = (), interval: int = 16, window: int = 200) -> tuple[int, int]:
    """The forcing interval and the window length for a recording.

    Forced more rarely than every quarter of the time in which neighbours part, a network does not learn to follow: its
    errors are the system's own chaos. The usual 16 steps are short enough for nearly all systems at 100 samples a
    period. Where the memory is below 4 samples, forcing is more frequent too; beyond 100 it is rarer, and windows are
    longer. A trajectory of the usual length holds two windows.
    """
    memory = memory_length(x)
    factor = min(4.0, max(1.0, memory / 100))
    window = min(round(window * factor), _usual(np.diff([0, *breaks, len(x)])) // 2)
    return min(window, max(2, int(min(interval * factor, 4 * memory, parting_time(x, breaks) / 4)))), window


def _usual(lengths: np.ndarray) -> int:
    """The length that trajectories have which hold nine tenths of all samples: a few short ones do not count."""
    longest = np.sort(lengths)[::-1]
    return int(longest[np.searchsorted(np.cumsum(longest), 0.9 * longest.sum())])
