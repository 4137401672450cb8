"""Run folders: every file is written whole or not at all, carries its own checksum, and never a pickle.

```
DIR/config.json                       what the run is of, its settings, and which version of crug ran it
DIR/tasks/1-lorenz/network.safetensors   the network right after this task was learned
DIR/tasks/1-lorenz/memory.safetensors    what the method remembers for the next task
DIR/tasks/1-lorenz/task.json             scores, and every phase of the walk (the capacity curve)
DIR/tasks/1-lorenz/curves.safetensors    learning curves
DIR/progress/                         what the task being learned has come to
DIR/network.safetensors               the final network
DIR/result.json                       the result
```
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as dump_tensors

from crug.errors import CrugError

DIVERGENT = "div."


def write_bytes(path: Path, content: bytes) -> None:
    """All of `content`, or the file as it was. Through a link, the file that it leads to."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def encode(value: Any) -> Any:
    """JSON has no infinity: what is not finite becomes "div."."""
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else DIVERGENT
    return value


def decode(value: Any) -> Any:
    """The inverse of `encode`."""
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    return np.inf if value == DIVERGENT else value


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, (json.dumps(encode(value), indent=1) + "\n").encode())


def read_json(path: Path) -> Any:
    try:
        return decode(json.loads(path.read_text()))
    except (FileNotFoundError, NotADirectoryError):
        raise CrugError(f"{path}: there is no such file; is this the folder of a run?") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise CrugError(f"{path}: damaged (not JSON); delete it and run the same command again") from None


def write_arrays(path: Path, arrays: dict[str, np.ndarray], **metadata: str) -> None:
    """The arrays, and what is said about them: both under one checksum."""
    arrays = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    write_bytes(path, dump_tensors(arrays, metadata={**metadata, "sha256": _digest(arrays, metadata)}))


def read_arrays(path: Path, check: bool = True) -> dict[str, np.ndarray]:
    """The arrays of a file; with `check`, refused where they are not what was written."""
    return read_described(path, check)[0]


def read_described(
    path: Path, check: bool = True, foreign: str = "damaged checkpoint", remedy: str = ""
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a file, and what is said about them. `foreign` is what is said of a file that is not of ours."""
    remedy = remedy or REMEDY
    try:
        content = path.read_bytes()
        arrays = parse_tensors(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except FileNotFoundError:
        raise CrugError(f"{path}: there is no such file; is this the folder of a run?") from None
    except (SafetensorError, ValueError) as error:
        raise CrugError(f"{path}: {foreign} ({error}); {remedy}") from None
    metadata = header.get("__metadata__", {})
    stored = metadata.pop("sha256", None)
    if stored is None:
        raise CrugError(f"{path}: {foreign} (it has no checksum); {remedy}")
    if check and stored != _digest(arrays, metadata):
        raise CrugError(f"{path}: damaged checkpoint (its checksum differs); {remedy}")
    return arrays, metadata


REMEDY = "delete this file and run the same command again: it goes on from the checkpoint before"


def _digest(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(metadata):
        digest.update(f"{name} {metadata[name]} ".encode())
    for name in sorted(arrays):
        value = arrays[name]
        digest.update(f"{name} {value.dtype} {value.shape} ".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def prepare(folder: Path, about: dict[str, Any], version: str) -> None:
    """Make the folder this run's, or find that it already is; refuse one that belongs to another run.

    `about` has the run's plan and its settings.
    """
    file = folder / "config.json"
    other = "choose another folder (out)", "choose another --out"
    if file.exists():
        wanted, stored = decode(encode(about)), {k: v for k, v in read_json(file).items() if k != "version"}
        if stored != wanted:
            difference = _difference(stored, wanted)
            if difference.startswith("source"):
                changed = f"{about['plan']['method']} has changed since this run began"
                raise CrugError(f"{folder}: {changed}", *(f"{o}, or remove the folder" for o in other))
            raise CrugError(f"{folder}: holds another run ({difference})", *other)
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise CrugError(f"{folder}: not empty and not a run of crug", *other)
    try:
        write_json(file, {**about, "version": version})
    except OSError as error:
        raise CrugError(f"{folder}: cannot write there ({error.strerror})", *other) from None


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


def complete(place: Path) -> bool:
    """Whether a task's folder has all that the next task begins with."""
    parts = ("task.json", "network.safetensors", "memory.safetensors", "curves.safetensors")
    return all((place / name).exists() for name in parts)


def task_folder(folder: Path, number: int, name: str) -> Path:
    return folder / "tasks" / f"{number + 1}-{name}"


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Nobody else works on the file, or the folder, meanwhile."""
    path = file / ".lock" if file.is_dir() else file.resolve().with_name(f".{file.resolve().name}.lock")
    if not path.parent.is_dir():
        raise CrugError(f"{file}: its folder does not exist; make it first")
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise CrugError(f"{file}: another crug is working on it; wait until it is done") from None
    try:
        yield
    finally:
        if os.name == "posix":  # while it is held: who waits for it sees that it is gone, and takes a new one
            path.unlink(missing_ok=True)
        lock.release()


def clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
