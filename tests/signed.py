"""Model files taken apart, and put together again with all checksums right: what only a careful forger would write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save

from crug.model import container
from crug.model.container import Source


class Piece(NamedTuple):
    """A record: what it says, and its arrays."""

    said: Any
    arrays: dict[str, np.ndarray]


class Parts(NamedTuple):
    """A model's file: what its only entry says, and its records."""

    entry: Any
    pieces: list[Piece]


def taken_apart(file: Path) -> Parts:
    """A file that was saved once."""
    source = Source(file)
    (entry,) = source.entries(source.tip())
    return Parts(entry, [_piece(source.bytes(one["start"], one["length"])) for one in entry["records"]])


def _piece(content: bytes) -> Piece:
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return Piece(json.loads(header["__metadata__"]["record"]), load(content))


def signed(file: Path, parts: Parts, change: Callable[[Any], Any] = lambda entry: entry) -> None:
    """Write a file of these parts, with a change of what is said in its entry."""
    contents = [
        save({k: np.asarray(v, order="C") for k, v in arrays.items()}, metadata={"record": json.dumps(said)})
        for said, arrays in parts.pieces
    ]

    def entry(places: Any) -> Any:
        records = [
            {"listed": {**one["listed"], "digest": place.digest}, "start": place.start, "length": place.length}
            for one, place in zip(parts.entry["records"], places, strict=True)
        ]
        return change({**parts.entry, "records": records})

    file.unlink(missing_ok=True)
    container.write(file, contents, entry)
