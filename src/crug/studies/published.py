"""The paper's numbers, as its tables print them: `paper/LABEL.csv`, or `LABEL-PART.csv` for each of several parts.

A cell holds a value, or two, right after a task's own training and at the end: `0.40+0.13-0.12 -> 0.41+0.06-0.12`. A
value is a median with the distances to its quartiles (a dagger: the upper one is infinite; a star: of one run only), a
mean with its spread (`98.11 ± 0.98`), a plain number, or `div.`, an infinite median.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crug.errors import CrugError

FOLDER = Path(__file__).with_name("paper")
ARROW, DIVERGENT, NOTHING = " -> ", "div.", "--"
VALUE = re.compile(r"([+-]?[\d.]+(?:e-?\d+)?)(?:(\+[\d.]+|†)(-[\d.]+)|(\*)| ± ([\d.]+))?")


@dataclass(frozen=True)
class Value:
    """A published value: the middle of several runs, and how far it is from there to the quartiles, upwards and
    downwards; or the spread on either side. None where nothing is said."""

    middle: float
    above: float | None = None
    below: float | None = None
    spread: float | None = None

    @classmethod
    def of(cls, text: str) -> Value:
        if text == DIVERGENT:
            return cls(np.inf)
        if not (found := VALUE.fullmatch(text)):
            raise CrugError(f"{text!r} is not a value as the paper prints them")
        middle, above, below, _, spread = found.groups()
        up = None if above is None else np.inf if above == "†" else float(above)
        down, either = None if below is None else -float(below), None if spread is None else float(spread)
        return cls(float(middle), up, down, either)


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, the value right after a task's own training if there are two, and at the end."""

    text: str
    own: Value | None
    final: Value | None

    @classmethod
    def of(cls, text: str) -> Cell:
        first, arrow, last = text.partition(ARROW)
        if text == NOTHING:
            return cls(text, None, None)
        return cls(text, Value.of(first) if arrow else None, Value.of(last if arrow else first))


def table(label: str, part: str = "") -> list[dict[str, str]]:
    """The rows of a table, each a text by column."""
    file = FOLDER / f"{label}-{part}.csv" if part else FOLDER / f"{label}.csv"
    if not file.exists():
        raise CrugError(f"the paper has no table called {file.stem!r}; there are: {', '.join(tables())}")
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def tables() -> list[str]:
    """The names of all tables, with those of their parts."""
    return sorted(file.stem for file in FOLDER.glob("*.csv"))
