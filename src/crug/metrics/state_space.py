"""D_stsp on bins: the divergence of a generated trajectory's state-space distribution from the true one (appendix A.3).

Bins span the exact range of the reference, all of them count, both histograms are smoothed, and points outside the
range are dropped. Where nothing falls inside, or anything is not finite, the divergence is infinite.
"""

from __future__ import annotations

import numpy as np

SMOOTHING = 1e-5


class BinnedReference:
    """The histogram of a true trajectory, ready to be compared with generated ones.

    Parameters
    ----------
    x : (T, N) the true trajectory.
    bins : how many bins a dimension.
    occupied : call a trajectory divergent when it misses every bin that the truth occupies (the paper's text), and not
        only when it misses the whole range.
    """

    def __init__(self, x: np.ndarray, bins: int = 30, occupied: bool = False):
        x = np.asarray(x, np.float64)
        self.bins, self.occupied = bins, occupied
        self.low, self.high = x.min(axis=0), x.max(axis=0)
        self.counts = self._histogram(x)
        self.truth = _smoothed(self.counts)

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
        hits = counts[self.counts > 0] if self.occupied else counts
        return _smoothed(counts) if hits.any() else None

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
