"""Whether a score is good: beside it what a perfect model would get (the floor), and a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crug.analysis.analysis import disagreement
from crug.analysis.basins import runs_away
from crug.analysis.lyapunov import STEPS, TRANSIENT, spectrum
from crug.analysis.maps import Map
from crug.analysis.recorded import recorded_exponents
from crug.analysis.rhythm import differing, steadiest
from crug.core.network import Network
from crug.core.noise import roll_out
from crug.metrics import MEASURES
from crug.tasks.attractor import STARTS, spread
from crug.tasks.base import Task

WORDS = ("indistinguishable from the recording", "good", "recognisable", "not what was recorded")
"""From the best to the worst."""
DIVERGENT = "divergent"
ALLOWED: Mapping[str, tuple[float, float, float]] = {
    "d_stsp": (0.05, 0.2, 3.0),
    "d_h": (0.01, 0.04, 0.3),
    "error": (0.05, 0.2, 1.0),
}
"""What a measure may be above its floor to earn each word but the last. A floor that is large itself is uncertain, so
that some times the floor is allowed too."""
MULTIPLES = (1.25, 2.0, 3.0)
"""How many times the floor."""


@dataclass(frozen=True)
class Judged:
    """What is known of a task beside its score, so that the score can be judged.

    Parameters
    ----------
    floor : by measure, what a perfect model would get; empty where that is not known.
    remarks : what the measures do not see, in words.
    """

    floor: Mapping[str, float] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    def word(self, values: Mapping[str, float]) -> str:
        """The verdict on measures in one of `WORDS`, "divergent", or nothing where there is nothing to judge by. A
        network that a remark applies to is recognisable at best."""
        judged = [name for name in ALLOWED if name in values and name in self.floor]
        if not judged:
            return ""
        if not np.isfinite(values.get("d_stsp", 0.0)):  # D_H and errors are infinite also where nothing moves
            return DIVERGENT
        level = max(_level(name, values[name], self.floor[name]) for name in judged)
        return WORDS[max(level, 2) if self.remarks else level]

    def says(self, values: Mapping[str, float]) -> str:
        """The verdict with what it rests on."""
        return ": ".join(part for part in (self.word(values), "; ".join(self.remarks)) if part)

    def beside(self, values: Mapping[str, float]) -> str:
        """The floor of the first measure, for a reader: "a perfect model: 0.20"."""
        name = next((name for name in values if name in self.floor), None)
        return "" if name is None else f"a perfect model: {MEASURES[name].shown(self.floor[name])}"


def _level(name: str, value: float, floor: float) -> int:
    for level, (allowed, times) in enumerate(zip(ALLOWED[name], MULTIPLES, strict=True)):
        if value <= max(floor + allowed, times * floor):
            return level
    return len(WORDS) - 1


def judged(network: Network, number: int, task: Task, seed: int | None = None) -> Judged:
    """Of task `number` of a network. With a seed, its rollouts are under the noise that it carries."""
    return Judged(task.floor(), tuple(remarks(network, number, task, seed)))


def remarks(network: Network, number: int, task: Task, seed: int | None = None) -> list[str]:
    """What scores do not see: spread of the period and of the swing, and whether chaos is where it should be."""
    seen = task.observed()
    if seen is None or seen.inputs is not None:
        return []
    system, said = network.task_system(number), []
    parts = np.split(seen.x, list(seen.breaks))
    if (own := steadiest(parts)) is not None:
        rollouts = roll_out(system, spread(seen.x, STARTS), seen.rollout, network.noises[number], seed)
        if not np.isfinite(rollouts).all():
            return []
        said = differing(*own, parts, list(rollouts))
    if seed is not None:
        return said  # noise has no exponents
    recorded = recorded_exponents(seen.x, seen.dt, seen.breaks)
    if recorded is None:
        return said
    exact, z0 = Map.of(system), system.start(spread(seen.x, 2))
    if runs_away(exact, exact.run(z0, STEPS + TRANSIENT, skip=STEPS + TRANSIENT - 1)):
        return said
    ours = spectrum(exact, z0, seen.dt, (STEPS, TRANSIENT), None, 3)
    different = disagreement(ours, recorded)
    return [*said, different] if different else said
