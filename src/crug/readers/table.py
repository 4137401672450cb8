"""From the columns of a file to a recording: which are data, which are inputs, and which one is the clock.

A reader of a file format makes a `Table`. `places` finds in it the columns that were asked for, and `recording_of`
reads them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crug.errors import CrugError
from crug.readers.clock import is_time, unevenness
from crug.readers.columns import Recording, option, spoken


@dataclass(frozen=True)
class Table:
    """A file whose columns are known and can be read.

    Parameters
    ----------
    source : str
        The file.
    names : tuple of str
        The names of all its columns; numbers from 1 where the file has none.
    take : callable
        Reads columns: from places, counted from 0, to an array of shape (T, places). It raises a `CrugError` if one of
        these columns is not numbers; what other columns hold does not matter.
    dt : float, optional
        The interval between samples, where the format says it.
    """

    source: str
    names: tuple[str, ...]
    take: Callable[[list[int]], np.ndarray]
    dt: float | None = None


@dataclass(frozen=True)
class Places:
    """Where in a table the data, the inputs and the clock are, counted from 0. `clock` is None if there is none."""

    data: list[int]
    inputs: list[int]
    clock: int | None

    @property
    def all(self) -> list[int]:
        return [*self.data, *self.inputs, *([] if self.clock is None else [self.clock])]


def places(table: Table, columns: Sequence[str | int] | None, inputs: Sequence[str | int] | None) -> Places:
    """The places of what was asked for, by names or by numbers from 1.

    Without `columns`, the data are all columns but the inputs and the clock. A column called time is the clock, unless
    it was asked for as data or as an input, or is the only column.
    """
    source, names = table.source, table.names
    data, driving = _positions(table, columns), _positions(table, inputs)
    drives = set(driving)
    for i in data:
        if i in drives:
            raise CrugError(
                f"{source}: column {names[i]!r} is asked for both as data and as an input",
                "name it in columns or in inputs, not in both",
                "name it in --columns or in --inputs, not in both",
            )
    clocks = [i for i, name in enumerate(names) if is_time(name)]
    clock = clocks[0] if len(clocks) == 1 and len(names) > 1 and clocks[0] not in data + driving else None
    if not columns:
        data = [i for i in range(len(names)) if i != clock and i not in drives]
    if driving and not data:
        raise CrugError(f"{source}: with {', '.join(names[i] for i in driving)} as inputs, no column is left as data")
    return Places(data, driving, clock)


def _positions(table: Table, columns: Sequence[str | int] | None) -> list[int]:
    """Places of columns by their names, or their numbers from 1."""
    found: list[int] = []
    named = {name: i for i, name in reversed(list(enumerate(table.names)))}
    for column in columns or ():
        name = str(column).strip()
        number = int(name) if name.isascii() and name.isdecimal() and len(name) < 10 else 0
        if name in named:
            found.append(named[name])
        elif 1 <= number <= len(table.names):
            found.append(number - 1)
        else:
            raise CrugError(f"{table.source}: no column {name[:40]!r}", f"there are: {spoken(table.names)}")
    return found


def asked(columns: Any) -> tuple[str | int, ...] | None:
    """Columns as they may be asked for: in any sequence, or one by itself. None, or no column, asks for nothing."""
    if columns is None or isinstance(columns, str | int):
        return (columns,) if columns or columns == 0 else None
    try:
        return tuple(columns) or None
    except TypeError:
        raise CrugError(f"columns = {columns!r}", "give a list of names, or of numbers from 1") from None


def recording_of(table: Table, where: Places, chosen: bool) -> Recording:
    """Read what is at these places; the clock says the interval.

    Where the data were `chosen`, only they and the inputs have to be right. A clock that is not evenly spaced, or that
    is not numbers at all, is an error otherwise.
    """
    try:
        values = table.take(where.all)
    except CrugError:
        if not chosen or where.clock is None:
            raise
        where = replace(where, clock=None)  # it may be dates
        values = table.take(where.all)
    data, driving = len(where.data), len(where.inputs)
    found = Recording(table.source, values[:, :data], tuple(table.names[i] for i in where.data), table.dt)
    if driving:
        names = tuple(table.names[i] for i in where.inputs)
        found = replace(found, inputs=values[:, data : data + driving], input_columns=names)
    if where.clock is not None and len(values):
        clock, time = table.names[where.clock], values[:, -1]
        found = replace(found, dt=_interval(found, clock, time, chosen))
        if found.dt is not None and np.isfinite(time[0]):
            found = replace(found, clock=clock, began=float(time[0]))
    return found


def _interval(recording: Recording, name: str, time: np.ndarray, chosen: bool) -> float | None:
    """The interval between samples by the clock `time` (T,)."""
    problem = unevenness(time)
    if not problem:
        return float(time[-1] - time[0]) / (len(time) - 1)
    if not chosen:
        remedy, flags = option("columns", recording.columns)
        raise CrugError(
            f"{recording.source}: column {name!r}: {problem}",
            "resample it evenly, cut it there and learn the parts as trajectories of one recording, "
            f"or leave the clock out with {remedy}",
            f"resample it evenly, cut it there and learn the parts --together, or leave the clock out with {flags}",
        )
    warnings.warn(f"{recording.source}: taken as evenly sampled, but column {name!r}: {problem}", stacklevel=4)
    usual = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    return usual if np.isfinite(usual) and usual > 0 else None


def numbers(count: int) -> tuple[str, ...]:
    """Names for columns that have none: their numbers from 1."""
    return tuple(str(i + 1) for i in range(count))
