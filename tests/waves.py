"""What tests of models share: small recordings, and how to learn them in no time."""

from typing import Any

import numpy as np

QUICK: dict[str, Any] = {"epochs": 20, "progress": False}
START: dict[str, Any] = {"path": {"start": 8, "gently": [], "every": 16}, "noise": False, "select": "best"}


def wave(dim: int = 2, frequency: float = 1.0, samples: int = 1_500, offset: float = 0.0) -> np.ndarray:
    t = 0.1 * np.arange(samples)[:, None]
    return offset + (1 + np.arange(dim)) * np.sin(frequency * t * (1 + 0.3 * np.arange(dim)) + np.arange(dim))
