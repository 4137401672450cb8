"""Other programs on the same data: an echo-state network (reservoirpy) and sparse regression of equations (pysindy).

Each is searched: twenty candidates, compared on the training part by the measures that compare checkpoints of our own
networks, D_stsp and D_H. Their rollouts are five, as in our own first look, and as long as the recording, but not
longer than a spectrum needs; those by which programs are compared in the end may be longer. What is searched:

- echo state: 500 units; spectral radius 0.1 to 1.5, leak 0.1 to 1, input scaling and bias 0.05 to 1 and ridge 1e-9 to
  1e-4, all drawn uniformly in their logarithms;
- SINDy: polynomials of degree 2 and 3, five thresholds from 0.005 to 0.2 of the speed of the data, derivatives by
  finite differences and by smoothed ones.

A forecast of an echo-state network begins with as many samples before the start as there are, up to 200, to wash out
its initial state; SINDy's begins with the last sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from crug.errors import CrugError
from crug.field.protocols import Roll
from crug.metrics.hellinger import SPECTRUM
from crug.tasks.attractor import AttractorScorer, spread

UNITS, TRIED, WASHOUT = 500, 20, 200
THRESHOLDS = (0.005, 0.02, 0.05, 0.1, 0.2)
TRANSIENT, JUDGED_BY = 2_000, 5
"""Of the rollouts by which candidates are compared: steps that are dropped, and how many there are. They are as long as
the recording, up to the length of a spectrum."""
BOUND = 1e3
"""Standard deviations beyond which a rollout has run away."""


def echo_state(x: np.ndarray, seed: int = 0) -> Roll:
    """The best of twenty echo-state networks of a standardised recording x (T, N)."""
    return _best(x, _echo_states(x, np.random.default_rng(seed)))


def sindy(x: np.ndarray, seed: int = 0) -> Roll:
    """The best of twenty systems of equations for a standardised recording x (T, N)."""
    return _best(x, _equations(x))


PEERS: dict[str, Callable[[np.ndarray, int], Roll]] = {"echo state": echo_state, "SINDy": sindy}


def _best(x: np.ndarray, candidates: Iterator[Roll]) -> Roll:
    steps = TRANSIENT + min(SPECTRUM, len(x))
    scorer = AttractorScorer(x, (steps, TRANSIENT), JUDGED_BY)
    places = spread(np.arange(len(x)), JUDGED_BY)

    def rank(roll: Roll) -> float:
        made = roll(x, places, steps)[:, TRANSIENT:]
        return scorer.mean(made).rank if np.isfinite(made).all() else np.inf

    return min(candidates, key=rank)


def _missing(name: str) -> CrugError:
    return CrugError(f'peers need {name}: pip install "crug[peers]"')


def _echo_states(x: np.ndarray, rng: np.random.Generator) -> Iterator[Roll]:
    try:
        from reservoirpy.nodes import Reservoir, Ridge  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise _missing("reservoirpy") from None
    for number in range(TRIED):
        radius, leak, scaling, bias = np.exp(rng.uniform(np.log([0.1, 0.1, 0.05, 0.05]), np.log([1.5, 1.0, 1.0, 1.0])))
        ridge = 10 ** rng.uniform(-9, -4)
        offsets = bias * rng.uniform(-1, 1, UNITS)
        reservoir = Reservoir(UNITS, lr=leak, sr=radius, input_scaling=scaling, bias=offsets, seed=number)
        readout = Ridge(ridge=ridge)
        (reservoir >> readout).fit(x[:-1], x[1:], warmup=min(WASHOUT, len(x) // 10))
        yield _reservoir_roll(reservoir, readout)


def _reservoir_roll(reservoir: Any, readout: Any) -> Roll:
    """All rollouts at once: a step of reservoirpy is one rollout's."""
    W, Win = (np.asarray(m.todense() if hasattr(m, "todense") else m) for m in (reservoir.W, reservoir.Win))
    bias, leak = np.ravel(reservoir.bias), reservoir.lr
    out, offset = np.asarray(readout.Wout), np.ravel(readout.bias)

    def step(state: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (1 - leak) * state + leak * np.tanh(state @ W.T + x @ Win.T + bias)

    def roll(x: np.ndarray, places: np.ndarray, steps: int) -> np.ndarray:
        state, made = np.zeros((len(places), len(W))), np.empty((len(places), steps, x.shape[1]))
        for lag in range(min(WASHOUT, int(places.max())), -1, -1):
            there = places >= lag
            state[there] = step(state[there], x[places[there] - lag])
        for t in range(steps):
            made[:, t] = state @ out + offset if out.shape[0] == len(W) else state @ out.T + offset
            state = step(state, made[:, t])
        return made

    return roll


def _equations(x: np.ndarray) -> Iterator[Roll]:
    try:
        import pysindy as ps  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise _missing("pysindy") from None
    dt = float(np.sqrt((np.diff(x, axis=0) ** 2).mean()))  # speeds are about 1
    ways = (ps.FiniteDifference(order=4), ps.SmoothedFiniteDifference())
    for degree, threshold, way in itertools.product((2, 3), THRESHOLDS, ways):
        library = ps.PolynomialLibrary(degree=degree)
        model = ps.SINDy(ps.STLSQ(threshold=threshold), library, way)
        model.fit(x, dt)
        yield _equations_roll(np.asarray(model.coefficients()), np.asarray(library.powers_), dt)


def _equations_roll(coefficients: np.ndarray, powers: np.ndarray, dt: float) -> Roll:
    """Fourth order Runge-Kutta with two steps a sample."""

    def speed(x: np.ndarray) -> np.ndarray:
        return np.prod(x[:, None, :] ** powers, axis=2) @ coefficients.T

    def step(x: np.ndarray, h: float) -> np.ndarray:
        a = speed(x)
        b = speed(x + h / 2 * a)
        c = speed(x + h / 2 * b)
        return x + h / 6 * (a + 2 * b + 2 * c + speed(x + h * c))

    def roll(x: np.ndarray, places: np.ndarray, steps: int) -> np.ndarray:
        now, made = np.array(x[places], np.float64), np.full((len(places), steps, x.shape[1]), np.nan)
        for t in range(steps):
            now = step(step(now, dt / 2), dt / 2)
            if not (np.abs(now) < BOUND).all():
                now = np.where((np.abs(now) < BOUND).all(axis=1, keepdims=True), now, np.nan)
                if np.isnan(now).all():
                    break
            made[:, t] = now
        return made

    return roll
