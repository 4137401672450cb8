"""Recordings from files: CSV and TSV, NumPy, MATLAB, Parquet, WFDB.

Whatever is wrong with one is said with file, place and remedy, before any work is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from crug.errors import CrugError
from crug.readers.clock import is_time
from crug.readers.columns import Recording, checked, known_fill, spoken
from crug.readers.delimited import DELIMITERS, delimited
from crug.readers.foreign import Parsed, brief, parsed
from crug.readers.table import Table, asked, numbers, places, recording_of


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
    columns, inputs = asked(columns), asked(inputs)
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
    if not path.is_file():
        raise CrugError(f"{path}: is no file", "copy what it gives into one")
    if path.stat().st_size == 0:
        raise CrugError(f"{path}: is empty")
    if suffix in DELIMITERS:
        return delimited(path, DELIMITERS[suffix])
    formats: dict[str, Callable[[Path], Table]] = {
        ".npy": _numpy,
        ".npz": _archive,
        ".mat": _matlab,
        ".parquet": _parquet,
    }
    if suffix in formats:
        return formats[suffix](path)
    raise CrugError(
        f"{path}: this kind of file is not read", "there are .csv, .tsv, .npy, .npz, .mat, .parquet and WFDB"
    )


def _numpy(path: Path) -> Table:
    """One array. It is mapped first: a header may promise more than there is in the file, or in the machine."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises many kinds on a damaged file
        raise CrugError(f"{path}: cannot be read ({brief(error)})", "save it again as plain numbers") from None
    if not isinstance(array, np.ndarray):  # an archive under another name
        return _archive(path)
    return _in_memory(path, _samples(path, np.array(array)))


def _archive(path: Path) -> Table:
    return _pick(path, parsed("npz", path, "save it again as plain numbers").arrays)


def _matlab(path: Path) -> Table:
    return _pick(path, parsed("mat", path, "save it again with the option -v7").arrays)


def _parquet(path: Path) -> Table:
    found = parsed("parquet", path, "is the file cut off?")
    if all(not len(value) for value in found.values if value is not None):
        raise CrugError(f"{path}: has no rows of numbers")
    return Table(str(path), found.names, lambda index: _stacked(path, found, index))


def _stacked(path: Path, found: Parsed, index: list[int]) -> np.ndarray:
    """Columns that are known one by one."""
    taken = []
    for i in index:
        value = found.values[i]
        if value is None:
            raise CrugError(
                f"{path}: column {found.names[i]!r} is {found.kinds[i]}, not numbers",
                "leave it out with columns=[...]",
                "leave it out with --columns",
            )
        taken.append(value)
    return np.stack(taken, axis=1)


def _wfdb(path: Path) -> Table:
    """A WFDB record in its physical units; samples that it marks as invalid are missing values."""
    found = parsed("wfdb", path, "are its .hea and data files there?")
    return Table(str(path), found.names, lambda index: _stacked(path, found, index), found.interval)


def _pick(path: Path, arrays: dict[str, np.ndarray]) -> Table:
    """The one recording among the arrays of a file: the largest, unless another one is as long. One called time is
    the clock."""
    if not arrays:
        raise CrugError(f"{path}: has no numeric array in it")
    first = max(arrays, key=lambda name: (arrays[name].size, not is_time(name)))
    length = max(arrays[first].shape, default=0)
    alike = [name for name, array in arrays.items() if max(array.shape, default=0) == length]
    clocks = [name for name in alike if name != first and arrays[name].size == length and is_time(name)]
    if set(alike) - {first, *clocks} or len(clocks) > 1:
        raise CrugError(f"{path}: has several arrays of {length} samples ({spoken(alike)})", "save the recording alone")
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
