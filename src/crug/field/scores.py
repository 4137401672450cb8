"""What a model makes of the public files that it has learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from crug.field.benchmarks import BENCHMARKS, Benchmark
from crug.field.peers import PEERS
from crug.field.protocols import Measured, Roll, judged
from crug.model import Model
from crug.tasks import Scale


@dataclass(frozen=True)
class Scored:
    """A benchmark with what a model scores in it: by itself, and under noise where the recording carries some."""

    benchmark: Benchmark
    units: int
    seconds: float
    plain: Measured
    noisy: Measured | None
    peers: Mapping[str, Measured] = field(default_factory=dict)


def score(model: Model, name: str, folder: Path) -> Scored:
    """The published measures of a benchmark that the model has learned under its name."""
    benchmark = BENCHMARKS[name]
    known = benchmark.recording
    learned = model.learned(known)
    x, test = benchmark.load(folder)
    plain = judged(benchmark, x, test, _rolled(model, known, noise=False))
    noisy = judged(benchmark, x, test, _rolled(model, known, noise=True)) if learned.noisy else None
    return Scored(benchmark, sum(model.ledger[known].values()), learned.seconds, plain, noisy)


def against_peers(scored: Scored, folder: Path) -> Scored:
    """The same with what other programs score, fitted to the same samples."""
    x, test = scored.benchmark.load(folder)
    scale = Scale.of(x)

    def measured(fit: Callable[[np.ndarray, int], Roll]) -> Measured:
        roll = fit(scale.standardise(x), 0)

        def restored(x: np.ndarray, places: np.ndarray, steps: int) -> np.ndarray:
            return scale.restore(roll(scale.standardise(x), places, steps))

        return judged(scored.benchmark, x, test, restored)

    return replace(scored, peers={name: measured(fit) for name, fit in PEERS.items()})


def _rolled(model: Model, name: str, noise: bool) -> Roll:
    def roll(x: np.ndarray, places: np.ndarray, steps: int) -> np.ndarray:
        return model.rollout(name, steps, x[places], noise=noise)

    return roll
