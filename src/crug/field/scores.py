"""What a model makes of the public files that it has learned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crug.field.benchmarks import BENCHMARKS, Benchmark
from crug.field.protocols import Measured, Roll, judged
from crug.model import Model


@dataclass(frozen=True)
class Scored:
    """A benchmark with what a model scores in it: by itself, and under noise where the recording carries some."""

    benchmark: Benchmark
    units: int
    seconds: float
    plain: Measured
    noisy: Measured | None


def score(model: Model, name: str, folder: Path) -> Scored:
    """The published measures of a benchmark that the model has learned under its name."""
    benchmark, learned = BENCHMARKS[name], model.learned(name)
    x, test = benchmark.load(folder)
    plain = judged(benchmark, x, test, _rolled(model, name, noise=False))
    noisy = judged(benchmark, x, test, _rolled(model, name, noise=True)) if learned.noisy else None
    return Scored(benchmark, sum(model.ledger[name].values()), learned.seconds, plain, noisy)


def _rolled(model: Model, name: str, noise: bool) -> Roll:
    def roll(x0: np.ndarray, steps: int) -> np.ndarray:
        return model.rollout(name, steps, x0, noise=noise)

    return roll
