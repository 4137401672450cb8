"""Observation noise: how much of it a column has, and what is left when a smoother has been over it.

Training forces the network to the observations, so noise in them is noise in every start of a prediction, and a weakly
chaotic system drowns in it. A local cubic (Savitzky-Golay) over the width that best predicts a sample from its
neighbours takes most of it away. Of a smooth column the narrowest width predicts best: then there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.signal import savgol_coeffs, savgol_filter

WIDTHS = (5, 7, 9, 11, 15, 19, 25, 31)
ORDER = 3
MOST = 0.3
"""Noise beyond this part of a column's standard deviation is not told from a signal faster than the sampling."""


class Noise(NamedTuple):
    """Over how many samples a column is best smoothed (0: not at all), and its noise in standard deviations."""

    width: int
    level: float


def noise(column: Sequence[np.ndarray]) -> Noise:
    """The noise of one column, given by the trajectories (T,) that it has."""
    errors = [_left_out(column, width) for width in WIDTHS]
    best = int(np.argmin(errors))
    width = WIDTHS[best]
    level = float(np.sqrt(errors[best] * (1 - _own_weight(width))) / np.concatenate(column).std())
    return Noise(width if best and level < MOST else 0, level)


def smoothed(x: np.ndarray, widths: Sequence[int]) -> np.ndarray:
    """A trajectory (T, N), each column smoothed over its width."""
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
    """What a sample itself has in the fit at its place."""
    return float(savgol_coeffs(width, ORDER)[width // 2])
