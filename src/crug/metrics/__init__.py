"""Measures of rollouts: arrays in, a number out. Less is better, 0 is perfect, infinite is divergent.

    crug.metrics.d_stsp(truth, rollout)

`MEASURES` lists what scores consist of; a new measure is one file here and one line there.
"""

from __future__ import annotations

import numpy as np

from crug.metrics import hellinger, padded, sliced, state_space, valid_time
from crug.metrics.hellinger import d_h, power_spectrum, spectral_distance
from crug.metrics.measure import Compare, Measure
from crug.metrics.mixture import MixtureReference
from crug.metrics.padded import d_stsp_padded
from crug.metrics.quartiles import Quartiles, quartiles
from crug.metrics.sliced import wasserstein
from crug.metrics.state_space import BinnedReference, d_stsp, kl

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        state_space.MEASURE,
        hellinger.MEASURE,
        padded.MEASURE,
        sliced.MEASURE,
        Measure("d_stsp_30", "30 starts"),
        valid_time.MEASURE,
        Measure("accuracy", "accuracy", percent=True),
        Measure("error", "error"),
    )
}


def against(truth: np.ndarray, samples: int) -> dict[str, Compare]:
    """For every measure of rollouts that exists for such data, the comparison of rollouts of so many samples with the
    truth (T, N), by the measure's name."""
    found = {name: measure.against(truth, samples) for name, measure in MEASURES.items() if measure.against}
    return {name: compare for name, compare in found.items() if compare is not None}


__all__ = [
    "MEASURES",
    "BinnedReference",
    "Measure",
    "MixtureReference",
    "Quartiles",
    "against",
    "d_h",
    "d_stsp",
    "d_stsp_padded",
    "kl",
    "power_spectrum",
    "quartiles",
    "spectral_distance",
    "wasserstein",
]
