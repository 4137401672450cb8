"""A recording as its columns: which are taken, which one is the clock, and whether a model can learn them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crug.errors import CrugError

TIME = ("time", "t", "timestamp", "seconds", "sec")
"""Columns of these names are taken as the clock, not as data."""
FILLS = ("linear", "previous")
"""How missing values can be replaced."""


@dataclass(frozen=True)
class Recording:
    """Samples (T, N) as a file has them, with the names of the columns and, where the file says so, the interval."""

    source: str
    values: np.ndarray
    columns: tuple[str, ...]
    dt: float | None = None


def is_time(column: str) -> bool:
    return re.sub(r"[(\[].*|_(s|ms|us|sec|seconds)$", "", column.strip().lower()).strip() in TIME


def with_clock(recording: Recording, columns: Sequence[str] | None) -> Recording:
    """Take a column called time as the clock: evenly spaced, or the recording is refused.

    Where columns were chosen, it may be among them, and is data then; if it is not, it still says the interval.
    """
    found = [i for i, name in enumerate(recording.columns) if is_time(name)]
    if len(found) != 1 or len(recording.columns) == 1 or (columns and len(columns) == len(recording.columns)):
        return recording
    source, name, time = recording.source, recording.columns[found[0]], recording.values[:, found[0]]
    keep = [i for i in range(len(recording.columns)) if i != found[0]]
    kept = replace(recording, values=recording.values[:, keep], columns=tuple(recording.columns[i] for i in keep))
    problem = _unevenness(time)
    if problem and columns:
        warnings.warn(f"{source}: taken as evenly sampled, but column {name!r}: {problem}", stacklevel=3)
        usual = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
        return replace(kept, dt=usual if np.isfinite(usual) and usual > 0 else None)
    if problem:
        raise CrugError(
            f"{source}: column {name!r}: {problem}; resample it evenly, cut it there and learn the parts --together, "
            "or leave the clock out with --columns"
        )
    return replace(kept, dt=float(time[-1] - time[0]) / (len(time) - 1))


def _unevenness(time: np.ndarray, jitter: float = 0.01) -> str:
    """What keeps a column from being a clock; nothing if it is one. Intervals may differ by that part, and by how far
    the times were rounded."""
    if len(time) < 2 or not np.isfinite(time).all():
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


def positions(source: str, names: Sequence[str], columns: Sequence[str] | None, clock: bool) -> list[int]:
    """The positions of the columns that were asked for, and of the clock; all if none were."""
    if not columns:
        return list(range(len(names)))
    index = []
    for name in (column.strip() for column in columns):
        if name in names:
            index.append(list(names).index(name))
        elif name.isdigit() and 1 <= int(name) <= len(names):
            index.append(int(name) - 1)
        else:
            raise CrugError(f"{source}: no column {name!r}; there are: {', '.join(names)}")
    clocks = [i for i, name in enumerate(names) if is_time(name)]
    return index + clocks if clock and len(clocks) == 1 and clocks[0] not in index else index


def chosen_columns(recording: Recording, columns: Sequence[str] | None, clock: bool) -> Recording:
    index = positions(recording.source, recording.columns, columns, clock)
    return replace(recording, values=recording.values[:, index], columns=tuple(recording.columns[i] for i in index))


def checked(recording: Recording, fill: str | None = None, chosen: bool = False) -> Recording:
    """The recording, if a model can learn it; missing values filled where that is asked for.

    A column that rises evenly is refused as a clock or an index, unless it was chosen.
    """
    source, values = recording.source, recording.values
    if not len(values):
        raise CrugError(f"{source}: has no rows of numbers")
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise CrugError(
            f"{source}: column {recording.columns[column]!r} is infinite at sample {row + 1}; clean the file"
        )
    missing = np.isnan(values)
    if missing.any():
        if fill is None:
            column = int(np.argmax(missing.any(axis=0)))
            rows = np.flatnonzero(missing[:, column])
            raise CrugError(
                f"{source}: column {recording.columns[column]!r} has {len(rows)} missing values, first at sample "
                f"{rows[0] + 1}; pass --fill linear, or clean the file"
            )
        values = filled(source, recording.columns, values, fill)
    for i, name in enumerate(recording.columns):
        if constant(values[:, i]):
            raise CrugError(f"{source}: column {name!r} is constant; leave it out with --columns")
        if not chosen and len(values) > 3 and not _unevenness(values[:, i], jitter=1e-6):
            raise CrugError(
                f"{source}: column {name!r} rises evenly, like a clock or an index; call it time, or leave it out "
                "with --columns"
            )
        for j in range(i):
            if np.array_equal(values[:, i], values[:, j]):
                raise CrugError(
                    f"{source}: columns {recording.columns[j]!r} and {name!r} are equal; leave one out with --columns"
                )
    return replace(recording, values=values)


def constant(x: np.ndarray) -> bool:
    return float(x.std()) <= 1e-12 * float(np.abs(x).max())


def filled(source: str, columns: Sequence[str], values: np.ndarray, how: str) -> np.ndarray:
    if how not in FILLS:
        raise CrugError(f"--fill {how}: there are {' and '.join(FILLS)}")
    out = values.copy()
    rows = np.arange(len(values))
    for i, name in enumerate(columns):
        there = np.isfinite(values[:, i])
        if not there.any():
            raise CrugError(f"{source}: column {name!r} has no values at all; leave it out with --columns")
        if how == "linear":
            out[:, i] = np.interp(rows, rows[there], values[there, i])
        else:
            last = np.maximum.accumulate(np.where(there, rows, -1))
            out[:, i] = values[np.where(last < 0, rows[there][0], last), i]
    return out
