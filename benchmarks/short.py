"""How short may a recording be? Six systems of dysts, 300 to 2,000 samples each, judged by what followed for long.

    python benchmarks/short.py --folder short --page docs/recordings.md

A dominant period has 33 samples, so 300 samples are nine periods. All is learned from (`hold_out=False`), with the
defaults, one model for each length; rollouts are compared with the next 20,000 samples of the true system, which nobody
has who records so little. `told` counts the recordings of which `learn` says that it cannot know, or has failed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import renew

from crug.model import Model, load
from crug.runs import store
from crug.runtime import one_thread
from crug.tasks import dysts

SYSTEMS = ("Lorenz", "Rossler", "Chua", "Halvorsen", "GenesioTesi", "Lorenz96")
LENGTHS, EVERY, FOLLOWING = (300, 512, 1_000, 2_000), 3, 20_000
BEGIN = "<!-- table of short recordings -->"


def measured(name: str, length: int, file: Path) -> dict[str, Any]:
    """What a recording of that length becomes."""
    whole = dysts.recording(name, EVERY * (LENGTHS[-1] + FOLLOWING))
    x = whole.values[::EVERY]
    model = load(file) if file.exists() else Model(seed=0)
    if name not in model.tasks:
        recording = replace(whole, values=x[:length], dt=EVERY * dysts.interval(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.learn(recording, name, hold_out=False)
        model.save(file)
    known = next(one for one in model.recordings if one.name == name)
    values = model.score(name, x[length : length + FOLLOWING]).measures()
    told = [words for words in (known.undecided, known.failed) if words]
    return {key: values[key] for key in ("d_stsp_30", "d_h", "valid")} | {
        "told": told,
        "seconds": known.learned.seconds,
    }


def table(found: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> str:
    """As Markdown: D_stsp and valid samples of each system, the medians, and of how many it is told."""
    lengths = [f"{length:,}" for length in LENGTHS]
    lines = [f"| system | {' | '.join(lengths)} |", "|---|" + "--:|" * len(lengths)]
    for name, row in found.items():
        lines.append(
            f"| {name} | " + " | ".join(f"{cell['d_stsp_30']:.2f}, {cell['valid']:.0f}" for cell in row.values())
        )
    columns = [[row[length] for row in found.values()] for length in LENGTHS]
    medians = [
        tuple(float(np.median([c[key] for c in column])) for key in ("d_stsp_30", "valid")) for column in columns
    ]
    lines.append("| **median** | " + " | ".join(f"**{d:.2f}, {valid:.0f}**" for d, valid in medians))
    lines.append(
        "| told | " + " | ".join(f"{sum(bool(c['told']) for c in column)} of {len(column)}" for column in columns)
    )
    return "\n".join(line.rstrip(" |") + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("short"), help="where models and measures are kept")
    parser.add_argument("--page", type=Path, help="the page whose table is to be renewed")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[int, Any]] = {name: {} for name in SYSTEMS}
    for length in LENGTHS:
        for name in SYSTEMS:
            file = given.folder / f"{name}-{length}.json"
            if not file.exists():
                content = measured(name, length, given.folder / f"{length}.crug")
                store.write_bytes(file, json.dumps(content).encode())
            found[name][length] = json.loads(file.read_text())
            print(name, length, found[name][length])
    print(table(found))
    if given.page:
        renew(given.page, BEGIN, table(found))


if __name__ == "__main__":
    one_thread()
    main()
