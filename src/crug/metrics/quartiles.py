"""Medians and quartiles over runs in which divergent and incomplete ones count as the worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Quartiles(NamedTuple):
    low: float
    median: float
    high: float

    def __format__(self, digits: str) -> str:
        """As the paper writes it: median, up to the upper quartile, down to the lower; a dagger for an infinite one."""
        if not np.isfinite(self.median):
            return "div."
        above = f"+{self.high - self.median:{digits}}" if np.isfinite(self.high) else "†"
        return f"{self.median:{digits}}{above}-{self.median - self.low:{digits}}"

    def __str__(self) -> str:
        return f"{self:.2f}"


def quartiles(values: Sequence[float]) -> Quartiles:
    """The quartiles of values, infinite for a divergent run."""
    ordered = sorted(values)
    return Quartiles(*(_quantile(ordered, q) for q in (0.25, 0.5, 0.75)))


def _quantile(ordered: list[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    below, share = ordered[int(place)], place - int(place)
    if share == 0 or not np.isfinite(below):
        return below
    return below + share * (ordered[int(place) + 1] - below)
