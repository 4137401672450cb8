"""What a task is: one thing to learn, with the part of it that is held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Task:
    """A recording of an autonomous system.

    `train` (T, N) and `test` (T', N) are standardised float64 samples, `dt` seconds apart.
    """

    name: str
    title: str
    train: np.ndarray
    test: np.ndarray
    dt: float

    @property
    def dim(self) -> int:
        return self.train.shape[1]
