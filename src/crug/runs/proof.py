"""Digests of data, networks and rollouts: by them a model knows that nothing has changed."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from crug.core.network import Network, alone, to_arrays

VECTORS = re.compile(r"sse4_2|avx\w*|fma|amx\w*|asimd\w*|sve\w*")
"""Instructions of a processor by which it adds up several numbers at once, and rounds accordingly."""
PART = "; "
HARMLESS = re.compile(r"--xla_(cpu_multi_thread_eigen|dump|force_host_platform_device_count|hlo_profile|gpu)\w*(=\S*)?")
"""Flags of the compiler that change no rounding."""


def machine() -> str:
    """What rounding depends on: the kind of processor and its instructions, the compiler's version, what it compiles
    for, and what it was told."""
    found = _said_of_cpu("model name") or platform.processor() or platform.machine()
    backend = jax.default_backend()
    found += f", jax {jax.__version__}" + ("" if backend == "cpu" else f", {backend}")
    vectors = sorted(set(VECTORS.findall(_said_of_cpu("flags", "Features"))))
    told = HARMLESS.sub("", os.environ.get("XLA_FLAGS", "")).split()
    names = "jax_enable_x64", "jax_default_matmul_precision"
    told += [f"{name}={value}" for name in names if (value := getattr(jax.config, name))]
    return PART.join([found, " ".join(vectors), " ".join(sorted(told))])


def other_machine(stored: str) -> str:
    """In what a machine that was noted differs from this one as far as rounding depends on it, in words; an empty text
    if in nothing. An earlier crug noted too little to tell."""
    here, there = machine().split(PART), stored.split(PART)
    if len(there) < len(here):
        return f"{stored}, of which an earlier crug noted too little"
    names = "", "instructions ", "compiler flags "
    differ = (f"{name}{old or '(none)'}" for name, old, new in zip(names, there, here, strict=False) if old != new)
    return ", ".join(differ)


def _said_of_cpu(*names: str) -> str:
    """What Linux says of the first processor under one of these names."""
    if not (cpu := Path("/proc/cpuinfo")).exists():
        return ""
    lines = cpu.read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(names)), "")


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
