"""A run as its folder has it, also one that is under way: what is known so far."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crug.core.network import Network
from crug.errors import CrugError
from crug.runs.folder import complete, final_network, read_config, read_curves, read_learned, read_task, task_folder
from crug.runs.plan import Plan
from crug.runs.result import FILE, Learned, Result
from crug.tasks import load
from crug.tasks.base import Task
from crug.training.settings import RunSettings


@dataclass(frozen=True)
class Opened:
    """What there is of a run: the tasks that it has learned, and the network as it is now.

    `result` is there when the run is over.
    """

    plan: Plan
    settings: dict[str, Any]
    network: Network
    tasks: tuple[Task, ...]
    learned: tuple[Learned, ...]
    curves: tuple[dict[str, np.ndarray], ...]
    result: Result | None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the tasks that were learned."""
        return tuple(task.name for task in self.tasks)


def open_run(folder: Path) -> Opened:
    """The run in a folder, as far as it has come."""
    config = read_config(folder)
    plan = config.plan
    places = [task_folder(folder, k, name) for k, name in enumerate(plan.tasks)]
    done = next((k for k, place in enumerate(places) if not complete(place)), len(places))
    if not done:
        raise CrugError(f"{folder}: no task of this run has been learned yet; wait until the first one has")
    result = Result.read(folder) if (folder / FILE).exists() else None
    network = final_network(folder) if result else read_task(places[done - 1])[1]
    known = RunSettings.model_validate({k: v for k, v in config.settings.items() if k in RunSettings.model_fields})
    return Opened(
        plan,
        config.settings,
        network,
        tuple(load(name, plan.seed, known) for name in plan.tasks[:done]),
        tuple(read_learned(place)[0] for place in places[:done]),
        tuple(read_curves(place) for place in places[:done]),
        result,
    )
