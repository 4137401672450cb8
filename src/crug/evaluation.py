"""How good an attractor is: free rollouts, then the measures.

Two uses. While training, `TrainingScore` compares checkpoints on the *training* data. Afterwards, `evaluate` is the
paper's measure on the test data: five initial conditions, 40,000 steps less 10,000, median of those not divergent.
Up to three dimensions are binned, above that Gaussian mixtures take over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from crug.block import Block, Params, system
from crug.data import View, make_trials
from crug.dynamics import driven, rollout
from crug.metrics import BinnedReference, MixtureReference, kl, power_spectrum, spectral_distance
from crug.metrics.hellinger import smoothing
from crug.network import Network, encode
from crug.tasks import AnyTask, Task, TrialTask
from crug.tasks.cognitive import Trials, correct
from crug.training import answers, reordered

STARTS, SPECTRUM = 5, 20_000
BINNED = 3
"""Most dimensions that are binned."""


class Score(NamedTuple):
    """D_stsp and D_H of a recording; infinite where divergent."""

    d_stsp: float
    d_h: float

    def total(self, weight: float) -> float:
        """One number to rank by: D_stsp with D_H weighted in, so that neither can be sold for the other."""
        return self.d_stsp + weight * self.d_h

    @property
    def main(self) -> float:
        """The measure that a margin applies to; less is better."""
        return self.d_stsp


class Answers(NamedTuple):
    """The part of trials that is answered rightly, and the mean squared error of the outputs."""

    accuracy: float
    error: float

    def total(self, weight: float) -> float:
        """One number to rank by: mostly the wrong answers; the error decides between equals."""
        return weight * (1 - self.accuracy) + 0.1 * weight * self.error

    @property
    def main(self) -> float:
        return 1 / max(self.accuracy, 1e-9)


AnyScore = Score | Answers
DIVERGENT = Score(np.inf, np.inf)


def score_of(values: Any) -> AnyScore:
    """The inverse of a score's `_asdict()`."""
    if isinstance(values, dict):
        return Answers(**values) if "accuracy" in values else Score(**values)
    return Score(*values)


def free_run(network: Network, task: int, x0: np.ndarray, steps: int, skip: int = 0) -> np.ndarray:
    """Roll task number `task` out of observations x0 (batch, N): (batch, steps - skip, N).

    Only the units that the task needs are computed, in an order and shape that never change again.
    """
    units, readout = network.runs[task], network.readouts[task]
    floor = np.where(network.relu[units], 0, -np.inf).astype(np.float32)
    parameters = (network.a[units], network.W[np.ix_(units, units)], network.h[units], floor)
    z0 = encode(network, x0, units, readout)
    return np.asarray(rollout(*parameters, z0, np.searchsorted(units, readout), steps, skip))


def respond(network: Network, task: int, inputs: np.ndarray) -> np.ndarray:
    """The outputs (trials, T, 3) of task number `task` to inputs (trials, T, Q), from the units that it needs."""
    units = network.runs[task]
    floor = np.where(network.relu[units], 0, -np.inf).astype(np.float32)
    parameters = (network.a[units], network.W[np.ix_(units, units)], network.C[units], network.h[units], floor)
    states = np.asarray(driven(*parameters, np.asarray(inputs, np.float32).swapaxes(0, 1)))
    return (states @ network.decoders[task][units]).swapaxes(0, 1)


def evaluate(network: Network, number: int, task: AnyTask) -> AnyScore:
    """The paper's measure of task `number` of the network on the task's test data."""
    if isinstance(task, TrialTask):
        return _answers(respond(network, number, task.test.inputs), task.test, task)
    return attractor(network, number, task)


def _answers(outputs: np.ndarray, trials: Trials, task: TrialTask) -> Answers:
    right = correct(outputs[:, -1], trials, task.settings.strict)
    error = task.weight[None, :, None] * (outputs - trials.targets) ** 2
    return Answers(float(right.mean()), float(error.mean()) if np.isfinite(error).all() else np.inf)


def attractor(network: Network, number: int, task: Task) -> Score:
    """Rollouts from five places of the test data against these."""
    x0 = task.test[np.linspace(0, len(task.test) - 1, STARTS).astype(int)]
    steps, skip = task.rollout
    generated = free_run(network, number, x0, steps, skip)
    truth = BinnedReference(task.test) if task.dim <= BINNED else MixtureReference(task.test)
    length = min(SPECTRUM, len(task.test), steps - skip)
    sigma = smoothing(length)
    spectrum = power_spectrum(task.test[:length], sigma)
    return Score(
        _median(truth.divergence(g) for g in generated),
        _median(spectral_distance(spectrum, power_spectrum(g[:length], sigma)) for g in generated),
    )


def _median(scores) -> float:
    finite = [s for s in scores if np.isfinite(s)]
    return float(np.median(finite)) if finite else np.inf


class _BinnedPieces:
    """Pieces of a recording (their bins span all of it), and the mean divergence of a rollout from some of them."""

    def __init__(self, x: np.ndarray, cuts: list[np.ndarray]):
        self.bins = BinnedReference(x)
        self.truths: list[Any] = [self.bins.density(cut) for cut in cuts]

    def divergence(self, generated: np.ndarray, against: Sequence[int]) -> float:
        density = self.bins.density(generated)
        return np.inf if density is None else float(np.mean([kl(self.truths[j], density) for j in against]))


