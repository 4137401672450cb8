"""Interleaved training: all tasks together, each with the same number of steps. What a network of this size can hold
when nothing has to be remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from crug.methods.base import Assignment, Closing, Hints, Lesson, Rehearsal
from crug.methods.shared import ALTERNATING, Shared, readouts
from crug.training.phases import Outcome, Phase
from crug.training.settings import Given, RunSettings


class InterleavedSettings(RunSettings):
    usual: ClassVar[Given] = ALTERNATING


class Interleaved(Shared):
    """Everything is learned in the first task's turn; in the turns of the others nothing is left to do."""

    name: ClassVar[str] = "interleaved"
    summary: ClassVar[str] = "all tasks at once, in turns; not continual, the reference"
    Settings: ClassVar[type[RunSettings]] = InterleavedSettings

    def rehearse(self, assignment: Assignment) -> list[Rehearsal]:
        if assignment.number:
            return []
        own = readouts(assignment.network, assignment.sequence)
        later = list(enumerate(assignment.sequence))[1:]
        return [Rehearsal(task, own[k], task.examples(), scored=True) for k, task in later]

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        phase = None if hints.number else super().next_phase(history, hints)
        times = hints.tasks
        return phase and replace(phase, epochs=times * phase.epochs, score_every=times * phase.score_every)

    def close(self, lesson: Lesson, rng: np.random.Generator) -> Closing:
        return Closing(self.write(lesson, readouts(lesson.before, lesson.assignment.sequence)), lesson.memory)
