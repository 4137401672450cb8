"""Do forecasts see further with a context? Twelve systems, with the last hundred samples known and with the last one.

    python benchmarks/forecasts.py --model twelve.crug --page docs/recordings.md

The model is that of benchmarks/recognition.py, which learns it where there is none. Each system gives 20,000 samples
that nothing was learned from: a hundred forecasts, evenly spread over them. How closely a context is followed was
chosen when the recording was learned, on what it was learned from.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from pages import renew
from recognition import KNOWN, learned

from crug.model import Model
from crug.runtime import one_thread
from crug.tasks.forecasts import CONTEXT, Forecasts
from crug.tasks.systems import System, generate

BEGIN = "<!-- table of forecasts -->"
COUNT = 100


def valid(model: Model, system: System) -> np.ndarray:
    """For how many samples each of the forecasts is valid: from the last sample, and from a context (2, several)."""
    subject = model.subject(system.name)
    network, number = subject.network, subject.number
    x = (generate(system, 0).test - np.asarray(subject.mean)) / np.asarray(subject.std)
    forecasts = Forecasts.of(x, (), count=COUNT)
    return np.stack([forecasts.times(network.task_system(number), gain) for gain in (0.0, network.gains[number])])


def shown(times: np.ndarray) -> str:
    """Their median with its standard error, by drawing them again."""
    drawn = np.random.default_rng(0).choice(times, (1_000, len(times)))
    return f"{np.median(times):.0f} ± {np.median(drawn, axis=1).std():.0f}"


def table(model: Model) -> str:
    """As Markdown."""
    lines = [f"| system | from the last sample | from {CONTEXT} samples |", "|---|--:|--:|"]
    found = {system.name: valid(model, system) for system in KNOWN}
    lines += [f"| {name} | {shown(alone)} | {shown(context)} |" for name, (alone, context) in found.items()]
    middle = np.median(np.median(list(found.values()), axis=2), axis=0)
    return "\n".join([*lines, f"| **median** | **{middle[0]:.0f}** | **{middle[1]:.0f}** |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="file of the model; learned if it is not there")
    parser.add_argument("--page", type=Path, help="the page whose table is to be renewed")
    given = parser.parse_args()
    found = table(learned(given.model))
    print(found)
    if given.page:
        renew(given.page, BEGIN, found)


if __name__ == "__main__":
    one_thread()
    main()
