"""Which recording made this? A model of twelve systems is given stretches of these, of twelve that it never saw, and of
what no system made: noise, samples that were shuffled, a known system out of all scale.

    python benchmarks/recognition.py --model twelve.crug --page docs/understand.md

The model is learned first, where there is none yet, which takes half an hour on one core. Each system gives stretches
of 500 samples that nothing was learned from, as they are and with noise of 5 % of their standard deviation. All systems
are standardised, so that none is known by its units.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from more_systems import LEARNED, OTHERS
from pages import renew

from crug.model import Model, load
from crug.runtime import one_thread
from crug.tasks.systems import SYSTEMS, System, generate

KNOWN = (*(system for name, system in SYSTEMS.items() if not name.startswith("lorenz-")), *LEARNED)
BEGIN = "<!-- table of recognition -->"
KEPT = ("van-der-pol", "lorenz", "chua")
SAMPLES, STRETCH, COUNT, NOISE = 24_000, 500, 20, 0.05


def learned(file: Path) -> Model:
    """The model of all twelve; each is saved as soon as it is learned."""
    model = load(file) if file.exists() else Model(units=640, seed=0)
    for system in KNOWN:
        if system.name not in model.tasks:
            model.learn(generate(system, 0).train[:SAMPLES], system.name, dt=system.dt)
            model.save(file)
    return model


def cut(model: Model) -> Model:
    """A small model of three of them, for tests: the other recordings and all free units taken out."""
    kept = tuple(one for one in model.kept if one.name in KEPT)
    return Model.restored(model.seed, model.settings, kept, 0)


def stretches(system: System) -> np.ndarray:
    """Of the part of a system that no model has seen: (several, samples, columns)."""
    x = generate(system, 0).test
    starts = np.linspace(0, len(x) - STRETCH, COUNT).astype(int)
    return np.stack([x[i : i + STRETCH] for i in starts])


def made_by_none() -> dict[str, np.ndarray]:
    """Stretches that no system made."""
    rng, (lorenz, chua) = np.random.default_rng(2), (stretches(SYSTEMS[name]) for name in ("lorenz", "chua"))
    white = rng.standard_normal(lorenz.shape)
    return {
        "white noise": white,
        "white noise, half as strong": 0.5 * white,
        "random walk": 0.1 * np.cumsum(white, axis=1),
        "lorenz, shuffled": np.stack([rng.permutation(x) for x in lorenz]),
        "chua, shuffled": np.stack([rng.permutation(x) for x in chua]),
        "chua, times 1e8": 1e8 * chua,
    }


def row(model: Model, name: str, clean: np.ndarray, noise: float) -> tuple[int, int, list[float]]:
    """How many stretches of a system were named rightly (what was not learned: called new), how many not, and how far
    off the best candidate was for each."""
    expected = name if name in model.tasks else None
    noisy = clean + noise * np.random.default_rng(1).standard_normal(clean.shape)
    found = [model.recognise(x) for x in noisy]
    right = sum(one.name == expected for one in found)
    return right, len(found) - right, [one.ranking[0].times for one in found]


def table(model: Model) -> str:
    """All systems, as Markdown."""
    lines = ["| system | as it is | times as far off | with noise of 5 % | times as far off |", "|---|---|---|---|---|"]
    others = {system.name: stretches(system) for system in OTHERS} | made_by_none()
    for title, given in (("learned", {system.name: stretches(system) for system in KNOWN}), ("new", others)):
        sums = np.zeros((2, 2), int)
        for name, clean in given.items():
            cells = [name]
            for i, noise in enumerate((0.0, NOISE)):
                right, wrong, times = row(model, name, clean, noise)
                sums[i] += right, wrong
                cells += [f"{right} of {right + wrong}", f"{min(times):.2g} to {max(times):.2g}"]
            lines.append(f"| {' | '.join(cells)} |")
        shares = [f"{100 * right / (right + wrong):.1f} %" for right, wrong in sums]
        lines.append(f"| **{title}** | **{shares[0]}** | | **{shares[1]}** | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="file of the model; learned if it is not there")
    parser.add_argument("--page", type=Path, help="a page whose table between its two marks is written anew")
    parser.add_argument("--cut", type=Path, help="write a model of three of them there, as tests/data/three.crug is")
    options = parser.parse_args()
    if options.cut:
        cut(learned(options.model)).save(options.cut)
        return
    found = table(learned(options.model))
    print(found)
    if options.page:
        renew(options.page, BEGIN, found)


if __name__ == "__main__":
    main()
