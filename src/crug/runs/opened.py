"""A run as its folder has it, also one that is under way: what is known so far."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from crug.core.network import Network, from_arrays
from crug.errors import CrugError
from crug.runs import store
from crug.runs.plan import Plan
from crug.runs.result import FILE, Learned, Result, checked
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
    file = folder / "config.json"
    config = store.read_json(file)
    plan, settings = checked(TypeAdapter(Plan), config.get("plan"), file), config.get("settings", {})
    places = [store.task_folder(folder, k, name) for k, name in enumerate(plan.tasks)]
    done = next((k for k, place in enumerate(places) if not store.complete(place)), len(places))
    if not done:
        raise CrugError(f"{folder}: no task of this run has been learned yet; wait until the first one has")
    result = Result.read(folder) if (folder / FILE).exists() else None
    last = folder if result else places[done - 1]
    network = from_arrays(store.read_arrays(last / "network.safetensors"))
    known = RunSettings.model_validate({k: v for k, v in settings.items() if k in RunSettings.model_fields})
    files = [place / "task.json" for place in places[:done]]
    return Opened(
        plan,
        settings,
        network,
        tuple(load(name, plan.seed, known) for name in plan.tasks[:done]),
        tuple(Learned.from_json(store.read_json(file), file) for file in files),
        tuple(store.read_arrays(place / "curves.safetensors") for place in places[:done]),
        result,
    )
