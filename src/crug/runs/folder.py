"""A run's folder: what is in it, whose it is, and what the next task begins with.

```
DIR/config.json                       what the run is of, its settings, and what made it
DIR/tasks/1-lorenz/network.safetensors   the network right after this task was learned
DIR/tasks/1-lorenz/memory.safetensors    what the method remembers for the next task
DIR/tasks/1-lorenz/curves.safetensors    learning curves
DIR/tasks/1-lorenz/task.json             scores, every phase of the walk, and the checksums of the files beside it
DIR/progress/                         what the task being learned has come to
DIR/network.safetensors               the final network
DIR/result.json                       the result
```
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from crug.core.network import Network, to_arrays
from crug.core.sound import read_network
from crug.errors import CrugError
from crug.runs import store
from crug.runs.learning import Taught
from crug.runs.plan import Origin, Plan
from crug.runs.result import Learned

CONFIG, NETWORK, TASK = "config.json", "network.safetensors", "task.json"
PARTS = (NETWORK, "memory.safetensors", "curves.safetensors")
"""What task.json vouches for."""
OTHER = "choose another folder (out)", "choose another --out"


class Config(Origin):
    """What a run is of, and how, and what made it."""

    plan: Plan
    settings: dict[str, Any]

    @property
    def origin(self) -> Origin:
        return Origin(version=self.version, edition=self.edition, machine=self.machine)

    @property
    def outdated(self) -> bool:
        """Whether an earlier edition of its method or tasks made it."""
        return self.edition is not None and self.edition != self.plan.edition


CONFIG_KIND = TypeAdapter(Config)


def read_config(folder: Path) -> Config:
    """What the run in a folder is of."""
    file = folder / CONFIG
    return store.checked(CONFIG_KIND, store.read_json(file), file, "this folder cannot be trusted; run it anew")


def prepare(folder: Path, about: dict[str, Any], origin: Origin) -> None:
    """Make the folder this run's, or find that it already is; refuse one that belongs to another run.

    `about` has the run's plan and its settings.
    """
    if _begun(folder, about):
        return
    if folder.is_dir() and not all(map(store.leftover, folder.iterdir())):
        raise CrugError(f"{folder}: not empty and not a run of crug", *OTHER)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with store.alone(folder, within=True):
            if not _begun(folder, about):  # somebody else may have begun a run there in the meantime
                store.write_json(folder / CONFIG, {**about, **origin.model_dump(mode="json")})
    except OSError as error:
        raise CrugError(f"{folder}: cannot write there ({error.strerror})", *OTHER) from None


def _begun(folder: Path, about: dict[str, Any]) -> bool:
    """Whether the folder has this run already. One that has another run is refused."""
    if not (folder / CONFIG).exists():
        return False
    stored = read_config(folder)
    old = {"plan": stored.plan.model_dump(mode="json"), "settings": stored.settings}
    wanted = store.decode(store.encode(about))
    if old != wanted:
        difference = _difference(old, wanted)
        if difference.startswith("source"):
            changed = f"{about['plan']['method']} has changed since this run began"
            raise CrugError(f"{folder}: {changed}", *(f"{other}, or remove the folder" for other in OTHER))
        raise CrugError(f"{folder}: holds another run ({difference})", *OTHER)
    return True


def _difference(stored: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The first thing in which two runs differ, `source` last: where all else is equal, it is the method's file."""
    old, new = _flat(stored), _flat(wanted)
    for key in sorted(old.keys() | new.keys(), key=lambda key: (key == "source", key)):
        if old.get(key) != new.get(key):
            return f"{key} is {old.get(key)} there, {new.get(key)} here"
    return ""


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        inside = "" if name in ("plan", "settings") else f"{prefix}{name}."
        found |= _flat(value, inside) if isinstance(value, dict) else {prefix + name: value}
    return found


def task_folder(folder: Path, number: int, name: str) -> Path:
    return folder / "tasks" / f"{number + 1}-{name}"


def complete(place: Path) -> bool:
    """Whether a task's folder has all that the next task begins with."""
    return all((place / name).exists() for name in (*PARTS, TASK))


def final_network(folder: Path) -> Network:
    """The network at the end of a run."""
    return read_network(store.read_arrays(folder / NETWORK), str(folder / NETWORK))


def write_task(place: Path, taught: Taught) -> None:
    """What the next task begins with, and what is said of this one: task.json comes last and vouches for the rest."""
    arrays = zip(PARTS, (to_arrays(taught.network), taught.memory, taught.curves), strict=True)
    files = {name: store.write_arrays(place / name, some) for name, some in arrays}
    store.write_json(place / TASK, {"task": place.name, "files": files, **taught.learned.to_json()})


def read_task(place: Path) -> tuple[Learned, Network, dict[str, np.ndarray]]:
    """What was said of a task, and the network and the memory with which the next one begins."""
    learned, files = read_learned(place)
    network = read_network(_vouched(place / NETWORK, files), str(place / NETWORK))
    return learned, network, _vouched(place / PARTS[1], files)


def read_learned(place: Path) -> tuple[Learned, dict[str, str]]:
    """What was said of a task, and the checksums of the files beside it; an earlier crug kept none."""
    file = place / TASK
    stored = store.read_json(file)
    stored = dict(stored) if isinstance(stored, dict) else {}
    label, files = stored.pop("task", place.name), stored.pop("files", {})
    if label != place.name or not isinstance(files, dict):
        raise CrugError(f"{file}: belongs to another task ({label}); remove the folder and run the same command again")
    return Learned.from_json(stored, file), files


def read_curves(place: Path) -> dict[str, np.ndarray]:
    """The learning curves of a task."""
    return _vouched(place / PARTS[2], read_learned(place)[1])


def _vouched(file: Path, files: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The arrays of a file that task.json vouches for."""
    arrays, about = store.read_described(file)
    if files and store.digest(arrays, about) != files.get(file.name):
        raise CrugError(f"{file}: not the file that {TASK} beside it vouches for; {store.REMEDY}")
    return arrays
