"""Recordings from files: CSV and TSV, NumPy, MATLAB, Parquet, WFDB.

Whatever is wrong with one is said with file, place and remedy, before any work is done.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from crug.errors import CrugError

TIME = ("time", "t", "timestamp", "seconds", "sec")
"""Columns of these names are taken as the clock, not as data."""
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
    columns : names or numbers (from 1) of the columns to take, in this order; all if not given.
    fill : "linear" or "previous" replaces missing values; without it they are refused.
    """
    path = Path(path)
    recording = _clock(_load(path))
    if columns:
        recording = _choose(recording, columns)
    return checked(recording, fill)


def _load(path: Path) -> Recording:
    suffix = path.suffix.lower()
    if suffix == ".hea" or (not path.exists() and path.with_suffix(".hea").exists()):
        return _wfdb(path.with_suffix(""))
    if not path.exists():
        raise CrugError(f"{path}: there is no such file")
    if path.is_dir():
        raise CrugError(f"{path}: is a folder; give the files in it")
    if path.stat().st_size == 0:
        raise CrugError(f"{path}: is empty")
    readers = {".npy": _numpy, ".npz": _numpy, ".mat": _matlab, ".parquet": _parquet}
    if suffix in DELIMITED:
        return _delimited(path, DELIMITED[suffix])
    if suffix in readers:
        return readers[suffix](path)
    raise CrugError(
        f"{path}: files of this kind are not read; there are .csv, .tsv, .npy, .npz, .mat, .parquet, and WFDB"
    )


# delimited text


def _delimited(path: Path, delimiter: str | None) -> Recording:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CrugError(f"{path}: not text (byte {error.start}); is it another kind of file?") from None
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise CrugError(f"{path}: is empty")
    if delimiter is None or delimiter not in first:
        delimiter = next((d for d in (",", "\t", ";") if d in first), delimiter if delimiter else " ")
    header = [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter, skipinitialspace=True))]
    named = not all(_number(cell) is not None or cell.lower() in MISSING for cell in header)
    skip = 1 + lines.index(first) if named else 0
    if not any(line.strip() for line in lines[skip:]):
        raise CrugError(f"{path}: has no rows of numbers")
    split = None if delimiter == " " else delimiter
    try:
        values = np.loadtxt(io.StringIO(text), delimiter=split, skiprows=skip, ndmin=2, comments=None)
    except ValueError:
        values = _cells(path, lines, delimiter, named)
    if named and len(header) != values.shape[1]:
        raise CrugError(
            f"{path}: the header has {len(header)} columns, the rows have {values.shape[1]}; make them agree"
        )
    return Recording(str(path), values, tuple(header) if named else _numbered(values))


