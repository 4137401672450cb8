"""Whether arrays from a file are a network: names, kinds of numbers, shapes, indices and ledger fit each other.

A file's checksum says that its bits are those that were written. It does not say that a program in order wrote them, so
nothing of a file is used as an index before it was looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from crug.core.network import FREE, Network, from_arrays
from crug.core.noise import Noise
from crug.errors import CrugError

REMEDY = "delete this file and run the same command again: it goes on from the checkpoint before"
SHAPES = {"a": "M", "W": "MM", "C": "MQ", "h": "M", "B": "MN", "relu": "M", "owner": "M"}
KINDS = {"relu": "b", "owner": "i", "readout": "i", "runs": "i"}
"""Of arrays that are no 32-bit numbers."""


def read_network(arrays: Mapping[str, np.ndarray], source: str, remedy: str = REMEDY) -> Network:
    """The network in the arrays of a file, which is named where they are none."""
    problem = next(_problems(arrays), "")
    if problem:
        raise CrugError(f"{source}: not a network of crug ({problem}); {remedy}")
    return from_arrays(arrays)


def _problems(arrays: Mapping[str, np.ndarray]) -> Iterator[str]:
    """What is wrong, one after another: each is looked at only where all before it are in order."""
    missing = [name for name in SHAPES if name not in arrays]
    if missing:
        yield f"{missing[0]} is missing"
    sizes: dict[str, int] = {}
    for name, letters in SHAPES.items():
        shape = arrays[name].shape
        for letter, size in zip(letters, shape, strict=False):
            sizes.setdefault(letter, size)
        if shape != tuple(sizes.get(letter, -1) for letter in letters):
            yield f"{name} has the shape {shape}"
    tasks = range(sum(name.startswith("readout.") for name in arrays))
    known = {*SHAPES, *(f"{part}.{k}" for part in ("readout", "runs", "decoder", "gain") for k in tasks)}
    known |= {f"noise.{k}.{part}" for part in Noise._fields for k in tasks}
    if stranger := sorted(arrays.keys() - known):
        yield f"{stranger[0]} has no place in it"
    for name, value in arrays.items():
        kind = KINDS.get(name.split(".")[0], "f")
        if value.dtype.kind != kind or (kind == "f" and value.dtype.itemsize not in (4, 8)):
            yield f"{name} holds {value.dtype}"
        if kind == "f" and not np.isfinite(value).all():
            yield f"{name} is not finite"
    yield from _ledger(arrays, len(tasks))
    for k in tasks:
        yield from _of_task(arrays, k, sizes["M"])


def _ledger(arrays: Mapping[str, np.ndarray], tasks: int) -> Iterator[str]:
    owner = arrays["owner"]
    if owner.dtype != np.int32 or ((owner < FREE) | (owner >= tasks)).any():
        yield f"the ledger names owners beside its {tasks} tasks"
    for part in ("a", "W", "C", "h", "B"):
        if arrays[part].dtype != np.float32:
            yield f"{part} holds {arrays[part].dtype}"


def _of_task(arrays: Mapping[str, np.ndarray], k: int, size: int) -> Iterator[str]:
    """Whether what is there of one task goes with the units, and with the ledger where they have owners."""
    owner, readout, runs = arrays["owner"], arrays[f"readout.{k}"], arrays.get(f"runs.{k}", np.empty((0, 0)))
    if readout.ndim != 1 or runs.ndim != 1 or not len(runs):
        yield f"task {k + 1} has no units"
    if runs.min() < 0 or runs.max() >= size or (np.diff(runs) <= 0).any():
        yield f"task {k + 1} runs on units beyond the network"
    running = np.zeros(size, bool)
    running[runs] = True
    if len(set(readout.tolist())) < len(readout) or not (readout >= 0).all() or not (readout < size).all():
        yield f"task {k + 1} is read out of units that there are not"
    if not running[readout].all():
        yield f"task {k + 1} is read out of units that it does not run on"
    own = owner == k
    kept = owner[runs]
    if own.any():
        fits = running[own].all() and own[readout].all() and kept.min() > FREE and kept.max() <= k
    else:
        fits = (kept == FREE).all()
    if not fits:
        yield f"the ledger does not fit what task {k + 1} runs on"
    if len(readout) > arrays["B"].shape[1]:
        yield f"task {k + 1} has more dimensions than the encoder"
    decoder, gain = arrays.get(f"decoder.{k}"), arrays.get(f"gain.{k}", np.float64(0))
    if decoder is not None and (decoder.ndim != 2 or len(decoder) != size):
        yield f"decoder.{k} has the shape {decoder.shape}"
    if decoder is None and not len(readout):
        yield f"task {k + 1} has neither readouts nor a decoder"
    if gain.shape != () or not 0 <= gain <= 1:
        yield f"gain.{k} is not a part"
    yield from _noise(arrays, k, len(readout))


def _noise(arrays: Mapping[str, np.ndarray], k: int, dim: int) -> Iterator[str]:
    found = {name: arrays[f"noise.{k}.{name}"] for name in Noise._fields if f"noise.{k}.{name}" in arrays}
    if not found:
        return
    if len(found) < len(Noise._fields):
        yield f"the noise of task {k + 1} lacks a part"
    regions, several = found["centres"].shape[:1], found["draws"].shape[1:2]
    shapes = {"centres": (*regions, dim), "draws": (*regions, *several, dim), "low": (dim,), "high": (dim,)}
    for name, value in found.items():
        if value.shape != shapes.get(name, ()) or 0 in value.shape:
            yield f"noise.{k}.{name} has the shape {value.shape}"
