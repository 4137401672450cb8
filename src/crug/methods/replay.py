"""Replay (paper, appendix A.7): after every so many steps on the present task, one on an earlier task drawn at random.

Experience replay keeps each task's training trajectory. Generative replay keeps none: it lets the network run freely
right after a task was learned and replays that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from crug.core.network import Network
from crug.methods.base import Assignment, Lesson, Memory, Rehearsal
from crug.methods.shared import ALTERNATING, Shared
from crug.training.objective import Objective
from crug.training.settings import Given, RunSettings


class ReplaySettings(RunSettings):
    every: Annotated[int, Field(ge=1, description="steps on the present task between two steps of replay")] = 1

    presets: ClassVar[Mapping[str, Given]] = {"cognitive": {"every": 2}}
    usual: ClassVar[Given] = {**ALTERNATING, "select": "last"}
    """The last checkpoint: the best of the present task alone may have lost an earlier one."""
    search: ClassVar[Mapping[str, tuple[float, float]]] = {"every": (1, 200)}


class ExperienceReplay(Shared):
    name: ClassVar[str] = "er"
    summary: ClassVar[str] = "experience replay: keeps the data of earlier tasks and goes on training on them"
    Settings: ClassVar[type[RunSettings]] = ReplaySettings

    def __init__(self, settings: RunSettings):
        super().__init__(settings)
        self.objective = Objective(replay=self.settings.every)

    def rehearse(self, assignment: Assignment) -> list[Rehearsal]:
        memory, found = assignment.memory, []
        for k, task in enumerate(assignment.sequence[: assignment.number]):
            names = sorted(name for name in memory if name.startswith(f"task.{k}."))
            if names:
                found.append(Rehearsal(task, assignment.network.readouts[k], [memory[name] for name in names]))
        return found

    def remember(self, lesson: Lesson, after: Network) -> Memory:
        return _with(lesson, lesson.task.examples())


class GenerativeReplay(ExperienceReplay):
    name: ClassVar[str] = "gr"
    summary: ClassVar[str] = "generative replay: goes on training on what the network itself made of earlier tasks"

    def remember(self, lesson: Lesson, after: Network) -> Memory:
        return _with(lesson, lesson.task.imagine(after, lesson.number))


def _with(lesson: Lesson, examples: Sequence[np.ndarray]) -> Memory:
    return {**lesson.memory, **{f"task.{lesson.number}.{i}": piece for i, piece in enumerate(examples)}}
