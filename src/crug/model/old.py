"""Model files of formats 1 and 2: one dense network, and what was known of each recording. They become records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter, model_validator

from crug.core.network import Network
from crug.core.sound import read_network
from crug.errors import CrugError
from crug.model.container import DAMAGED, FOREIGN
from crug.model.kept import Kept
from crug.model.known import About, Known
from crug.model.record import Record, cut
from crug.runs import store
from crug.runs.result import Learned
from crug.sections import Seed, Stored
from crug.tasks.attractor import attractor_score

NEWEST = 2
"""Of the formats that are read here."""


class Entry(Stored):
    """What is said of a recording."""

    about: About
    learned: Learned


class Content(Stored):
    """What is said of a model."""

    seed: Seed
    settings: dict[str, Any]
    tasks: list[Entry]

    @model_validator(mode="after")
    def _distinct(self):
        names = [entry.about.name for entry in self.tasks]
        if len(set(names)) < len(names) or "free" in names:
            raise ValueError("two recordings have the same name, or one that none can have")
        return self


CONTENT: TypeAdapter[Content] = TypeAdapter(Content)


class Old(NamedTuple):
    """A model of such a file."""

    seed: int
    settings: dict[str, Any]
    kept: tuple[Kept, ...]
    free: int


def fingerprint(content: bytes) -> str:
    """By which such a file is known again: by its header, which has the checksum of all the rest."""
    return hashlib.sha256(content[: 8 + int.from_bytes(content[:8], "little")]).hexdigest()


def read(content: bytes, path: Path) -> Old:
    """What is in a file of this kind."""
    network, said, parts = dense(content, path)
    names, kept = [entry.about.name for entry in said.tasks], []
    for k, entry in enumerate(said.tasks):
        if not (network.owner == k).any():
            raise CrugError(f"{path}: not what crug wrote ({names[k]} has no units of its own); {DAMAGED}")
        units = cut(network, k, names, len(entry.about.inputs))
        kept.append(Kept.of(Record(units, Known.restored(entry.about, entry.learned, parts[k]))))
    return Old(said.seed, said.settings, tuple(kept), len(network.free()))


def dense(content: bytes, path: Path) -> tuple[Network, Content, list[dict[str, np.ndarray]]]:
    """The network, what is said of the model, and the arrays of every recording."""
    arrays, metadata = store.parsed_arrays(content, path, foreign=FOREIGN, remedy=DAMAGED)
    said = _said(metadata, path)
    own: dict[str, dict[str, np.ndarray]] = {"network": {}} | {f"task.{k}": {} for k in range(len(said.tasks))}
    for name, value in arrays.items():
        part, _, last = name.partition(".") if name.startswith("network.") else name.rpartition(".")
        if part not in own:
            raise CrugError(f"{path}: not what crug wrote ({name} belongs to no recording); {DAMAGED}")
        own[part][last] = value
    network = read_network(own["network"], str(path), DAMAGED)
    if len(network.readouts) != len(said.tasks):
        wrong = f"{len(said.tasks)} recordings in a network of {len(network.readouts)}"
        raise CrugError(f"{path}: not what crug wrote ({wrong}); {DAMAGED}")
    for k, entry in enumerate(said.tasks):
        some = own[f"task.{k}"]
        if problem := entry.about.contradicts(some, len(network.readouts[k]), network.C.shape[1]):
            raise CrugError(f"{path}: not what crug wrote ({entry.about.name}: {problem}); {DAMAGED}")
    return network, said, [own[f"task.{k}"] for k in range(len(said.tasks))]


def _said(metadata: Mapping[str, str], path: Path) -> Content:
    """What a file says of its model, in the words of format 2."""
    kind, _, version = metadata.get("format", "").rpartition(" ")
    if kind != "crug model":
        flags = f"{DAMAGED}; the model comes first, as in: crug learn lab.crug recording.csv"
        raise CrugError(f"{path}: another file of crug, not a model", DAMAGED, flags)
    if version not in map(str, range(1, NEWEST + 1)):
        raise CrugError(f"{path}: made by a newer crug (format {version}, this one reads {NEWEST + 1}); upgrade crug")
    said = store.parsed_json(metadata.get("model", ""), path, DAMAGED)
    try:
        tasks = [_format_1(task) for task in said["tasks"]] if version == "1" else said["tasks"]
        tasks = [{**task, "learned": store.decode(task["learned"])} for task in tasks]
        said = {**said, "tasks": tasks}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CrugError(f"{path}: not what crug wrote ({type(error).__name__}: {error}); {DAMAGED}") from None
    return store.checked(CONTENT, said, path, DAMAGED)


def _format_1(stored: dict[str, Any]) -> dict[str, Any]:
    """What format 1 (crug 0.1) says of a recording, as format 2 says it: scores were two measures, a phase had CRUG's
    numbers among its own."""

    def score(values: dict[str, float]) -> dict[str, Any]:
        found = attractor_score(store.decode(values))
        return {"values": found.measures(), "rank": found.rank, "main": found.main}

    def outcome(values: dict[str, Any]) -> dict[str, Any]:
        names = ("gates", "gate_lr", "price_linear", "price_relu", "price_transfer", "warm")
        phase = {key: value for key, value in values["phase"].items() if key not in names}
        controls = {name: float(values["phase"][name]) for name in names}
        return {**values, "phase": {**phase, "controls": controls}, "score": score(values["score"])}

    about, old = {key: value for key, value in stored.items() if key != "learned"}, stored["learned"]
    learned = {**old, "own": score(old["own"]), "history": [outcome(o) for o in old["history"]], "earlier": []}
    return {"about": about, "learned": learned}
