"""Recordings in delimited text: .csv, .tsv and .txt files."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from crug.errors import CrugError
from crug.readers.table import Table, numbers

UTF8 = "utf-8-sig"
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": None}
"""What separates columns, by the ending of the file; None, or one that does not occur, is found out."""
MISSING = ("", "na", "nan", "null", "none", "n/a", "-", "?")
"""Cells that stand for a missing value, in lower case."""
DECIMAL_COMMA = re.compile(r"[-+]?\d*,?\d+([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a text is laid out.

    Parameters
    ----------
    path : Path
        The file.
    delimiter : str
        What separates columns; a blank stands for any white space.
    named : bool
        Whether the first row holds names.
    width : int
        The number of columns.
    gaps : bool
        Whether there are blank lines before the last row.
    """

    path: Path
    delimiter: str
    named: bool
    width: int
    gaps: bool


def delimited(path: Path, delimiter: str | None) -> Table:
    """The table in a text. Only the first row is looked at until columns are taken."""
    with _as_text(path):
        first, gaps = _scan(path)
        if first is None:
            raise CrugError(f"{path}: is empty")
        if ";" in first and all(DECIMAL_COMMA.fullmatch(cell.strip()) for cell in first.split(";")):
            delimiter = ";"
        if delimiter is None or delimiter not in first:
            delimiter = next((d for d in (",", "\t", ";") if d in first), delimiter or " ")
        cells = [cell.strip() for cell in _row(first, delimiter)]
    if len(cells) > 1 and cells == [str(i) for i in range(len(cells))]:
        raise CrugError(
            f"{path}: the first row is 0, 1, ..., like a header of numbers", "give the columns names, or none"
        )
    named = not any(_number(cell) is not None for cell in cells) and any(c.lower() not in MISSING for c in cells)
    layout = Layout(path, delimiter, named, len(cells), gaps)
    return Table(str(path), tuple(cells) if named else numbers(len(cells)), partial(_take, layout))


def _take(layout: Layout, index: list[int]) -> np.ndarray:
    with _as_text(layout.path):
        whole = None if layout.gaps else _numbers_only(layout)
        return _cells(layout, index) if whole is None else whole[:, index]


@contextmanager
def _as_text(path: Path) -> Iterator[None]:
    """Say what is wrong with a file that turns out not to be delimited text."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise CrugError(
            f"{path}: not text in UTF-8 (byte {error.start})", "save it as UTF-8, or is it another kind of file?"
        ) from None
    except csv.Error as error:
        raise CrugError(f"{path}: cannot be split into columns ({error})", "is a quote missing?") from None


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
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))  # no quote is left open


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _numbers_only(layout: Layout) -> np.ndarray | None:
    """All columns at once, which is fast; None if some cell is not a number or rows are of unequal length."""
    split = None if layout.delimiter == " " else layout.delimiter
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file without rows, which is refused later
            values = np.loadtxt(
                layout.path, delimiter=split, skiprows=int(layout.named), ndmin=2, comments=None, encoding=UTF8
            )
    except UnicodeDecodeError:
        raise
    except ValueError:
        return None
    return values if values.shape[1] == layout.width else None


def _cells(layout: Layout, index: list[int]) -> np.ndarray:
    """Some columns, cell by cell, which is slow: a missing value becomes NaN, anything else that is no number is an
    error."""
    rows: list[list[float]] = []
    header = layout.named
    with open(layout.path, encoding=UTF8) as lines:
        for number, line in enumerate(lines, start=1):
            if header:
                header = not line.strip()
                continue
            if not line.strip():
                rows.append([np.nan] * len(index))
                continue
            cells = _row(line.rstrip("\r\n"), layout.delimiter)
            if len(cells) != layout.width:
                raise CrugError(
                    f"{layout.path}: row {number} has {len(cells)} columns, the first row has {layout.width}",
                    "is the file cut off, a separator missing, or a comma used as decimal point?",
                )
            rows.append([_cell(layout.path, number, i, cells[i].strip()) for i in index])
    while rows and all(np.isnan(value) for value in rows[-1]):
        rows.pop()
    return np.array(rows, np.float64).reshape(len(rows), len(index))


def _cell(path: Path, row: int, column: int, cell: str) -> float:
    value = _number(cell)
    if value is not None:
        return value
    if cell.lower() in MISSING:
        return np.nan
    what = f"{path}: row {row}, column {column + 1} is {cell[:40]!r}, not a number"
    if DECIMAL_COMMA.fullmatch(cell):
        raise CrugError(what, "write decimals with a point")
    raise CrugError(
        what,
        "clean it, or leave the column out with columns=[...]",
        "clean it, or leave the column out with --columns",
    )
