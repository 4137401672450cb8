"""What D_stsp and D_H do not see: whether a rollout keeps its time, and swings, as the recording does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RISING = 0.3, 0.7
"""Of the usual range of a column, the levels between which a turn begins."""
FEWEST = 8
"""Turns of a recording from which something can be said about its rhythm."""
LOOSE = 0.5
"""In parts of its mean, a spread of the period beyond which there is no rhythm."""
OFF = 0.05
"""In parts of the recording's, by how much the mean of a period or swing may be off."""
TIMES = 3.0
"""How many times as large or as small as the recording's a spread may be."""
LEAST = 0.01
"""In parts of the mean, a spread below which a recording is as regular as a clock itself."""
BY_CHANCE = 0.1
"""The part of the pieces of a rollout that may be like the recording although it is not."""


@dataclass(frozen=True)
class Rhythm:
    """Turns of one column: how long they are, in samples, and how far it swings in each."""

    column: int
    period: np.ndarray
    swing: np.ndarray

    @property
    def looseness(self) -> float:
        """The spread of the period as a part of its middle."""
        if not len(self.period):
            return np.inf
        mean, spread = middle(self.period)
        return spread / mean


@dataclass(frozen=True)
class Levels:
    """Between which values a column has to rise for a turn to begin: the same for a recording and for rollouts."""

    low: float
    high: float

    @classmethod
    def of(cls, x: np.ndarray) -> Levels:
        """Of one column (T,)."""
        bottom, top = np.percentile(x, [10, 90])
        return cls(bottom + RISING[0] * (top - bottom), bottom + RISING[1] * (top - bottom))

    def turns(self, x: np.ndarray) -> np.ndarray:
        """The samples of x (T,) at which it has risen from below the lower level to above the upper one."""
        side = np.where(x > self.high, 1, np.where(x < self.low, -1, 0))
        at = np.flatnonzero(side)
        return at[1:][(side[at][1:] > 0) & (side[at][:-1] < 0)]


def rhythm(x: Sequence[np.ndarray], column: int, levels: Levels) -> Rhythm:
    """Of one column of one or several trajectories (T, N)."""
    periods, swings = [], []
    for values in (one[:, column] for one in x):
        begins = levels.turns(values)
        periods.append(np.diff(begins).astype(float))
        swings += [float(np.ptp(part)) for part in np.split(values, begins)[1:-1]]
    return Rhythm(column, np.concatenate(periods), np.array(swings))


def steadiest(x: Sequence[np.ndarray]) -> tuple[Rhythm, Levels] | None:
    """The rhythm of the column that keeps its time best; None where none has a rhythm."""
    whole = np.concatenate(x)
    levels = [Levels.of(column) for column in whole.T]
    found = [(rhythm(x, column, one), one) for column, one in enumerate(levels)]
    found = [pair for pair in found if len(pair[0].period) >= FEWEST and pair[0].looseness < LOOSE]
    return min(found, key=lambda pair: pair[0].looseness, default=None)


def differing(own: Rhythm, levels: Levels, recorded: Sequence[np.ndarray], rollouts: Sequence[np.ndarray]) -> list[str]:
    """What is wrong with the rhythm of rollouts, in words, beside that of the trajectories that were recorded. Rollouts
    are looked at in pieces as long as all of these, cut as these are: what a piece may show by chance is nothing wrong,
    and turns that a cut goes through are lost in both."""
    whole, mean = sum(map(len, recorded)), sum(map(len, recorded)) / len(recorded)
    parts = [part for one in rollouts for part in np.array_split(one, max(1, len(one) // whole))]
    cuts = [np.array_split(part, max(1, round(len(part) / mean))) for part in parts]
    pieces = [rhythm(cut, own.column, levels) for cut in cuts]
    told = [piece for piece in pieces if len(piece.period) >= FEWEST // 2]
    if len(told) < (1 - BY_CHANCE) * len(pieces):
        return ["it does not keep the recording's rhythm: hardly a turn is completed"]
    kinds = (
        ("period", " samples", own.period, [piece.period for piece in told]),
        ("swing", " standard deviations", own.swing, [piece.swing for piece in told]),
    )
    return [said for name, unit, one, others in kinds for said in _compared(name, unit, one, others)]


def middle(values: np.ndarray) -> tuple[float, float]:
    """The median, and the spread as the inner four fifths show it: a turn that is missed now and then counts for
    little. Of normal numbers it is the standard deviation."""
    low, median, high = np.percentile(values, [10, 50, 90])
    return float(median), float((high - low) / 2.563)


def _compared(name: str, unit: str, one: np.ndarray, others: Sequence[np.ndarray]) -> list[str]:
    """A recording's periods or swings, and those in pieces of rollouts."""
    mean, spread = middle(one)
    means, spreads = np.array([middle(part) for part in others]).T
    least = max(LEAST * mean, 1.0 if name == "period" else 0.0)
    faults = {
        "off": max(np.mean(means - mean > OFF * mean), np.mean(mean - means > OFF * mean)),
        "too regular": np.mean(spreads * TIMES < spread) if spread > least else 0.0,
        "too irregular": np.mean((spreads > TIMES * spread) & (spreads > least)),
    }
    fault = next((fault for fault, share in faults.items() if share > 1 - BY_CHANCE), None)
    if fault is None:
        return []
    places = 1 if name == "period" else 3
    theirs = middle(np.concatenate(others))
    ours, said = (f"{m:.{places}f} ± {s:.{places}f}" for m, s in ((mean, spread), theirs))
    return [f"its {name} is {fault}: {said}{unit}, the recording's {ours}"]
