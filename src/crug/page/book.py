"""What a page shows, apart from how: a book has a chapter for every task that was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crug.analysis import Analysis, Judged, Map, Subject, analyse, regions
from crug.analysis.baselines import forecast_errors
from crug.analysis.lyapunov import TRANSIENT
from crug.analysis.transfer import fed_by
from crug.core.network import Network
from crug.metrics import power_spectrum
from crug.metrics.hellinger import SPECTRUM, smoothing
from crug.readers.shape import memory_length
from crug.runs.result import Learned, Result
from crug.tasks.base import Observed

POINTS, SERIES, LINES = 4_000, 1_000, 300
"""Most points of an attractor, of a time series, and of a spectrum or curve, that are drawn."""
FINE, COARSE = 10, 4
"""Points of an attractor are at most a so-manieth of the time apart in which it forgets, and so many samples."""


@dataclass(frozen=True)
class Material:
    """What is known of a task that was learned: its measures, what they are judged by, how it was learned, its learning
    curves where they were kept, and how many units of each kind it has."""

    title: str
    values: Mapping[str, float]
    judged: Judged
    learned: Learned
    units: Mapping[str, int]
    errors: Mapping[str, float] = field(default_factory=dict)
    noisy: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """In words; of rollouts under noise where the task carries some."""
        return self.judged.says(self.noisy or self.values)


@dataclass(frozen=True)
class Drawn:
    """An attractor as it is drawn: truth and rollout (T, N) in the user's units, the linear region of every point of
    the rollout, the beginnings of both from the same sample, their power spectra by frequency, and how many samples
    apart the points are."""

    columns: tuple[str, ...]
    truth: np.ndarray
    rollout: np.ndarray
    regions: np.ndarray
    series: tuple[np.ndarray, np.ndarray]
    spectra: tuple[np.ndarray, np.ndarray, np.ndarray]
    step: int = 1


@dataclass(frozen=True)
class Chapter:
    """One task. What trials have no attractor for is None."""

    name: str
    material: Material
    drawn: Drawn | None = None
    analysis: Analysis | None = None
    forecasts: Mapping[str, Mapping[int, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Book:
    """A model, a run, or several runs side by side.

    Parameters
    ----------
    title, about : what stands above.
    chapters : of the tasks, in the order in which they were learned.
    network : of a model or a single run: its units are drawn as a map.
    results : of several runs, to be compared.
    note : what is going on, for one that is under way.
    """

    title: str
    about: str
    chapters: Sequence[Chapter] = ()
    network: Network | None = None
    results: Sequence[Result] = ()
    note: str = ""

    @property
    def feeding(self) -> np.ndarray:
        """Who feeds whom: (tasks, tasks)."""
        return np.zeros((0, 0)) if self.network is None else fed_by(self.network, len(self.chapters))


def chapter(subject: Subject, material: Material) -> Chapter:
    """Everything about one task."""
    task = subject.task
    seen = task.observed()
    if seen is None:
        return Chapter(task.name, material)
    return Chapter(
        task.name,
        material,
        _drawn(subject, seen),
        analyse(subject),
        forecast_errors(subject.network, subject.number, task),
    )


def _drawn(subject: Subject, seen: Observed) -> Drawn:
    whole = subject.network.task_system(subject.number)
    system, x = Map.of(whole), max(np.split(seen.x, list(seen.breaks)), key=len)
    pushes = None if seen.inputs is None else system.pushed(seen.inputs)
    x = seen.x if pushes is not None else x
    step = int(np.clip(memory_length(x) // FINE, 1, COARSE))
    length, spectrum = min(POINTS * step, len(x)), min(SPECTRUM, len(x))
    skip = TRANSIENT if pushes is None else 0
    needed = skip + max(length, spectrum, SERIES) if pushes is None else len(x) - 1
    with np.errstate(over="ignore", invalid="ignore"):
        states = system.run(whole.start(x[:1]), needed, pushes)[0]
    after = states[skip : skip + max(length, spectrum)]
    readout = after[:, system.readout]
    return Drawn(
        columns=tuple(seen.columns),
        truth=_units(subject, x[:length:step]),
        rollout=_units(subject, readout[:length:step]),
        regions=regions(system.pattern(after[:length:step])).sequence,
        series=(_units(subject, x[1 : SERIES + 1]), _units(subject, states[:SERIES, system.readout])),
        spectra=_spectra(x, readout, seen.dt),
        step=step,
    )


def _units(subject: Subject, x: np.ndarray) -> np.ndarray:
    return x * subject.std + subject.mean


def _spectra(x: np.ndarray, rollout: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frequencies, and the mean spectra over the columns of the recording and of a rollout, at `LINES` places that are
    even on a logarithmic scale."""
    length = min(SPECTRUM, len(x), len(rollout))
    found = [power_spectrum(part[:length], smoothing(length)) for part in (x, rollout)]
    bins = len(np.fft.rfftfreq(length))
    places = np.unique(np.geomspace(1, bins - 1, LINES).astype(int))
    nothing = np.full(len(places), np.nan)
    one, other = (nothing if spectrum is None else spectrum.mean(axis=1)[places] for spectrum in found)
    return np.fft.rfftfreq(length, dt)[places], one, other
