"""Sliced Wasserstein-1: how far mass has to be carried to turn what a rollout visits into what the truth visits.

Both are projected onto lines in many directions; on a line, the distance is the area between the quantile functions.
There are no bins and no densities, so nothing depends on a resolution, and a small bias costs no more than it is.
"""

from __future__ import annotations

import numpy as np

from crug.metrics.measure import Compare, Measure

DIRECTIONS, LEVELS = 64, 2_000


def directions(dim: int) -> np.ndarray:
    """Unit vectors (dim, directions), the same ones for ever: both axes of a line are one direction."""
    if dim == 1:
        return np.ones((1, 1))
    drawn = np.random.default_rng(0).standard_normal((dim, DIRECTIONS))
    return drawn / np.linalg.norm(drawn, axis=0)


def quantiles(x: np.ndarray, levels: int) -> np.ndarray:
    """Of every column of x (T, K), the values at the middles of `levels` equal parts: (levels, K)."""
    middle = (np.arange(levels) + 0.5) / levels
    return np.sort(x, axis=0)[(middle * len(x)).astype(np.int64)]


def against(truth: np.ndarray, samples: int) -> Compare:
    """The comparison of rollouts with the truth (T, N), in standard deviations of the truth."""
    truth = np.asarray(truth, np.float64)
    spread = truth.std(axis=0)
    lines = directions(truth.shape[1]) / np.where(spread > 0, spread, 1.0)[:, None]
    levels = min(LEVELS, len(truth))
    expected = quantiles(truth @ lines, levels)

    def compare(rollout: np.ndarray) -> float:
        rollout = np.asarray(rollout, np.float64)
        if not np.isfinite(rollout).all():
            return np.inf
        return float(np.abs(quantiles(rollout @ lines, levels) - expected).mean())

    return compare


MEASURE = Measure("wasserstein", "W1", against, brief=False)


def wasserstein(truth: np.ndarray, rollout: np.ndarray) -> float:
    """The sliced Wasserstein-1 distance between the states of a true trajectory (T, N) and of a rollout (L, N), in
    standard deviations of the truth: 0 is perfect, infinite where the rollout is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((1_000, 1))
    >>> round(wasserstein(x, x + 0.5 * x.std()), 6)
    0.5
    """
    return against(np.asarray(truth), len(rollout))(np.asarray(rollout))
