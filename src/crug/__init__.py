"""Continual learning of dynamical systems: one recurrent network learns system after system and forgets none.

    import crug

    model = crug.Model(seed=0)
    model.learn(crug.read("monday.csv"), name="monday")
    model.rollout("monday", 5_000)
    model.save("lab.crug")

    result = crug.run("vlrc", method="ewc", seed=0)

Importing crug changes nothing in the process, and imports its parts when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crug import methods, metrics, tasks
    from crug.errors import CrugError
    from crug.model import Model, load, merge
    from crug.readers import Recording, read
    from crug.runs import Result, run
    from crug.tasks import Score

    __version__: str

_HOME = {
    "CrugError": "crug.errors",
    "Model": "crug.model",
    "Recording": "crug.readers",
    "Result": "crug.runs",
    "Score": "crug.tasks",
    "load": "crug.model",
    "merge": "crug.model",
    "read": "crug.readers",
    "run": "crug.runs",
}
_ROOMS = ("methods", "metrics", "tasks")

__all__ = [
    "CrugError",
    "Model",
    "Recording",
    "Result",
    "Score",
    "__version__",
    "load",
    "merge",
    "methods",
    "metrics",
    "read",
    "run",
    "tasks",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("crug")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _ROOMS:
        return import_module(f"crug.{name}")
    raise AttributeError(f"module 'crug' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
