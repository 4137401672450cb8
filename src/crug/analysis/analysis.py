"""All that is found out about one recording's network, and how it is said in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crug.analysis.basins import DIVERGENT, Basin, LimitSet, basins, limit_set
from crug.analysis.cycles import Orbits, find_orbits
from crug.analysis.lyapunov import STEPS, SURE, TRANSIENT, Exponents, spectrum
from crug.analysis.maps import Map
from crug.analysis.recorded import recorded_exponents
from crug.analysis.regions import Regions, regions
from crug.analysis.transfer import Transfer, transfer
from crug.core.network import Network
from crug.errors import CrugError
from crug.tasks.attractor import spread
from crug.tasks.base import Observed, Task

STARTS, AROUND = 16, 32
"""Starts by which basins are told: samples of the recording, and random places in and around its range."""
BEYOND = 0.5
"""Of the range of the recording, by how much these places may lie beyond it."""
FOLLOWED = 4
"""Rollouts along which exponents are taken."""
MOST = 50
"""Samples of the longest cycles that may be looked for: each length takes longer than the one before."""
TOLD, KEPT = 4, 50
"""Transitions between regions that are told in words, and regions and transitions that are kept in a file."""
MARGIN = 0.1
"""Of the range of the recording, within which a fixed point belongs to what was recorded."""


@dataclass(frozen=True)
class Analysis:
    """What one recording's network does.

    Parameters
    ----------
    name, columns : of the recording.
    units, relu : how many units its network has, and how many of them rectify.
    limit : what rollouts from the recording end on.
    exponents : the Lyapunov exponents of the network; under its inputs, where the recording has some.
    recorded : those of the recording itself, where it is long enough.
    orbits : fixed points and cycles.
    places : of each of these what is read out (k, N), in the recording's units.
    inside : of each, whether it lies within the range of the recording, or just beyond.
    regions : the linear regions that a rollout visits.
    basins : where rollouts from many starts end; none for a recording with inputs.
    transfer : what it draws from earlier recordings, if it does.
    driven : whether the recording has inputs. Fixed points are those under inputs that stay at their mean.
    """

    name: str
    columns: tuple[str, ...]
    units: int
    relu: int
    limit: LimitSet
    exponents: Exponents
    recorded: Exponents | None
    orbits: Orbits
    places: tuple[np.ndarray, ...]
    inside: tuple[bool, ...]
    regions: Regions
    basins: tuple[Basin, ...]
    transfer: Transfer | None
    driven: bool = False

    @property
    def verdict(self) -> str:
        """In words, what the network is."""
        if not self.driven:
            return self.limit.words
        signs = self.exponents.signs
        if self.limit.kind == DIVERGENT:
            return self.limit.words
        return "a chaotic response" if signs[0] > 0 else "a response that forgets where it began"

    @property
    def disagreement(self) -> str:
        """What to say where the network is chaotic and the recording is not, or the other way round; otherwise
        nothing, also where the network runs away."""
        if self.recorded is None or self.driven or self.limit.kind == DIVERGENT:
            return ""
        return disagreement(self.exponents, self.recorded)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """All of it in words."""
        found = [f"{self.name}: {self.verdict}"]
        if np.isfinite(self.exponents.largest):
            found.append(self._exponents())
            found.append(self._regions())
        found.append(self._orbits())
        if self.basins:
            reached = ", ".join(f"{basin.limit.words} {100 * basin.share:.0f} %" for basin in self.basins)
            found.append(f"where it ends from many starts: {reached}")
        if self.transfer:
            found.append(self._transfer())
        if self.disagreement:
            found.append(f"look again: {self.disagreement}")
        return found

    def _exponents(self) -> str:
        values = ", ".join(f"{value:.3g}" for value in self.exponents.per_time[: len(self.columns)])
        said = f"largest exponent {_shown(self.exponents)} per time unit ({self.exponents.largest:.2g} per sample)"
        own = "" if self.recorded is None else f"; of the recording itself {_shown(self.recorded)}"
        return f"{said}{own}; the first {len(self.columns)}: {values}; dimension {self.exponents.dimension:.2f}"

    def _regions(self) -> str:
        found = self.regions
        possible = f"{found.possible:,.0f}" if found.possible < 1e9 else f"2^{found.patterns.shape[1]}"
        words = f"{found.count} linear region{'s' if found.count > 1 else ''} of {possible}"
        said = (
            f"visits {words}, {found.most} of them for 95 % of the time; the next one leaves {found.rate:.2g} bits open"
        )
        edges = found.graph.edges
        if not edges:
            return said
        changes = sum(count for *_, count in edges)
        each = ", ".join(f"{i + 1} to {j + 1} ({100 * n / changes:.0f} %)" for i, j, n in edges[:TOLD])
        most = f"; it goes most often from {each}" if len(edges) > TOLD else f"; it goes from {each}"
        return f"{said}{most}, where 1 is the region that it visits most"

    def _orbits(self) -> str:
        fixed = self.orbits.of(1)
        certain = "" if 1 in self.orbits.complete else " that a search found"
        said = [f"{len(fixed)} fixed point{'' if len(fixed) == 1 else 's'}{certain}"]
        for orbit, place, inside in zip(self.orbits.found, self.places, self.inside, strict=True):
            what = orbit.kind if orbit.order == 1 else f"{orbit.kind}, cycle of {orbit.order} samples through"
            at = ", ".join(f"{value:.4g}" for value in place[0])
            outside = "" if inside else ", outside of what was recorded"
            said.append(f"  {what} at ({at}){outside}: {orbit.leading}")
        return "\n".join(said)

    def _transfer(self) -> str:
        assert self.transfer
        t = self.transfer
        each = (
            f"{name} {ratio:.2f} (without it the rollout is {t.silenced[name]:.2f} standard deviations off, "
            f"its regions explain {100 * t.follows[name]:.0f} %)"
            for name, ratio in t.by_source.items()
        )
        return f"draws on earlier ones by {t.ratio:.2f} of its own drive: {'; '.join(each)}"

    def to_json(self) -> dict[str, Any]:
        """The numbers, for a file."""
        recorded = {} if self.recorded is None else {"recorded": _exponents_json(self.recorded)}
        orbits = [
            {
                "order": o.order,
                "kind": o.kind,
                "stable": o.stable,
                "multiplier": [float(o.multipliers[0].real), float(o.multipliers[0].imag)],
                "place": place.tolist(),
                "inside": inside,
            }
            for o, place, inside in zip(self.orbits.found, self.places, self.inside, strict=True)
        ]
        t = self.transfer
        return {
            "name": self.name,
            "verdict": self.verdict,
            "kind": self.limit.kind,
            "exponents": _exponents_json(self.exponents),
            **recorded,
            "dimension": self.exponents.dimension,
            "orbits": orbits,
            "complete": list(self.orbits.complete),
            "regions": _regions_json(self.regions),
            "basins": [{"kind": basin.limit.kind, "share": basin.share} for basin in self.basins],
            **({"transfer": {k: v if k == "ratio" else dict(v) for k, v in vars(t).items()}} if t else {}),
            **({"disagreement": self.disagreement} if self.disagreement else {}),
        }


def disagreement(ours: Exponents, theirs: Exponents) -> str:
    """What to say where a network is chaotic and its recording is not, or the other way round. It takes both the sign
    and the size to be sure: where the exponents are as close as their errors, nothing is said."""
    if not np.isfinite(ours.largest):
        return ""
    apart = ours.per_time[0] - theirs.per_time[0]
    error = float(np.hypot(ours.errors[0], theirs.errors[0])) / ours.dt
    if (ours.signs[0] > 0) == (theirs.signs[0] > 0) or abs(apart) < SURE * error:
        return ""
    said = ("the network is chaotic, the recording is not", "the recording is chaotic or noisy, the network is not")
    return f"{said[0] if ours.signs[0] > 0 else said[1]}: the largest exponent is {_both(ours, theirs)}"


def _shown(exponents: Exponents) -> str:
    return f"{exponents.per_time[0]:.3g} ± {exponents.errors[0] / exponents.dt:.1g}"


def _both(ours: Exponents, theirs: Exponents) -> str:
    return f"{_shown(ours)} per time unit, that of the recording {_shown(theirs)}"


def _exponents_json(found: Exponents) -> dict[str, Any]:
    per_time = {"per_time": found.per_time.tolist(), "error_per_time": (found.errors / found.dt).tolist()}
    return {"per_sample": found.values.tolist(), "error": found.errors.tolist(), **per_time}


def _regions_json(found: Regions) -> dict[str, Any]:
    edges = [{"from": i + 1, "to": j + 1, "count": count} for i, j, count in found.graph.edges[:KEPT]]
    shares = found.shares[:KEPT].tolist()
    numbers = {"visited": found.count, "bits": found.entropy, "rate": found.rate}
    return {**numbers, "shares": shares, "transitions": edges}


@dataclass(frozen=True)
class Subject:
    """What is analysed: task `number` of a network, the names of all its tasks, and how the user's units follow from
    standardised ones."""

    network: Network
    number: int
    task: Task
    names: Sequence[str]
    mean: np.ndarray | float = 0.0
    std: np.ndarray | float = 1.0


def analyse(subject: Subject, cycles: int = 1) -> Analysis:
    """Everything about one task. Cycles of up to `cycles` samples are looked for, besides the one that rollouts end on.

    Nothing is random: the same network gives the same analysis.
    """
    network, number, seen = subject.network, subject.number, subject.task.observed()
    if not 1 <= cycles <= MOST:
        raise CrugError(f"cycles = {cycles}; give a number from 1, for fixed points only, to {MOST}")
    if seen is None:
        raise CrugError(
            f"{subject.task.name}: only recordings can be analysed; tasks of trials are judged by their answers"
        )
    whole = network.task_system(number)
    system = Map.of(whole)
    x0 = spread(seen.x, FOLLOWED)
    pushes, z0 = None, whole.start(x0)
    if seen.inputs is not None:
        pushes, z0 = system.pushed(seen.inputs), whole.start(seen.x[:1])
    count = max(8, 2 * len(seen.columns) + 2)
    exponents = spectrum(system, z0, seen.dt, (STEPS, TRANSIENT), pushes, count)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = STEPS + TRANSIENT if pushes is None else len(pushes)
        states = system.run(z0[:1], steps, pushes, skip=min(TRANSIENT, steps // 10))[0]
    patterns = system.pattern(states)
    limit = limit_set(system, states, exponents)
    orbits = find_orbits(system, cycles, patterns)
    low, high = seen.x.min(axis=0), seen.x.max(axis=0)
    margin = MARGIN * (high - low)
    readouts = [orbit.states[:, system.readout] for orbit in orbits.found]
    return Analysis(
        name=subject.task.name,
        columns=tuple(seen.columns),
        units=system.size,
        relu=system.rectifying,
        limit=limit,
        exponents=exponents,
        recorded=recorded_exponents(seen.x, seen.dt, seen.breaks) if seen.inputs is None else None,
        orbits=orbits,
        places=tuple(x * subject.std + subject.mean for x in readouts),
        inside=tuple(bool(((x > low - margin) & (x < high + margin)).all()) for x in readouts),
        regions=regions(patterns),
        basins=() if pushes is not None else basins(system, whole.start(_starts(seen)), limit),
        transfer=transfer(network, number, subject.names, seen.x[:1], pushes),
        driven=pushes is not None,
    )


def _starts(seen: Observed) -> np.ndarray:
    """Where rollouts begin by which basins are told (several, N)."""
    low, high = seen.x.min(axis=0), seen.x.max(axis=0)
    margin = BEYOND * (high - low)
    around = np.random.default_rng(0).uniform(low - margin, high + margin, (AROUND, len(low)))
    return np.concatenate([spread(seen.x, STARTS), around])
