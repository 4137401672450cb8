"""Interleaved training: all tasks together, each with the same number of steps. What a network of this size can hold
when nothing has to be remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from crug.config import RunConfig
from crug.methods.base import Hints, Lesson, Memory, Rehearsal, examples
from crug.methods.shared import ALTERNATING, Shared, readouts
from crug.network import Network
from crug.phases import Outcome, Phase
from crug.tasks import AnyTask


class InterleavedConfig(RunConfig):
    usual: ClassVar[dict[str, Any]] = ALTERNATING


class Interleaved(Shared):
    """Everything is learned in the first task's turn; in the turns of the others nothing is left to do."""

    name: ClassVar[str] = "interleaved"
    summary: ClassVar[str] = "all tasks at once, in turns; not continual, the reference"
    Config: ClassVar[type[RunConfig]] = InterleavedConfig

    def rehearse(self, network: Network, tasks: Sequence[AnyTask], number: int, memory: Memory) -> list[Rehearsal]:
        if number:
            return []
        own = readouts(network, tasks)
        return [Rehearsal(own[k], examples(task), task) for k, task in enumerate(tasks) if k]

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        phase, times = None if hints.task else super().next_phase(history, hints), len(self.config.tasks)
        return phase and replace(phase, epochs=times * phase.epochs, score_every=times * phase.score_every)

    def close(
        self, network: Network, lesson: Lesson, memory: Memory, rng: np.random.Generator
    ) -> tuple[Network, Memory]:
        return self.write(network, lesson, readouts(network, lesson.tasks)), memory
