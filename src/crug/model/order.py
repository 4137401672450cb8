"""A recording to be learned by another process, perhaps on another machine: an order in a folder, and its record.

FOLDER/order            what is to be learned, and how
FOLDER/crug-progress    what is done of it
FOLDER/record-N         a model's file with the one record, learned where N units were there for it
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crug.errors import CrugError
from crug.model.asked import Asked
from crug.model.file import load
from crug.model.job import PROGRESS, done
from crug.model.kept import Kept
from crug.model.model import Model
from crug.readers import Recording
from crug.runs import store
from crug.runs.hands import Begun, in_a_process
from crug.runs.listeners import Silent

WORKER = "crug.model.worker"
RECORD = "record-"
HOW = ("smooth", "hold_out", "epochs", "units", "tolerance", "precision")
"""What an order says of how to learn."""


class Order(NamedTuple):
    """What a crew is given: a name, the bytes of the order, the folder for it, and how many units are free."""

    name: str
    content: bytes
    folder: str
    room: int


def ordered(model: Model, name: str, pieces: Sequence[Recording], asked: Asked) -> bytes:
    """The bytes of an order: the same recording, asked for alike, gives the same."""
    arrays: dict[str, np.ndarray] = {}
    for k, piece in enumerate(pieces):
        arrays[f"{k}.values"] = piece.values
        if piece.inputs is not None:
            arrays[f"{k}.inputs"] = piece.inputs
    said = {
        "name": name,
        "seed": model.seed,
        "settings": model.settings,
        "how": {name: getattr(asked, name) for name in HOW},
        "pieces": [[one.source, list(one.columns), one.dt, list(one.input_columns)] for one in pieces],
    }
    return store.packed_arrays(arrays, order=json.dumps(said, allow_nan=False))


def label(content: bytes) -> str:
    """By which an order is known again; its bytes are not always in the same order."""
    arrays, said = store.parsed_arrays(content, Path("order"))
    return store.digest(arrays, said)[:16]


def carry_out(folder: Path, room: int) -> None:
    """Learn what an order says, where so many units are free."""
    arrays, metadata = store.read_described(folder / "order")
    said: dict[str, Any] = json.loads(metadata["order"])
    pieces = [
        Recording(source, arrays[f"{k}.values"], tuple(columns), dt, arrays.get(f"{k}.inputs"), tuple(inputs))
        for k, (source, columns, dt, inputs) in enumerate(said["pieces"])
    ]
    model = Model(units=room, seed=said["seed"], settings=said["settings"])
    job = model.job(pieces, said["name"], None, Asked.of(said["how"]))
    kept = Kept.of(done(job, [], folder, Silent()))
    model.restored(model.seed, model.settings, (kept,), 0).save(folder / f"{RECORD}{room}")
    store.clear(folder / PROGRESS)


def in_folder(order: Order, begun: Begun | None = None) -> bytes:
    """Carry out an order on this machine, unless that was done before: the file of its record."""
    folder = Path(order.folder)
    record = folder / f"{RECORD}{order.room}"
    if not record.exists():
        folder.mkdir(parents=True, exist_ok=True)
        store.write_bytes(folder / "order", order.content)
        in_a_process(WORKER, folder, str(order.room), begun)
    return record.read_bytes()


def received(order: Order, content: bytes) -> Kept:
    """The record that comes of an order, put where it belongs if another machine made it."""
    record = Path(order.folder) / f"{RECORD}{order.room}"
    if not record.exists():
        store.write_bytes(record, content)
    return _in_memory(record)


def found(folder: Path) -> dict[int, Kept]:
    """The records that there are of an order, by how many units were free."""
    records = {}
    for path in folder.glob(f"{RECORD}*"):
        try:
            records[int(path.name.removeprefix(RECORD))] = _in_memory(path)
        except (CrugError, ValueError):
            path.unlink()  # it is made again
    return records


def _in_memory(path: Path) -> Kept:
    (kept,) = load(path).kept
    return Kept.of(kept.record)  # which leaves no file open
