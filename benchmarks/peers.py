"""Ten systems of dysts that nothing here was built on: crug, an echo-state network and SINDy on the same samples.

    python benchmarks/peers.py --folder peers --page docs/compared.md

Which ten is drawn by a seed from all that the database has. Each system gives 24,000 samples, 100 a dominant period;
the last 4,000 are held out. crug learns all ten into one model with its defaults, and again with precision="high". The
others are searched as `crug.field.peers` says, for each system anew. All are judged by the same measures: D_stsp as the
median of thirty rollouts, D_H, and for how long forecasts from a context of 100 samples are valid. What was measured is
kept in the folder, so that an interrupted comparison goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pages import renew

from crug.field.peers import PEERS
from crug.field.protocols import Roll
from crug.metrics.valid_time import valid_time
from crug.model import Model, load
from crug.runs import store
from crug.runtime import one_thread
from crug.tasks import Scale, dysts
from crug.tasks.attractor import MANY, STARTS, measured, spread, surely
from crug.tasks.forecasts import Forecasts
from crug.tasks.recordings import STEPS, TRANSIENT

DRAWN, COUNT = 0, 10
OURS = {"crug": {}, "crug, precision high": {"precision": "high"}}
FAILED = 2.0
"""D_stsp from which on a rollout shows another attractor, or none."""
KEYS = ("d_stsp_30", "d_h", "valid", "seconds")
BEGIN = "<!-- table of peers -->"
CLEARLY = 0.1
"""A smaller D_stsp, or a longer forecast, wins where it is so by this part."""


def drawn() -> list[str]:
    """The ten systems."""
    names = dysts.listed()
    return [names[i] for i in sorted(np.random.default_rng(DRAWN).choice(len(names), COUNT, replace=False))]


def ours(name: str, file: Path, settings: Mapping[str, Any]) -> dict[str, float]:
    """What crug makes of a system, in a model of all of them."""
    model = load(file) if file.exists() else Model(units=1024, seed=0)
    if name not in model.tasks:
        model.learn(dysts.recording(name), name, **settings)
        model.save(file)
    values, learned = model.score(name).measures(), model.learned(name)
    units = sum(model.ledger[name].values())
    return {key: values[key] for key in ("d_stsp_30", "d_h", "valid")} | {"seconds": learned.seconds, "units": units}


def theirs(name: str, fit: Callable[[np.ndarray, int], Roll]) -> dict[str, float]:
    """What another program makes of it."""
    x = dysts.samples(name)
    train, test = x[: dysts.TRAIN], x[dysts.TRAIN :]
    scale = Scale.of(train)
    train, test = scale.standardise(train), scale.standardise(test)
    begun = time.perf_counter()
    roll = fit(train, 0)
    seconds = time.perf_counter() - begun
    places = np.linspace(0, len(test) - 1, MANY).astype(int)
    made = roll(test, places, STEPS)[:, TRANSIENT:]
    few = spread(np.arange(MANY), STARTS)
    values = {**surely(test, made).values, "d_h": measured(test, made[few]).values["d_h"]}
    forecasts = Forecasts.of(test, ())
    last, steps = np.array([forecasts.contexts.shape[1] - 1]), forecasts.futures.shape[1]
    foreseen = [roll(context, last, steps)[0] for context in forecasts.contexts]
    pairs = zip(forecasts.futures, foreseen, strict=True)
    valid = float(np.median([valid_time(truth, one, forecasts.std) for truth, one in pairs]))
    return {**values, "valid": valid, "seconds": seconds}


def compared(folder: Path, say: Callable[[str], None]) -> dict[str, dict[str, dict[str, float]]]:
    """By system and program what was measured; what the folder has is not measured again."""
    return {name: {label: _cell(name, label, folder, say) for label in ("truth", *OURS, *PEERS)} for name in drawn()}


def _cell(name: str, label: str, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    file = folder / name / f"{label}.json"
    if not file.exists():
        if label in PEERS:
            found = theirs(name, PEERS[label])
        elif label in OURS:
            found = ours(name, folder / f"{label}.crug", OURS[label])
        else:  # what stretches of the true system score
            found = {"d_stsp_30": dysts.load(dysts.PREFIX + name).floor()["d_stsp"]}
        file.parent.mkdir(parents=True, exist_ok=True)
        store.write_bytes(file, json.dumps(found).encode())
    found = json.loads(file.read_text())
    say(f"{name}, {label}: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()))
    return found


# the page


def wins(found: Mapping[str, Mapping[str, Mapping[str, float]]], label: str, key: str, sign: float) -> str:
    """How often crug wins against a program, is even, and loses, by a measure of which the smaller wins (sign 1) or the
    larger (-1)."""
    counts = [0, 0, 0]
    for row in found.values():
        mine, other = (sign * row[one][key] for one in ("crug", label))
        margin = CLEARLY * min(abs(mine), abs(other))
        counts[0 if mine < other - margin else 2 if other < mine - margin else 1] += 1
    return " / ".join(map(str, counts))


def page(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The tables as Markdown."""
    labels = [*OURS, *PEERS]
    lines = [f"| system | truth | {' | '.join(labels)} |", "|---|--:|" + "--:|" * len(labels)]
    for name, row in found.items():
        cells = [f"{row[label]['d_stsp_30']:.2f}, {row[label]['valid']:.0f}" for label in labels]
        lines.append(f"| {name} | {row['truth']['d_stsp_30']:.2f} | {' | '.join(cells)} |")
    column = {label: {key: [row[label][key] for row in found.values()] for key in KEYS} for label in labels}
    rows: dict[str, Callable[[str], str]] = {
        "median D_stsp": lambda label: f"{np.median(column[label]['d_stsp_30']):.2f}",
        "median D_H": lambda label: f"{np.median(column[label]['d_h']):.3f}",
        "median valid samples": lambda label: f"{np.median(column[label]['valid']):.0f}",
        f"D_stsp above {FAILED:g} or divergent": lambda label: str(
            sum(not value <= FAILED for value in column[label]["d_stsp_30"])
        ),
        "minutes for all": lambda label: f"{sum(column[label]['seconds']) / 60:.1f}",
        "D_stsp: crug wins / even / loses": lambda label: "" if label == "crug" else wins(found, label, "d_stsp_30", 1),
        "valid: crug wins / even / loses": lambda label: "" if label == "crug" else wins(found, label, "valid", -1),
    }
    lines += ["", f"| | {' | '.join(labels)} |", "|---|" + "--:|" * len(labels)]
    lines += [f"| {title} | {' | '.join(map(cell, labels))} |" for title, cell in rows.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("peers"), help="where what was measured is kept")
    parser.add_argument("--page", type=Path, help="the page whose table is to be renewed")
    given = parser.parse_args()
    table = page(compared(given.folder, print))
    print(table)
    if given.page:
        renew(given.page, BEGIN, table)


if __name__ == "__main__":
    one_thread()
    main()
