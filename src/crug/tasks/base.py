"""What a task is: one thing to learn, with the part of it that is held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TESTED = 20_000
"""Most samples of a test part that a rollout is measured by."""


@dataclass(frozen=True)
class Task:
    """A recording of an autonomous system.

    `train` (T, N) and `test` (T', N) are standardised float64 samples, `dt` seconds apart. Where the training data are
    several trajectories, `breaks` says at which samples a new one begins. `transient` steps are dropped from a rollout
    before it is compared with the test data; by default half as many as these have.
    """

    name: str
    title: str
    train: np.ndarray
    test: np.ndarray
    dt: float
    breaks: tuple[int, ...] = ()
    transient: int | None = None

    @property
    def rollout(self) -> tuple[int, int]:
        """(steps, of which transient) of a rollout that is compared with the test data: half as long again."""
        length = min(TESTED, len(self.test))
        skip = length // 2 if self.transient is None else self.transient
        return skip + length + length // 2, skip

    @property
    def dim(self) -> int:
        return self.train.shape[1]
