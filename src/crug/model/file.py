"""The file of a model: its records, one behind another, and what is said of them.

Saving appends the records that are new. Where records were taken out, or the file is another one, it is written anew,
whole or not at all; records keep their bytes. Loading reads what is said of the records, and a record when it is asked
for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, NonNegativeInt, TypeAdapter

from crug.errors import CrugError
from crug.model import container, old
from crug.model.container import DAMAGED, MAGIC, Place, Source
from crug.model.kept import Kept, Listed
from crug.model.model import MOST, Model
from crug.runs import store
from crug.sections import Seed, Stored

PATIENCE = 5.0
"""Seconds that a save waits for somebody else who writes the same file."""


class Filed(Stored):
    """A record in a file."""

    listed: Listed
    start: NonNegativeInt
    length: NonNegativeInt


class Entry(Stored):
    """What a save says: the model as it is from then on, and the records that are new."""

    seed: Seed
    settings: dict[str, Any]
    free: Annotated[int, Field(ge=0, le=MOST)]
    records: list[Filed]


class Saved(NamedTuple):
    """What a model knows of a file that it came from or went to."""

    fingerprint: str
    digests: tuple[str, ...]
    said: str
    """Of the model beside its records."""


ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


def save(model: Model, path: str | Path) -> None:
    """Write a model into one file; refused where somebody else has changed the file since it was loaded."""
    path = Path(path)
    if path.is_dir():
        raise CrugError(f"{path}: is a folder; give a model's file")
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CrugError(f"{path}: cannot be written ({error.strerror})", "choose another place") from None
    with store.alone(path, within=True, patience=PATIENCE):
        here, mine = path.resolve(), _saved(model)
        known = model.files.get(here)
        found = fingerprint(here) if known and here.exists() else ""
        if known and here.exists() and found != known.fingerprint:
            if not _same(model, here):
                raise CrugError(
                    f"{path}: has changed since this model was loaded from it or saved to it; nothing was written",
                    "crug.load it again and learn there, or save under another name",
                    "give the same command again",
                )
            known = mine._replace(fingerprint=found)
        model.files[here] = mine._replace(fingerprint=_written(model, here, known if found else None))


def _written(model: Model, here: Path, known: Saved | None) -> str:
    """The fingerprint of the file when the model is in it; `known` is what is there already."""
    new = model.kept
    if known and _appendable(here) and known.digests == tuple(one.listed.digest for one in new)[: len(known.digests)]:
        new = new[len(known.digests) :]
        if not new and known.said == _saved(model).said:
            return known.fingerprint
        contents = [one.content() for one in new]
        return container.append(here, contents, lambda places: _entry(model, new, places)).entry.digest
    pieces = (one.content() for one in new)
    return container.write(here, pieces, lambda places: _entry(model, new, places)).entry.digest


def _entry(model: Model, kept: Sequence[Kept], places: Sequence[Place]) -> dict[str, Any]:
    records = [
        Filed(listed=one.listed, start=place.start, length=place.length)
        for one, place in zip(kept, places, strict=True)
    ]
    entry = Entry(seed=model.seed, settings=model.settings, free=model.units_free, records=records)
    return entry.model_dump(mode="json")


def _saved(model: Model, mark: str = "") -> Saved:
    said = json.dumps([model.seed, model.settings, model.units_free])
    return Saved(mark, tuple(one.listed.digest for one in model.kept), said)


def _appendable(here: Path) -> bool:
    with here.open("rb") as file:
        return container.is_container(file.read(len(MAGIC)))


def _same(model: Model, here: Path) -> bool:
    """Whether a file says just what the model would write."""
    try:
        there = load(here)
    except CrugError:
        return False
    return _saved(model) == _saved(there) and _appendable(here)


def fingerprint(here: Path) -> str:
    """By which a file is known again; empty where it is none of a model."""
    try:
        if _appendable(here):
            return Source(here).tip().entry.digest
        return old.fingerprint(store.read_bytes(here))
    except (CrugError, OSError):
        return ""


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
    source = Source(path)
    if not container.is_container(source.bytes(0, len(MAGIC))):
        return _load_old(path)
    tip = source.tip()
    entries = [store.checked(ENTRY, said, path, DAMAGED) for said in source.entries(tip)]
    filed = [one for entry in entries for one in entry.records]
    kept = tuple(Kept(f.listed, Place(f.start, f.length, f.listed.digest), source) for f in filed)
    if problem := contradiction([one.listed for one in kept]):
        raise CrugError(f"{path}: not what crug wrote ({problem}); {DAMAGED}")
    model = _restored(path, entries[-1].seed, entries[-1].settings, kept, entries[-1].free)
    model.files[path.resolve()] = _saved(model, tip.entry.digest)
    return model


def _load_old(path: Path) -> Model:
    content = store.read_bytes(path)
    found = old.read(content, path)
    model = _restored(path, found.seed, found.settings, found.kept, found.free)
    model.files[path.resolve()] = _saved(model, old.fingerprint(content))
    return model


def _restored(path: Path, seed: int, settings: dict[str, Any], kept: tuple[Kept, ...], free: int) -> Model:
    try:
        return Model.restored(seed, settings, kept, free)
    except CrugError as error:
        raise CrugError(f"{path}: not what crug wrote (settings: {error.what}); {DAMAGED}") from None


def contradiction(listed: Sequence[Listed]) -> str:
    """In which way these cannot be the records of one model: names, and who hears whom."""
    heard: dict[str, set[str]] = {}
    for one in listed:
        if one.name in heard or one.name == "free":
            return "two recordings have the same name, or one that none can have"
        whom = set(one.heard)
        if any(name not in heard or not heard[name] <= whom for name in whom):
            return f"{one.name} hears what was not there"
        heard[one.name] = whom
    return ""
