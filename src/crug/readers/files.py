"""Recordings from files: CSV and TSV, NumPy, MATLAB, Parquet, WFDB.

Whatever is wrong with one is said with file, place and remedy, before any work is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crug.errors import CrugError
from crug.readers.clock import is_time
from crug.readers.columns import Recording, checked, known_fill
from crug.readers.delimited import DELIMITERS, delimited
from crug.readers.table import Table, numbers, places, recording_of


def read(
    path: Path | str,
    columns: Sequence[str | int] | None = None,
    fill: str | None = None,
    inputs: Sequence[str | int] | None = None,
) -> Recording:
    """Read a recording from a file, and check that a model can learn it.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .txt, .npy, .npz, .mat or .parquet file, or a WFDB record (its .hea file, or its bare name).
    columns : list of str or int, optional
        Names of the columns to take as data, or their numbers from 1, in the order wanted. Without it, all columns
        but the inputs and the clock are data. The clock is a column called time, t, timestamp, seconds or sec; it says
        the interval between samples.
    fill : {"linear", "previous"}, optional
        How to replace missing values: by a straight line between their neighbours, or by the last value before them.
        Without it, missing values are an error.
    inputs : list of str or int, optional
        Names or numbers of the columns that drove the system: known signals, like a stimulus or a motor's voltage,
        which a model is given and does not have to predict.

    Returns
    -------
    Recording
        The samples, with their names and, where the file says it, the interval between them.

    Raises
    ------
    CrugError
        If the file cannot be read, or holds something that cannot be learned: missing or infinite values, uneven
        times, a constant column, two equal ones, or a column that looks like a clock without being called one.

    Examples
    --------
    >>> import crug
    >>> crug.read("monday.csv", columns=["x", "y"], inputs=["force"])  # doctest: +SKIP
    Recording 'monday.csv': 4,000 samples of x, y, 0.02 apart, driven by force
    """
    if fill is not None:
        known_fill(fill)
    table = _open(Path(path))
    recording = recording_of(table, places(table, columns, inputs), chosen=bool(columns))
    return checked(recording, fill, chosen=bool(columns))


def _open(path: Path) -> Table:
    suffix = path.suffix.lower()
    if suffix == ".hea" or (not path.exists() and path.with_suffix(".hea").exists()):
        return _wfdb(path.with_suffix(""))
    if not path.exists():
        raise CrugError(f"{path}: there is no such file")
    if path.is_dir():
        raise CrugError(f"{path}: is a folder", "give the files in it")
    if path.stat().st_size == 0:
        raise CrugError(f"{path}: is empty")
    if suffix in DELIMITERS:
        return delimited(path, DELIMITERS[suffix])
    formats: dict[str, Callable[[Path], Table]] = {
        ".npy": _numpy,
        ".npz": _numpy,
        ".mat": _matlab,
        ".parquet": _parquet,
    }
    if suffix in formats:
        return formats[suffix](path)
    raise CrugError(
        f"{path}: this kind of file is not read", "there are .csv, .tsv, .npy, .npz, .mat, .parquet and WFDB"
    )


def _numpy(path: Path) -> Table:
    try:
        loaded = np.load(path, allow_pickle=False)
        arrays = {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else None
    except Exception as error:  # numpy raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({_brief(error)})", "save it again as plain numbers") from None
    return _in_memory(path, _samples(path, loaded)) if arrays is None else _pick(path, arrays)


def _matlab(path: Path) -> Table:
    from scipy.io import loadmat

    try:
        arrays = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    except NotImplementedError:
        raise CrugError(f"{path}: a MATLAB 7.3 file", "save it in MATLAB with the option -v7") from None
    except Exception as error:  # scipy raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({_brief(error)})", "save it again with the option -v7") from None
    return _pick(path, {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)})


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import types  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import read_table  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError(f"{path}: Parquet needs pyarrow", 'pip install "crug[parquet]"') from None
    try:
        table: Any = read_table(path)
    except Exception as error:  # pyarrow raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({_brief(error)})", "is the file cut off?") from None
    names = tuple(table.column_names)
    if not names or not table.num_rows:
        raise CrugError(f"{path}: has no rows of numbers")

    kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)

    def take(index: list[int]) -> np.ndarray:
        for i in index:
            kind = table.columns[i].type
            if not any(is_kind(kind) for is_kind in kinds):
                raise CrugError(
                    f"{path}: column {names[i]!r} is {kind}, not numbers",
                    "leave it out with columns=[...]",
                    "leave it out with --columns",
                )
        return np.stack([np.asarray(table.columns[i].to_numpy(), np.float64) for i in index], axis=1)

    return Table(str(path), names, take)


def _wfdb(path: Path) -> Table:
    """A WFDB record in its physical units; samples that it marks as invalid are missing values."""
    try:
        import wfdb  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError(f"{path}: WFDB records need wfdb", 'pip install "crug[physionet]"') from None
    try:
        record: Any = wfdb.rdrecord(str(path))
        values, names, dt = record.p_signal.astype(np.float64), tuple(record.sig_name), 1 / record.fs
    except Exception as error:  # wfdb raises many kinds on a damaged record
        raise CrugError(
            f"{path}: not a whole WFDB record ({_brief(error)})", "are its .hea and data files there?"
        ) from None
    return Table(str(path), names, lambda index: values[:, index], dt)


def _pick(path: Path, arrays: dict[str, np.ndarray]) -> Table:
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
            f"{path}: has several arrays of {length} samples ({', '.join(alike)})", "save the recording alone"
        )
    values = _samples(path, arrays[first])
    if not clocks:
        return _in_memory(path, values)
    time = _samples(path, arrays[clocks[0]].reshape(-1))
    return _in_memory(path, np.hstack([values, time]), (*numbers(values.shape[1]), clocks[0]))


def _samples(path: Path, array: np.ndarray) -> np.ndarray:
    """An array as samples (T, N)."""
    if array.dtype.kind not in "fiub":
        raise CrugError(f"{path}: holds {array.dtype}, not numbers")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise CrugError(f"{path}: has {array.ndim} dimensions", "a recording is (time, columns)")
    if array.shape[0] < array.shape[1]:
        raise CrugError(
            f"{path}: has {array.shape[0]} rows and {array.shape[1]} columns", "time runs down the rows: transpose it"
        )
    return np.asarray(array, np.float64)


def _in_memory(path: Path, values: np.ndarray, names: tuple[str, ...] | None = None) -> Table:
    return Table(str(path), names or numbers(values.shape[1]), lambda index: values[:, index])


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
