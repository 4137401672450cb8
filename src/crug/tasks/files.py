"""Recordings from files: CSV and TSV, NumPy, MATLAB, Parquet, WFDB.

Whatever is wrong with one is said with file, place and remedy, before any work is done.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crug.errors import CrugError
from crug.tasks.columns import Recording, checked, chosen_columns, is_time, positions, with_clock

UTF8 = "utf-8-sig"
DELIMITED = {".csv": ",", ".tsv": "\t", ".txt": None}


def read(path: Path | str, columns: Sequence[str] | None = None, fill: str | None = None) -> Recording:
    """The recording in a file, checked.

    Parameters
    ----------
    path : a .csv, .tsv, .txt, .npy, .npz, .mat or .parquet file, or a WFDB record (its .hea file, or its bare name).
    columns : names or numbers (from 1) of the columns to take, in this order; all but the clock if not given.
    fill : "linear" or "previous" replaces missing values; without it they are refused.
    """
    try:
        recording = with_clock(_load(Path(path), columns), columns)
    except CrugError:
        if not columns:
            raise
        recording = _load(Path(path), columns, clock=False)  # it may be dates: only what was chosen has to be numbers
    return checked(recording, fill, chosen=bool(columns))


def _load(path: Path, columns: Sequence[str] | None, clock: bool = True) -> Recording:
    """The chosen columns; with `clock`, also one that is called time."""
    suffix = path.suffix.lower()
    if suffix == ".hea" or (not path.exists() and path.with_suffix(".hea").exists()):
        return chosen_columns(_wfdb(path.with_suffix("")), columns, clock)
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
        return chosen_columns(readers[suffix](path), columns, clock)
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
        index = positions(str(path), names, columns, clock)
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
    index = positions(str(path), names, columns, clock)
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
    first = max(arrays, key=lambda name: (arrays[name].size, not is_time(name)))
    length = max(arrays[first].shape, default=0)
    alike = [name for name, array in arrays.items() if max(array.shape, default=0) == length]
    clocks = [name for name in alike if name != first and arrays[name].size == length and is_time(name)]
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
