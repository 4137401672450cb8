"""The time scale of a recording, from which the forcing interval and the window length follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree

from crug.readers.shape import first_zero, memory_length


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
