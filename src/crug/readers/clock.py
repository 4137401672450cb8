"""Which column of a recording is its clock, and whether that clock runs evenly."""

from __future__ import annotations

import re

import numpy as np

TIME = ("time", "t", "timestamp", "seconds", "sec")
"""Columns of these names are taken as the clock, not as data."""


LATEST = 1e300
"""Beyond it, not even a difference of two times can be computed."""


def is_time(column: str) -> bool:
    """Whether a column of this name is a clock. A unit may follow the name: `Time (s)`, `t_ms`."""
    return re.sub(r"[(\[].*|_(s|ms|us|sec|seconds)$", "", column.strip().lower()).strip() in TIME


def unevenness(time: np.ndarray, jitter: float = 0.01) -> str:
    """What keeps a column (T,) from being a clock, in words; an empty text if it is one.

    Intervals may differ from the usual one by the part `jitter` of it, and by how far the times were rounded.
    """
    if len(time) < 2 or not (np.abs(time) < LATEST).all():
        return "it has missing values, and times must be whole"
    steps = np.diff(time)
    usual = float(np.median(steps))
    if steps.min() <= 0:
        return f"time does not go on at sample {int(steps.argmin()) + 2}"
    rounded = _rounding(time, usual) + 4 * np.spacing(np.abs(time).max())
    uneven = np.flatnonzero(np.abs(steps - usual) > jitter * usual + rounded)
    if not len(uneven):
        return ""
    return f"the interval between samples is {usual:g} but {steps[uneven[0]]:g} at sample {int(uneven[0]) + 2}"


def _rounding(time: np.ndarray, dt: float) -> float:
    """How much two intervals may differ because the times were rounded to some decimals."""
    for decimals in range(10):
        unit = 10.0**-decimals
        if unit < dt / 2 and np.abs(time / unit - np.round(time / unit)).max() < 1e-3:
            return 1.01 * unit
    return 0.0
