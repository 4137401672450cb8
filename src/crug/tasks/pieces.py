"""Pieces of a recording, and how far rollouts are from them, in state space and in their spectra. Checkpoints are
compared by it, hundreds of times in a task, so it has to be quick."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from crug.metrics import BinnedReference, MixtureReference, power_spectrum
from crug.metrics.hellinger import smoothing
from crug.metrics.mixture import thinned


class BinnedPieces:
    """Pieces of a recording x (T, N), whose bins span all of it."""

    def __init__(self, x: np.ndarray, cuts: Sequence[np.ndarray]):
        self.bins = BinnedReference(x)
        self.truths = np.array([self.bins.density(cut) for cut in cuts])
        self.negentropies = (self.truths * np.log(self.truths)).sum(axis=1)

    def divergence(self, generated: np.ndarray, pieces: Sequence[int]) -> float:
        """The mean divergence of a rollout (L, N) from some of the pieces."""
        density = self.bins.density(generated)
        if density is None:
            return np.inf
        return float(np.mean(self.negentropies[list(pieces)] - self.truths[list(pieces)] @ np.log(density)))


class Spectra:
    """The spectra of pieces of a recording."""

    def __init__(self, cuts: Sequence[np.ndarray]):
        self.length = len(cuts[0])
        self.sigma = smoothing(self.length)
        spectra = [power_spectrum(cut, self.sigma) for cut in cuts]
        self.roots = [None if one is None else np.sqrt(one) for one in spectra]

    def distance(self, generated: np.ndarray, pieces: Sequence[int]) -> float:
        """The mean D_H of a rollout (L, N) from some of the pieces; 1 where there is no spectrum."""
        found = power_spectrum(generated[: self.length], self.sigma)
        if found is None:
            return 1.0
        root = np.sqrt(found)
        return float(np.mean([self._one(self.roots[j], root) for j in pieces]))

    def _one(self, truth: np.ndarray | None, root: np.ndarray) -> float:
        if truth is None:
            return 1.0
        overlap = np.einsum("fd,fd->d", truth, root)
        return float(np.sqrt(np.maximum(0.0, 1.0 - overlap)).mean())


class MixturePieces:
    """Pieces of a recording in many dimensions: mixtures of few centres, at few points, in single precision, which
    costs a few thousandths of a divergence at the most."""

    POINTS, MOST, ROWS = 400, 2_000, 20

    def __init__(self, cuts: Sequence[np.ndarray]):
        references = [MixtureReference(cut, self.POINTS, self.MOST) for cut in cuts]
        self.variance = references[0].variance
        points = np.stack([r.points for r in references])
        self.points = np.concatenate([points, np.ones_like(points[:, :, :1])], axis=2).astype(np.float32)
        norm = 0.5 * points.shape[2] * np.log(2 * np.pi * self.variance)
        own = (points**2).sum(axis=2) / (2 * self.variance) + norm
        self.truths = np.stack([r.truth for r in references]) + own  # what depends on the centres alone

    def divergence(self, generated: np.ndarray, pieces: Sequence[int]) -> float:
        """The mean divergence of a rollout (L, N) from some of the pieces; infinite where it is not finite."""
        centres = thinned(generated, self.MOST)
        points = self.points[list(pieces)].reshape(-1, self.ROWS, self.points.shape[2])
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (centres**2).sum(axis=1) / 2
            terms = np.vstack([centres.T, -squares]) / self.variance
            sums = np.asarray(_log_sums(points, terms.astype(np.float32)), np.float64)
        found = float(self.truths[list(pieces)].mean() - sums.mean() + np.log(len(centres)))
        return found if np.isfinite(found) else np.inf


@jax.jit
def _log_sums(points: Float[Array, "some rows K"], terms: Float[Array, "K T"]) -> Float[Array, "some rows"]:
    """A few rows at a time, which stay in the cache."""
    return lax.map(lambda rows: jax.nn.logsumexp(jnp.matmul(rows, terms), axis=1), points)