MISSING = ("", "na", "nan", "null", "none", "n/a", "-", "?")


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _cells(path: Path, lines: list[str], delimiter: str, named: bool) -> np.ndarray:
    """The slow way, cell by cell: a missing value becomes NaN, anything else that is no number is an error."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    rows: list[list[float]] = []
    width = None
    seen_header = not named
    for number, cells in enumerate(reader, start=1):
        if not any(cell.strip() for cell in cells):
            continue
        if not seen_header:
            seen_header = True
            continue
        width = width or len(cells)
        if len(cells) != width:
            raise CrugError(
                f"{path}: row {number} has {len(cells)} columns, the rows before have {width}; "
                "is the file cut off, or a separator missing?"
            )
        row = []
        for column, cell in enumerate(cells, start=1):
            value = _number(cell.strip())
            if value is None and cell.strip().lower() not in MISSING:
                raise CrugError(
                    f"{path}: row {number}, column {column} is {cell.strip()[:40]!r}, not a number; "
                    "clean it, or leave the column out with --columns"
                )
            row.append(np.nan if value is None else value)
        rows.append(row)
    return np.array(rows, np.float64)


# other formats


def _numpy(path: Path) -> Recording:
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.lib.npyio.NpzFile):
            arrays = {name: loaded[name] for name in loaded.files}
            return _pick(path, arrays)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise CrugError(
            f"{path}: cannot be read ({_brief(error)}); save it again with numpy.save, no objects in it"
        ) from None
    return _from_array(path, loaded)


def _matlab(path: Path) -> Recording:
    from scipy.io import loadmat

    try:
        arrays = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    except NotImplementedError:
        raise CrugError(f"{path}: a MATLAB 7.3 file; save it in MATLAB with the option -v7") from None
    except Exception as error:  # scipy raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({_brief(error)}); save it again with the option -v7") from None
    return _pick(path, {name: v for name, v in arrays.items() if isinstance(v, np.ndarray) and v.dtype.kind in "fiub"})


def _parquet(path: Path) -> Recording:
    try:
        from pyarrow import ArrowException  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import read_table  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError(f'{path}: Parquet needs pyarrow: pip install "crug[parquet]"') from None
    try:
        table = read_table(path)
    except (ArrowException, OSError) as error:
        raise CrugError(f"{path}: cannot be read ({_brief(error)}); is the file cut off?") from None
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(np.asarray(column.to_numpy(), np.float64))
        except (TypeError, ValueError):
            raise CrugError(f"{path}: column {name!r} is not numeric; leave it out with --columns") from None
    if not columns or not len(columns[0]):
        raise CrugError(f"{path}: has no rows of numbers")
    return Recording(str(path), np.stack(columns, axis=1), tuple(table.column_names))


def _wfdb(path: Path) -> Recording:
    """A WFDB record by its digital values: reading physical ones would turn a valid code into a missing value."""
    try:
        import wfdb  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError(f'{path}: WFDB records need wfdb: pip install "crug[physionet]"') from None
    try:
        record: Any = wfdb.rdrecord(str(path), physical=False)
        return Recording(str(path), record.d_signal.astype(np.float64), tuple(record.sig_name), 1 / record.fs)
    except Exception as error:  # wfdb raises many kinds on a damaged record
        raise CrugError(
            f"{path}: cannot be read as a WFDB record ({_brief(error)}); are its .hea and data files whole?"
        ) from None


def _pick(path: Path, arrays: dict[str, np.ndarray]) -> Recording:
    """The one recording among the arrays of a file: the largest, unless two are equally large."""
    if not arrays:
        raise CrugError(f"{path}: has no numeric array in it")
    order = sorted(arrays, key=lambda name: arrays[name].size, reverse=True)
    if len(order) > 1 and arrays[order[0]].size == arrays[order[1]].size:
        raise CrugError(f"{path}: has several arrays of the same size ({', '.join(order)}); save the recording alone")
    return _from_array(path, arrays[order[0]])


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
    return Recording(str(path), values, _numbered(values))


def _numbered(values: np.ndarray) -> tuple[str, ...]:
    return tuple(str(i + 1) for i in range(values.shape[1]))


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


# what a file says about time, columns, and missing values


def _clock(recording: Recording) -> Recording:
    """Take a column called time as the clock: evenly spaced, or the recording is refused."""
    names = [name.lower() for name in recording.columns]
    found = [i for i, name in enumerate(names) if name in TIME]
    if len(found) != 1 or len(names) == 1:
        return recording
    time = recording.values[:, found[0]]
    steps = np.diff(time)
    if not len(steps) or not np.isfinite(steps).all():
        raise CrugError(
            f"{recording.source}: column {recording.columns[found[0]]!r} has missing values; times must be whole"
        )
    dt = float(np.median(steps))
    uneven = np.flatnonzero(np.abs(steps - dt) > 0.01 * abs(dt))
    if dt <= 0 or len(uneven):
        row = int(uneven[0]) + 2 if len(uneven) else 2
        raise CrugError(
            f"{recording.source}: the interval between samples is {dt:g} but {steps[row - 2]:g} at sample {row}; "
            "resample it evenly first, or leave the time out with --columns"
        )
    keep = [i for i in range(len(names)) if i != found[0]]
    columns = tuple(recording.columns[i] for i in keep)
    return replace(recording, values=recording.values[:, keep], columns=columns, dt=dt)


def _choose(recording: Recording, columns: Sequence[str]) -> Recording:
    index = []
    for name in columns:
        if name in recording.columns:
            index.append(recording.columns.index(name))
        elif name.isdigit() and 1 <= int(name) <= len(recording.columns):
            index.append(int(name) - 1)
        else:
            raise CrugError(f"{recording.source}: no column {name!r}; there are: {', '.join(recording.columns)}")
    return replace(recording, values=recording.values[:, index], columns=tuple(recording.columns[i] for i in index))


def checked(recording: Recording, fill: str | None = None) -> Recording:
    """The recording, if a model can learn it; missing values filled where that is asked for."""
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
        if values[:, i].std() <= 1e-12 * max(1.0, float(np.abs(values[:, i]).max())):
            raise CrugError(f"{source}: column {name!r} is constant; leave it out with --columns")
        for j in range(i):
            if np.array_equal(values[:, i], values[:, j]):
                raise CrugError(
                    f"{source}: columns {recording.columns[j]!r} and {name!r} are equal; leave one out with --columns"
                )
    return replace(recording, values=values)


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
