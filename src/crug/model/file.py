"""The file of a model: one safetensors file under one checksum, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from crug.core.network import from_arrays, to_arrays
from crug.errors import CrugError
from crug.model.known import About, Known
from crug.model.model import Model
from crug.runs import store
from crug.runs.result import Learned, checked
from crug.tasks.attractor import attractor_score

FORMAT = 2
FOREIGN = "not a model of crug, or a damaged one"
DAMAGED = "if it was one, restore it from a backup"


def save(model: Model, path: str | Path) -> None:
    """Write a model into one file."""
    arrays = {f"network.{name}": value for name, value in to_arrays(model.network).items()}
    for k, known in enumerate(model.recordings):
        arrays |= {f"task.{k}.{name}": value for name, value in known.arrays().items()}
    tasks = [{"about": k.about.model_dump(mode="json"), "learned": k.learned.to_json()} for k in model.recordings]
    about = {"seed": model.seed, "settings": model.settings, "tasks": tasks}
    store.write_arrays(Path(path), arrays, format=f"crug model {FORMAT}", model=json.dumps(store.encode(about)))


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
    arrays, metadata = store.read_described(path, foreign=FOREIGN, remedy=DAMAGED)
    kind, _, version = metadata.get("format", "").rpartition(" ")
    if kind != "crug model":
        flags = f"{DAMAGED}; the model comes first, as in: crug learn lab.crug recording.csv"
        raise CrugError(f"{path}: another file of crug, not a model", DAMAGED, flags)
    if not version.isdigit() or int(version) > FORMAT:
        raise CrugError(f"{path}: made by a newer crug (format {version}, this one reads {FORMAT}); upgrade crug")
    about = json.loads(metadata["model"])
    stored = [_format_1(task) for task in about["tasks"]] if version == "1" else about["tasks"]
    network = from_arrays(_part(arrays, "network."))
    known = tuple(_known(task, _part(arrays, f"task.{k}."), path) for k, task in enumerate(stored))
    return Model.restored(about["seed"], about["settings"], network, known)


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _known(stored: dict[str, Any], arrays: dict[str, np.ndarray], path: Path) -> Known:
    about = checked(TypeAdapter(About), stored["about"], path)
    return Known.restored(about, Learned.from_json(store.decode(stored["learned"]), path), arrays)


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
