"""What a task draws from earlier ones: how much of its units' drive comes from whom (figure 3C), what is lost without a
source, and whose regions the task's own regions follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from crug.analysis.maps import Map
from crug.analysis.regions import entropy
from crug.core.network import Network

STEPS, SKIP = 10_000, 1_000
"""Steps of the rollout that is looked at, and how many are dropped before."""
Run = Callable[[Map], np.ndarray]
"""The states (1, steps, n) of a system, from the same start under the same pushes."""


@dataclass(frozen=True)
class Transfer:
    """Of one task.

    Parameters
    ----------
    ratio : of the root mean square of what committed units contribute to the task's units and of what these contribute
        themselves.
    by_source : the same ratio for every source by itself.
    silenced : for every source, how the task's rollout changes where the source says nothing: the root mean square
        difference of the mean and spread of its readouts, in standard deviations; infinite where it runs away.
    follows : for every source, the part of the uncertainty about the task's own region that the source's region takes
        away: 0 where they have nothing to do with each other, 1 where the source decides.
    """

    ratio: float
    by_source: Mapping[str, float]
    silenced: Mapping[str, float]
    follows: Mapping[str, float]


def transfer(
    network: Network, number: int, names: Sequence[str], x0: np.ndarray, pushes: np.ndarray | None = None
) -> Transfer | None:
    """What task `number` draws on, in a rollout from x0 (1, N), under pushes (T, n) from outside if there are any; None
    where it draws on nothing."""
    units = network.runs[number]
    owners = network.owner[units]
    own = np.flatnonzero(owners == number)
    others = [int(k) for k in np.unique(owners) if k not in (number, -1)]
    heard = [k for k in others if (network.W[np.ix_(units[own], units[owners == k])] != 0).any()]
    if not heard:
        return None
    system = Map.of(network.task_system(number))
    z0 = network.task_system(number).start(x0)
    steps = STEPS if pushes is None else min(STEPS, len(pushes))
    run: Run = partial(Map.run, z0=z0, steps=steps, pushes=pushes, skip=min(SKIP, steps // 10))
    states = run(system)[0]
    active = np.where(system.relu, np.maximum(states, 0), states)
    within = _rms(active[:, own] @ system.W[np.ix_(own, own)].T)
    places = {names[k]: np.flatnonzero(owners == k) for k in heard}
    given = {name: active[:, at] @ system.W[np.ix_(own, at)].T for name, at in places.items()}
    return Transfer(
        ratio=_ratio(_rms(np.sum(list(given.values()), axis=0)), within),
        by_source={name: _ratio(_rms(push), within) for name, push in given.items()},
        silenced={name: _lost(run, system, states, own, at) for name, at in places.items()},
        follows={name: _followed(system, states, own, at) for name, at in places.items()},
    )


def fed_by(network: Network, tasks: int) -> np.ndarray:
    """Who feeds whom: (tasks, tasks), the root mean square of the weights from the units of one task (column) to those
    of another (row); 0 on the diagonal."""
    found = np.zeros((tasks, tasks))
    for row in range(tasks):
        for column in range(row):
            block = network.W[np.ix_(network.owner == row, network.owner == column)]
            found[row, column] = _rms(block) if block.size else 0.0
    return found


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt((np.asarray(x, np.float64) ** 2).mean()))


def _ratio(one: float, other: float) -> float:
    return one / other if other else np.inf


def _lost(run: Run, system: Map, states: np.ndarray, own: np.ndarray, source: np.ndarray) -> float:
    """How much the readouts change where the task's own units do not hear the source."""
    W = system.W.copy()
    W[np.ix_(own, source)] = 0
    with np.errstate(over="ignore", invalid="ignore"):
        quiet = run(Map(system.a, W, system.h, system.relu, system.readout, system.C))[0]
    one, other = states[:, system.readout], quiet[:, system.readout]
    if not np.isfinite(other).all():
        return np.inf
    moved = np.concatenate([other.mean(axis=0) - one.mean(axis=0), other.std(axis=0) - one.std(axis=0)])
    return _rms(moved)


def _followed(system: Map, states: np.ndarray, own: np.ndarray, source: np.ndarray) -> float:
    """The mutual information of the source's region and the task's own one step later, as a part of the entropy of the
    latter."""
    relu = np.flatnonzero(system.relu)
    on = states[:, relu] > 0
    mine, theirs = (_numbered(on[:, np.isin(relu, part)]) for part in (own, source))
    after, before = mine[1:], theirs[:-1]
    whole = entropy(np.bincount(after))
    if not whole:
        return 0.0
    joint = np.unique(np.stack([after, before]), axis=1, return_counts=True)[1]
    return (whole + entropy(np.bincount(before)) - entropy(joint)) / whole


def _numbered(patterns: np.ndarray) -> np.ndarray:
    return np.unique(patterns, axis=0, return_inverse=True)[1].reshape(-1)
