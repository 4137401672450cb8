"""Lyapunov exponents of a recording itself: local linear maps of neighbouring samples, in place of Jacobians (Sano and
Sawada 1985, Eckmann et al. 1986). Noise is smoothed away first, as it is for learning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from crug.analysis.lyapunov import Exponents
from crug.readers.noise import MOST, noise, smoothed
from crug.readers.shape import first_zero, memory_length

FEWEST = 1_000
"""Samples below which neighbours are too far apart to tell anything."""
NEIGHBOURS, NOISY_NEIGHBOURS = 20, 60
"""By which a local map is fitted, of a clean recording and of a noisy one."""
NOISY = 0.005
"""Of a column's standard deviation: less noise than that is none."""
FLAT = 1e-3
"""In parts of the largest, the extent of neighbours below which nothing is said about a direction."""
PIECES, SETTLING = (10, 5), 10
"""By how many pieces the standard error is taken, whichever gives the larger one, and how many local maps are left out
before."""
SCATTER = 0.2
"""The part of the differences between neighbours' futures that local maps may leave open. Neighbours of which more is
open were none: a variable is missing, or the recording is noise."""
TIMES_NOISE = 2.0
"""How many times as large as the noise, after smoothing, that may be which is left open without counting."""
TOGETHER = 2_000
"""Local maps that are fitted at a time."""
EXACT = 1e-6
"""Of the recording's spread, an extent of neighbours below which it repeats itself exactly."""


def recorded_exponents(x: np.ndarray, dt: float = 1.0, breaks: Sequence[int] = ()) -> Exponents | None:
    """The exponents of a recording x (T, N) that has all variables of its system, or enough delayed copies; None where
    it is too short, has not, or repeats itself exactly. Of several trajectories the longest counts.

    The largest ones are estimated well. Strong contraction shows too weak, because neighbours then lie within the
    attractor. Errors are of the pieces of the recording, and of the method: by how much the exponents depend on how far
    ahead neighbours are followed. What would grow less than e-fold over the whole recording cannot be told from zero.
    """
    x = max(np.split(np.asarray(x, np.float64), list(breaks)), key=len)
    found = [noise([column]) for column in x.T]
    x = smoothed(x, tuple(one.width for one in found))
    ahead, apart = max(1, memory_length(x) // 8), first_zero(x)
    count = NOISY_NEIGHBOURS if any(one.level > NOISY for one in found) else NEIGHBOURS
    if len(x) < max(FEWEST, 4 * count + 2 * apart + 2 * ahead, 2 * ahead * (SETTLING + 2 * max(PIECES))):
        return None
    noisy = np.array([one.level for one in found]) * x.std(axis=0)
    noisy = np.where([one.level < MOST for one in found], noisy, 0)  # what is all noise is no recording of anything
    near, far = (_local_maps(x, (steps, apart), count, noisy) for steps in (ahead, 2 * ahead))
    if near.scatter > SCATTER or near.extent < EXACT * x.std():
        return None
    values, errors = _averaged(near.rates[SETTLING:] / ahead)
    off = np.abs(values - _averaged(far.rates[SETTLING:] / (2 * ahead))[0])
    return Exponents(values, np.sqrt(errors**2 + off**2 + 1 / len(x) ** 2), dt)


class _LocalMaps(NamedTuple):
    """The logarithms of growth (several, N), one local map after another; the part of the differences between
    neighbours' futures that all of them leave open, and how far neighbours usually are apart at first."""

    rates: np.ndarray
    scatter: float
    extent: float


def _averaged(rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exponents in falling order, with their standard errors."""
    values, errors = rates.mean(axis=0), np.zeros(rates.shape[1])
    for count in PIECES:
        pieces = np.array([piece.mean(axis=0) for piece in np.array_split(rates, count)])
        errors = np.maximum(errors, pieces.std(axis=0, ddof=1) / np.sqrt(count))
    order = np.argsort(-values)
    return values[order], errors[order]


def _local_maps(x: np.ndarray, steps: tuple[int, int], count: int, noisy: np.ndarray) -> _LocalMaps:
    """Of x (T, N) over `steps`: so many samples ahead, by neighbours that are more than so many samples away in time.
    There are `count` of them, and what the noise (N,) explains of their futures is not left open."""
    ahead = steps[0]
    begins = np.arange(0, len(x) - ahead, ahead)
    tree = KDTree(x[: len(x) - ahead])
    found = [_fitted(x, tree, part, steps, count) for part in np.array_split(begins, -(-len(begins) // TOGETHER))]
    J, left, before, after = (np.concatenate(parts) for parts in zip(*found, strict=True))
    Q, rates = np.eye(x.shape[1]), []
    for one in J:
        Q, R = np.linalg.qr(one @ Q)
        rates.append(np.log(np.maximum(np.abs(np.diag(R)), 1e-300)))
    left = np.maximum(0, left - TIMES_NOISE**2 * (noisy**2).mean())
    scatter = left.sum() / max(1e-300, after.sum())
    return _LocalMaps(np.array(rates), float(scatter), float(np.sqrt(np.median(before))))


def _fitted(
    x: np.ndarray, tree: KDTree, begins: np.ndarray, steps: tuple[int, int], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Local maps (several, N, N), and the mean squares of what they leave open, of neighbours and of their futures."""
    ahead, apart = steps
    near = np.asarray(tree.query(x[begins], k=4 * count)[1])
    far = np.abs(near - begins[:, None]) > apart
    far |= far.sum(axis=1, keepdims=True) < x.shape[1] + 2  # too few: then any will do
    used = (far & (np.cumsum(far, axis=1) <= count))[:, :, None]
    many = used.sum(axis=1, keepdims=True)
    before, after = (
        np.where(used, x[i] - (x[i] * used).sum(axis=1, keepdims=True) / many, 0) for i in (near, near + ahead)
    )
    U, s, Vt = np.linalg.svd(before, full_matrices=False)
    inverse = np.where(s > FLAT * s[:, :1], 1 / np.maximum(s, 1e-300), 0)
    J = (Vt.swapaxes(1, 2) * inverse[:, None]) @ (U.swapaxes(1, 2) @ after)
    left = after - before @ J
    squares = ((part**2).sum(axis=(1, 2)) / (many[:, 0, 0] * x.shape[1]) for part in (left, before, after))
    return J.swapaxes(1, 2), *squares
