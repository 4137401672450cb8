"""Strides of a foot sensor, or the turns of any rhythm: where each begins, and how long they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter1d

SHORTEST = 0.6
"""Of the usual period: what rises sooner again is the same stride."""
SMOOTHED = 0.05
"""Of the period: what is shorter is no rise."""
HIGH, LOW = 90, 10
"""The percentiles between which a stride rises."""


class Strides(NamedTuple):
    """The samples at which strides begin."""

    starts: np.ndarray

    def times(self, dt: float) -> np.ndarray:
        """How long each one is."""
        return dt * np.diff(self.starts)

    def aligned(self, x: np.ndarray) -> np.ndarray:
        """All strides of x (T,) from their beginnings, as long as one usually is: (strides, length)."""
        if len(self.starts) < 2:
            return np.empty((0, 0))
        length = round(float(np.median(np.diff(self.starts))))
        whole = self.starts[self.starts + length <= len(x)]
        return x[whole[:, None] + np.arange(length)]


def strides(x: np.ndarray) -> Strides:
    """Where x (T,) rises through the middle of its range, once a period."""
    x = np.asarray(x, np.float64)
    low, high = np.percentile(x, [LOW, HIGH])
    if not high > low:
        return Strides(np.empty(0, int))
    period = _period(x)
    smooth = uniform_filter1d(x, max(1, round(SMOOTHED * period)))
    above = smooth > (low + high) / 2
    rises = np.flatnonzero(above[1:] & ~above[:-1]) + 1
    starts: list[int] = []
    for rise in rises:
        if not starts or rise - starts[-1] >= SHORTEST * period:
            starts.append(int(rise))
    return Strides(np.array(starts, int))


def _period(x: np.ndarray) -> int:
    """The lag of the highest autocorrelation after its first zero."""
    y = x - x.mean()
    r = np.fft.irfft(np.abs(np.fft.rfft(y, 2 * len(y))) ** 2)[: len(y) // 2]
    below = np.flatnonzero(r <= 0)
    if not len(below):
        return 1
    return int(below[0] + np.argmax(r[below[0] :]))
