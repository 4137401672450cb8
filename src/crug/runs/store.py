"""Files: every one is written whole or not at all, carries its own checksum, and is never a pickle.

What is in a run's folder is described in `runs/folder.py`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as dump_tensors

from crug.errors import CrugError

DIVERGENT = "div."
SEAL = "sha256"
"""Under this name a file keeps its own checksum."""
REMEDY = "delete this file and run the same command again: it goes on from the checkpoint before"
NUMBERS = itertools.count()

# writing


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write into. What is written takes the place of `path` when all of it is there; whatever fails leaves
    `path` as it was, and nothing else behind. Through a link, the file that it leads to."""
    path = path.resolve()
    if path.is_dir():
        raise CrugError(f"{path}: is a folder; give the path of a file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(NUMBERS)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _settle(path.parent)
    except OSError as error:
        what = f"{path}: cannot be written ({error.strerror or error})"
        raise CrugError(what, "make room, or choose another place") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Have the names in a folder brought to the disk, on systems that know how."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_bytes(path: Path, content: bytes) -> None:
    """All of `content`, or the file as it was."""
    with whole(path) as file:
        file.write(content)


def write_json(path: Path, value: Any) -> None:
    """A value, and its checksum where it has names."""
    value = encode(value)
    if isinstance(value, dict):
        value = {**value, SEAL: _seal(value)}
    write_bytes(path, (json.dumps(value, indent=1) + "\n").encode())


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], **metadata: str) -> str:
    """The arrays, and what is said about them: both under one checksum, which is returned."""
    write_bytes(path, packed_arrays(arrays, **metadata))
    return digest(arrays, metadata)


def packed_arrays(arrays: Mapping[str, np.ndarray], **metadata: str) -> bytes:
    """The bytes of a file of arrays, and of what is said about them."""
    whole = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    return dump_tensors(whole, metadata={**metadata, SEAL: digest(whole, metadata)})


# reading


def read_bytes(path: Path) -> bytes:
    """What is in a file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise CrugError(f"{path}: there is no such file; is this the folder of a run?") from None
    except OSError as error:
        raise CrugError(f"{path}: cannot be read ({error.strerror})") from None


def read_json(path: Path) -> Any:
    """The value that `write_json` wrote; a file of an earlier crug has no checksum."""
    value = parsed_json(read_bytes(path), path)
    if isinstance(value, dict):
        seal = value.pop(SEAL, None)
        if seal is not None and seal != _seal(value):
            raise CrugError(f"{path}: damaged (its checksum differs); delete it and run the same command again")
    return decode(value)


def parsed_json(content: bytes | str, path: Path | str, remedy: str = "", finite: bool = True) -> Any:
    """A value from its text; numbers that are not finite have no place there, unless it is said that they have."""

    def constant(text: str) -> float:
        if finite:
            raise ValueError
        return float(text)

    try:
        return json.loads(content, parse_constant=constant)
    except (ValueError, RecursionError):
        raise CrugError(f"{path}: damaged (not JSON); {remedy or 'delete it and run the same command again'}") from None


def checked(kind: TypeAdapter[Any], stored: Any, source: Path | str, remedy: str = "") -> Any:
    """Something that was stored, as what it should be; or an error that names the file."""
    try:
        return kind.validate_python(stored)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        why = f"{place}: {first['msg']}" if place else first["msg"]
        raise CrugError(f"{source}: not what crug wrote ({why}); {remedy or REMEDY}") from None


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file, refused where they are not what was written."""
    return read_described(path)[0]


def read_described(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a file, and what is said about them."""
    return parsed_arrays(read_bytes(path), path)


def parsed_arrays(
    content: bytes, path: Path, foreign: str = "damaged checkpoint", remedy: str = ""
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays and what is said about them, from the bytes of a file. `foreign` is what is said of one not of ours."""
    remedy = remedy or REMEDY
    try:
        arrays = parse_tensors(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except Exception as error:  # of a kind of numbers that numpy has not, there are several
        raise CrugError(f"{path}: {foreign} ({error}); {remedy}") from None
    metadata = dict(header.get("__metadata__") or {})
    stored = metadata.pop(SEAL, None)
    if stored is None:
        raise CrugError(f"{path}: {foreign} (it has no checksum); {remedy}")
    if stored != digest(arrays, metadata):
        raise CrugError(f"{path}: damaged checkpoint (its checksum differs); {remedy}")
    return arrays, metadata


def digest(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    """The checksum of arrays and of what is said about them."""
    found = hashlib.sha256()
    for name in sorted(metadata):
        found.update(f"{name} {metadata[name]} ".encode())
    for name in sorted(arrays):
        value = np.asarray(arrays[name])
        found.update(f"{name} {value.dtype} {value.shape} ".encode())
        found.update(value.tobytes())
    return found.hexdigest()


def _seal(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# infinity in JSON


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


# one at a time

HELD: ContextVar[frozenset[Path]] = ContextVar("HELD", default=frozenset())
"""What this thread works on alone."""


@contextmanager
def alone(file: Path, within: bool = False, patience: float = 0) -> Iterator[None]:
    """Nobody else works on the file, or the folder, meanwhile; who does is waited for that many seconds.

    What a killed process left half-written is swept away first. With `within`, whoever works on it alone already goes
    on.
    """
    file = file.resolve()
    if within and file in HELD.get():
        yield
        return
    path = file / ".lock" if file.is_dir() else file.with_name(f".{file.name}.lock")
    if not path.parent.is_dir():
        raise CrugError(f"{file}: its folder does not exist; make it first")
    lock = FileLock(path, timeout=patience)
    try:
        lock.acquire()
    except Timeout:
        raise CrugError(f"{file}: another crug is working on it; wait until it is done") from None
    except OSError as error:
        what = f"{file}: cannot write there ({error.strerror})"
        raise CrugError(what, "make room, or choose another place") from None
    token = HELD.set(HELD.get() | {file})
    try:
        _sweep(file)
        yield
    finally:
        HELD.reset(token)
        if os.name == "posix":  # while it is held: who waits for it sees that it is gone, and takes a new one
            with suppress(OSError):
                path.unlink(missing_ok=True)
        lock.release()


def leftover(path: Path) -> bool:
    """Whether this is what a killed process leaves: half a file, or a lock."""
    return path.name.startswith(".") and path.name.endswith((".tmp", ".lock"))


def _sweep(file: Path) -> None:
    """Remove what a killed process left of the file, or of any file in the folder; not what somebody else is writing
    now, whose file's name only begins alike."""
    own = re.compile(rf"\.{'.+' if file.is_dir() else re.escape(file.name)}\.\d+(-\d+)?\.tmp")
    for path in file.rglob(".*.tmp") if file.is_dir() else file.parent.glob(".*.tmp"):
        if own.fullmatch(path.name):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
