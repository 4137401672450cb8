"""Recordings with inputs: the response x_t of a system to a known drive s_t (equation 1 with C s_t).

The input at a sample drives the step from that sample to the next. A rollout runs under inputs, and is compared with
what was recorded under the same ones: over the same stretch, from the same sample on. So beside the measures of an
attractor there is the error of the response; of a chaotic system it is large even where all else is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from crug.core.block import Block, Fixed, Params, View, system_of
from crug.core.dynamics import System, run_under
from crug.core.following import forecast
from crug.core.network import Network, open_inputs
from crug.core.noise import Noise, roll_out
from crug.errors import CrugError
from crug.readers.columns import Recording, constant
from crug.sections import TrainingSettings
from crug.tasks.attractor import JUDGED, STARTS, attractor_score, measured
from crug.tasks.base import Look, Observed, Picture, RolloutScorer, Score, Scorer
from crug.tasks.forecasts import CHOOSING, Forecasts
from crug.tasks.recordings import DRAWN, RUNAWAY, TESTED, Prepared, RecordingTask, Rolling, held_out, kept
from crug.tasks.scale import Scale, misfit, within_reach
from crug.tasks.variability import Variability, variability
from crug.tasks.windows import Windows, affordable, bounded, feed, window_starts, window_view

FIELDS = ["x", "starts", "drive", "low", "high", "inputs"]
WEIGHT = 2.0
"""Of the error in the rank, up to where a rollout has nothing to do with the recording."""
LONGEST = 10_000
"""Most steps of a stretch by which checkpoints are scored."""


@partial(jax.tree_util.register_dataclass, data_fields=FIELDS, meta_fields=["forcing"])
@dataclass(frozen=True)
class DrivenWindows(Windows):
    """Windows of a recording with the inputs (T, Q) that it had."""

    inputs: Array

    @classmethod
    def of(cls, windows: Windows, inputs: np.ndarray) -> DrivenWindows:
        return cls(**vars(windows), inputs=jnp.asarray(inputs, jnp.float32))

    def loss(self, effective: Params, fixed: Fixed, index: Array) -> Array:
        window = self.forcing.window
        x, s = self.cut(self.x, index, window + 1), self.cut(self.inputs, index, window)
        C = effective["C"][:, : s.shape[2]]  # other tasks of the network may have more inputs
        V = jnp.concatenate([C, effective["V"]], axis=1)
        return self.error(effective, V, fixed, x, jnp.concatenate([s, self.driven_by(index)], axis=2))


@dataclass(frozen=True)
class Stretches:
    """Parts of a recording (several, L + 1, N) with their inputs (several, L, Q): a rollout from the first sample of
    each is compared with all that follow."""

    x: np.ndarray
    inputs: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, inputs: np.ndarray, breaks: Sequence[int], count: int) -> Stretches:
        """`count` of them, evenly over the recording and none across a break; each half as long as the longest
        trajectory."""
        edges = [0, *breaks, len(x)]
        length = min(LONGEST, max(np.diff(edges)) // 2)
        possible = np.concatenate([np.arange(a, b - length) for a, b in itertools.pairwise(edges)])
        starts = possible[np.linspace(0, len(possible) - 1, count).astype(int)]
        parts = [(x[i : i + length + 1], inputs[i : i + length]) for i in starts]
        return cls(*(np.stack(side) for side in zip(*parts, strict=True)))

    def run(self, system: System, noise: Noise | None = None, seed: int | None = None) -> np.ndarray:
        """What the readouts do under the inputs, and under noise if there is any and a seed: (several, L, N)."""
        return roll_out(system, self.x[:, 0], (self.inputs.shape[1], 0), noise, seed, self.inputs)

    def score(self, rollouts: np.ndarray) -> Score:
        """The median over the stretches, each measure by itself."""
        each = [measured(x[1:], r[None]).measures() for x, r in zip(self.x, rollouts, strict=True)]
        errors = [_error(x[1:], r) for x, r in zip(self.x, rollouts, strict=True)]
        medians = {name: float(np.median([one[name] for one in each])) for name in each[0]}
        error = float(np.median(errors))
        found = attractor_score({**medians, "error": error})
        return replace(found, rank=found.rank + WEIGHT * min(1.0, error))


def _error(x: np.ndarray, rollout: np.ndarray) -> float:
    """Root mean squared error over the root mean squared deviation of the recording (T, N)."""
    if not np.isfinite(rollout).all():
        return np.inf
    return float(np.sqrt(((rollout - x) ** 2).mean() / x.var(axis=0).mean()))


class ResponseScorer(RolloutScorer):
    """The score of responses to the inputs of the training part. A perfect model of a system that forgets its start
    would rank 0."""

    names = ("d_stsp", "d_h", "error")

    def __init__(self, stretches: Stretches):
        self.stretches = stretches

    def score(self, network: Network, block: Block, effective: Params, look: Look = Look.QUICK) -> Score:
        return self.varied(system_of(network, block, effective), None)

    def varied(self, system: System, noise: Noise | None) -> Score:
        found = self.stretches.score(self.stretches.run(system, noise, JUDGED))
        return replace(found, values={name: found[name] for name in self.names})

    def states(self, network: Network, block: Block, effective: Params) -> np.ndarray:
        watched = len(block.feeders) + np.arange(len(block.members))
        s = self.stretches
        return run_under(system_of(network, block, effective), s.x[:, 0], s.inputs, watched)


@dataclass(frozen=True)
class DrivenTask(RecordingTask):
    """A recording of a driven system. Inputs are standardised as the recording is."""

    train_inputs: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    test_inputs: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    input_scale: Scale = field(default_factory=lambda: Scale(np.empty(0), np.empty(0)))
    input_columns: tuple[str, ...] = ()  # pyright: ignore[reportIncompatibleMethodOverride]
    kind: ClassVar[str] = "driven"

    @classmethod
    def prepare(cls, pieces: Sequence[Recording], name: str, smooth: bool = True, hold_out: bool = True) -> Prepared:
        """The task that trajectories with inputs make. They are never smoothed: a response may be as fast as its input,
        and cannot be told from noise then."""
        prepared = super().prepare(pieces, name, smooth=False, hold_out=hold_out)
        ends = held_out(prepared.pieces)
        inputs = [np.asarray(piece.inputs) for piece in pieces]
        parts = [s[:end] for s, end in zip(inputs, ends, strict=True)] if hold_out else inputs
        train = np.concatenate(parts)
        tests = [s[end:] for s, end in zip(inputs, ends, strict=True)]
        columns = pieces[0].input_columns
        for i, column in enumerate(train.T):
            if constant(column):
                raise CrugError(
                    f"recording {name!r}: input {columns[i]} is constant in the part to learn from; leave it out"
                )
        scale = Scale.of(train)
        test = scale.standardise(np.concatenate(tests)[:TESTED])
        within_reach(f"recording {name!r}, inputs of the held-out part", test, columns)
        task = replace(
            prepared.task,
            train_inputs=scale.standardise(train),
            test_inputs=kept(test),
            input_scale=scale,
            input_columns=columns,
        )
        return replace(prepared, task=task)

    def fit(self, network: Network) -> Network:
        return open_inputs(network, self.train_inputs.shape[1])

    def data(
        self, network: Network, feeders: np.ndarray, settings: TrainingSettings, rng: np.random.Generator
    ) -> DrivenWindows:
        starts = window_starts([0, *self.breaks, len(self.train)], settings)
        drive = jnp.zeros((1, settings.window, 0), jnp.float32)
        if len(feeders):
            starts = affordable(starts, len(feeders), settings, rng)
            inputs = self.train_inputs[starts[:, None] + np.arange(settings.window)]
            drive = feed(network, feeders, self.train[starts], settings.window, inputs)
        return DrivenWindows.of(bounded(self.train, starts, drive, settings), self.train_inputs)

    def scorer(self, network: Network, feeders: np.ndarray, settings: TrainingSettings) -> RolloutScorer:
        return ResponseScorer(Stretches.of(self.train, self.train_inputs, self.breaks, settings.starts))

    def evaluate(self, network: Network, number: int, seed: int | None = None) -> Score:
        """Rollouts from five places of the test part, each under the inputs that followed there."""
        stretches = Stretches.of(self.test, self.test_inputs, self.test_breaks, STARTS)
        system = network.task_system(number)
        found = stretches.score(stretches.run(system, network.noises[number], seed))
        valid = {} if seed is not None else {"valid": self.forecasts().valid(system, network.gains[number])}
        return replace(found, values={**found.values, **valid})

    def observed(self) -> Observed | None:
        return Observed(self.test, self.dt, self.columns, self.rollout, self.test_breaks, self.test_inputs)

    def floor(self) -> dict[str, float]:
        """Under the same inputs a perfect model of a system that forgets its start does the same."""
        return {"d_stsp": 0.0, "d_h": 0.0, "error": 0.0}

    def forecasts(self) -> Forecasts:
        return Forecasts.of(self.test, self.test_breaks, self.test_inputs)

    def gain(self, network: Network, number: int) -> float:
        choosing = Forecasts.of(self.train, self.breaks, self.train_inputs, CHOOSING)
        return choosing.best_gain(network.task_system(number))

    def variability(self, system: System, scorer: Scorer) -> Variability | None:
        assert isinstance(scorer, RolloutScorer)
        return variability(system, self.train, self.breaks, scorer, self.train_inputs)

    def examples(self) -> list[np.ndarray]:
        """Trajectories (T, N) and their inputs (T, Q), in turns."""
        parts = (np.split(np.asarray(side, np.float32), self.breaks) for side in (self.train, self.train_inputs))
        return [part for pair in zip(*parts, strict=True) for part in pair]

    def imagine(self, network: Network, number: int) -> list[np.ndarray]:
        """The network's own response to the inputs of the training part, in place of what was recorded."""
        found, examples = [], self.examples()
        for x, s in zip(examples[::2], examples[1::2], strict=True):
            r = run_under(network.task_system(number), x[:1], s[None])[0]
            if np.isfinite(r).all() and np.abs(r).max() < RUNAWAY * np.abs(x).max():
                found += [np.concatenate([x[:1], r[:-1]]), s]
        return found

    def view(
        self,
        network: Network,
        block: Block,
        readout: np.ndarray,
        examples: Sequence[np.ndarray],
        settings: TrainingSettings,
    ) -> View:
        view = window_view(network, block, readout, examples[::2], settings)
        return view._replace(data=DrivenWindows.of(view.data, np.concatenate(examples[1::2])))

    def on(self, x: np.ndarray, inputs: Any = None) -> DrivenTask:
        s = self._given(np.empty((0, len(self.input_scale.mean))) if inputs is None else inputs)
        if len(s) != len(x):
            raise CrugError(f"{self.name!r} was learned with inputs: {len(x)} samples need as many; you gave {len(s)}")
        return replace(self, test=x, test_inputs=s, test_breaks=())

    def picture(self, network: Network, number: int) -> Picture:
        end = min([DRAWN, *self.test_breaks, len(self.test)])
        truth, inputs = self.test[1:end], self.test_inputs[: end - 1]
        rollout = run_under(network.task_system(number), self.test[:1], inputs[None])[0]
        parts = {"truth": truth, "network": rollout, "inputs": self.input_scale.restore(inputs)}
        return Picture("serie", self.title, parts, self.columns)

    @property
    def usual_steps(self) -> int:
        """As many as the held-out part has inputs."""
        return len(self.test_inputs)

    def roll(self, network: Network, number: int, how: Rolling) -> np.ndarray:
        s = self.test_inputs if how.inputs is None else self._given(how.inputs)
        if len(s) < how.steps:
            whose = "its held-out part has" if how.inputs is None else "you gave"
            raise CrugError(f"{self.name!r}: {how.steps} steps need as many inputs; {whose} {len(s)}")
        s = np.broadcast_to(s[: how.steps], (len(how.x0), how.steps, s.shape[1]))
        return roll_out(network.task_system(number), how.x0, (how.steps, 0), network.noises[number], how.seed, s)

    def rolling(self, network: Network, number: int, how: Rolling) -> Iterator[np.ndarray]:
        yield self.roll(network, number, how)  # inputs are in memory as they are

    def foresee(self, network: Network, number: int, how: Rolling) -> np.ndarray:
        needed = len(how.x0) - 1 + how.steps
        s = self._given(np.empty((0, len(self.input_scale.mean))) if how.inputs is None else how.inputs)
        if len(s) < needed:
            raise CrugError(
                f"{self.name!r} was learned with inputs: a forecast of {how.steps} steps from {len(how.x0)} samples "
                f"needs {needed} of them, from the first sample of the context on; you gave {len(s)}"
            )
        gain, s = network.gains[number], s[None, :needed]
        return forecast(network.task_system(number), how.x0[None], how.steps, gain, s)[0]

    def _given(self, inputs: Any) -> np.ndarray:
        """Inputs (T, Q) as the network hears them."""
        s, width = np.asarray(inputs, np.float64), len(self.input_scale.mean)
        s = s[:, None] if s.ndim == 1 else s
        if s.ndim != 2 or s.shape[1] != width:
            raise CrugError(f"{self.name!r} has {width} inputs; give them as (T, {width}), not {np.shape(inputs)}")
        if not np.isfinite(s).all():
            raise CrugError(f"{self.name!r}: the inputs have values that are not finite")
        found = self.input_scale.standardise(s)
        within_reach(f"{self.name!r}, inputs", found, self.input_columns or [str(i + 1) for i in range(width)])
        return found

    def proof(self, network: Network, number: int, steps: int, seed: int | None = None) -> np.ndarray:
        return super().proof(network, number, min(steps, len(self.test_inputs)), seed)

    def remembered(self) -> dict[str, np.ndarray]:
        return {
            **super().remembered(),
            "inputs": self.test_inputs.astype(np.float32),
            "input_mean": self.input_scale.mean,
            "input_std": self.input_scale.std,
        }

    @classmethod
    def misfit(cls, arrays: Mapping[str, np.ndarray], columns: int, inputs: int) -> str:
        scales = {"mean": (columns,), "std": (columns,), "input_mean": (inputs,), "input_std": (inputs,)}
        return misfit(arrays, {**scales, "test": (None, columns), "inputs": (None, inputs)}, not inputs and "no input")

    @classmethod
    def restored(cls, name: str, dt: float, columns: tuple[str, ...], arrays: Mapping[str, np.ndarray]) -> DrivenTask:
        plain = super().restored(name, dt, columns, arrays)
        assert isinstance(plain, DrivenTask)
        return replace(
            plain,
            test_inputs=np.asarray(arrays["inputs"], np.float64),
            input_scale=Scale(arrays["input_mean"], arrays["input_std"]),
        )
