"""Digests of data, networks and rollouts: by them a model knows that nothing has changed."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from crug.evaluation import free_run
from crug.network import Network, alone, to_arrays

PROOF = 2_000
"""Steps of the rollout whose bits are remembered."""


def digest_of(pieces: Sequence[Any]) -> str:
    return digest(*(np.asarray(piece).tobytes() for piece in pieces))


def machine() -> str:
    """What rounding depends on: the kind of processor and the compiler's version."""
    found = platform.processor() or platform.machine()
    if (cpu := Path("/proc/cpuinfo")).exists():
        lines = cpu.read_text().splitlines()
        found = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), found)
    return f"{found}, jax {jax.__version__}"


def digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def parameters_digest(network: Network, number: int) -> str:
    return digest(network_bytes(alone(network, number)))


def network_bytes(network: Network) -> bytes:
    return b"".join(np.ascontiguousarray(value).tobytes() for _, value in sorted(to_arrays(network).items()))


def rollout_digest(network: Network, number: int, x0: np.ndarray) -> str:
    return digest(free_run(network, number, np.asarray(x0, np.float32), PROOF).tobytes())
