"""How a recording is standardised, and what keeps a part of a file from being a recording's scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crug.errors import CrugError
from crug.readers.columns import magnitude

FARTHEST = 1e9
"""Standard deviations from the mean beyond which nothing is computed: networks have numbers of 32 bits, and scores have
squares of them."""


@dataclass(frozen=True)
class Scale:
    """How a recording was standardised."""

    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> Scale:
        size = magnitude(x)
        if (size == 1).all():
            return cls(x.mean(axis=0), x.std(axis=0))
        return cls(size * (x / size).mean(axis=0), size * (x / size).std(axis=0))

    def standardise(self, x: np.ndarray) -> np.ndarray:
        return (np.asarray(x, np.float64) - self.mean) / self.std

    def restore(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x, np.float64) * self.std + self.mean


def within_reach(where: str, x: np.ndarray, columns: Sequence[str]) -> None:
    """Refuse standardised samples (T, N) that are so far out that a network could not hold them."""
    far = np.argwhere(~(np.abs(x) <= FARTHEST))
    if len(far):
        row, column = far[0]
        raise CrugError(
            f"{where}: column {columns[column]!r} is {abs(x[row, column]):.0e} standard deviations from the mean of "
            f"the part to learn from, at sample {row + 1}; at most {FARTHEST:.0e} can be computed with",
            "clean the recording",
        )


def misfit(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int | None, ...]], other: Any) -> str:
    """What is wrong with arrays that are to have these names and shapes, and with their breaks. Scales are positive."""
    strange = sorted((arrays.keys() ^ shapes.keys()) - {"breaks"})
    if other or strange:
        return f"{other or strange[0]} does not belong there or is missing"
    length = len(arrays["test"]) if arrays["test"].ndim else 0
    for name, shape in shapes.items():
        value = arrays[name]
        if value.shape != tuple(length if size is None else size for size in shape) or not length:
            return f"{name} has the shape {value.shape}"
        if value.dtype.kind != "f" or not np.isfinite(value).all() or (name.endswith("std") and (value <= 0).any()):
            return f"{name} is no scale, or has values that are not finite"
    breaks = arrays.get("breaks", np.empty(0, np.int64))
    if breaks.ndim != 1 or breaks.dtype.kind != "i" or (np.diff([0, *breaks, length]) <= 0).any():
        return "breaks lie outside the held-out part"
    return ""
