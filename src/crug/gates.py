"""The hard-concrete unit gate and its L0 price (paper, eq. 3 and 5; deterministic gates, appendix A.1)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

GAMMA, ZETA = -0.1, 1.1
START = 2.0
"""log alpha at the start of a task: a gate of about 0.96, open but not saturated."""

SHUT = 20.0
"""log alpha and its negative where a gate is open or closed for good: without gradient either way."""


def gate(log_alpha: Array) -> Array:
    """g in [0, 1]: the stretched and clipped sigmoid."""
    return jnp.clip(jax.nn.sigmoid(log_alpha) * (ZETA - GAMMA) + GAMMA, 0.0, 1.0)


def openness(log_alpha: Array) -> Array:
    """The L0 price of each gate: the chance that its stochastic version would not be exactly zero."""
    return jax.nn.sigmoid(log_alpha - np.log(-GAMMA / ZETA))
