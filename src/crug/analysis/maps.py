"""A system as the piecewise-linear map that it is: affine in each of its regions, in float64.

| paper | here | shape | meaning |
|---|---|---|---|
| z_{t+1} = a z_t + W Phi*(z_t) + h | `Map.step` | | one step of a system without inputs |
| | `pattern` | (P,) | which ReLU units are on: the linear region that a state lies in |
| diag(a) + W D | `Map.jacobian` | (n, n) | the Jacobian in a region; D switches off the units that are cut |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from crug.core.dynamics import System


@dataclass(frozen=True)
class Map:
    """The step of a system.

    Parameters
    ----------
    a, W, h : (n,), (n, n), (n,) as in the network.
    relu : (n,) which units rectify.
    readout : (N,) the positions of the units that are read out.
    C : (n, Q) input weights; no columns where there are no inputs.
    """

    a: np.ndarray
    W: np.ndarray
    h: np.ndarray
    relu: np.ndarray
    readout: np.ndarray
    C: np.ndarray

    @classmethod
    def of(cls, system: System) -> Self:
        a, W, h, C = (np.asarray(part, np.float64) for part in (system.a, system.W, system.h, system.C))
        return cls(a, W, h, np.isfinite(np.asarray(system.floor)), np.asarray(system.readout), C)

    @property
    def size(self) -> int:
        return len(self.a)

    @property
    def rectifying(self) -> int:
        """How many units rectify."""
        return int(self.relu.sum())

    @cached_property
    def units(self) -> np.ndarray:
        """The positions of those that rectify."""
        return np.flatnonzero(self.relu)

    @property
    def step_parts(self) -> tuple[np.ndarray, ...]:
        """a, W, h and the units that rectify: all that a step needs."""
        return self.a, self.W, self.h, self.relu

    def pattern(self, z: np.ndarray) -> np.ndarray:
        """The region of states z (..., n): which of the ReLU units are on, (..., P)."""
        return z[..., self.units] > 0

    def step(self, z: np.ndarray) -> np.ndarray:
        """States z (..., n) one step later."""
        return self.a * z + np.where(self.relu, np.maximum(z, 0), z) @ self.W.T + self.h

    def jacobian(self, pattern: np.ndarray) -> np.ndarray:
        """Of the step in regions (..., P): (..., n, n)."""
        on = np.ones((*pattern.shape[:-1], self.size))
        on[..., self.units] = pattern
        return self.W * on[..., None, :] + np.diag(self.a)

    def run(self, z0: np.ndarray, steps: int, pushes: np.ndarray | None = None, skip: int = 0) -> np.ndarray:
        """The states (batch, steps - skip, n) that follow on z0 (batch, n), under pushes (steps, n) from outside if
        there are any."""
        given = np.zeros((steps, 1)) if pushes is None else pushes[:steps]
        with jax.enable_x64(True):
            states = _run(self.step_parts, jnp.asarray(z0, jnp.float64), jnp.asarray(given), skip)
            return np.asarray(states).swapaxes(0, 1)

    def pushed(self, inputs: np.ndarray) -> np.ndarray:
        """What inputs (T, Q) add to the units: (T, n)."""
        return np.asarray(inputs, np.float64) @ self.C[:, : inputs.shape[1]].T


@partial(jax.jit, static_argnames=("skip",))
def _run(parts, z0, pushes, skip):
    a, W, h, relu = parts

    def step(z, push):
        z = a * z + jnp.where(relu, jnp.maximum(z, 0), z) @ W.T + h + push
        return z, z

    z = lax.fori_loop(0, skip, lambda i, z: step(z, pushes[i])[0], z0)
    return lax.scan(step, z, pushes[skip:])[1]
