"""A recording: its samples, its inputs, the names of their columns, and whether a model can learn them."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from crug.errors import CrugError
from crug.readers.clock import unevenness

FILLS = ("linear", "previous")
"""How missing values can be replaced."""
LISTED = 8
"""Names of columns that a message spells out at most."""
LARGEST, SMALLEST, EXPONENT = 1e300, 1e-290, 300
"""The range of a column's values, and the power of two beyond which they are not squared as they are."""
FEW = 50
"""Rows that no recording has: where there are more columns than that, it lies on its side."""


@dataclass(frozen=True, repr=False, eq=False)
class Recording:
    """Samples of one system, evenly spaced in time.

    Parameters
    ----------
    source : str
        Where the samples come from, usually a file. Messages begin with it.
    values : ndarray of shape (T, N), float64
        What was measured: one row for each sample, one column for each variable, in your own units.
    columns : tuple of str
        The N names of the variables.
    dt : float, optional
        The interval between two samples. None if it is not known.
    inputs : ndarray of shape (T, Q), float64, optional
        What drove the system at each sample. None for an autonomous system, which nothing drives.
    input_columns : tuple of str
        The Q names of the inputs.
    clock : str
        The name of the column that told the time, where there was one.
    began : float
        What it said at the first sample.

    Notes
    -----
    `len(recording)` is the number of samples, `recording[1000:]` is the part from sample 1,000 on, inputs included, and
    `np.asarray(recording)` are the values.

    Examples
    --------
    >>> import numpy as np
    >>> from crug.readers import Recording
    >>> recording = Recording("monday.csv", np.random.default_rng(0).normal(size=(4000, 2)), ("x", "y"), dt=0.02)
    >>> recording
    Recording 'monday.csv': 4,000 samples of x, y, 0.02 apart
    >>> recording[1000:]
    Recording 'monday.csv': 3,000 samples of x, y, 0.02 apart
    """

    source: str
    values: np.ndarray
    columns: tuple[str, ...]
    dt: float | None = None
    inputs: np.ndarray | None = None
    input_columns: tuple[str, ...] = ()
    clock: str = ""
    began: float = 0.0

    def __post_init__(self) -> None:
        # sums depend in their last digits on how samples lie in memory, and with them all that is learned
        object.__setattr__(self, "values", np.ascontiguousarray(self.values))
        if self.inputs is not None:
            object.__setattr__(self, "inputs", np.ascontiguousarray(self.inputs))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: slice) -> Recording:
        if not isinstance(part, slice):
            raise TypeError(
                f"a recording is cut by a slice, like recording[1000:], not by {part!r}; "
                "for single samples take recording.values"
            )
        step = 1 if part.step is None else part.step
        if step < 1:
            raise TypeError(f"a recording runs forward in time; the step of a slice is from 1, not {step}")
        inputs = None if self.inputs is None else self.inputs[part]
        dt = None if self.dt is None else self.dt * step
        began = self.began + range(len(self))[part].start * (self.dt or 0.0)
        return replace(self, values=self.values[part], inputs=inputs, dt=dt, began=began)

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        text = f"Recording {self.source!r}: {len(self):,} samples of {spoken(self.columns)}"
        if self.dt is not None:
            text += f", {self.dt:g} apart"
        return text if self.inputs is None else f"{text}, driven by {spoken(self.input_columns)}"


def spoken(names: Sequence[str]) -> str:
    """Names for a message: not more than a reader takes in."""
    if len(names) <= LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more"


def checked(recording: Recording, fill: str | None = None, chosen: bool = False) -> Recording:
    """The recording, if a model can learn it, with missing values filled where `fill` says how; an error otherwise.

    A column that rises evenly is refused as a clock or an index, unless the data were `chosen`. Inputs are always
    chosen, and otherwise checked as the data are.
    """
    source, inputs = recording.source, recording.inputs
    if not len(recording):
        raise CrugError(f"{source}: has no rows of numbers")
    names = recording.columns + recording.input_columns
    if inputs is not None and inputs.shape != (len(recording), len(recording.input_columns)):
        raise CrugError(
            f"{source}: inputs of shape {inputs.shape}, for {len(recording)} samples and the names "
            f"{', '.join(recording.input_columns) or '(none)'}",
            "give one row for each sample and one name for each column",
        )
    if len(recording) < recording.values.shape[1] and len(recording) < FEW:
        raise CrugError(
            f"{source}: has {len(recording)} rows and {len(recording.columns)} columns",
            "time runs down the rows: transpose it",
        )
    values = _whole(recording, recording.columns, recording.values, fill)
    inputs = None if inputs is None else _whole(recording, recording.input_columns, inputs, fill)
    table = values if inputs is None else np.concatenate([values, inputs], axis=1)
    same: dict[bytes, str] = {}
    for i, name in enumerate(names):
        if constant(table[:, i]):
            _refuse(recording, name, f"column {name!r} is constant", "leave it out with")
        if not chosen and i < values.shape[1] and len(table) > 3 and not unevenness(table[:, i], jitter=1e-6):
            what = f"column {name!r} rises evenly, like a clock or an index"
            _refuse(recording, name, what, "call it time, or leave it out with")
        bits = hashlib.sha256((table[:, i] + 0.0).tobytes()).digest()  # a negative zero is one too
        if bits in same:
            _refuse(recording, name, f"columns {same[bits]!r} and {name!r} are equal", "leave one out with")
        same[bits] = name
    return replace(recording, values=values, inputs=inputs)


