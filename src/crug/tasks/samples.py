"""A user's samples, in whatever they come, as checked recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crug.errors import CrugError
from crug.readers.columns import Recording, checked
from crug.readers.shape import SHORTEST


def as_recordings(
    x: Any, name: str, dt: float | None = None, columns: Sequence[str] = (), inputs: Any = None
) -> list[Recording]:
    """What `Model.learn` is given, as checked recordings: one for each trajectory.

    `x` is an array (T, N), a Recording, or several of either; `inputs` are given alike. `dt` and `columns` win over
    what a Recording says. Columns that have names were chosen: one of them may rise evenly.
    """
    if not isinstance(name, str) or not name.strip():
        raise CrugError(f"name = {name!r}: a recording is called by a text, e.g. 'monday'")
    if not name.isprintable():
        raise CrugError(f"name = {name!r}: has characters that cannot be shown; choose another name")
    columns, dt = _names(name, columns), None if dt is None else _interval(name, dt)
    several = list(x) if _several(x) else [x]
    given = [None] * len(several) if inputs is None else list(inputs) if _several(inputs) else [inputs]
    if not several:
        raise CrugError(f"recording {name!r}: there are no samples")
    if len(given) != len(several):
        raise CrugError(
            f"recording {name!r}: {len(several)} trajectories but inputs of {len(given)}; give one for each"
        )
    found = []
    for i, (one, s) in enumerate(zip(several, given, strict=True)):
        where = f"recording {name!r}" if len(several) == 1 else f"recording {name!r}, trajectory {i + 1}"
        recording = _recording(one, where, dt, columns, s)
        found.append(_checked(recording, found[0] if found else None, isinstance(one, Recording) or bool(columns)))
    return found


def _names(name: str, columns: Any) -> tuple[str, ...]:
    """Names of columns, from whatever holds several; one name stands for itself."""
    try:
        return (columns,) if isinstance(columns, str) else tuple(str(column) for column in columns)
    except TypeError:
        raise CrugError(f"recording {name!r}: columns = {columns!r}; give a list of names") from None


def _interval(name: str, dt: Any) -> float:
    try:
        found = np.nan if isinstance(dt, str | bytes) else float(dt)
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if not (np.isfinite(found) and found > 0):
        told = f"{dt:g}" if isinstance(dt, int | float) else repr(dt)
        raise CrugError(f"recording {name!r}: dt = {told}; the interval between samples is a positive number")
    return found


def _several(x: Any) -> bool:
    """Whether these are several trajectories. A mapping is none, and its keys are not samples."""
    if isinstance(x, str | bytes | Mapping) or not (hasattr(x, "__len__") or hasattr(x, "__iter__")):
        raise CrugError(f"samples are an array (T, N), a Recording, or several of either, not {type(x).__name__}")
    return not isinstance(x, Recording) and getattr(x, "ndim", 3) >= 3


def _recording(x: Any, where: str, dt: float | None, columns: Sequence[str], inputs: Any) -> Recording:
    if isinstance(x, Recording):
        x = replace(x, source=where)
    else:
        values = _plain(where, x)
        x = Recording(where, values, _numbered(values))
    if columns:
        x = replace(x, columns=tuple(columns))
    if inputs is not None:
        values = _plain(f"{where}: inputs", inputs)
        x = replace(x, inputs=values, input_columns=_numbered(values))
    # sums round by how an array lies in memory, and what is learned follows from the samples alone
    inputs = None if x.inputs is None else np.ascontiguousarray(x.inputs)
    x = replace(x, values=np.ascontiguousarray(x.values), inputs=inputs)
    return x if dt is None else replace(x, dt=dt)


def _numbered(values: np.ndarray) -> tuple[str, ...]:
    return tuple(str(i + 1) for i in range(values.shape[1]))


def _checked(recording: Recording, first: Recording | None, chosen: bool) -> Recording:
    """The recording, if it can be learned and, where there are several, goes with the first of them."""
    where, x, dt = recording.source, recording.values, recording.dt
    if dt is not None and not (np.isfinite(dt) and dt > 0):
        raise CrugError(f"{where}: dt = {dt:g}; the interval between samples is a positive number")
    if first is not None and x.shape[1] != first.values.shape[1]:
        have = f"{x.shape[1]} columns, the first has {first.values.shape[1]}"
        raise CrugError(f"{where}: has {have}; they must be the same")
    if len(x) < SHORTEST:
        raise CrugError(f"{where}: has {len(x)} samples; a trajectory needs at least {SHORTEST}")
    if len(recording.columns) != x.shape[1]:
        raise CrugError(f"{where}: has {x.shape[1]} columns, {len(recording.columns)} names are given")
    if recording.inputs is not None and len(recording.inputs) != len(x):
        raise CrugError(f"{where}: has {len(x)} samples but {len(recording.inputs)} of its inputs; give one for each")
    return checked(recording, chosen=chosen)


def _plain(where: str, piece: Any) -> np.ndarray:
    """Real numbers (T, N); what a mask hides is missing."""
    if isinstance(piece, np.ma.MaskedArray):
        piece = np.where(np.ma.getmaskarray(piece), np.nan, piece.data)
    try:
        x = np.asarray(piece)
    except (ValueError, TypeError):
        raise CrugError(f"{where}: is no array of samples; give it as (time, columns)") from None
    if x.dtype.kind not in "fiub":
        raise CrugError(f"{where}: holds {x.dtype}, not real numbers")
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2:
        raise CrugError(f"{where}: has {x.ndim} dimensions; give samples as (time, columns)")
    return x.astype(np.float64)
