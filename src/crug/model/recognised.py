"""Which of the recordings of a model a stretch of data is compared with, and in which shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from crug.analysis.recognition import FEWEST, Recognised, candidate, ranked
from crug.core.network import Network
from crug.errors import CrugError
from crug.model.known import Known
from crug.readers import Recording, shaped
from crug.readers.shape import lags_in
from crug.tasks.base import Observed


def recognised(recordings: Iterable[tuple[Known, Network, int]], x: Any) -> Recognised:
    """Which of these recordings, each with its network and its number there, has the dynamics of x (T, N)."""
    dt = x.dt if isinstance(x, Recording) else None
    x = np.asarray(x.values if isinstance(x, Recording) else x, np.float64)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or len(x) < FEWEST:
        raise CrugError(f"to be recognised, data are (T, N) with T at least {FEWEST}, not {x.shape}")
    if not np.isfinite(x).all():
        raise CrugError("the data to be recognised have values that are not finite; leave them out or fill them")
    found, left_out = [], {}
    for known, network, number in recordings:
        given, seen = _as_learned(x, known), known.task.observed()
        if given is None or seen is None:
            continue
        why = _incomparable(known, seen, dt, len(given))
        one = None if why else candidate(network, number, known.name, seen, known.scale.standardise(given))
        if one is None:
            left_out[known.name] = why or f"of what was held out no piece has {FEWEST} samples"
        else:
            found.append(one)
    return ranked(found, left_out)


def _as_learned(x: np.ndarray, known: Known) -> np.ndarray | None:
    """A stretch as a recording was learned: as it is, or with delayed copies of its columns; None where it has other
    columns."""
    if x.shape[1] == len(known.about.columns):
        return x
    plain, lags = lags_in(known.about.columns)
    if not lags or x.shape[1] != len(plain) or len(x) <= max(lags):
        return None
    return shaped(Recording(known.name, x, plain, None), lags=lags).values


def _incomparable(known: Known, seen: Observed, dt: float | None, samples: int) -> str:
    """What keeps a stretch of so many samples from being compared with a recording; nothing where it can be."""
    if seen.inputs is not None:
        return "it was learned with inputs"
    if dt is not None and not np.isclose(dt, known.about.dt, rtol=0.01):
        return f"its samples are {known.about.dt:g} apart, these {dt:g}"
    return "" if samples >= FEWEST else f"with its lags {samples} samples are left, {FEWEST} are needed"
