"""Forecasts of a network beside those of simple models: the last sample for ever (persistence), and a linear
autoregression of all columns (VAR). What a network adds is what it does better than these.

The VAR is fitted to the first half of the samples that the network was not learned from. All are compared on the second
half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from crug.core.following import forecast
from crug.core.network import Network
from crug.tasks.base import Task

HORIZONS = (1, 10, 50)
"""Samples ahead at which errors are taken."""
CONTEXT, COUNT = 100, 100
"""Samples that a forecast begins with, and how many forecasts there are at most."""
LAGS = (1, 2, 5, 10)
"""Orders of a VAR that are tried; the information criterion of Schwarz chooses."""
FEWEST = 400
"""Samples below which nothing is compared."""


def forecast_errors(network: Network, number: int, task: Task) -> dict[str, dict[int, float]]:
    """Errors of forecasts in standard deviations, the median over many, by model and horizon: {"network": {1: 0.001,
    ...}, "persistence": ..., "VAR": ...}. Empty where there are too few samples, or inputs, which no baseline hears."""
    seen = task.observed()
    if seen is None or seen.inputs is not None:
        return {}
    x = max(np.split(seen.x, list(seen.breaks)), key=len)
    half, ahead = len(x) // 2, max(HORIZONS)
    if len(x) < FEWEST or len(x) - half < CONTEXT + ahead + 1:
        return {}
    ends = np.linspace(half + CONTEXT, len(x) - ahead, COUNT).astype(int)
    contexts = np.stack([x[end - CONTEXT : end] for end in ends])
    futures = np.stack([x[end : end + ahead] for end in ends])
    system, gain = network.task_system(number), network.gains[number]
    models: dict[str, Callable[[], np.ndarray]] = {
        "network": lambda: forecast(system, contexts, ahead, gain),
        "persistence": lambda: np.repeat(contexts[:, -1:], ahead, axis=1),
        "VAR": lambda: _continued(fitted(x[:half]), contexts, ahead),
    }
    std = x.std(axis=0)
    return {name: _errors(make(), futures, std) for name, make in models.items()}


def _errors(made: np.ndarray, futures: np.ndarray, std: np.ndarray) -> dict[int, float]:
    with np.errstate(over="ignore", invalid="ignore"):
        each = np.sqrt((((made - futures) / std) ** 2).mean(axis=2))  # (several, horizon)
    middle = np.median(np.where(np.isfinite(each), each, np.inf), axis=0)
    return {horizon: float(middle[horizon - 1]) for horizon in HORIZONS}


def fitted(x: np.ndarray, lags: Sequence[int] = LAGS) -> np.ndarray:
    """The coefficients of a VAR (1 + lags N, N) by least squares: a constant, then the latest sample first."""
    most, found = max(lags), []
    for lag in lags:
        past = _pasts(x, lag)[most - lag : -1]
        target = x[most:]
        coefficients = np.linalg.lstsq(past, target, rcond=None)[0]
        residual = float(np.log(((target - past @ coefficients) ** 2).mean(axis=0) + 1e-300).sum())
        found.append((len(target) * residual + np.log(len(target)) * coefficients.size, coefficients))
    return min(found, key=lambda pair: pair[0])[1]


def _pasts(x: np.ndarray, lag: int) -> np.ndarray:
    """For every sample from the `lag`-th on: one, and the last `lag` samples, the latest first."""
    columns = [x[lag - 1 - k : len(x) - k] for k in range(lag)]
    return np.concatenate([np.ones((len(columns[0]), 1)), *columns], axis=1)


def _continued(coefficients: np.ndarray, contexts: np.ndarray, steps: int) -> np.ndarray:
    """What a VAR makes of contexts (several, T, N): (several, steps, N)."""
    N = contexts.shape[2]
    lag = (len(coefficients) - 1) // N
    recent = [contexts[:, -1 - k] for k in range(lag)]
    made = []
    for _ in range(steps):
        past = np.concatenate([np.ones((len(contexts), 1)), *recent], axis=1)
        recent = [past @ coefficients, *recent[: lag - 1]]
        made.append(recent[0])
    return np.stack(made, axis=1)
