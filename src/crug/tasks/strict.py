"""Integration that leaves no rounding to the compiler.

A compiler may contract a product and a sum into one rounding, and on a chaotic system a single rounding is another
trajectory. `strict` rewrites a function so that every product passes through an integer operation, which no compiler
may look through: what remains is plain IEEE arithmetic, at the speed of compiled code.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

State = tuple[Array, ...]


def strict(function: Callable[[State], State]) -> Callable[[Array, State], State]:
    """`function` with contraction ruled out; takes a zero that the compiler cannot know as its first argument."""

    def evaluate(zero: Array, state: State) -> State:
        closed = jax.make_jaxpr(function)(state)
        known = dict(zip(closed.jaxpr.invars, state, strict=True))

        def read(v):
            return v.val if hasattr(v, "val") else known[v]

        for equation in closed.jaxpr.eqns:
            value = equation.primitive.bind(*map(read, equation.invars), **equation.params)
            if equation.primitive is lax.mul_p:
                bits = lax.bitcast_convert_type(value, jnp.int64) ^ zero
                value = lax.bitcast_convert_type(bits, jnp.float64)
            known[equation.outvars[0]] = value
        return tuple(map(read, closed.jaxpr.outvars))

    return evaluate


def rk4(rhs: Callable[[State], State], state: State, dt: float) -> State:
    """One Runge-Kutta step of fourth order."""

    def ahead(slope: State, step: float) -> State:
        return tuple(s + step * k for s, k in zip(state, slope, strict=True))

    k1 = rhs(state)
    k2 = rhs(ahead(k1, dt / 2))
    k3 = rhs(ahead(k2, dt / 2))
    k4 = rhs(ahead(k3, dt))
    return tuple(s + dt / 6 * (p + 2.0 * q + 2.0 * r + t) for s, p, q, r, t in zip(state, k1, k2, k3, k4, strict=True))


def integrate(rhs: Callable[[State], State], initial: np.ndarray, dt: float, samples: int, every: int) -> np.ndarray:
    """`samples` states (samples, N) in float64, the initial one first, `every` steps of length dt apart."""

    def run(initial: State, zero: Array) -> Array:
        step = strict(lambda s: rk4(rhs, s, dt))

        def sample(state: State, _):
            ahead = lax.fori_loop(0, every, lambda _, s: step(zero, s), state)
            return ahead, jnp.stack(state)

        return lax.scan(sample, initial, None, length=samples)[1]

    with jax.enable_x64(True):
        start = tuple(jnp.float64(v) for v in initial)
        return np.asarray(jax.jit(run)(start, jnp.int64(0)))
