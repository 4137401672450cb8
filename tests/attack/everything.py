"""All attacks, and how often each is tried."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from attack import faults, given_settings, kills, malformed, states, tampered
from attack.tally import Tally


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


def attacks(plan: Plan, place: Path) -> list[Tally]:
    """All of them. Those that fork come first: JAX must not have been used by then."""
    warnings.simplefilter("ignore")
    jobs: list[Callable[[], Tally | list[Tally]]] = [
        lambda: faults.writers(place, plan.writers),
        lambda: kills.attack(place, plan.kills),
        lambda: kills.together(place, max(2, plan.kills // 4)),
        lambda: faults.ctrl_c(place, plan.ctrl_c),
        lambda: malformed.attack(place, plan.recordings),
        lambda: given_settings.attack(place, plan.settings),
        lambda: tampered.models(place, plan.models),
        lambda: tampered.runs(place, plan.runs),
        lambda: states.attack(place / "good.crug", plan.lives),
        lambda: faults.full_disk(place, plan.full),
        lambda: tampered.every_bit(place, plan.step),
    ]
    found: list[Tally] = []
    for job in jobs:
        began = time.monotonic()
        tallies = job()
        for tally in tallies if isinstance(tallies, list) else [tallies]:
            print(f"{tally.row()} {time.monotonic() - began:.0f} s", *tally.broken[:5], sep="\n  ", flush=True)
            found.append(tally)
    return found
