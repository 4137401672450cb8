"""How good an attractor is: rollouts, then the measures.

Two uses. While training, `AttractorScorer` compares checkpoints on the *training* data. Afterwards, `measured` is the
paper's way on the test data: several rollouts, the median of those not divergent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from crug.core.block import Block, Params, system_of
from crug.core.dynamics import System, run_freely
from crug.core.following import foreseen
from crug.core.network import Network
from crug.core.noise import Noise, roll_out
from crug.metrics import against, power_spectrum, spectral_distance
from crug.metrics.hellinger import SPECTRUM
from crug.metrics.state_space import BINNED
from crug.tasks.base import Look, RolloutScorer, Score
from crug.tasks.forecasts import Forecasts
from crug.tasks.pieces import BinnedPieces, MixturePieces, Spectra

STARTS, PIECES, SHORT = 5, 5, 4_000
MANY, SURE, RESAMPLED = 30, "d_stsp_30", 1_000
"""Rollouts of the measure that is to be sure, its name, and how often they are drawn again for its standard error."""
UNLUCKY = 5
"""One in so many rollouts is left out, the worst."""
ROLLOUTS = {Look.QUICK: 1, Look.CLOSE: 4, Look.FRESH: 8}
"""How many times the usual number of rollouts a look takes. From start to start a network's scores differ by a factor
of five at times; of five rollouts the mean is as uncertain as good networks differ, of forty it is not."""
JUDGED = 1
"""The seed of the noise under which rollouts are scored while learning."""
LISTENED, LITTLE = 5_000, 0.2
"""Samples by which the noise in a recording is told from what its network cannot foresee, and how much that network is
corrected by each."""
WEIGHT = 5.0
"""Of D_H beside D_stsp in the rank, so that neither can be sold for the other."""


def attractor_score(values: Mapping[str, float], weight: float = WEIGHT) -> Score:
    """The score of an attractor by its measures, `d_stsp` and `d_h` among them."""
    return Score(dict(values), values["d_stsp"] + weight * values["d_h"], values["d_stsp"])


DIVERGENT = attractor_score({"d_stsp": np.inf, "d_h": np.inf})


def spread(x: np.ndarray, count: int) -> np.ndarray:
    """`count` samples of x (T, N), the first and the last among them, evenly spaced."""
    return x[np.linspace(0, len(x) - 1, count).astype(int)]


def measured(truth: np.ndarray, rollouts: np.ndarray) -> Score:
    """Rollouts (several, L, N) against the truth (T, N): for every measure the median of those not divergent."""
    compare = against(truth, rollouts.shape[1])
    return attractor_score({name: _median(map(one, rollouts)) for name, one in compare.items()})


def surely(truth: np.ndarray, rollouts: np.ndarray) -> Score:
    """D_stsp of many rollouts (several, L, N) from the truth (T, N), with its standard error: the median of those not
    divergent, as for a few."""
    compare = against(truth, rollouts.shape[1])["d_stsp"]
    values = [v for v in map(compare, rollouts) if np.isfinite(v)]
    if not values:
        return Score({SURE: np.inf}, np.inf, np.inf)
    median = float(np.median(values))
    drawn = np.random.default_rng(0).choice(values, (RESAMPLED, len(values)))
    return Score({SURE: median}, median, median, {SURE: float(np.median(drawn, axis=1).std())})


def _median(values: Iterable[float]) -> float:
    finite = [v for v in values if np.isfinite(v)]
    return float(np.median(finite)) if finite else np.inf


class AttractorScorer(RolloutScorer):
    """What the paper's measure would say if the test part were a piece of the training part, on average over pieces.

    Rollouts are as long as in that measure. Pieces are a fifth of the data and have up to 20,000 samples, or as many as
    a family of tasks says. Of a short recording there are fewer, down to one: pieces of less than 4,000 samples show
    too little of an attractor to be compared with. Every rollout is compared with every piece. `floor` is what a
    stretch of the recording itself ranks, put in place of the rollouts: of a long recording a perfect model ranks about
    that, and nothing can be told below it. Of a short one it says how much the recording leaves open.

    Parameters
    ----------
    x : (T, N) the training data.
    rollout : steps of a rollout, and how many of the first are dropped.
    starts : how many rollouts.
    breaks : where a new trajectory begins in x.
    noisy : whether x was measured with noise that it still has. No network has such noise, and without it even a
        perfect one seems far off.
    forecasts : those by which blocks are looked at afresh, too, where any are.
    """

    names = ("d_stsp", "d_h")
    uncertain = True
    weight: ClassVar[float] = WEIGHT
    piece: ClassVar[int | None] = None

    def __init__(
        self,
        x: np.ndarray,
        rollout: tuple[int, int],
        starts: int = STARTS,
        breaks: Sequence[int] = (),
        noisy: bool = False,
        forecasts: Forecasts | None = None,
    ):
        x = self.x = np.asarray(x, np.float64)
        self.noisy, self.forecasts = noisy, forecasts
        self.stretch = max(np.split(x, list(breaks)), key=len)
        self.steps, self.skip = rollout
        self.x0 = spread(x, starts).astype(np.float32)
        count = PIECES if self.piece else min(PIECES, max(1, len(x) // SHORT))
        self.floor = self._divided(max(2, count))
        if count == 1:
            self._divided(1)

    def _divided(self, count: int) -> float:
        """Cut the data into so many pieces to compare with; returns what the rest of them ranks for each."""
        x = self.x
        self.count = count
        length = self.piece or min(SPECTRUM, len(x) // count, self.steps - self.skip)
        begins = np.arange(count) * min(length, (len(x) - length) // max(1, count - 1))
        cuts = [x[begin : begin + length] for begin in begins]
        self.space = BinnedPieces(x, cuts) if x.shape[1] <= BINNED else MixturePieces(cuts)
        self.spectra = Spectra(cuts)
        twice = np.concatenate([x, x])
        rest = min(self.steps - self.skip, len(x) - length if self.piece else (count - 1) * length)
        others = [twice[begin + length : begin + length + rest] for begin in begins]
        return self.mean(others, own=True).rank if rest else np.inf

    def score(self, network: Network, block: Block, effective: Params, look: Look = Look.QUICK) -> Score:
        system = system_of(network, block, effective)
        generated = run_freely(system, self.places(look), self.steps, self.skip)
        if not np.isfinite(generated).all():
            return DIVERGENT
        plain = self.mean(generated)
        if self.forecasts and look is Look.FRESH:
            valid = self.forecasts.valid(system, self.forecasts.best_gain(system))
            plain = replace(plain, values={**plain.values, "valid": valid})
        if not self.noisy or (added := self._measured(system)) is None:
            return plain
        drawn = np.random.default_rng(JUDGED).integers(len(added), size=generated.shape[:2])
        return min(plain, self.mean(generated + added[drawn]), key=lambda score: score.rank)

    def _measured(self, system: System) -> np.ndarray | None:
        """Samples of the noise (L, N) that the recording has and the system has not: what it does not foresee although
        it is corrected a little only. None where the full correction does better: then nothing was only measured."""
        x = self.stretch[:LISTENED]
        missed = [(x[1:] - foreseen(system, x, strength)[:-1])[len(x) // 10 :] for strength in (1.0, LITTLE)]
        full, little = (float((one**2).mean()) for one in missed)
        return missed[1] - missed[1].mean(axis=0) if little < full else None

    def varied(self, system: System, noise: Noise | None) -> Score:
        """Here the spectrum is that of the longest stretch without a break. How a rhythm varies shows in the width of
        spectral lines, which pieces do not resolve."""
        whole = power_spectrum(self.stretch)
        steps = max(self.steps, self.skip + len(self.stretch))
        generated = roll_out(system, self.x0, (steps, self.skip), noise, JUDGED)
        if not np.isfinite(generated).all():
            return DIVERGENT
        found = self.mean(g[: self.steps - self.skip] for g in generated)
        spectra = [power_spectrum(g[: len(self.stretch)]) for g in generated]
        d_h = float(np.median([min(1.0, spectral_distance(whole, one)) for one in spectra]))
        return attractor_score({**found.values, "d_h": d_h})

    def states(self, network: Network, block: Block, effective: Params) -> np.ndarray:
        watched = len(block.feeders) + np.arange(len(block.members))
        return run_freely(system_of(network, block, effective), self.x0, self.steps, self.skip, watched)

    def places(self, look: Look) -> np.ndarray:
        """Where the rollouts of a look begin."""
        count = len(self.x0) * ROLLOUTS[look]
        if look is Look.FRESH:
            between = (np.arange(count) + 0.5) / count
            return self.x[(between * len(self.x)).astype(int)].astype(np.float32)
        return spread(self.x, count).astype(np.float32)

    def mean(self, generated: Iterable[np.ndarray], own: bool = False) -> Score:
        """The mean score of all rollouts but the worst fifth: an unlucky start is forgiven, a habit is not. With `own`,
        each is compared with the piece of its own number only."""
        scores = []
        for i, g in enumerate(generated):
            pieces = [i] if own else range(self.count)
            d_stsp = self.space.divergence(g, pieces)
            if not np.isfinite(d_stsp):
                return DIVERGENT
            scores.append((d_stsp, self.spectra.distance(g, pieces)))
        kept = sorted(scores, key=lambda s: s[0] + self.weight * s[1])[: len(scores) - len(scores) // UNLUCKY]
        means = {n: float(v) for n, v in zip(self.names, np.mean(kept, axis=0), strict=True)}
        ranks = [d_stsp + self.weight * d_h for d_stsp, d_h in kept]
        error = of_trimmed(ranks, len(scores)) if len(scores) > 1 else 0.0
        return replace(attractor_score(means, self.weight), errors={"rank": error})


def of_trimmed(kept: Sequence[float], count: int) -> float:
    """The standard error of the mean of those kept of `count` values, whose largest were left out: these count as the
    largest that was kept (Tukey and McLaughlin 1963)."""
    whole = [*kept, *[kept[-1]] * (count - len(kept))]
    return float(np.std(whole, ddof=1) * np.sqrt(count) / len(kept))
