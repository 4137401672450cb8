"""What a measure is: a name, a label for tables, and how a rollout is compared with the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Compare = Callable[[np.ndarray], float]
"""A rollout (L, N) in, its distance from the truth out; infinite for a divergent one."""


@dataclass(frozen=True)
class Measure:
    """A measure of a task.

    Parameters
    ----------
    name : by which files and scores have it.
    label : by which tables have it.
    against : takes the truth (T, N) and the number of samples that rollouts will have, and returns the comparison; None
        where the measure does not exist for such data. Measures that a task family takes itself have none.
    percent : shown in percent; more is better, and over several tasks the mean counts.
    samples : a time in samples; more is better, and over several tasks the shortest counts. Of all other measures less
        is better, and the largest counts.
    brief : whether it stands in tables of runs; results and scores have all measures.
    """

    name: str
    label: str
    against: Callable[[np.ndarray, int], Compare | None] | None = None
    percent: bool = False
    samples: bool = False
    brief: bool = True

    @property
    def worst(self) -> float:
        """Where nothing was learned."""
        return 0.0 if self.percent or self.samples else np.inf

    def overall(self, values: Sequence[float]) -> float:
        """One value for several tasks."""
        if self.percent:
            return float(np.mean(values))
        return min(values) if self.samples else max(values)

    def shown(self, value: float, error: float | None = None) -> str:
        """As tables have it, with its standard error where that is known."""
        if self.percent:
            return f"{100 * value:.2f} %"
        if self.samples:
            return f"{value:.0f}"
        if not np.isfinite(value):
            return "div."
        return f"{value:.2f}" if error is None else f"{value:.2f}±{error:.2f}"
