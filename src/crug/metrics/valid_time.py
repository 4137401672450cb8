"""How long a forecast is valid: until it is farther from the truth than 0.4 standard deviations."""

from __future__ import annotations

import numpy as np

from crug.metrics.measure import Measure

TOO_FAR = 0.4
"""Root mean squared error over the columns, each in units of its own standard deviation."""

MEASURE = Measure("valid", "valid", samples=True)


def valid_time(truth: np.ndarray, forecast: np.ndarray, std: np.ndarray) -> int:
    """For how many samples a forecast (L, N) stays near the truth (L, N), whose columns have the standard deviations
    `std` (N,). One that is valid to its end is valid for L.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.zeros((5, 1))
    >>> valid_time(truth, np.array([[0.0], [0.1], [0.3], [0.5], [0.1]]), np.ones(1))
    3
    """
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.sqrt((((forecast - truth) / std) ** 2).mean(axis=1))
    off = np.flatnonzero(~(error <= TOO_FAR))
    return int(off[0]) if len(off) else len(truth)
