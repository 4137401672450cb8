"""Observation noise: how much of it a column has, and how to smooth it away.

In training, the network is set to the observations again and again. Noise in them is then noise in the start of every
prediction, and a weakly chaotic system is lost in it. A local cubic fit (Savitzky-Golay filter) takes most of it away.
The fit is as wide as predicts a sample best from its neighbours. For a smooth column the narrowest fit does that, and
the column is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.signal import savgol_coeffs, savgol_filter

WIDTHS = (5, 7, 9, 11, 15, 19, 25, 31)
"""Samples over which a fit may go."""
ORDER = 3
"""The degree of the polynomial that is fitted."""
MOST = 0.3
"""Beyond this part of a column's standard deviation, noise cannot be told from a signal faster than the sampling."""


class Noise(NamedTuple):
    """How noisy a column is.

    Parameters
    ----------
    width : int
        Over how many samples it is best smoothed; 0 if not at all.
    level : float
        The standard deviation of its noise, as a part of the column's own.
    """

    width: int
    level: float


def noise(column: Sequence[np.ndarray]) -> Noise:
    """How noisy one column is, by all its trajectories (T,) together."""
    errors = [_left_out(column, width) for width in WIDTHS]
    best = int(np.argmin(errors))
    width = WIDTHS[best]
    level = float(np.sqrt(errors[best] * (1 - _own_weight(width))) / np.concatenate(column).std())
    return Noise(width if best and level < MOST else 0, level)


def smoothed(x: np.ndarray, widths: Sequence[int]) -> np.ndarray:
    """A trajectory (T, N), each column smoothed over its own width; a column of width 0 stays as it is."""
    out = np.array(x, np.float64)
    for i, width in enumerate(widths):
        if width:
            out[:, i] = savgol_filter(out[:, i], width, ORDER)
    return out


def _left_out(column: Sequence[np.ndarray], width: int) -> float:
    """The mean squared error with which samples are predicted by the fit to their neighbours without them."""
    half = width // 2
    residuals = np.concatenate([(x - savgol_filter(x, width, ORDER))[half:-half] for x in column])
    return float(np.mean((residuals / (1 - _own_weight(width))) ** 2))


def _own_weight(width: int) -> float:
    """How much a sample counts in the fit at its own place."""
    return float(savgol_coeffs(width, ORDER)[width // 2])
