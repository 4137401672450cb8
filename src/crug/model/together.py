"""All recordings of a model at once: those that hear one another run in one network, the others apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crug.core.dynamics import rollout
from crug.core.network import Network
from crug.model.kept import Kept


def connected(kept: Sequence[Kept]) -> list[list[Kept]]:
    """The records in groups that hear nobody else."""
    groups: list[list[Kept]] = []
    for one in kept:
        joined = [group for group in groups if any(other.name in one.listed.heard for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(other for group in joined for other in group), one])
    return groups


def run_together(net: Network, starts: Sequence[np.ndarray], steps: int) -> list[np.ndarray]:
    """What all tasks of a network do when it runs at once, from a start each."""
    units = net.used()
    z0 = np.zeros((1, len(units)), np.float32)
    for number, start in enumerate(starts):
        own = np.flatnonzero(net.owner[units] == number)
        z0[0, own] = net.B[units[own], : len(start)] @ start
        z0[0, np.searchsorted(units, net.readouts[number])] = start
    system = net.system(units, np.concatenate(net.readouts))
    out = np.asarray(rollout(system._replace(encoder=z0[:, :0]), z0, system.readout, steps))[0]
    return np.split(out, np.cumsum([len(r) for r in net.readouts])[:-1], axis=1)