def _refuse(recording: Recording, name: str, what: str, how: str) -> NoReturn:
    """Say what is wrong with a column, and how to leave it out."""
    remedy, flags = _leaving_out(recording, name)
    raise CrugError(f"{recording.source}: {what}", f"{how} {remedy}", f"{how} {flags}")


def constant(x: np.ndarray) -> bool:
    """Whether a column does not vary beyond rounding."""
    size = magnitude(x)
    x = x if size == 1 else x / size
    return float(x.std()) <= 1e-12 * float(np.abs(x).max())


def magnitude(x: np.ndarray) -> np.ndarray:
    """A power of two for each column, by which it can be divided without rounding before its values are squared: 1,
    unless squares would be beyond the range of numbers."""
    exponent = np.frexp(np.abs(x).max(axis=0))[1]
    return np.where(np.abs(exponent) > EXPONENT, np.ldexp(1.0, exponent), 1.0)


def _whole(recording: Recording, names: Sequence[str], values: np.ndarray, fill: str | None) -> np.ndarray:
    """The values, all finite and within the range of numbers that can be computed with: missing ones filled, or
    refused."""
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise CrugError(
            f"{recording.source}: column {names[column]!r} is infinite at sample {row + 1}", "clean the file"
        )
    peaks = np.fmax.reduce(np.abs(values), axis=0)
    for column in map(int, np.flatnonzero((peaks > LARGEST) | ((peaks < SMALLEST) & (peaks > 0)))):
        kind = "as large" if peaks[column] > 1 else "at most as large"
        raise CrugError(
            f"{recording.source}: column {names[column]!r} has values {kind} as {peaks[column]:.0e}",
            "give it in other units",
        )
    missing = np.isnan(values)
    if not missing.any():
        return values
    if fill is None:
        column = int(np.argmax(missing.any(axis=0)))
        rows = np.flatnonzero(missing[:, column])
        raise CrugError(
            f"{recording.source}: column {names[column]!r} has {len(rows)} missing values, "
            f"first at sample {rows[0] + 1}",
            'pass fill="linear", or clean the file',
            "pass --fill linear, or clean the file",
        )
    for i, name in enumerate(names):
        if missing[:, i].all():
            _refuse(recording, name, f"column {name!r} has no values at all", "leave it out with")
    return filled(values, fill)


def filled(values: np.ndarray, how: str) -> np.ndarray:
    """Samples (T, N) without gaps. Every column needs one value at least; before the first, that one stands.

    Parameters
    ----------
    values : ndarray of shape (T, N)
        Missing values are NaN.
    how : {"linear", "previous"}
        Draw a straight line over a gap, or hold the value before it.
    """
    known_fill(how)
    out = values.copy()
    rows = np.arange(len(values))
    for i in range(values.shape[1]):
        there = np.isfinite(values[:, i])
        if how == "linear":
            out[:, i] = np.interp(rows, rows[there], values[there, i])
        else:
            last = np.maximum.accumulate(np.where(there, rows, -1))
            out[:, i] = values[np.where(last < 0, rows[there][0], last), i]
    return out


def known_fill(how: str) -> None:
    if how not in FILLS:
        raise CrugError(f"fill = {how!r}: there are {' and '.join(FILLS)}")


# how columns are chosen, in Python and on the command line


def _leaving_out(recording: Recording, name: str) -> tuple[str, str]:
    """What to pass so that a column is left out. One that is no longer an input would be data if that were all."""
    data = option("columns", [column for column in recording.columns if column != name])
    if name in recording.columns:
        return data
    others = [column for column in recording.input_columns if column != name]
    inputs = option("inputs", others) if others else ("no inputs", "no --inputs")
    return f"{data[0]} and {inputs[0]}", f"{data[1]} and {inputs[1]}"


def option(name: str, names: Sequence[str]) -> tuple[str, str]:
    """The argument that chooses these columns, and the flag that does; without the names where they are too many."""
    if not 0 < len(names) <= LISTED or any("," in column for column in names):
        return f"{name}=[...]", f"--{name}"
    return f"{name}={json.dumps(list(names), ensure_ascii=False)}", f"--{name} {shlex.quote(','.join(names))}"
