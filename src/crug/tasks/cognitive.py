"""Nine cognitive tasks (section 4.1, appendix A.10): trials with inputs, and a direction or a decision to be reported.

A trial has 40 steps. The inputs are nine raw channels and the task's identity; flags, cue and identity stay on.

| channel | meaning |
|---|---|
| 0 | fixation |
| 1, 2 | sin and cos of the stimulus in modality 1 |
| 3, 4 | the same in modality 2 (context integration only) |
| 5, 6 | context cue: which modality counts |
| 7, 8 | anti flag, category flag |
| 9-17 | which task it is |

The paper calls channels 3 to 8 'task-rule flags'; two modalities do not fit otherwise. The three outputs are fixation
and the sine and cosine of the answer: (1, 0, 0) until the response is due, then (0, sin, cos).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import Field

from crug.core.block import Block, Fixed, Params, View
from crug.core.dynamics import Drive, forced_unroll, heard, run_under
from crug.core.network import Network, create_for_trials, recycle_for_trials
from crug.core.streams import Stream, generator
from crug.sections import NetworkSettings, NonNegative, Section, TrainingSettings
from crug.tasks.base import Family, Look, Picture, Score, Scorer, Task
from crug.tasks.windows import NOBODY

STEPS, RAW, OUTPUTS = 40, 9, 3
WITHIN = np.deg2rad(30)
"""An answer is right when it is closer to the target direction than this."""


class TrialSettings(Section):
    """How the trials of cognitive tasks are drawn and judged."""

    train: Annotated[int, Field(ge=1, description="training trials a task")] = 1000
    test: Annotated[int, Field(ge=1, description="test trials a task")] = 200
    noise: Annotated[NonNegative, Field(description="white noise on the stimulus, a step")] = 0.1
    context_noise: Annotated[NonNegative, Field(description="the same in context integration")] = 0.3
    go_above: Annotated[float, Field(gt=0, lt=1, description="amplitude above which it is a Go trial")] = 0.5
    masked: Annotated[bool, Field(description="only the response period counts in the loss")] = False
    strict: Annotated[bool, Field(description="a Go also needs the right direction")] = False


@dataclass(frozen=True)
class Protocol:
    """When what happens in a task's trials, and what is asked. Periods are [first, last) steps."""

    name: str
    title: str
    stimulus: tuple[int, int]
    response: int  # the step from which the answer is due
    fixation: int  # the fixation input is on before this step
    anti: bool = False
    category: bool = False
    context: bool = False
    go: bool = False


def _pair(name: str, title: str, stimulus: tuple[int, int], response: int, fixation: int, **rules: bool):
    return tuple(
        Protocol(f"{name}-{side}", f"{title}, {side}", stimulus, response, fixation, anti=side == "anti", **rules)
        for side in ("pro", "anti")
    )


PROTOCOLS: tuple[Protocol, ...] = (
    *_pair("delayed-response", "Delayed response", (10, 20), 30, 30),
    *_pair("reaction-time", "Reaction time", (20, 40), 20, 40),
    *_pair("category", "Category", (10, 30), 30, 30, category=True),
    *_pair("context", "Context integration", (10, 30), 30, 30, context=True),
    Protocol("go-nogo", "Go/NoGo", (10, 30), 30, 30, go=True),
)
INPUTS = RAW + len(PROTOCOLS)


class Trials(NamedTuple):
    """Inputs (trials, 40, 18) and targets (trials, 40, 3) in float32; `angle` and `go` (trials,) is what is right."""

    inputs: np.ndarray
    targets: np.ndarray
    angle: np.ndarray
    go: np.ndarray
    protocol: Protocol


def draw(number: int, count: int, rng: np.random.Generator, settings: TrialSettings | None = None) -> Trials:
    """`count` trials of task `number`."""
    protocol, settings = PROTOCOLS[number], settings or TrialSettings()
    theta = rng.uniform(0, 2 * np.pi, (count, 2))
    cue = rng.integers(0, 2, count)
    amplitude = rng.uniform(0, 1, count)
    noise = rng.standard_normal((count, STEPS, 4))
    if protocol.go:
        theta = np.zeros_like(theta)
    else:
        amplitude = np.ones(count)
    inputs = np.zeros((count, STEPS, INPUTS))
    inputs[:, : protocol.fixation, 0] = 1
    modalities = (0, 1) if protocol.context else (0,)
    sigma = settings.context_noise if protocol.context else settings.noise
    period = slice(*protocol.stimulus)
    for m in modalities:
        for channel, wave in ((1 + 2 * m, np.sin), (2 + 2 * m, np.cos)):
            clean = (amplitude * wave(theta[:, m]))[:, None]
            inputs[:, period, channel] = clean + sigma * noise[:, period, channel - 1]
    if protocol.context:
        inputs[np.arange(count), :, 5 + cue] = 1
    inputs[:, :, 7] = protocol.anti
    inputs[:, :, 8] = protocol.category
    inputs[:, :, RAW + number] = 1

    angle = theta[np.arange(count), cue] if protocol.context else theta[:, 0]
    if protocol.category:
        angle = np.where(angle < np.pi, np.pi / 2, 3 * np.pi / 2)
    angle = (angle + np.pi * protocol.anti) % (2 * np.pi)
    go = amplitude > settings.go_above
    targets = np.zeros((count, STEPS, OUTPUTS))
    targets[:, :, 0] = 1
    answer = np.stack([np.zeros(count), np.sin(angle), np.cos(angle)], axis=1)
    answer[~go] = (1, 0, 0)
    targets[:, protocol.response :] = answer[:, None]
    return Trials(inputs.astype(np.float32), targets.astype(np.float32), angle, go, protocol)


