"""Runs that nobody made: results of any plan, made up of one that there is."""

from typing import Any

from crug.runs import Result
from crug.studies.wanted import Wanted

SMALL: dict[str, Any] = {"epochs": 2, "network.M": 16, "network.P": 8}


def small(seed: int = 0, **more: Any) -> Wanted:
    return Wanted(sequence=("van-der-pol",), method="naive", seed=seed, given={**SMALL, **more})


def pretended(result: Result, wanted: Wanted, number: float = 1.0) -> Result:
    """The result of another run, made up of one that there is."""
    plan, settings = wanted.plan, wanted.settings.model_dump(mode="json")
    row = result.tasks[0]
    values = {"d_stsp": number, "d_stsp_30": number, "d_h": 0.1 * number, "accuracy": 1 / (1 + number), "valid": 10.0}
    row = row.model_copy(update={"own": values, "final": values, "noisy": {}, "errors": {}})
    rows = [row.model_copy(update={"name": name}) for name in plan.tasks]
    overall = {name: values[name] for name in values}
    known = {"plan": plan, "settings": settings, "tasks": rows, "overall": overall, "units": 40, "shared": False}
    return result.model_copy(update=known)
