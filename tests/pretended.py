"""Small runs and searches, and runs that nobody made: results of any plan, made up of one that there is."""

import subprocess
import time
from pathlib import Path
from typing import Any

from crug.runs import Result
from crug.studies.records import Shelf
from crug.studies.reproduce import Desk
from crug.studies.search import Plan, Space, search, table
from crug.studies.wanted import Wanted

SMALL: dict[str, Any] = {"epochs": 2, "network.M": 16, "network.P": 8}


def small(seed: int = 0, method: str = "naive", **more: Any) -> Wanted:
    return Wanted(sequence=("van-der-pol",), method=method, seed=seed, given={**SMALL, **more})


def quiet(*_: object) -> None: ...


def kept(folder: Path) -> dict[str, object]:
    """What records say of runs, but for how long they took."""
    found = {}
    for record in Shelf(folder).records:
        said = record.result.model_dump()
        found[record.place] = {key: value for key, value in said.items() if key != "seconds"}
    return found


def plan(trials: int = 10, seeds: int = 2, **more) -> Plan:
    wanted = small(method="ewc")
    return Plan(wanted, Space.of(wanted), trials, seeds, **more)


def found(what: Plan, folder: Path, engine) -> list:
    return table(search(what, Desk(Shelf(folder / "results"), folder), engine, quiet))


def until(there, process: subprocess.Popen[bytes], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not there():
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < end
        time.sleep(0.1)


def pretended(result: Result, wanted: Wanted, number: float = 1.0) -> Result:
    """The result of another run, made up of one that there is, as if today's code had made it."""
    plan, settings = wanted.plan, wanted.settings.model_dump(mode="json")
    row = result.tasks[0]
    values = {"d_stsp": number, "d_stsp_30": number, "d_h": 0.1 * number, "accuracy": 1 / (1 + number), "valid": 10.0}
    row = row.model_copy(update={"own": values, "final": values, "noisy": {}, "errors": {}})
    rows = [row.model_copy(update={"name": name}) for name in plan.tasks]
    overall = {name: values[name] for name in values}
    known = {"plan": plan, "settings": settings, "tasks": rows, "overall": overall, "units": 40, "shared": False}
    origin = result.origin and result.origin.model_copy(update={"edition": plan.edition})
    return result.model_copy(update={**known, "origin": origin})
