"""Replay (paper, appendix A.7): after every so many steps on the present task, one on an earlier task drawn at random.

Experience replay keeps each task's training trajectory. Generative replay keeps none: it lets the network run freely
right after a task was learned and replays that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from crug.config import RunConfig
from crug.evaluation import STARTS, free_run, respond
from crug.methods.base import Lesson, Memory, Rehearsal, examples
from crug.methods.shared import ALTERNATING, Shared
from crug.network import Network
from crug.tasks import AnyTask, TrialTask
from crug.training import Objective


class ReplayConfig(RunConfig):
    every: Annotated[int, Field(ge=1, description="steps on the present task between two steps of replay")] = 1

    presets: ClassVar[dict[str, dict[str, Any]]] = {"cognitive": {"every": 2}}
    usual: ClassVar[dict[str, Any]] = {**ALTERNATING, "select": "last"}
    """The last checkpoint: the best of the present task alone may have lost an earlier one."""
    search: ClassVar[dict[str, tuple[float, float]]] = {"every": (1, 200)}


class ExperienceReplay(Shared):
    name: ClassVar[str] = "er"
    summary: ClassVar[str] = "experience replay: keeps the data of earlier tasks and goes on training on them"
    Config: ClassVar[type[RunConfig]] = ReplayConfig

    def __init__(self, config: RunConfig):
        super().__init__(config)
        self.objective = Objective(replay=self.config.every)

    def rehearse(self, network: Network, tasks: Sequence[AnyTask], number: int, memory: Memory) -> list[Rehearsal]:
        stored = [sorted(name for name in memory if name.startswith(f"task.{k}.")) for k in range(number)]
        return [
            Rehearsal(network.readouts[k], [memory[name] for name in names]) for k, names in enumerate(stored) if names
        ]

    def remember(self, before: Network, after: Network, lesson: Lesson, memory: Memory) -> Memory:
        return _with(memory, lesson.number, examples(lesson.task))


class GenerativeReplay(ExperienceReplay):
    name: ClassVar[str] = "gr"
    summary: ClassVar[str] = "generative replay: goes on training on what the network itself made of earlier tasks"

    def remember(self, before: Network, after: Network, lesson: Lesson, memory: Memory) -> Memory:
        """As many samples as the training data had, from several starts; a rollout that runs away is not kept.

        Of a task of trials, fresh inputs with what the network answers to them.
        """
        if isinstance(lesson.task, TrialTask):
            inputs = lesson.task.fresh.inputs[: len(lesson.task.train.inputs)]
            weight = np.asarray(lesson.task.weight, np.float32)
            return _with(memory, lesson.number, [inputs, respond(after, lesson.number, inputs), weight])
        x = lesson.task.train
        x0 = x[np.linspace(0, len(x) - 1, STARTS).astype(int)]
        rollouts = free_run(after, lesson.number, x0, len(x) // STARTS)
        reach = RUNAWAY * np.abs(x).max()
        sane = [r for r in rollouts if np.isfinite(r).all() and np.abs(r).max() < reach]
        return _with(memory, lesson.number, sane)


def _with(memory: Memory, number: int, pieces: list[np.ndarray]) -> Memory:
    return {**memory, **{f"task.{number}.{i}": piece for i, piece in enumerate(pieces)}}


RUNAWAY = 10
"""A rollout this many times farther out than the data ever were has run away."""
