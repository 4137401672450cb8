"""How a recording differs from its network's foresight: noise for its rollouts, as strong as does them good.

The network is corrected at every sample of the training part, as strongly as lets it foresee the next one best. What it
is corrected by is put down by region of the state space, because a foot that touches the ground is not as variable as
one in the air. Where the recording itself is noisy, a small part of the error makes the best correction, and the rest
was only measured. Of all that a rollout usually needs a part. Which part is chosen by the score that chooses
checkpoints, on the training part. Where none is clearly better than no noise, or the network fails with it too, there
is none.

Whether there is noise, of which kind and how much, is decided without its mean in each region: a mean does not vary.
The mean is then kept, unless that is clearly worse. A network that cuts a corner of the recording goes on cutting it
otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.cluster.vq import kmeans2

from crug.core.block import Block, Params, system_of
from crug.core.dynamics import System
from crug.core.following import foreseen
from crug.core.network import Network
from crug.core.noise import Noise
from crug.tasks.attractor import spread
from crug.tasks.base import FAR, Look, RolloutScorer, Score, Scorer

REGIONS, EACH, FEWEST, DRAWS = 100, 50, 10, 64
"""Most regions of the state space; samples that each has on average, and at the least to say anything; and how many of
them are kept. They are drawn from as they are: what is not foreseen has far heavier tails than normal numbers have."""
THINNED = 20_000
"""Most samples by which the regions are found."""
SETTLING = 100
"""Steps after which hidden units no longer show how a trajectory was begun."""
BEYOND = 0.3
"""Standard deviations by which a rollout under noise may leave the observed range."""
STRENGTHS = (1.0, 0.5, 0.2, 0.1)
"""Of correction. Networks that were taught gently may not stand the full one."""
SCALES = (0.15, 0.3, 0.45, 0.6, 0.8, 1.0)
LACKING, LOST = 0.5, 12.0
"""Ranks above the floor between which networks may lack variability. Those beyond are afresh not looked at under noise:
they have lost the attractor."""
HELPS = 0.05
"""Noise is kept where it lowers the rank by this much, and by this part of it."""


@dataclass(frozen=True)
class Variability:
    """The noise that a task is to carry, which part of what is not foreseen it is, and the ranks of rollouts on the
    training part without it and with it."""

    noise: Noise
    scale: float
    without: float
    rank: float


class Varied(Scorer):
    """Looks at rollouts under noise too, where a task may carry some. Networks that are afresh found far from a perfect
    one rank half by what they are with the noise that does them good: those that became cycles differ little by
    themselves, and more in how they stand it.

    Parameters
    ----------
    own : the scorer of the task.
    vary : finds the noise of a system that has learned it.
    """

    def __init__(self, own: RolloutScorer, vary: Callable[[System, Scorer], Variability | None]):
        self.own, self.vary = own, vary
        self.names, self.uncertain, self.floor = own.names, own.uncertain, own.floor

    def score(self, network: Network, block: Block, effective: Params, look: Look = Look.QUICK) -> Score:
        score = self.own.score(network, block, effective, look)
        if look is not Look.FRESH or not LACKING < score.rank - self.floor < LOST:
            return score
        found = self.vary(system_of(network, block, effective), self.own)
        return score if found is None else replace(score, rank=(score.rank + found.rank) / 2)

    def states(self, network: Network, block: Block, effective: Params) -> np.ndarray:
        return self.own.states(network, block, effective)


def variability(
    system: System, x: np.ndarray, breaks: Sequence[int], scorer: RolloutScorer, inputs: np.ndarray | None = None
) -> Variability | None:
    """The noise that brings rollouts of a system closest to its recording x (T, N), which is several trajectories where
    there are `breaks`; None where it does not help."""
    without = scorer.varied(system, None).rank
    found: list[tuple[float, float, Noise]] = []
    for noise in unforeseen(system, x, breaks, inputs):
        best, worse = (without, 0.0), 0
        for scale in SCALES:
            rank = scorer.varied(system, noise.centred().scaled(scale)).rank
            worse = 0 if rank < best[0] else worse + 1
            best = min(best, (rank, scale))
            if worse == 2:
                break
        found.append((*best, noise))
    rank, scale, noise = min(found, key=lambda one: one[:2], default=(np.inf, 0.0, None))
    if noise is None or rank >= min(without - HELPS, (1 - HELPS) * without, scorer.floor + FAR):
        return None
    as_it_is = scorer.varied(system, noise.scaled(scale)).rank
    if as_it_is <= max(rank + HELPS, (1 + HELPS) * rank):
        return Variability(noise.scaled(scale), scale, without, as_it_is)
    return Variability(noise.centred().scaled(scale), scale, without, rank)


def unforeseen(system: System, x: np.ndarray, breaks: Sequence[int], inputs: np.ndarray | None = None) -> list[Noise]:
    """What a system does not foresee, where it is corrected at every sample of x (T, N), as noise: first what it was
    corrected by, as noise of the system; then, where a part of the error makes a better correction than all of it, all
    of it, of which the network hears that part, or nothing. None at all where hidden units run away under any
    correction."""
    settled = np.concatenate([_settled(a, b) for a, b in itertools.pairwise((0, *breaks, len(x)))])
    found: list[tuple[float, float, np.ndarray, np.ndarray]] = []
    for strength in STRENGTHS:
        expected = foreseen(system, x, strength, inputs)[:-1].astype(np.float64)
        missed = (x[1:] - expected)[settled]
        error = float((missed**2).mean())
        if np.isfinite(error):
            found.append((error, strength, expected[settled], missed))
    if not found:
        return []
    _, strength, expected, missed = min(found, key=lambda one: one[0])
    centres, draws = _by_region(expected, missed)
    low, high = x.min(axis=0) - BEYOND, x.max(axis=0) + BEYOND
    kinds = [(strength * draws, 1.0)] + ([(draws, strength), (draws, 0.0)] if strength < 1 else [])
    parts = ((centres, drawn, low, high, heard) for drawn, heard in kinds)
    return [Noise(*(np.asarray(part, np.float32) for part in kind)) for kind in parts]


def _settled(begin: int, end: int) -> np.ndarray:
    """Of a trajectory, the samples whose next one can fairly be foreseen."""
    return np.arange(begin + min(SETTLING, (end - begin) // 2), end - 1)


def _by_region(expected: np.ndarray, missed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The centres (K, N) of regions, and of what was missed in each (K, DRAWS, N), evenly over time. Where a
    region has too few samples to tell, nothing is drawn."""
    T, N = missed.shape
    count = min(REGIONS, max(1, T // EACH))
    some = expected[:: max(1, T // THINNED)]
    centres, _ = kmeans2(some, count, rng=np.random.default_rng(0), minit="++")
    squares = (centres**2).sum(axis=1)
    region = np.concatenate([np.argmin(squares - 2 * x @ centres.T, axis=1) for x in np.array_split(expected, 50)])
    draws = np.zeros((count, DRAWS, N))
    for k in range(count):
        if (region == k).sum() >= FEWEST:
            draws[k] = spread(missed[region == k], DRAWS)
    return centres, draws
