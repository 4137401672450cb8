"""Digests of data, networks and rollouts: by them a model knows that nothing has changed."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from crug.core.network import Network, alone, to_arrays


def machine() -> str:
    """What rounding depends on: the kind of processor, the compiler's version and what it compiles for."""
    found = platform.processor() or platform.machine()
    if (cpu := Path("/proc/cpuinfo")).exists():
        lines = cpu.read_text().splitlines()
        found = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), found)
    backend = jax.default_backend()
    return f"{found}, jax {jax.__version__}" + ("" if backend == "cpu" else f", {backend}")


def digest(*parts: bytes) -> str:
    """One digest of all parts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def digest_of(arrays: Iterable[Any]) -> str:
    """One digest of all arrays, by their bytes."""
    return digest(*(np.asarray(array).tobytes() for array in arrays))


def network_bytes(network: Network) -> bytes:
    """All of a network."""
    return b"".join(np.ascontiguousarray(value).tobytes() for _, value in sorted(to_arrays(network).items()))


def parameters_digest(network: Network, number: int) -> str:
    """Of all that a task needs of the network."""
    return digest(network_bytes(alone(network, number)))
