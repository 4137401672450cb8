"""Which known recording's dynamics made a stretch of data, or is it new?

Every network forecasts the stretch from many of its places. How far off it is a few samples later is compared with how
far off it is on stretches of its own recording that it was not learned from, made as noisy as the stretch is. A system
that a network knows is foreseen as well as its own recording; another one is not, however alike the two look. And it is
foreseen better than by a guess that knows nothing of it: of mere noise, all forecasts are equally bad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crug.core.following import forecast
from crug.core.network import Network
from crug.readers.noise import MOST
from crug.tasks.base import Observed

HORIZONS = (1, 4, 16)
"""Samples ahead at which forecasts are compared."""
CONTEXT, EVERY = 50, 10
"""Samples that a forecast begins with, and how far apart forecasts are."""
FEWEST = 150
"""Samples from which something can be said."""
OWN = 20
"""Stretches of its own recording by which a network is calibrated."""
GRACE = 1.5
"""How many times as far off as the worst of these a stretch may be and still count as the same system."""
BETTER = 0.9
"""In parts of the error of a guess, the most that forecasts of the same system may be off. A slow system whose samples
have noise of 5 % comes up to 0.7; forecasts of noise are worse than a guess."""
FARTHEST = 1e3
"""Standard deviations beyond which it makes no difference how far off a forecast is."""


@dataclass(frozen=True)
class Candidate:
    """A known recording: how many times as far off its network's forecasts are as on the recording itself, up to how
    many times counts as the same system, and how far off they are in parts of the error of a guess."""

    name: str
    times: float
    limit: float
    guess: float

    @property
    def same(self) -> bool:
        """Whether the stretch can be of this system."""
        return self.times <= self.limit and self.guess <= BETTER


@dataclass(frozen=True)
class Recognised:
    """The answer, with all known recordings that have as many columns, the best first; `left_out` are those of them
    that the stretch could not be compared with, and why."""

    ranking: tuple[Candidate, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        """The recording whose dynamics made the stretch; None if it is new."""
        return self.ranking[0].name if self.ranking and self.ranking[0].same else None

    @property
    def margin(self) -> float:
        """How many times as far off the second best is as the best; infinite where there is no other."""
        return self.ranking[1].times / self.ranking[0].times if len(self.ranking) > 1 else np.inf

    def __str__(self) -> str:
        left = "; ".join(f"{name} cannot be compared: {why}" for name, why in self.left_out.items())
        if not self.ranking:
            return f"new: {left or 'no known recording has as many columns'}"
        return self._compared() + (f"; {left}" if left else "")

    def _compared(self) -> str:
        first, *others = self.ranking
        said = f"{first.times:.3g} times as far off as on that recording itself"
        limit = f"up to {first.limit:.2g} counts as the same"
        if first.same:
            rest = f"; the next, {others[0].name}, {others[0].times:.3g} times" if others else ""
            return f"{first.name}: its forecasts are {said}, {limit}{rest}"
        if first.times <= first.limit:
            return f"new: forecasts of the nearest, {first.name}, are no better than a guess"
        return f"new: forecasts of the nearest, {first.name}, are {said}, {limit}"


def candidate(network: Network, number: int, name: str, seen: Observed, x: np.ndarray) -> Candidate | None:
    """Task `number` of a network, whose own samples are `seen`, beside a stretch x (T, N) in the same units; None where
    there are too few of its own."""
    own = max(np.split(seen.x, list(seen.breaks)), key=len)
    if len(own) < FEWEST:
        return None
    length = min(len(x), len(own) // 2)  # so that the stretches of its own differ
    begins = np.linspace(0, len(own) - length, OWN).astype(int)
    stretches = np.stack([own[i : i + length] for i in begins])
    added = np.sqrt(np.maximum(0, _noise(x) ** 2 - _noise(own) ** 2))
    stretches = stretches + added * np.random.default_rng(0).standard_normal(stretches.shape)
    usual = _errors(network, number, stretches)
    middle = usual.mean(axis=0)
    worst = float((usual - middle).max(axis=1).max())
    found = _errors(network, number, x[None])[0]
    off = float((found - middle).max())
    return Candidate(name, float(np.exp(off)), float(np.exp(worst) * GRACE), float(np.exp(found[-1] - _guessed(x))))


def ranked(candidates: Sequence[Candidate], left_out: Mapping[str, str]) -> Recognised:
    """The best first: those that a stretch can be of, by how far off they are."""
    return Recognised(tuple(sorted(candidates, key=lambda one: (not one.same, one.times))), left_out)


def _noise(x: np.ndarray) -> np.ndarray:
    """About the standard deviation of the noise in each column of x (T, N): of differences of the third order, in which
    hardly anything of a smooth signal is left. What is left is the same in a recording and in a stretch of it. Where it
    would be most of the stretch, or more than a recording may have, it is no noise but what is to be explained."""
    found = np.median(np.abs(np.diff(x, 3, axis=0)), axis=0) / (0.6745 * 20**0.5)
    most = MOST * min(1.0, float(np.sqrt(x.var(axis=0).mean())))
    return found if np.sqrt((found**2).mean()) < most else np.zeros_like(found)


def _errors(network: Network, number: int, stretches: np.ndarray) -> np.ndarray:
    """How far off forecasts are, the logarithm of the median over each of the stretches (several, T, N), after each of
    `HORIZONS`: (several, horizons)."""
    count, length, N = stretches.shape
    ahead = max(HORIZONS)
    ends = _ends(length)
    windows = np.stack([stretches[:, end - CONTEXT : end + ahead] for end in ends], axis=1)
    windows = windows.reshape(-1, CONTEXT + ahead, N)
    made = forecast(network.task_system(number), windows[:, :CONTEXT], ahead, network.gains[number])
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.sqrt(((made - windows[:, CONTEXT:]) ** 2).mean(axis=2)).reshape(count, len(ends), ahead)
    return _middle(off[:, :, [horizon - 1 for horizon in HORIZONS]])


def _guessed(x: np.ndarray) -> float:
    """How far off a guess is on a stretch x (T, N) after the longest of `HORIZONS`, as `_errors` has it: the better of
    the last sample, and the mean of the stretch."""
    ahead = max(HORIZONS)
    ends = _ends(len(x))
    later = x[ends + ahead - 1]
    guesses = np.stack([x[ends - 1], np.broadcast_to(x.mean(axis=0), later.shape)])
    return float(_middle(np.sqrt(((guesses - later) ** 2).mean(axis=2))[:, :, None]).min())


def _ends(length: int) -> np.ndarray:
    """Where in a stretch of so many samples forecasts begin."""
    return np.arange(CONTEXT, length - max(HORIZONS), EVERY)


def _middle(off: np.ndarray) -> np.ndarray:
    """The logarithm of the median of errors (stretches, forecasts, horizons): (stretches, horizons)."""
    capped = np.where(np.isfinite(off), np.minimum(off, FARTHEST), FARTHEST)
    return np.log(np.maximum(np.median(capped, axis=1), 1e-12))
