"""Recordings from files: CSV and TSV, NumPy, MATLAB, Parquet, WFDB.

Whatever is wrong with one is said with file, place and remedy, before any work is done.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from crug.errors import CrugError

TIME = ("time", "t", "timestamp", "seconds", "sec")
"""Columns of these names are taken as the clock, not as data."""
UTF8 = "utf-8-sig"
DELIMITED = {".csv": ",", ".tsv": "\t", ".txt": None}


@dataclass(frozen=True)
class Recording:
    """Samples (T, N) as a file has them, with the names of the columns and, where the file says so, the interval."""

    source: str
    values: np.ndarray
    columns: tuple[str, ...]
    dt: float | None = None


def read(path: Path | str, columns: Sequence[str] | None = None, fill: str | None = None) -> Recording:
    """The recording in a file, checked.

    Parameters
    ----------
    path : a .csv, .tsv, .txt, .npy, .npz, .mat or .parquet file, or a WFDB record (its .hea file, or its bare name).
    columns : names or numbers (from 1) of the columns to take, in this order; all but the clock if not given.
    fill : "linear" or "previous" replaces missing values; without it they are refused.
    """
    try:
        recording = _clock(_load(Path(path), columns), columns)
    except CrugError:
        if not columns:
            raise
        recording = _load(Path(path), columns, clock=False)  # it may be dates: only what was chosen has to be numbers
    return checked(recording, fill, chosen=bool(columns))


def _load(path: Path, columns: Sequence[str] | None, clock: bool = True) -> Recording:
    """The chosen columns; with `clock`, also one that is called time."""
    suffix = path.suffix.lower()
    if suffix == ".hea" or (not path.exists() and path.with_suffix(".hea").exists()):
        return _chosen(_wfdb(path.with_suffix("")), columns, clock)
    if not path.exists():
        raise CrugError(f"{path}: there is no such file")
    if path.is_dir():
        raise CrugError(f"{path}: is a folder; give the files in it")
    if path.stat().st_size == 0:
        raise CrugError(f"{path}: is empty")
    if suffix in DELIMITED:
        return _delimited(path, DELIMITED[suffix], columns, clock)
    if suffix == ".parquet":
        return _parquet(path, columns, clock)
    readers = {".npy": _numpy, ".npz": _numpy, ".mat": _matlab}
    if suffix in readers:
        return _chosen(readers[suffix](path), columns, clock)
    raise CrugError(f"{path}: this kind of file is not read; there are .csv, .tsv, .npy, .npz, .mat, .parquet and WFDB")


# delimited text


def _delimited(path: Path, delimiter: str | None, columns: Sequence[str] | None, clock: bool) -> Recording:
    try:
        first, gaps = _scan(path)
        if first is None:
            raise CrugError(f"{path}: is empty")
        if ";" in first and all(DECIMAL_COMMA.fullmatch(cell.strip()) for cell in first.split(";")):
            delimiter = ";"
        if delimiter is None or delimiter not in first:
            delimiter = next((d for d in (",", "\t", ";") if d in first), delimiter or " ")
        cells = [cell.strip() for cell in _row(first, delimiter)]
        named = not any(_number(cell) is not None for cell in cells) and any(c.lower() not in MISSING for c in cells)
        if len(cells) > 1 and cells == [str(i) for i in range(len(cells))]:
            raise CrugError(f"{path}: the first row is 0, 1, ...: a header of numbers? Give the columns names, or none")
        names = tuple(cells) if named else _numbers(len(cells))
        index = _index(str(path), names, columns, clock)
        split = None if delimiter == " " else delimiter
        try:
            if gaps:
                raise ValueError
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a file without rows, which is refused below
                values = np.loadtxt(path, delimiter=split, skiprows=int(named), ndmin=2, comments=None, encoding=UTF8)
            if values.shape[1] != len(cells):
                raise ValueError
            values = values[:, index]
        except ValueError:
            values = _cells(path, delimiter, named, index, len(cells))
    except UnicodeDecodeError as error:
        raise CrugError(
            f"{path}: not text in UTF-8 (byte {error.start}); save it as UTF-8, or is it another kind of file?"
        ) from None
    except csv.Error as error:
        raise CrugError(f"{path}: cannot be split into columns ({error}); is a quote missing?") from None
    if not len(values):
        raise CrugError(f"{path}: has no rows of numbers")
    return Recording(str(path), values, tuple(names[i] for i in index))


MISSING = ("", "na", "nan", "null", "none", "n/a", "-", "?")
DECIMAL_COMMA = re.compile(r"[-+]?\d*,?\d+([eE][-+]?\d+)?")


def _scan(path: Path) -> tuple[str | None, bool]:
    """The first line, and whether there are blank ones before the last."""
    first, blank, gaps = None, False, False
    with open(path, encoding=UTF8) as lines:
        for line in lines:
            if not line.strip():
                blank = True
                continue
            gaps = gaps or blank
            first = first or line.rstrip("\r\n").removeprefix("#")  # numpy marks a header so
    return first, gaps


def _row(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _cells(path: Path, delimiter: str, named: bool, index: list[int], width: int) -> np.ndarray:
    """The slow way, cell by cell: a missing value becomes NaN, anything else that is no number is an error."""
    rows: list[list[float]] = []
    with open(path, encoding=UTF8) as lines:
        for number, line in enumerate(lines, start=1):
            if named:
                named = not line.strip()
                continue
            if not line.strip():
                rows.append([np.nan] * len(index))
                continue
            cells = _row(line.rstrip("\r\n"), delimiter)
            if len(cells) != width:
                raise CrugError(
                    f"{path}: row {number} has {len(cells)} columns, the first row has {width}; "
                    "is the file cut off, a separator missing, or a comma used as decimal point?"
                )
            rows.append([_cell(path, number, i, cells[i].strip()) for i in index])
    while rows and all(np.isnan(value) for value in rows[-1]):
        rows.pop()
    return np.array(rows, np.float64).reshape(len(rows), len(index))


def _cell(path: Path, row: int, column: int, cell: str) -> float:
    value = _number(cell)
    if value is None and cell.lower() not in MISSING:
        remedy = "clean it, or leave the column out with --columns"
        if DECIMAL_COMMA.fullmatch(cell):
            remedy = "write decimals with a point"
        raise CrugError(f"{path}: row {row}, column {column + 1} is {cell[:40]!r}, not a number; {remedy}")
    return np.nan if value is None else value


# other formats


def _numpy(path: Path) -> Recording:
    try:
        loaded = np.load(path, allow_pickle=False)
        arrays = {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else None
    except Exception as error:  # numpy raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({_brief(error)}); save it again as plain numbers") from None
    return _from_array(path, loaded) if arrays is None else _pick(path, arrays)


def _matlab(path: Path) -> Recording:
    from scipy.io import loadmat

    try:
        arrays = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    except NotImplementedError:
        raise CrugError(f"{path}: a MATLAB 7.3 file; save it in MATLAB with the option -v7") from None
    except Exception as error:  # scipy raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({_brief(error)}); save it again with the option -v7") from None
    return _pick(path, {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)})


def _parquet(path: Path, columns: Sequence[str] | None, clock: bool) -> Recording:
    try:
        from pyarrow import types  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import read_table  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError(f'{path}: Parquet needs pyarrow: pip install "crug[parquet]"') from None
    try:
        table = read_table(path)
    except Exception as error:  # pyarrow raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({_brief(error)}); is the file cut off?") from None
    names = tuple(table.column_names)
    index = _index(str(path), names, columns, clock)
    values = []
    for i in index:
        column = table.columns[i]
        kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
        if not any(is_kind(column.type) for is_kind in kinds):
            raise CrugError(f"{path}: column {names[i]!r} is {column.type}, not numbers; leave it out with --columns")
        values.append(np.asarray(column.to_numpy(), np.float64))
    if not values or not len(values[0]):
        raise CrugError(f"{path}: has no rows of numbers")
    return Recording(str(path), np.stack(values, axis=1), tuple(names[i] for i in index))


def _wfdb(path: Path) -> Recording:
    """A WFDB record in its physical units; samples that it marks as invalid are missing values."""
    try:
        import wfdb  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError(f'{path}: WFDB records need wfdb: pip install "crug[physionet]"') from None
    try:
        record: Any = wfdb.rdrecord(str(path))
        return Recording(str(path), record.p_signal.astype(np.float64), tuple(record.sig_name), 1 / record.fs)
    except Exception as error:  # wfdb raises many kinds on a damaged record
        raise CrugError(
            f"{path}: not a whole WFDB record ({_brief(error)}); are its .hea and data files there?"
        ) from None


def _pick(path: Path, arrays: dict[str, np.ndarray]) -> Recording:
    """The one recording among the arrays of a file: the largest, unless another one is as long. One called time is
    the clock."""
    arrays = {name: array for name, array in arrays.items() if array.dtype.kind in "fiubc"}
    if not arrays:
        raise CrugError(f"{path}: has no numeric array in it")
    first = max(arrays, key=lambda name: (arrays[name].size, not _is_time(name)))
    length = max(arrays[first].shape, default=0)
    alike = [name for name, array in arrays.items() if max(array.shape, default=0) == length]
    clocks = [name for name in alike if name != first and arrays[name].size == length and _is_time(name)]
    if set(alike) - {first, *clocks} or len(clocks) > 1:
        raise CrugError(
            f"{path}: has several arrays of {length} samples ({', '.join(alike)}); save the recording alone"
        )
    recording = _from_array(path, arrays[first])
    if not clocks:
        return recording
    time = _from_array(path, arrays[clocks[0]].reshape(-1)).values
    return replace(recording, values=np.hstack([recording.values, time]), columns=(*recording.columns, clocks[0]))


def _from_array(path: Path, array: np.ndarray) -> Recording:
    if array.dtype.kind not in "fiub":
        raise CrugError(f"{path}: holds {array.dtype}, not numbers")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise CrugError(f"{path}: has {array.ndim} dimensions; a recording is (time, columns)")
    if array.shape[0] < array.shape[1]:
        raise CrugError(
            f"{path}: has {array.shape[0]} rows and {array.shape[1]} columns; time runs down the rows: transpose it"
        )
    values = np.asarray(array, np.float64)
    return Recording(str(path), values, _numbers(values.shape[1]))


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(i + 1) for i in range(count))


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


# what a file says about time, columns, and missing values


def _is_time(column: str) -> bool:
    return re.sub(r"[(\[].*|_(s|ms|us|sec|seconds)$", "", column.strip().lower()).strip() in TIME


def _clock(recording: Recording, columns: Sequence[str] | None) -> Recording:
    """Take a column called time as the clock: evenly spaced, or the recording is refused.

    Where columns were chosen, it may be among them, and is data then; if it is not, it still says the interval.
    """
    found = [i for i, name in enumerate(recording.columns) if _is_time(name)]
    if len(found) != 1 or len(recording.columns) == 1 or (columns and len(columns) == len(recording.columns)):
        return recording
    source, name, time = recording.source, recording.columns[found[0]], recording.values[:, found[0]]
    keep = [i for i in range(len(recording.columns)) if i != found[0]]
    kept = replace(recording, values=recording.values[:, keep], columns=tuple(recording.columns[i] for i in keep))
    problem = _unevenness(time)
    if problem and columns:
        warnings.warn(f"{source}: column {name!r} is not used as a clock: {problem}", stacklevel=3)
        return kept
    if problem:
        raise CrugError(
            f"{source}: column {name!r}: {problem}; resample it evenly first, or leave the clock out with --columns"
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


def _index(source: str, names: Sequence[str], columns: Sequence[str] | None, clock: bool) -> list[int]:
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
    clocks = [i for i, name in enumerate(names) if _is_time(name)]
    return index + clocks if clock and len(clocks) == 1 and clocks[0] not in index else index


def _chosen(recording: Recording, columns: Sequence[str] | None, clock: bool) -> Recording:
    index = _index(recording.source, recording.columns, columns, clock)
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
    if how not in ("linear", "previous"):
        raise CrugError(f"--fill {how}: there are linear and previous")
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
