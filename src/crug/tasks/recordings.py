"""Recordings of autonomous systems: the task, and how a user's samples become one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from crug.core.block import Block, View
from crug.core.dynamics import System, run_freely
from crug.core.following import forecast
from crug.core.network import Network, create, recycle
from crug.core.noise import in_pieces, roll_out
from crug.errors import CrugError
from crug.metrics import MEASURES, against
from crug.readers.columns import Recording, constant, magnitude
from crug.readers.noise import Noise, noise, smoothed
from crug.sections import NetworkSettings, TrainingSettings
from crug.tasks.attractor import MANY, STARTS, SURE, AttractorScorer, attractor_score, measured, spread, surely
from crug.tasks.base import Observed, Picture, RolloutScorer, Score, Scorer, Task
from crug.tasks.forecasts import CHOOSING, Forecasts
from crug.tasks.scale import Scale, misfit, within_reach
from crug.tasks.timescale import time_scale
from crug.tasks.variability import Variability, variability
from crug.tasks.windows import Windows, make_windows, window_view

FEWEST = 300
"""Samples below which nothing can be said about an attractor."""
HELD_OUT = 1 / 6
"""The part of every trajectory, at its end, that is kept for testing; as in the paper's 100,000 to 20,000."""
TESTED = 20_000
"""Most samples of a test part that a rollout is measured by."""
STEPS, TRANSIENT = 40_000, 10_000
"""Steps of a rollout that is measured, and how many of the first are dropped."""
ROLLED = 10_000
"""Steps of a rollout where nobody says how many."""
SAMPLES = ("truth", "network", "noisy")
"""The parts of a picture that are samples of the recording or of rollouts."""
DRAWN, DRAWN_TRANSIENT = 8_000, 2_000
"""Samples in a picture, and how many steps of a rollout are dropped before."""
BATCHES = 31
"""Gradient steps in an epoch of a user's recording, however long it is: as many as the benchmarks have."""
LEARNING_STARTS = 10
"""Rollouts by which its checkpoints are scored. Of five, the best of many checkpoints at times had the luckiest
starts."""
NOISY = 0.03
"""Of a column's standard deviation: less noise than that does not change what a network scores."""
RUNAWAY = 10
"""A rollout this many times farther out than the data ever were has run away."""


@dataclass(frozen=True)
class Rolling:
    """What is asked of a rollout in a user's model: standardised starts (batch, N), steps, inputs (T, Q) in the user's
    units, and, for the noise that the recording carries, its seed."""

    x0: np.ndarray
    steps: int
    inputs: Any = None
    seed: int | None = None


