"""Formats that foreign C code parses: each file is read by a process of its own, with limits (`parsers.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crug.errors import CrugError
from crug.runtime import gigabytes

SECONDS, BYTES_A_SECOND = 20, 1_000_000
"""What a small file may take to be parsed, and how many bytes of a larger one earn another second."""
MEMORY, EXPANSION = 256_000_000, 16
"""Bytes that a small file may unfold into, and how many times its own size a larger one may have in addition."""
PARSERS = Path(__file__).with_name("parsers.py")
NEEDS = {
    "parquet": ("pyarrow", "Parquet needs pyarrow", 'pip install "crug[parquet]"'),
    "wfdb": ("wfdb", "WFDB records need wfdb", 'pip install "crug[physionet]"'),
}
QUIET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Parsed(NamedTuple):
    """What there is in a file: names, what each stands for, and its numbers where these are some."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[np.ndarray | None, ...]
    interval: float | None = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers by name."""
        return {name: value for name, value in zip(self.names, self.values, strict=True) if value is not None}


def parsed(kind: str, path: Path, remedy: str) -> Parsed:
    """What is in a file; or why it cannot be read. Whatever the parser does, this process goes on."""
    if kind in NEEDS and find_spec(NEEDS[kind][0]) is None:
        raise CrugError(f"{path}: {NEEDS[kind][1]}", NEEDS[kind][2])
    size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}.*")) if kind == "wfdb" else 0
    size = size or (path.stat().st_size if path.exists() else 0)
    if problem := _foreign(kind, path):
        raise CrugError(f"{path}: cannot be read ({problem})", remedy)
    memory = MEMORY + EXPANSION * size
    seconds = SECONDS + size // BYTES_A_SECOND
    asked = {"kind": kind, "path": str(path), "seconds": seconds, "memory": memory, "paths": sys.path}
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(PARSERS)],
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=1.25 * seconds,
            env={**os.environ, **QUIET},
        )
    except subprocess.TimeoutExpired:
        raise CrugError(f"{path}: cannot be read (not done after {1.25 * seconds:.0f} seconds)", remedy) from None
    if done.returncode or len(done.stdout) < 8:
        why = "its parser ended without an answer, as on a damaged file or one that unfolds into more than "
        raise CrugError(f"{path}: cannot be read ({why}{gigabytes(memory)})", remedy)
    return _unpacked(path, done.stdout, remedy)


def _foreign(kind: str, path: Path) -> str:
    """What plainly keeps a file from being of its kind: told without starting anything."""
    if kind == "wfdb":
        return ""
    with open(path, "rb") as file:
        head = file.read(128)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    if kind == "npz" and not head.startswith(b"PK"):
        return "no archive of arrays"
    if kind == "parquet" and not (head[:4] == tail == b"PAR1"):
        return "no Parquet file, or one that was cut off"
    if kind == "mat" and head[126:128] not in (b"IM", b"MI") and not _version_4(head[:4]):
        return "no MATLAB file"
    return ""


def _version_4(word: bytes) -> bool:
    """Whether a MATLAB file of version 4 may begin so: with a small number, in either order of bytes."""
    return any(0 <= int.from_bytes(word, order) <= 4_052 for order in ("little", "big"))  # MOPT in the manual


def _unpacked(path: Path, answer: bytes, remedy: str) -> Parsed:
    """What the parser answered."""
    end = 8 + int.from_bytes(answer[:8], "little")
    told = json.loads(answer[8:end])
    if "error" in told:
        what = "a MATLAB 7.3 file" if told.get("version") else f"cannot be read ({brief(told['error'])})"
        raise CrugError(f"{path}: {what}", "save it in MATLAB with the option -v7" if told.get("version") else remedy)
    values: list[np.ndarray | None] = []
    for form in told["arrays"]:
        if form is None:
            values.append(None)
            continue
        dtype, shape = np.dtype(form[0]), tuple(form[1])
        count = int(np.prod(shape, dtype=np.int64))
        values.append(np.frombuffer(answer, dtype, count, end).reshape(shape))
        end += count * dtype.itemsize
    return Parsed(tuple(told["names"]), tuple(told["kinds"]), tuple(values), told.get("interval"))


def brief(error: Exception | str) -> str:
    """The first line of a message, not too much of it."""
    text = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in text)
