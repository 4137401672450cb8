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
    percent : shown in percent; more is better, and over several tasks the mean counts. Of all others less is better,
        and the worst counts.
    """

    name: str
    label: str
    against: Callable[[np.ndarray, int], Compare | None] | None = None
    percent: bool = False

    def overall(self, values: Sequence[float]) -> float:
        """One value for several tasks."""
        return float(np.mean(values)) if self.percent else max(values)

    def shown(self, value: float) -> str:
        """As tables have it."""
        if self.percent:
            return f"{100 * value:.2f} %"
        return f"{value:.2f}" if np.isfinite(value) else "div."
