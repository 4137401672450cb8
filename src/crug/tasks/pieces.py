"""Pieces of a recording, and how far rollouts are from them in state space. Checkpoints are compared by it, hundreds of
times in a task, so it has to be quick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from crug.metrics import BinnedReference, MixtureReference, kl
from crug.metrics.mixture import thinned


class BinnedPieces:
    """Pieces of a recording x (T, N), whose bins span all of it."""

    def __init__(self, x: np.ndarray, cuts: Sequence[np.ndarray]):
        self.bins = BinnedReference(x)
        self.truths: list[Any] = [self.bins.density(cut) for cut in cuts]

    def divergence(self, generated: np.ndarray, pieces: Sequence[int]) -> float:
        """The mean divergence of a rollout (L, N) from some of the pieces."""
        density = self.bins.density(generated)
        return np.inf if density is None else float(np.mean([kl(self.truths[j], density) for j in pieces]))


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
