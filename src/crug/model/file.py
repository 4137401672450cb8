"""The file of a model: one safetensors file under one checksum, written whole or not at all, and checked on load."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, model_validator

from crug.core.network import to_arrays
from crug.core.sound import read_network
from crug.errors import CrugError
from crug.model.known import About, Known
from crug.model.model import Model
from crug.runs import store
from crug.runs.result import Learned
from crug.sections import Seed, Stored
from crug.tasks.attractor import attractor_score

FORMAT = 2
FOREIGN = "not a model of crug, or a damaged one"
DAMAGED = "if it was one, restore it from a backup"
PATIENCE = 5.0
"""Seconds that a save waits for somebody else who writes the same file."""


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


def save(model: Model, path: str | Path) -> None:
    """Write a model into one file; refused where somebody else has changed the file since it was loaded."""
    path = Path(path)
    if path.is_dir():
        raise CrugError(f"{path}: is a folder; give a model's file")
    content = packed(model)
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CrugError(f"{path}: cannot be written ({error.strerror})", "choose another place") from None
    with store.alone(path, within=True, patience=PATIENCE):
        here, known = path.resolve(), model.files.get(path.resolve())
        if known and here.exists() and fingerprint(store.read_bytes(here)) not in (known, fingerprint(content)):
            raise CrugError(
                f"{path}: has changed since this model was loaded from it or saved to it; nothing was written",
                "crug.load it again and learn there, or save under another name",
                "give the same command again",
            )
        store.write_bytes(path, content)
    model.files[here] = fingerprint(content)


def packed(model: Model) -> bytes:
    """The bytes of a model's file."""
    arrays = {f"network.{name}": value for name, value in to_arrays(model.network).items()}
    for k, known in enumerate(model.recordings):
        arrays |= {f"task.{k}.{name}": value for name, value in known.arrays().items()}
    tasks = [{"about": k.about.model_dump(mode="json"), "learned": k.learned.to_json()} for k in model.recordings]
    about = {"seed": model.seed, "settings": model.settings, "tasks": tasks}
    return store.packed_arrays(arrays, format=f"crug model {FORMAT}", model=json.dumps(store.encode(about)))


def fingerprint(content: bytes) -> str:
    """By which a file is known again: by its header, which has the checksum of all the rest."""
    return hashlib.sha256(content[: 8 + int.from_bytes(content[:8], "little")]).hexdigest()


def load(path: str | Path) -> Model:
    """The model in a file, also one that an earlier crug wrote."""
    path = Path(path)
    if path.is_dir():
        raise CrugError(f"{path}: is a folder; give a model's file")
    if not path.exists():
        raise CrugError(
            f"{path}: there is no such file",
            "Model().learn(...).save(path) makes it",
            f"crug learn {path} RECORDING makes it",
        )
    content = store.read_bytes(path)
    arrays, metadata = store.parsed_arrays(content, path, foreign=FOREIGN, remedy=DAMAGED)
    model = _model(arrays, _said(metadata, path), path)
    model.files[path.resolve()] = fingerprint(content)
    return model


def _said(metadata: Mapping[str, str], path: Path) -> Content:
    """What a file says of its model, in the words of today's format."""
    kind, _, version = metadata.get("format", "").rpartition(" ")
    if kind != "crug model":
        flags = f"{DAMAGED}; the model comes first, as in: crug learn lab.crug recording.csv"
        raise CrugError(f"{path}: another file of crug, not a model", DAMAGED, flags)
    if version not in map(str, range(1, FORMAT + 1)):
        raise CrugError(f"{path}: made by a newer crug (format {version}, this one reads {FORMAT}); upgrade crug")
    said = store.parsed_json(metadata.get("model", ""), path, DAMAGED)
    try:
        tasks = [_format_1(task) for task in said["tasks"]] if version == "1" else said["tasks"]
        tasks = [{**task, "learned": store.decode(task["learned"])} for task in tasks]
        said = {**said, "tasks": tasks}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CrugError(f"{path}: not what crug wrote ({type(error).__name__}: {error}); {DAMAGED}") from None
    return store.checked(CONTENT, said, path, DAMAGED)


def _model(arrays: Mapping[str, np.ndarray], said: Content, path: Path) -> Model:
    """The model that the arrays of a file make, with what is said of it."""
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
    known = []
    for k, entry in enumerate(said.tasks):
        some = own[f"task.{k}"]
        if problem := entry.about.contradicts(some, network, k):
            raise CrugError(f"{path}: not what crug wrote ({entry.about.name}: {problem}); {DAMAGED}")
        known.append(Known.restored(entry.about, entry.learned, some))
    try:
        return Model.restored(said.seed, said.settings, network, tuple(known))
    except CrugError as error:
        raise CrugError(f"{path}: not what crug wrote (settings: {error.what}); {DAMAGED}") from None


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