class _MixturePieces:
    """The same for many dimensions; thinned, because it is asked hundreds of times."""

    POINTS, MOST = 400, 2_000

    def __init__(self, cuts: list[np.ndarray]):
        self.references = [MixtureReference(cut, self.POINTS, self.MOST) for cut in cuts]

    def divergence(self, generated: np.ndarray, against: Sequence[int]) -> float:
        return float(np.mean([self.references[j].divergence(generated) for j in against]))


class TrainingScore:
    """What the paper's measure would say if the test part were a piece of the training part, on average over pieces.

    Rollouts are as long as in that measure, pieces have up to 20,000 samples. Every rollout is compared with every
    piece. `floor` is the same number for what follows each piece in the recording, in place of rollouts: of a long
    recording a perfect model scores about that, and nothing can be told below it.
    """

    def __init__(self, task: Task, starts: int = STARTS, pieces: int = 5):
        x = np.asarray(task.train, np.float64)
        length = self.length = min(SPECTRUM, len(x) // pieces)
        self.steps, self.skip = task.rollout
        self.x0 = x[np.linspace(0, len(x) - 1, starts).astype(int)].astype(np.float32)
        cuts = [x[i * length : (i + 1) * length] for i in range(pieces)]
        self.space = _BinnedPieces(x, cuts) if task.dim <= BINNED else _MixturePieces(cuts)
        self.sigma = smoothing(length)
        self.spectra = [power_spectrum(cut, self.sigma) for cut in cuts]
        twice = np.concatenate([x, x])
        rest = min(self.steps - self.skip, (pieces - 1) * length)
        others = [twice[(i + 1) * length : (i + 1) * length + rest] for i in range(pieces)]
        self.floor = self.total(self._mean(others, own=True))

    names = Score._fields
    weight = 5.0
    """Of D_H beside D_stsp."""

    def total(self, score: AnyScore) -> float:
        return score.total(self.weight)

    def of(self, network: Network, block: Block, effective: Params) -> Score:
        """The score of a block as it would run if it were committed."""
        return self(*system(network, block, effective))

    def __call__(self, system: dict[str, np.ndarray], encoder: np.ndarray, readout: np.ndarray) -> Score:
        """The score of a system (parameters a, W, h and floor, with the encoder's rows and the readout's positions)."""
        generated = self.run(system, encoder, readout, readout)
        return self._mean(generated) if np.isfinite(generated).all() else DIVERGENT

    def run(
        self, system: dict[str, np.ndarray], encoder: np.ndarray, readout: np.ndarray, watched: np.ndarray
    ) -> np.ndarray:
        """What the units `watched` do in the rollouts that are scored, (starts, steps, len(watched))."""
        z0 = self.x0 @ encoder.T
        z0[:, readout] = self.x0
        s = system
        return np.asarray(rollout(s["a"], s["W"], s["h"], s["floor"], z0, watched, self.steps, self.skip))

    def _mean(self, generated, own: bool = False) -> Score:
        """The mean score of all rollouts but the worst: one unlucky start is forgiven, two are not."""
        scores = []
        for i, g in enumerate(generated):
            spectrum = power_spectrum(g[: self.length], self.sigma)
            against = [i] if own else range(len(self.spectra))
            d_stsp = self.space.divergence(g, against)
            if not np.isfinite(d_stsp):
                return DIVERGENT
            d_h = float(np.mean([min(1.0, spectral_distance(self.spectra[j], spectrum)) for j in against]))
            scores.append(Score(d_stsp, d_h))
        kept = sorted(scores, key=self.total)[: max(1, len(scores) - 1)]
        return Score(*(float(v) for v in np.mean(kept, axis=0)))


class TrialScore:
    """Accuracy and error on fresh trials, drawn like the training ones."""

    names = Answers._fields
    floor = 0.0
    weight = 30.0
    """A third of a percent of the answers, or an error of 0.03, are worth a tolerance of 0.1."""

    def __init__(self, network: Network, feeders: np.ndarray, task: TrialTask):
        self.task = task
        fresh = task.fresh
        self.trials = make_trials(network, feeders, fresh.inputs, fresh.targets, task.weight)

    def total(self, score: AnyScore) -> float:
        return score.total(self.weight)

    def of(self, network: Network, block: Block, effective: Params) -> Answers:
        outputs = np.asarray(_all_answers(effective, block.fixed, self.trials)).swapaxes(0, 1)
        return _answers(outputs, self.task.fresh, self.task)


class JointScore:
    """Of several tasks that one block learns at once, the worst score. `others` come with the block's view of them."""

    def __init__(self, own: TrainingScore | TrialScore, others: Sequence[tuple[TrainingScore | TrialScore, View]]):
        self.own, self.others = own, others
        self.names, self.weight = own.names, own.weight
        self.floor = max(own.floor, *(scorer.floor for scorer, _ in others))

    def total(self, score: AnyScore) -> float:
        return self.own.total(score)

    def of(self, network: Network, block: Block, effective: Params) -> AnyScore:
        scores: list[AnyScore] = [self.own.of(network, block, effective)]
        for scorer, view in self.others:
            order, dim = np.asarray(view.order), view.fixed.encoder.shape[1]
            seen = replace(block, units=block.units[order], dim=dim, fixed=view.fixed)
            scores.append(scorer.of(network, seen, reordered(effective, view.order)))
        return max(scores, key=self.total)


@jax.jit
def _all_answers(effective: Params, fixed: Any, trials: Any) -> Any:
    return answers(effective, fixed, trials, jnp.arange(len(trials.inputs)))


Scorer = TrainingScore | TrialScore | JointScore
