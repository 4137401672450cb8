"""D_stsp as the programs of the field compute it, so that published numbers can be met on their own ground.

All count visits in 30 bins a dimension, add 1e-5 to every bin and take KL(true || generated). They differ in the range
that the bins span and in the bins that count, and so do their values: a number says little without its variant.

| variant | who | range | bins |
|---|---|---|---|
| `paper` | CRUG's tables | exactly what the truth visits | all 30 |
| `python` | ALRNN-DSR, DynaMix | exactly what the truth visits | 29: the first of every dimension is thrown away |
| `legacy` | dendPLRNN | -2 to 2 standard deviations | 29, the same |
| `julia` | GTF-shPLRNN, ALRNN-DSR | padded by 0.1 standard deviations on either side | all 30 |
| `mixture` | dendPLRNN above three dimensions | Gaussians of variance 1 around samples, both directions averaged | - |

Where a program has no answer for a rollout that is not finite, the value here is infinite.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crug.metrics.mixture import MixtureReference
from crug.metrics.padded import PADDING
from crug.metrics.state_space import SMOOTHING, d_stsp

BINS = 30
POINTS, DRAWN, WIDTH = 10_000, 1_000, 1.0
"""Of the mixture: samples that are centres, points where it is evaluated, and the variance of the Gaussians."""


def d_stsp_python(truth: np.ndarray, rollout: np.ndarray) -> float:
    """As in ALRNN-DSR and DynaMix: whatever lies in the first bin of a dimension is thrown away, which on attractors
    that rest there (Rossler's disc) is most of the data."""
    return _divergence(truth, rollout, truth.min(axis=0), truth.max(axis=0))


def d_stsp_julia(truth: np.ndarray, rollout: np.ndarray) -> float:
    """As in GTF-shPLRNN, in any number of dimensions. In up to three it is `d_stsp_padded`."""
    margin = PADDING * truth.std(axis=0)
    return _divergence(truth, rollout, truth.min(axis=0) - margin, truth.max(axis=0) + margin, first=0)


def d_stsp_legacy(truth: np.ndarray, rollout: np.ndarray) -> float:
    """As in dendPLRNN: bins from -2 to 2 standard deviations, the first of them thrown away."""
    reach = 2 * truth.std(axis=0, ddof=1)
    return _divergence(truth, rollout, -reach, reach)


def d_stsp_mixture(truth: np.ndarray, rollout: np.ndarray) -> float:
    """As in dendPLRNN above three dimensions. The Gaussians are as wide as the data: white noise of the same covariance
    scores 0.2."""
    if not np.isfinite(rollout).all():
        return np.inf
    x, y = truth[:POINTS], rollout[:POINTS]
    there, back = (MixtureReference(a, DRAWN, variance=WIDTH).divergence(b) for a, b in ((x, y), (y, x)))
    return (there + back) / 2


def _divergence(truth: np.ndarray, rollout: np.ndarray, low: np.ndarray, high: np.ndarray, first: int = 1) -> float:
    """Over the bins from `first` on, without laying out those that nobody visits: there are millions in five
    dimensions."""
    if not np.isfinite(rollout).all():
        return np.inf

    def visited(x: np.ndarray) -> np.ndarray:
        index = np.floor(np.clip(BINS * (np.asarray(x, np.float64) - low) / (high - low), -1, BINS)).astype(np.int64)
        index = index[((index >= first) & (index < BINS)).all(axis=1)]
        return index @ BINS ** np.arange(x.shape[1])

    there, here = visited(truth), visited(rollout)
    bins, place = np.unique(np.concatenate([there, here]), return_inverse=True)
    counts = (np.bincount(part, minlength=len(bins)) for part in np.split(place, [len(there)]))
    cells = float(BINS) ** truth.shape[1]
    (p, p_empty), (q, q_empty) = (_smoothed(count, cells) for count in counts)
    return float(np.sum(p * np.log(p / q)) + (cells - len(bins)) * p_empty * np.log(p_empty / q_empty))


def _smoothed(counts: np.ndarray, cells: float) -> tuple[np.ndarray, float]:
    """The parts of all visits in bins that somebody visits, and in each of the others."""
    total = counts.sum() + SMOOTHING * cells
    return (counts + SMOOTHING) / total, SMOOTHING / total


VARIANTS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "paper": d_stsp,
    "python": d_stsp_python,
    "legacy": d_stsp_legacy,
    "julia": d_stsp_julia,
    "mixture": d_stsp_mixture,
}
