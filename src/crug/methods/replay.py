"""Replay (paper, appendix A.7): after every so many steps on the present task, one on an earlier task drawn at random.

Experience replay keeps each task's training trajectory. Generative replay keeps none: it lets the network run freely
right after a task was learned and replays that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from crug.config import RunConfig
from crug.evaluation import STARTS, free_run
from crug.methods.base import Lesson, Memory, Rehearsal
from crug.methods.shared import Shared
from crug.network import Network
from crug.tasks import Task
from crug.training import Objective


class ReplayConfig(RunConfig):
    every: Annotated[int, Field(ge=1, description="steps on the present task between two steps of replay")] = 1

    search: ClassVar[dict[str, tuple[float, float]]] = {"every": (1, 200)}


class ExperienceReplay(Shared):
    name: ClassVar[str] = "er"
    summary: ClassVar[str] = "experience replay: keeps the data of earlier tasks and goes on training on them"
    Config: ClassVar[type[RunConfig]] = ReplayConfig

    def __init__(self, config: RunConfig):
        super().__init__(config)
        self.objective = Objective(replay=self.config.every)

    def rehearse(self, network: Network, tasks: Sequence[Task], number: int, memory: Memory) -> list[Rehearsal]:
        stored = [sorted(name for name in memory if name.startswith(f"task.{k}.")) for k in range(number)]
        return [
            Rehearsal(network.readouts[k], [memory[name] for name in names]) for k, names in enumerate(stored) if names
        ]

    def remember(self, before: Network, after: Network, lesson: Lesson, memory: Memory) -> Memory:
        return {**memory, f"task.{lesson.number}.0": np.asarray(lesson.task.train, np.float32)}


class GenerativeReplay(ExperienceReplay):
    name: ClassVar[str] = "gr"
    summary: ClassVar[str] = "generative replay: goes on training on what the network itself made of earlier tasks"

    def remember(self, before: Network, after: Network, lesson: Lesson, memory: Memory) -> Memory:
        """As many samples as the training data had, from several starts; a rollout that runs away is not kept."""
        x = lesson.task.train
        x0 = x[np.linspace(0, len(x) - 1, STARTS).astype(int)]
        rollouts = free_run(after, lesson.number, x0, len(x) // STARTS)
        reach = RUNAWAY * np.abs(x).max()
        sane = [r for r in rollouts if np.isfinite(r).all() and np.abs(r).max() < reach]
        return {**memory, **{f"task.{lesson.number}.{i}": r for i, r in enumerate(sane)}}


RUNAWAY = 10
"""A rollout this many times farther out than the data ever were has run away."""
