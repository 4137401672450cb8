"""All attacks, and how often each is tried."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from attack import faults, given_settings, kills, malformed, states, tampered
from attack.tally import Tally
from crug.runtime import one_thread

HANDS = 2
"""Attacks at a time, each in a process of its own: what forks must not have used JAX before."""


class Plan(NamedTuple):
    """How often each attack is tried."""

    recordings: int = 2_000
    models: int = 600
    runs: int = 400
    settings: int = 300
    kills: int = 20
    full: int = 12
    writers: int = 5
    ctrl_c: int = 10
    lives: int = 20
    step: int = 97

    def part(self, share: float) -> Plan:
        """A part of it, and something of everything."""
        return Plan(*[max(2, round(share * count)) for count in self])._replace(step=round(self.step / share))


Found = Tally | list[Tally]
ATTACKS: dict[str, Callable[[Plan, Path], Found]] = {
    "kills of a run": lambda plan, place: kills.of_a_run(place, plan.kills),
    "kills of a model": lambda plan, place: kills.of_a_model(place, plan.kills),
    "kills of several at once": lambda plan, place: kills.together(place, max(2, plan.kills // 4)),
    "recordings": lambda plan, place: malformed.attack(place, plan.recordings),
    "bits": lambda plan, place: tampered.every_bit(place, plan.step),
    "Ctrl-C": lambda plan, place: faults.ctrl_c(place, plan.ctrl_c),
    "settings": lambda plan, place: given_settings.attack(place, plan.settings),
    "tampered models": lambda plan, place: tampered.models(place, plan.models),
    "tampered runs": lambda plan, place: tampered.runs(place, plan.runs),
    "lives": lambda plan, place: states.attack(
        tampered.small_model(place / "lives.crug"), tampered.other_model(place / "more.crug"), plan.lives
    ),
    "full disk": lambda plan, place: faults.full_disk(place, plan.full),
    "writers": lambda plan, place: faults.writers(place, plan.writers),
}
"""By name, those that take longest first."""


def attacks(plan: Plan, place: Path, names: list[str]) -> list[Tally]:
    """Those of these names."""
    found: list[Tally] = []
    with ProcessPoolExecutor(HANDS, get_context("spawn"), max_tasks_per_child=1) as hands:
        jobs = [hands.submit(attacked, name, plan, place) for name in names]
        for job in jobs:
            tallies, seconds = job.result()
            for tally in tallies:
                print(f"{tally.row()} {seconds:.0f} s", *tally.broken[:5], sep="\n  ", flush=True)
            found += tallies
    return found


def attacked(name: str, plan: Plan, place: Path) -> tuple[list[Tally], float]:
    """One attack, and the seconds that it took."""
    one_thread()
    warnings.simplefilter("ignore")
    place = place / name.replace(" ", "-")
    place.mkdir()
    began = time.monotonic()
    found = ATTACKS[name](plan, place)
    return found if isinstance(found, list) else [found], time.monotonic() - began
