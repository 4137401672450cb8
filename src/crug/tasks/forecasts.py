"""Forecasts from contexts: how long they are valid, and how closely the network had best follow a context.

A network that is corrected fully by every sample trusts the data alone; corrected by a part of what it missed (the
gain), it also trusts itself. Which is better depends on the network. The gain is chosen on the training part, where a
forecast from nothing but the last sample, the gain 0, is among the choices.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crug.core.dynamics import System
from crug.core.following import forecast
from crug.metrics.valid_time import valid_time

CONTEXT, HORIZON = 100, 5_000
"""Samples that a forecast begins with, and most samples that it foresees."""
COUNT, CHOOSING = 20, 40
"""Forecasts by which the measure is taken, and those by which the gain is chosen."""
GAINS = (0.2, 0.1, 0.5, 1.0, 0.0)


@dataclass(frozen=True)
class Forecasts:
    """Contexts (several, L, N), what followed on each (several, H, N), and the inputs to both (several, L - 1 + H, Q)
    where there are any."""

    contexts: np.ndarray
    futures: np.ndarray
    inputs: np.ndarray | None
    std: np.ndarray

    @classmethod
    def of(
        cls, x: np.ndarray, breaks: Sequence[int], inputs: np.ndarray | None = None, count: int = COUNT
    ) -> Forecasts:
        """As many as that, evenly over a recording x (T, N) that may be several trajectories: none spans a break."""
        edges = [0, *breaks, len(x)]
        longest = max(b - a for a, b in itertools.pairwise(edges))
        before, after = min(CONTEXT, longest // 4), min(HORIZON, longest // 2)
        possible = np.concatenate([np.arange(a + before, b - after + 1) for a, b in itertools.pairwise(edges)])
        now = possible[np.linspace(0, len(possible) - 1, count).astype(int)]
        parts = np.stack([x[i - before : i + after] for i in now])
        heard = None if inputs is None else np.stack([inputs[i - before : i + after - 1] for i in now])
        return cls(parts[:, :before], parts[:, before:], heard, x.std(axis=0))

    def valid(self, system: System, gain: float) -> float:
        """For how many samples forecasts of the system are valid, in the median."""
        return float(np.median(self.times(system, gain)))

    def times(self, system: System, gain: float) -> np.ndarray:
        """For how many samples each is valid."""
        found = forecast(system, self.contexts, self.futures.shape[1], gain, self.inputs)
        return np.array([valid_time(truth, made, self.std) for truth, made in zip(self.futures, found, strict=True)])

    def best_gain(self, system: System) -> float:
        """The gain with which forecasts are valid for longest."""
        return max(GAINS, key=lambda gain: self.valid(system, gain))
