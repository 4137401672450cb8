"""What a task is: one thing to learn, with the part of it that is held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TESTED = 20_000
"""Most samples of a test part that a rollout is measured by."""
STEPS, TRANSIENT = 40_000, 10_000
"""Steps of a rollout that is measured, and how many of the first are dropped."""


@dataclass(frozen=True)
class Task:
    """A recording of an autonomous system.

    `train` (T, N) and `test` (T', N) are standardised float64 samples, `dt` seconds apart. Where the training data are
    several trajectories, `breaks` says at which samples a new one begins; where they were noisy, `smoothed` says over
    how many samples each column was smoothed. `rollout` is how many steps a rollout has that is compared with the test
    data, and how many of the first are dropped. It is long even where the recording is short: what a rollout did not
    have the time to visit says nothing about its attractor.
    """

    name: str
    title: str
    train: np.ndarray
    test: np.ndarray
    dt: float
    breaks: tuple[int, ...] = ()
    rollout: tuple[int, int] = (STEPS, TRANSIENT)
    smoothed: tuple[int, ...] = ()

    @property
    def dim(self) -> int:
        return self.train.shape[1]
