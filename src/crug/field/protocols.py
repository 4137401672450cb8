"""How a network, or anything else that can be rolled out, is judged by a public file."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from crug.field.benchmarks import Benchmark
from crug.metrics.hellinger import SIGMA, power_spectrum, spectral_distance
from crug.metrics.variants import VARIANTS

Roll = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""Samples (T, N), places (batch,) among them and steps in; what follows on the sample at each place out: (batch, steps,
N). What came before a place may be used, what comes after it may not."""
CONTINUED = 10_000
TUTORIAL, TRANSIENT = 10_000, 1_000
"""Samples that are judged in the AL-RNN tutorial, and steps that are dropped before."""
FIRST = np.array([0])
PIECE = 1_000
"""Steps after which dendPLRNN starts anew from the truth."""


class Measured(NamedTuple):
    """What is published of a benchmark."""

    d_stsp: float
    d_h: float


def continued(benchmark: Benchmark, learned: np.ndarray, test: np.ndarray, roll: Roll) -> Measured:
    """From the last sample that was learned on, against what really followed."""
    made, truth = roll(learned, np.array([len(learned) - 1]), CONTINUED)[0], test[:CONTINUED]
    return Measured(VARIANTS[benchmark.variant](truth, made), spectra(truth, made))


def tutorial(benchmark: Benchmark, learned: np.ndarray, test: np.ndarray, roll: Roll) -> Measured:
    """From the first test sample: states against all test samples, spectra against the first ones."""
    made = roll(test, FIRST, TUTORIAL + TRANSIENT)[0, TRANSIENT:]
    return Measured(VARIANTS[benchmark.variant](test, made), spectra(test[:TUTORIAL], made))


def free(benchmark: Benchmark, learned: np.ndarray, test: np.ndarray, roll: Roll) -> Measured:
    """From the first test sample, after a quarter of the test part's length, as long as the test part."""
    made = roll(test, FIRST, len(test) + len(test) // 4)[0, len(test) // 4 :]
    return Measured(VARIANTS[benchmark.variant](test, made), spectra(test, made))


def restarted(benchmark: Benchmark, learned: np.ndarray, test: np.ndarray, roll: Roll) -> Measured:
    """Started anew from the truth every 1,000 steps, all pieces together."""
    places = np.arange(0, len(test) // PIECE * PIECE, PIECE)
    made = np.concatenate([test[places, None], roll(test, places, PIECE - 1)], axis=1)
    pieces = test[: made.shape[0] * PIECE].reshape(made.shape)
    d_h = float(np.mean([spectra(truth, one) for truth, one in zip(pieces, made, strict=True)]))
    return Measured(VARIANTS[benchmark.variant](test, made.reshape(-1, test.shape[1])), d_h)


def spectra(truth: np.ndarray, made: np.ndarray) -> float:
    """D_H as all of them compute it: smoothed over 20 bins, whatever the length."""
    return spectral_distance(power_spectrum(truth, SIGMA), power_spectrum(made, SIGMA))


WAYS = {"continued": continued, "tutorial": tutorial, "free": free, "restarted": restarted}


def judged(benchmark: Benchmark, learned: np.ndarray, test: np.ndarray, roll: Roll) -> Measured:
    """The published measures of whatever `roll` rolls out."""
    return WAYS[benchmark.way](benchmark, learned, test, roll)
