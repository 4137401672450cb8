"""D_stsp on a range that is wider than the truth's by 0.1 standard deviations on either side, as in the field's Julia
code.

The paper's D_stsp spans exactly what the truth visits and drops points outside. A sheet of the attractor that lies at
the very edge (Rossler's disc) is then lost by a bias too small to see: half a percent of a standard deviation costs
five nats. Here such points still count.
"""

from __future__ import annotations

import numpy as np

from crug.metrics.measure import Compare, Measure
from crug.metrics.state_space import BINNED, BinnedReference

PADDING = 0.1


def against(truth: np.ndarray, samples: int) -> Compare | None:
    """The comparison of rollouts with the truth (T, N); above three dimensions there are no bins, and no such
    measure."""
    return BinnedReference(truth, padding=PADDING).divergence if truth.shape[1] <= BINNED else None


MEASURE = Measure("d_stsp_padded", "padded", against)


def d_stsp_padded(truth: np.ndarray, rollout: np.ndarray) -> float:
    """How far the states that a rollout (L, N) visits are from those of the true trajectory (T, N), on 30 bins a
    dimension over the truth's range, padded by 0.1 standard deviations on either side. For one to three dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> t = 0.1 * np.arange(3_000)
    >>> circle = np.stack([np.sin(t), np.cos(t)], axis=1)
    >>> d_stsp_padded(circle, circle)
    0.0
    """
    compare = against(np.asarray(truth), len(rollout))
    if compare is None:
        raise ValueError(f"the truth has {truth.shape[1]} dimensions; the padded measure has bins for {BINNED} at most")
    return compare(np.asarray(rollout))
