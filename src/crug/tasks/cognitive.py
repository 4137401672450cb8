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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crug.config import TrialSettings

STEPS, RAW, OUTPUTS = 40, 9, 3
WITHIN = np.deg2rad(30)
"""An answer is right when it is closer to the target direction than this."""


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


FRESH = 2_000
"""Trials, drawn like the training ones, that checkpoints are scored on."""


@dataclass(frozen=True)
class TrialTask:
    """A task of trials. No units are read out by themselves: its outputs are made of all of them."""

    name: str
    title: str
    number: int
    train: Trials
    fresh: Trials
    test: Trials
    settings: TrialSettings
    dim: int = 0

    @property
    def weight(self) -> np.ndarray:
        """Of each step in the loss."""
        steps = np.arange(STEPS)
        return (steps >= self.train.protocol.response).astype(np.float32) if self.settings.masked else np.ones(STEPS)


NAMES = tuple(protocol.name for protocol in PROTOCOLS)
SEQUENCES = {"cognitive": NAMES}


def load(name: str, seed: int, settings: TrialSettings | None = None) -> TrialTask:
    """The task of that name; its trials follow from the seed."""
    number, settings = NAMES.index(name), settings or TrialSettings()
    counts = (settings.train, FRESH, settings.test)
    train, fresh, test = (
        draw(number, n, np.random.default_rng([seed, number, i]), settings) for i, n in enumerate(counts)
    )
    return TrialTask(name, PROTOCOLS[number].title, number, train, fresh, test, settings)
