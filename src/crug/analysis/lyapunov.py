"""Lyapunov exponents of a network from its own Jacobians, and the dimension that follows from them.

Tangent vectors are carried along a rollout by diag(a) + W D and made orthogonal again every few steps (QR). How much
they have grown in that time, on average, are the exponents (Benettin et al. 1980). The standard error comes from pieces
of the rollouts.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from crug.analysis.maps import Map

STEPS, TRANSIENT = 25_000, 2_000
"""Steps of each rollout that are measured, and how many are dropped before."""
EVERY = 5
"""Steps between two QR decompositions."""
PIECES = 5
"""Of a rollout, by which the standard error is taken."""
SURE = 3.0
"""Standard errors by which an exponent has to be off zero to count as positive or negative."""
ALIGNING = 10
"""The first part of a rollout, one in so many, in which tangent vectors find their directions."""


@dataclass(frozen=True)
class Exponents:
    """Lyapunov exponents per sample in falling order, with their standard errors; `dt` is the time between samples.

    Infinite where the rollouts run away.
    """

    values: np.ndarray
    errors: np.ndarray
    dt: float = 1.0

    @property
    def largest(self) -> float:
        """The largest exponent, per sample."""
        return float(self.values[0])

    @property
    def per_time(self) -> np.ndarray:
        """The exponents per unit of time."""
        return self.values / self.dt

    @property
    def signs(self) -> np.ndarray:
        """For every exponent 1, 0 or -1: what its standard error allows to say."""
        sure = np.abs(self.values) > SURE * self.errors
        return np.where(sure, np.sign(self.values), 0).astype(int)

    @property
    def dimension(self) -> float:
        """The Kaplan-Yorke dimension; exponents that cannot be told from zero count as zero."""
        if not np.isfinite(self.values).all():
            return np.inf
        return kaplan_yorke(np.where(self.signs == 0, 0.0, self.values))


def kaplan_yorke(exponents: np.ndarray) -> float:
    """The dimension of an attractor with these exponents.

    Examples
    --------
    >>> import numpy as np
    >>> round(kaplan_yorke(np.array([0.906, 0.0, -14.572])), 3)
    2.062
    """
    ordered = np.sort(np.asarray(exponents, np.float64))[::-1]
    total = np.cumsum(ordered)
    holding = np.flatnonzero(total >= 0)
    if not len(holding):
        return 0.0
    j = int(holding[-1])
    return float(j + 1) if j + 1 == len(ordered) else float(j + 1 + total[j] / abs(ordered[j + 1]))


def spectrum(
    system: Map,
    z0: np.ndarray,
    dt: float = 1.0,
    steps: tuple[int, int] = (STEPS, TRANSIENT),
    pushes: np.ndarray | None = None,
    count: int | None = None,
) -> Exponents:
    """The `count` largest exponents along rollouts from the states z0 (batch, n); as many as there are units, if no
    number is given. `steps` are those that are measured, and those that are dropped before. Under pushes (T, n) from
    outside there are no more steps than these."""
    count = system.size if count is None else min(count, system.size)
    measured, dropped = steps
    if pushes is not None:
        dropped = min(dropped, len(pushes) // 10)
        measured = min(measured, len(pushes) - dropped)
    rounds = measured // EVERY
    z = system.run(z0, dropped, pushes)[:, -1] if dropped else np.asarray(z0, np.float64)
    later = np.zeros((1, 1)) if pushes is None else pushes[dropped : dropped + rounds * EVERY]
    later = np.broadcast_to(later, (rounds * EVERY, later.shape[1])).reshape(rounds, EVERY, -1)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((len(z), system.size, count)))[0]
    with jax.enable_x64(True):
        growth, final = (np.asarray(part) for part in _grown(system.step_parts, (z, Q), later))
    if not np.isfinite(final).all():
        return Exponents(np.full(count, np.inf), np.full(count, np.inf), dt)
    rates = growth[rounds // ALIGNING :] / EVERY
    pieces = np.stack([piece.mean(axis=0) for piece in np.array_split(rates, PIECES)])  # (pieces, batch, count)
    pieces = pieces.reshape(-1, count)
    values, errors = pieces.mean(axis=0), pieces.std(axis=0, ddof=1) / np.sqrt(len(pieces))
    order = np.argsort(-values, kind="stable")
    return Exponents(values[order], errors[order], dt)


@jax.jit
def _grown(parts, begin, pushes):
    """The logarithms of growth (rounds, batch, count), and the states in the end."""
    a, W, h, relu = parts

    def step(carry, push):
        z, Q = carry
        on = jnp.where(relu, z > 0, True).astype(z.dtype)
        Q = a[:, None] * Q + W @ (on[:, :, None] * Q)
        return (a * z + (on * z) @ W.T + h + push, Q), None

    def around(carry, push):
        (z, Q), _ = lax.scan(step, carry, push)
        Q, R = jnp.linalg.qr(Q)
        grown = jnp.abs(jnp.diagonal(R, axis1=-2, axis2=-1))
        return (z, Q), jnp.log(jnp.maximum(grown, 1e-300))

    (z, _), growth = lax.scan(around, begin, pushes)
    return growth, z