def correct(outputs: np.ndarray, trials: Trials, strict: bool = False) -> np.ndarray:
    """Which trials (trials,) are answered rightly by the outputs (trials, 3) at the last step.

    A direction has to be within 30 degrees. Go/NoGo is decided by the fixation output alone; with `strict`, a Go also
    needs its direction. Where anything is not finite, the answer is wrong.
    """
    fixation, sine, cosine = np.asarray(outputs, np.float64).T
    off = np.angle(np.exp(1j * (np.arctan2(sine, cosine) - trials.angle)))
    close = np.abs(off) < WITHIN
    if trials.protocol.go:
        decided = (fixation > 0.5) == ~trials.go
        close = decided & (close | ~trials.go) if strict else decided
    return close & np.isfinite(outputs).all(axis=1)


# what a block is trained on, and how it is judged


class TrialSet(NamedTuple):
    """Trials to train on; `drive` is what committed units do meanwhile."""

    inputs: Array  # (trials, T, Q)
    targets: Array  # (trials, T, outputs)
    weight: Array  # (T,) of each step in the loss
    drive: Array  # (trials, T, d)

    @property
    def count(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return len(self.inputs)

    def loss(self, effective: Params, fixed: Fixed, index: Array) -> Array:
        """The mean squared error of the outputs, weighted by step."""
        error = (answers(effective, fixed, self, index) - self.targets[index].swapaxes(0, 1)) ** 2
        return jnp.mean(self.weight[:, None, None] * error)


def answers(effective: Params, fixed: Fixed, trials: TrialSet, index: Array) -> Array:
    """The outputs (T, batch, outputs) of the block in the trials `index`."""
    e, n = effective, len(effective["a"])
    drive = jnp.concatenate([trials.inputs[index], trials.drive[index]], axis=2).swapaxes(0, 1)
    steps, batch = drive.shape[:2]
    V = jnp.concatenate([e["C"], e["V"]], axis=1)
    z0, unforced = jnp.zeros((batch, n), jnp.float32), jnp.zeros((steps, batch, 0), jnp.float32)
    given = Drive(unforced, drive, jnp.zeros(steps, jnp.float32), fixed.floor)
    states: Any = forced_unroll((e["a"], e["W"], V, e["h"]), z0, given, n)
    return states @ fixed.decoder


@jax.jit
def _all_answers(effective: Params, fixed: Fixed, trials: TrialSet) -> Array:
    return answers(effective, fixed, trials, jnp.arange(len(trials.inputs)))


def make_trials(network: Network, feeders: np.ndarray, examples: Sequence[np.ndarray]) -> TrialSet:
    """Trials from inputs (trials, T, Q), targets (trials, T, outputs) and weights (T,), with what the committed units
    do in each: they never hear from the block, so it is computed once."""
    inputs, targets, weight = (jnp.asarray(part, jnp.float32) for part in examples)
    if len(feeders):
        z0 = np.zeros((len(inputs), len(feeders)), np.float32)
        drive = heard(network.system(feeders, NOBODY), z0, inputs.shape[1], inputs)
    else:
        drive = jnp.zeros((len(inputs), inputs.shape[1], 0), jnp.float32)
    return TrialSet(inputs, targets, weight, drive)


def respond(network: Network, task: int, inputs: np.ndarray) -> np.ndarray:
    """The outputs (trials, T, 3) of task number `task` to inputs (trials, T, Q), from the units that it needs."""
    units = network.runs[task]
    rest = np.zeros((len(inputs), 0), np.float32)
    states = run_under(network.task_system(task), rest, inputs, np.arange(len(units)))
    return (states.swapaxes(0, 1) @ network.decoders[task][units]).swapaxes(0, 1)  # steps first, as they are stored


WEIGHT = 30.0
"""Of wrong answers in the rank: a third of a percent of them, or an error of 0.03, are worth a tolerance of 0.1."""


def trial_score(accuracy: float, error: float) -> Score:
    """The rank is mostly the wrong answers; the error decides between equals."""
    rank = WEIGHT * (1 - accuracy) + 0.1 * WEIGHT * error
    return Score({"accuracy": accuracy, "error": error}, rank, 1 / max(accuracy, 1e-9))


class TrialScorer(Scorer):
    """Accuracy and error on fresh trials, drawn like the training ones."""

    names = ("accuracy", "error")

    def __init__(self, network: Network, feeders: np.ndarray, task: TrialTask):
        self.task = task
        self.trials = make_trials(network, feeders, task.parts(task.fresh))

    def score(self, network: Network, block: Block, effective: Params, look: Look = Look.QUICK) -> Score:
        outputs = np.asarray(_all_answers(effective, block.fixed, self.trials)).swapaxes(0, 1)
        return self.task.judged(outputs, self.task.fresh)

    def states(self, network: Network, block: Block, effective: Params) -> np.ndarray:
        everything = block.fixed._replace(decoder=jnp.eye(len(block.units)))
        return np.asarray(_all_answers(effective, everything, self.trials))[:, :, : len(block.members)]


# the tasks

FRESH = 2_000
"""Trials, drawn like the training ones, that checkpoints are scored on."""


@dataclass(frozen=True)
class TrialTask(Task):
    """A task of trials. No units are read out by themselves: its outputs are made of all of them."""

    name: str
    title: str
    number: int
    train: Trials
    fresh: Trials
    test: Trials
    settings: TrialSettings
    dim: int = 0
    outputs: int = OUTPUTS
    quick: ClassVar[bool] = True
    pieces: ClassVar[str] = "trials"

    @property
    def weight(self) -> np.ndarray:
        """Of each step in the loss."""
        steps = np.arange(STEPS)
        return (steps >= self.train.protocol.response).astype(np.float32) if self.settings.masked else np.ones(STEPS)

    @property
    def samples(self) -> int:
        return len(self.train.inputs)

    def parts(self, trials: Trials) -> list[np.ndarray]:
        """Trials as `make_trials` takes them."""
        return [trials.inputs, trials.targets, np.asarray(self.weight, np.float32)]

    def judged(self, outputs: np.ndarray, trials: Trials) -> Score:
        """The score of outputs (trials, T, 3)."""
        right = correct(outputs[:, -1], trials, self.settings.strict)
        error = self.weight[None, :, None] * (outputs - trials.targets) ** 2
        return trial_score(float(right.mean()), float(error.mean()) if np.isfinite(error).all() else np.inf)

    def data(
        self, network: Network, feeders: np.ndarray, settings: TrainingSettings, rng: np.random.Generator
    ) -> TrialSet:
        return make_trials(network, feeders, self.parts(self.train))

    def scorer(self, network: Network, feeders: np.ndarray, settings: TrainingSettings) -> Scorer:
        return TrialScorer(network, feeders, self)

    def evaluate(self, network: Network, number: int, seed: int | None = None) -> Score:
        return self.judged(respond(network, number, self.test.inputs), self.test)

    def worst(self) -> Score:
        return trial_score(0.0, np.inf)

    def examples(self) -> list[np.ndarray]:
        return self.parts(self.train)

    def imagine(self, network: Network, number: int) -> list[np.ndarray]:
        """Fresh inputs with what the network answers to them."""
        inputs = self.fresh.inputs[: self.samples]
        return [inputs, respond(network, number, inputs), np.asarray(self.weight, np.float32)]

    def view(
        self,
        network: Network,
        block: Block,
        readout: np.ndarray,
        examples: Sequence[np.ndarray],
        settings: TrainingSettings,
    ) -> View:
        return View(make_trials(network, NOBODY, examples), block.fixed, jnp.arange(len(block.units)))

    def picture(self, network: Network, number: int) -> Picture:
        inputs, targets = self.test.inputs[0], self.test.targets[0]
        outputs = respond(network, number, inputs[None])[0]
        return Picture("trial", self.title, {"input channel": inputs, "target": targets, "output": outputs})

    def new_network(self, sizes: NetworkSettings, tasks: Sequence[Task], rng: np.random.Generator) -> Network:
        return create_for_trials(sizes.M, sizes.P, INPUTS, rng)

    def recycle(self, network: Network, rng: np.random.Generator) -> Network:
        return recycle_for_trials(network, rng)


NAMES = tuple(protocol.name for protocol in PROTOCOLS)


def load(name: str, seed: int, settings: Section | None = None) -> TrialTask:
    """The task of that name; its trials follow from the seed."""
    number = NAMES.index(name)
    settings = settings if isinstance(settings, TrialSettings) else TrialSettings()
    counts = (settings.train, FRESH, settings.test)
    train, fresh, test = (
        draw(number, count, generator(seed, Stream.TRIALS, number, part), settings) for part, count in enumerate(counts)
    )
    return TrialTask(name, PROTOCOLS[number].title, number, train, fresh, test, settings)


FAMILY = Family(
    "cognitive",
    {protocol.name: protocol.title for protocol in PROTOCOLS},
    load,
    sequences={"cognitive": NAMES},
    presets={
        "network": {"M": 120, "P": 60},
        "epochs": 50,
        "select": "last",
        "training": {"batch": 64, "window": 1, "windows": "fixed", "optimiser": "radam", "lr": 1e-2, "lr_end": 1e-4},
    },
    section="trials",
)
"""The presets are the paper's network and budget, under every method."""
