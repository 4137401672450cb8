"""D_stsp on Gaussian mixtures, for more dimensions than can be binned (appendix A.3).

Every sample of a trajectory is the centre of a Gaussian of variance 0.01; the divergence of the generated mixture from
the true one is estimated at points drawn from the true one. All in logarithms: the densities themselves underflow.
"""

from __future__ import annotations

import numpy as np

VARIANCE = 0.01
ROWS = 32
"""Points whose distances to all centres are in memory at once: so few that they stay in the cache."""
VANISHING = -700.0
"""Exponents below that add nothing, but numbers too small to be normal are slow to compute with."""


class MixtureReference:
    """A true trajectory, ready to be compared with generated ones.

    Parameters
    ----------
    x : (T, N) the true trajectory, standardised.
    points : how many points the divergence is estimated at.
    most : no more centres than that are used of either trajectory, evenly spaced; None uses all.
    variance : of the Gaussians.
    """

    def __init__(
        self,
        x: np.ndarray,
        points: int = 2_000,
        most: int | None = None,
        seed: int = 0,
        variance: float = VARIANCE,
    ):
        x = np.asarray(x, np.float64)
        self.most, self.variance = most, variance
        rng = np.random.default_rng(seed)
        noise = np.sqrt(variance) * rng.standard_normal((points, x.shape[1]))
        self.points = x[rng.integers(len(x), size=points)] + noise
        self.truth = log_density(self.points, thinned(x, most), variance)

    def divergence(self, generated: np.ndarray) -> float:
        """KL(true || generated) for generated (L, N); infinite where anything is not finite."""
        generated = np.asarray(generated, np.float64)
        if not np.isfinite(generated).all():
            return np.inf
        density = log_density(self.points, thinned(generated, self.most), self.variance)
        found = float(np.mean(self.truth - density))
        return found if np.isfinite(found) else np.inf


def thinned(x: np.ndarray, most: int | None) -> np.ndarray:
    if most is None or len(x) <= most:
        return x
    return x[np.linspace(0, len(x) - 1, most).astype(int)]


def log_density(points: np.ndarray, centres: np.ndarray, variance: float = VARIANCE) -> np.ndarray:
    """The logarithm (n,) of the mixture around `centres` (T, N) at `points` (n, N)."""
    norm = np.log(len(centres)) + 0.5 * points.shape[1] * np.log(2 * np.pi * variance)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (centres**2).sum(axis=1)
        parts = []
        for i in range(0, len(points), ROWS):
            p = points[i : i + ROWS]
            exponents = p @ (centres.T / variance)
            exponents -= squares / (2 * variance)
            largest = exponents.max(axis=1)
            exponents -= largest[:, None]
            np.maximum(exponents, VANISHING, out=exponents)
            total = np.exp(exponents, out=exponents).sum(axis=1)
            parts.append(largest + np.log(total) - (p**2).sum(axis=1) / (2 * variance))
        return np.concatenate(parts) - norm