@dataclass(frozen=True)
class RecordingTask(Task):
    """A recording of an autonomous system.

    `train` (T, N) and `test` (T', N) are standardised float64 samples, `dt` seconds apart. Where the training data are
    several trajectories, `breaks` says at which samples a new one begins, and `test_breaks` the same of the test data.
    Where they were noisy, `smoothed` says over how many samples each column was smoothed, and `noisy` whether some may
    have kept their noise. `rollout` is how many steps a rollout has that is compared with the test data, and how many
    of the first are dropped. It is long even where the recording is short: what a rollout did not have the time to
    visit says nothing about its attractor.
    """

    name: str
    title: str
    train: np.ndarray
    test: np.ndarray
    dt: float
    breaks: tuple[int, ...] = ()
    test_breaks: tuple[int, ...] = ()
    rollout: tuple[int, int] = (STEPS, TRANSIENT)
    smoothed: tuple[int, ...] = ()
    noisy: bool = False
    columns: tuple[str, ...] = ()

    @property
    def dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.test.shape[1]

    @property
    def samples(self) -> int:
        return len(self.train)

    def data(
        self, network: Network, feeders: np.ndarray, settings: TrainingSettings, rng: np.random.Generator
    ) -> Windows:
        return make_windows(network, feeders, self.train, settings, rng, self.breaks)

    def scorer(self, network: Network, feeders: np.ndarray, settings: TrainingSettings) -> RolloutScorer:
        x, breaks = self.train, self.breaks
        forecasts = Forecasts.of(x, breaks, count=CHOOSING) if settings.foresight else None
        return AttractorScorer(x, self.rollout, settings.starts, breaks, self.noisy, forecasts)

    def evaluate(self, network: Network, number: int, seed: int | None = None) -> Score:
        """Rollouts from five places of the test data against these; from thirty, to be sure; and forecasts."""
        system, noise = network.task_system(number), network.noises[number]
        found, many = (
            measure(self.test, roll_out(system, spread(self.test, count), self.rollout, noise, seed))
            for measure, count in ((measured, STARTS), (surely, MANY))
        )
        valid = {} if seed is not None else {"valid": self.forecasts().valid(system, network.gains[number])}
        return replace(found, values={**found.values, **many.values, **valid}, errors=many.errors)

    def observed(self) -> Observed | None:
        return Observed(self.test, self.dt, self.columns, self.rollout, self.test_breaks)

    def floor(self) -> dict[str, float]:
        """What stretches of the training part score in place of rollouts; nothing where a model no longer has it."""
        length = min(self.rollout[0] - self.rollout[1], len(self.train))
        if not length:
            return {}
        begins = np.linspace(0, len(self.train) - length, STARTS).astype(int)
        return measured(self.test, np.stack([self.train[i : i + length] for i in begins])).measures()

    def forecasts(self) -> Forecasts:
        """Those by which the forecasts of a network are judged."""
        return Forecasts.of(self.test, self.test_breaks)

    def gain(self, network: Network, number: int) -> float:
        return Forecasts.of(self.train, self.breaks, count=CHOOSING).best_gain(network.task_system(number))

    def variability(self, system: System, scorer: Scorer) -> Variability | None:
        assert isinstance(scorer, RolloutScorer)
        return variability(system, self.train, self.breaks, scorer)

    def worst(self) -> Score:
        """Divergent by every measure that such data have."""
        names = (*against(self.test, self.rollout[0]), SURE, "valid")
        return attractor_score({name: MEASURES[name].worst for name in names})

    def examples(self) -> list[np.ndarray]:
        return np.split(np.asarray(self.train, np.float32), self.breaks)

    def imagine(self, network: Network, number: int) -> list[np.ndarray]:
        """As many samples as the training data had, from several starts; a rollout that runs away is left out."""
        x = self.train
        rollouts = run_freely(network.task_system(number), spread(x, STARTS), len(x) // STARTS)
        reach = RUNAWAY * np.abs(x).max()
        return [r for r in rollouts if np.isfinite(r).all() and np.abs(r).max() < reach]

    def view(
        self,
        network: Network,
        block: Block,
        readout: np.ndarray,
        examples: Sequence[np.ndarray],
        settings: TrainingSettings,
    ) -> View:
        return window_view(network, block, readout, examples, settings)

    def picture(self, network: Network, number: int) -> Picture:
        rollouts = self.rolled(network, number, (DRAWN + DRAWN_TRANSIENT, DRAWN_TRANSIENT))
        return Picture("portrait", self.title, {"truth": self.test[:DRAWN], **rollouts}, self.columns)

    def rolled(self, network: Network, number: int, rollout: tuple[int, int]) -> dict[str, np.ndarray]:
        """For pictures: a rollout from where the test part begins, without noise, and under it where there is some."""
        system, noise = network.task_system(number), network.noises[number]
        kinds = {"network": None} if noise is None else {"network": None, "noisy": 0}
        return {kind: roll_out(system, self.test[:1], rollout, noise, seed)[0] for kind, seed in kinds.items()}

    def new_network(self, sizes: NetworkSettings, tasks: Sequence[Task], rng: np.random.Generator) -> Network:
        return create(sizes.M, sizes.P, max(task.dim for task in tasks), rng)

    def recycle(self, network: Network, rng: np.random.Generator) -> Network:
        return recycle(network, rng)

    # in a user's model

    def on(self, x: np.ndarray, inputs: Any = None) -> RecordingTask:
        """The same task, to be tested by other samples x (T, N), standardised; its floor is by those that it had."""
        if inputs is not None:
            raise CrugError(f"{self.name!r} was learned without inputs; leave them out")
        return replace(self, train=self.test, test=x, breaks=self.test_breaks, test_breaks=())

    kind: ClassVar[str] = "recording"

    @classmethod
    def prepare(cls, pieces: Sequence[Recording], name: str, smooth: bool = True, hold_out: bool = True) -> Prepared:
        """The task that one or several trajectories of one system make; or what is wrong with them.

        With `smooth`, noise is taken out of the part to learn from; the part that is held out stays as it was recorded.
        Without `hold_out`, that part is learned from too.
        """
        arrays = [piece.values for piece in pieces]
        total = sum(map(len, arrays))
        if total < FEWEST:
            raise CrugError(f"recording {name!r}: has {total} samples; at least {FEWEST} are needed")
        ends = held_out(arrays)
        parts = [x[:end] for x, end in zip(arrays, ends, strict=True)] if hold_out else arrays
        tests = [x[end:] for x, end in zip(arrays, ends, strict=True)]
        test = np.concatenate(tests)[:TESTED]
        found = [_noise(name, i, [x[:, i] for x in parts]) for i in range(test.shape[1])]
        widths = tuple(one.width if smooth else 0 for one in found)
        train = np.concatenate([smoothed(x, widths) for x in parts])
        scale = Scale.of(train)
        within_reach(f"recording {name!r}, held-out part", scale.standardise(test), pieces[0].columns)
        task = cls(
            name,
            name,
            scale.standardise(train),
            kept(scale.standardise(test)),
            1.0 if pieces[0].dt is None else pieces[0].dt,
            breaks=tuple(int(b) for b in np.cumsum([len(x) for x in parts])[:-1]),
            test_breaks=tuple(int(b) for b in np.cumsum([len(x) for x in tests])[:-1] if b < TESTED),
            smoothed=widths if any(widths) else (),
            noisy=any(one.level > NOISY for one, width in zip(found, widths, strict=True) if not width),
            columns=pieces[0].columns,
        )
        return Prepared(task, scale, tuple(arrays), hold_out)

    def suggests(self) -> dict[str, Any]:
        """The settings that follow from the recording itself."""
        interval, window = time_scale(self.train, self.breaks)
        training = {"interval": interval, "window": window, "batches": BATCHES, "starts": LEARNING_STARTS}
        return {"noise": True, "training": training}

    @property
    def input_columns(self) -> tuple[str, ...]:
        """The names of what drives the system: of an autonomous one, none."""
        return ()

    def fit(self, network: Network) -> Network:
        """The network with all that this kind of recording needs of it."""
        return network

    @property
    def usual_steps(self) -> int:
        """How long a rollout is where nobody says."""
        return ROLLED

    def roll(self, network: Network, number: int, how: Rolling) -> np.ndarray:
        """Rollouts (batch, steps, N) of task `number` of the network, standardised."""
        if how.inputs is not None:
            raise CrugError(f"{self.name!r} was learned without inputs; leave them out")
        return roll_out(network.task_system(number), how.x0, (how.steps, 0), network.noises[number], how.seed)

    def rolling(self, network: Network, number: int, how: Rolling) -> Iterator[np.ndarray]:
        """What `roll` gives without inputs, some steps after others."""
        noise = network.noises[number]
        return in_pieces(network.task_system(number), how.x0, how.steps, noise, how.seed)

    def foresee(self, network: Network, number: int, how: Rolling) -> np.ndarray:
        """What comes after the context `how.x0` (T, N): (steps, N), standardised."""
        if how.inputs is not None:
            raise CrugError(f"{self.name!r} was learned without inputs; leave them out")
        return forecast(network.task_system(number), how.x0[None], how.steps, network.gains[number])[0]

    def proof(self, network: Network, number: int, steps: int, seed: int | None = None) -> np.ndarray:
        """A rollout from where the test part begins; with a seed, under the noise that the task carries."""
        return self.roll(network, number, Rolling(self.test[:1], steps, seed=seed))

    def remembered(self) -> dict[str, np.ndarray]:
        """What a model keeps to score it again."""
        breaks = {"breaks": np.asarray(self.test_breaks, np.int64)} if self.test_breaks else {}
        return {"test": self.test.astype(np.float32), **breaks}

    @classmethod
    def misfit(cls, arrays: Mapping[str, np.ndarray], columns: int, inputs: int) -> str:
        """In which way arrays from a file are not what `remembered` and the scale of such a recording are."""
        shapes = {"mean": (columns,), "std": (columns,), "test": (None, columns)}
        return misfit(arrays, shapes, inputs and f"{inputs} inputs")

    @classmethod
    def restored(
        cls, name: str, dt: float, columns: tuple[str, ...], arrays: Mapping[str, np.ndarray]
    ) -> RecordingTask:
        """The task as `remembered` left it: without anything to learn from."""
        test = np.asarray(arrays["test"], np.float64)
        breaks = tuple(int(b) for b in arrays.get("breaks", ()))
        return cls(name, name, np.empty((0, test.shape[1])), test, dt, columns=columns, test_breaks=breaks)


# a user's samples


@dataclass(frozen=True)
class Prepared:
    """A user's recording, ready to be learned: the task, how it was standardised, the samples as they came, and whether
    those that it is tested by are kept from training."""

    task: RecordingTask
    scale: Scale
    pieces: tuple[np.ndarray, ...]
    held_out: bool = True


def kept(x: np.ndarray) -> np.ndarray:
    """Samples as precise as a model keeps them, so that a score is the same when it is taken again."""
    return x.astype(np.float32).astype(np.float64)


def held_out(arrays: Sequence[np.ndarray]) -> list[int]:
    """For each trajectory, where the part begins that is kept for testing."""
    return [len(x) - min(round(HELD_OUT * len(x)), TESTED // len(arrays)) for x in arrays]


def _noise(name: str, i: int, column: list[np.ndarray]) -> Noise:
    """How noisy a column is."""
    if constant(np.concatenate(column)):
        raise CrugError(f"recording {name!r}: column {i + 1} is constant in the part to learn from; leave it out")
    size = magnitude(np.concatenate(column))
    return noise(column if size == 1 else [x / size for x in column])
