"""D_stsp: the divergence of a generated trajectory's state-space distribution from the true one (A.3), on bins.

Bins span the exact range of the reference, all of them count, both histograms are smoothed, and points outside the
range are dropped. Where nothing falls inside, or anything is not finite, the divergence is infinite.
"""

from __future__ import annotations

import numpy as np

from crug.metrics.measure import Compare, Measure
from crug.metrics.mixture import MixtureReference

SMOOTHING = 1e-5
BINNED = 3
"""Most dimensions that are binned; above that Gaussian mixtures take over."""


class BinnedReference:
    """The histogram of a true trajectory, ready to be compared with generated ones.

    Parameters
    ----------
    x : (T, N) the true trajectory.
    bins : how many bins a dimension.
    padding : by how many standard deviations the range is wider than the truth's, on either side.
    """

    def __init__(self, x: np.ndarray, bins: int = 30, padding: float = 0.0):
        x = np.asarray(x, np.float64)
        self.bins, margin = bins, padding * x.std(axis=0)
        self.low, self.high = x.min(axis=0) - margin, x.max(axis=0) + margin
        self.truth = _smoothed(self._histogram(x))

    def divergence(self, generated: np.ndarray) -> float:
        """KL(true || generated) for generated (L, N); infinite for a divergent trajectory."""
        density = self.density(generated)
        return np.inf if density is None else kl(self.truth, density)

    def density(self, x: np.ndarray) -> np.ndarray | None:
        """The smoothed distribution of x (L, N) over the bins; None for a divergent trajectory."""
        x = np.asarray(x, np.float64)
        if not np.isfinite(x).all():
            return None
        counts = self._histogram(x)
        return _smoothed(counts) if counts.any() else None

    def _histogram(self, x: np.ndarray) -> np.ndarray:
        scale = self.bins / np.where(self.high > self.low, self.high - self.low, 1.0)
        flat, inside = np.zeros(len(x), np.int64), np.ones(len(x), bool)
        for d, column in enumerate(np.ascontiguousarray(x.T)):
            inside &= (column >= self.low[d]) & (column <= self.high[d])
            index = (np.clip(column, self.low[d], self.high[d]) - self.low[d]) * scale[d]
            flat += np.minimum(index.astype(np.int64), self.bins - 1) * self.bins**d
        return np.bincount(flat[inside], minlength=self.bins ** x.shape[1]).astype(np.float64)


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """The divergence of the distribution q from p, both smoothed: no bin is empty."""
    return float(np.sum(p * np.log(p / q)))


def _smoothed(counts: np.ndarray) -> np.ndarray:
    return (counts + SMOOTHING) / (counts.sum() + SMOOTHING * counts.size)


def against(truth: np.ndarray, samples: int) -> Compare:
    """The comparison of rollouts with the truth (T, N)."""
    binned = truth.shape[1] <= BINNED
    return (BinnedReference(truth) if binned else MixtureReference(truth)).divergence


MEASURE = Measure("d_stsp", "D_stsp", against)


def d_stsp(truth: np.ndarray, rollout: np.ndarray) -> float:
    """How far the states that a rollout (L, N) visits are from those of the true trajectory (T, N): a Kullback-Leibler
    divergence, on 30 bins a dimension up to three dimensions and between Gaussian mixtures above.

    0 is perfect. The value of a hopeless rollout depends on the data: about 15 for three dimensions, far more above.

    Examples
    --------
    >>> import numpy as np
    >>> t = 0.1 * np.arange(3_000)
    >>> circle = np.stack([np.sin(t), np.cos(t)], axis=1)
    >>> d_stsp(circle[:1_500], circle[1_500:]) < 1 < d_stsp(circle, 0.5 * circle)
    True
    """
    return against(np.asarray(truth), len(rollout))(np.asarray(rollout))
