"""Which recording made this? A model of twelve systems is given stretches of these and of twelve that it never saw.

    python benchmarks/recognition.py --model twelve.crug --out docs/recognition.md

The model is learned first, where there is none yet, which takes half an hour on one core. Each system gives stretches
of 500 samples that nothing was learned from, as they are and with noise of 5 % of their standard deviation. All systems
are standardised, so that none is known by its units.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from more_systems import LEARNED

from crug.model import Model, load
from crug.runtime import one_thread
from crug.tasks.systems import SYSTEMS, System, generate

KNOWN = (*(system for name, system in SYSTEMS.items() if not name.startswith("lorenz-")), *LEARNED)
SAMPLES, STRETCH, COUNT, NOISE = 24_000, 500, 20, 0.05


def learned(file: Path) -> Model:
    """The model of all twelve; each is saved as soon as it is learned."""
    model = load(file) if file.exists() else Model(units=640, seed=0)
    for system in KNOWN:
        if system.name not in model.tasks:
            model.learn(generate(system, 0).train[:SAMPLES], system.name, dt=system.dt)
            model.save(file)
    return model


def stretches(system: System, noise: float) -> np.ndarray:
    """Of the part of a system that no model has seen: (several, samples, columns)."""
    x = generate(system, 0).test
    starts = np.linspace(0, len(x) - STRETCH, COUNT).astype(int)
    rng = np.random.default_rng(1)
    return np.stack([x[i : i + STRETCH] for i in starts]) + noise * rng.standard_normal((COUNT, STRETCH, x.shape[1]))


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="file of the model; learned if it is not there")
    options = parser.parse_args()
    learned(options.model)


if __name__ == "__main__":
    main()
