"""Lyapunov exponents of a recording itself: local linear maps of neighbouring samples, in place of Jacobians (Sano and
Sawada 1985, Eckmann et al. 1986). Noise is smoothed away first, as it is for learning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree

from crug.analysis.lyapunov import Exponents
from crug.readers.noise import noise, smoothed
from crug.readers.shape import first_zero, memory_length

FEWEST = 1_000
"""Samples below which neighbours are too far apart to tell anything."""
NEIGHBOURS, NOISY_NEIGHBOURS = 20, 60
"""By which a local map is fitted, of a clean recording and of a noisy one."""
NOISY = 0.005
"""Of a column's standard deviation: less noise than that is none."""
FLAT = 1e-3
"""In parts of the largest, the extent of neighbours below which nothing is said about a direction."""
PIECES, SETTLING = 10, 10
"""By how many pieces the standard error is taken, and how many local maps are left out before."""


def recorded_exponents(x: np.ndarray, dt: float = 1.0, breaks: Sequence[int] = ()) -> Exponents | None:
    """The exponents of a recording x (T, N) that has all variables of its system, or enough delayed copies; None where
    it is too short. Of several trajectories the longest counts.

    The largest ones are estimated well. Strong contraction shows too weak, because neighbours then lie within the
    attractor.
    """
    x = max(np.split(np.asarray(x, np.float64), list(breaks)), key=len)
    found = [noise([column]) for column in x.T]
    x = smoothed(x, tuple(one.width for one in found))
    ahead, apart = max(1, memory_length(x) // 8), first_zero(x)
    count = NOISY_NEIGHBOURS if any(one.level > NOISY for one in found) else NEIGHBOURS
    if len(x) < FEWEST or len(x) < 4 * count + 2 * apart + ahead:
        return None
    rates = _rates(x, ahead, apart, count)[SETTLING:] / ahead
    pieces = np.array([piece.mean(axis=0) for piece in np.array_split(rates, PIECES)])
    errors = pieces.std(axis=0, ddof=1) / np.sqrt(PIECES)
    order = np.argsort(-pieces.mean(axis=0))
    return Exponents(pieces.mean(axis=0)[order], errors[order], dt)


def _rates(x: np.ndarray, ahead: int, apart: int, count: int) -> np.ndarray:
    """The logarithms of growth (several, N) over `ahead` samples each, one after another along x (T, N)."""
    N = x.shape[1]
    begins = np.arange(0, len(x) - ahead, ahead)
    near = np.asarray(KDTree(x[: len(x) - ahead]).query(x[begins], k=4 * count)[1])
    Q, rates = np.eye(N), []
    for i, candidates in zip(begins, near, strict=True):
        others = candidates[np.abs(candidates - i) > apart][:count]
        others = others if len(others) >= N + 2 else candidates[:count]
        before, after = x[others] - x[others].mean(axis=0), x[others + ahead] - x[others + ahead].mean(axis=0)
        U, s, Vt = np.linalg.svd(before, full_matrices=False)
        told = s > FLAT * s[0]
        J = ((Vt[told].T / s[told]) @ (U[:, told].T @ after)).T
        Q, R = np.linalg.qr(J @ Q)
        rates.append(np.log(np.maximum(np.abs(np.diag(R)), 1e-300)))
    return np.array(rates)
