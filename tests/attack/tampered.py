"""Tampered models and run folders: JSON and arrays that are well signed and not what they should be; and every bit."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

import crug
from attack.tally import Tally
from crug.errors import CrugError
from crug.runs import store
from crug.runs.folder import read_config, read_learned
from crug.runs.result import Result
from crug.runs.verify import verify
from signed import signed, taken_apart
from waves import START, wave

ODD: list[Any] = [None, {}, [], "", "x", "div.", -1, 0, 7, 10**30, 1e308, True, [None], {"a": 1}, "../../x"]
TINY: dict[str, Any] = {"epochs": 2, "network": {"M": 12, "P": 4}, "training": {"window": 400}, "path": {"start": 6}}
TASKS = ["van-der-pol", "chua"]


def small_run(folder: Path) -> Path:
    crug.run(TASKS, out=folder, **TINY)
    return folder


def small_model(file: Path, names: Sequence[str] = ("first", "second"), faster: float = 1.0) -> Path:
    """A model of two recordings; the same waves, so much faster, for other names."""
    model = crug.Model(units=16, seed=3, settings=START)
    model.learn(wave(2, faster, 300), names[0], 0.1, epochs=1, units=6, progress=False)
    model.learn(wave(3, 1.7 * faster, 300), names[1], 0.1, epochs=1, units=6, progress=False)
    model.save(file)
    return file


def other_model(file: Path) -> crug.Model:
    """A model with two other recordings."""
    return crug.load(small_model(file, ("third", "fourth"), 1.2))


def tampered_json(value: Any, rng: random.Random) -> Any:
    """The value with one thing in it removed, replaced or swapped."""
    value = json.loads(json.dumps(value))
    parent: Any = None
    key: Any = None
    place = value
    while isinstance(place, dict | list) and place and (parent is None or rng.random() < 0.8):
        key = rng.choice(list(place) if isinstance(place, dict) else list(range(len(place))))
        parent, place = place, place[key]
    if parent is None or rng.random() < 0.05:
        return rng.choice(ODD)
    kind = rng.random()
    if kind < 0.2:
        del parent[key]
    elif kind < 0.3 and isinstance(parent, dict):
        parent["stranger"] = parent.pop(key)
    elif kind < 0.4:
        other = rng.choice(list(parent) if isinstance(parent, dict) else list(range(len(parent))))
        parent[key], parent[other] = parent[other], parent[key]
    else:
        parent[key] = rng.choice(ODD)
    return value


def tampered_arrays(arrays: dict[str, np.ndarray], rng: random.Random) -> dict[str, np.ndarray]:
    """The arrays with one of them lost, called otherwise, of another shape or kind, or of other numbers."""
    name = rng.choice(sorted(arrays))
    value = arrays[name]
    rest = {key: item for key, item in arrays.items() if key != name}
    whole = value.dtype.kind in "iub"
    changes: list[Callable[[], dict[str, np.ndarray]]] = [
        lambda: rest,
        lambda: {**rest, f"{name}x": value},
        lambda: {**rest, name: value[..., None]},
        lambda: {**rest, name: value.reshape(-1)[: value.size // 2]},
        lambda: {**rest, name: value.astype(np.float64 if value.dtype != np.float64 else np.int64)},
        lambda: {**rest, name: np.roll(value, 1)},
        lambda: {**rest, name: -1 - value.astype(np.int32) if whole else np.full_like(value, np.nan)},
        lambda: {**rest, name: value.astype(np.int32) + 10**6 if whole else np.full_like(value, np.inf)},
        lambda: {**rest, name: arrays[rng.choice(sorted(arrays))]},
    ]
    return rng.choice(changes)()


def models(place: Path, count: int) -> Tally:
    """So many model files: what is said of the model, what is said of a record, and the arrays of a record."""
    tally = Tally("tampered models", "refused by name, shown by verify, or taken as what it says")
    parts, rng = taken_apart(small_model(place / "good.crug")), random.Random(1)
    odd = place / "odd.crug"
    for number in range(count):
        which = rng.randrange(len(parts.pieces))
        piece, what = parts.pieces[which], ""
        if number % 4 == 1:
            changed = tampered_json(parts.entry, rng)
            what = json.dumps(changed)
            signed(odd, parts, lambda entry, changed=changed: _as_said(entry, changed))
        else:
            if number % 4 == 3:
                piece = piece._replace(said=tampered_json(piece.said, rng))
                what = json.dumps(piece.said)
            else:
                changed = tampered_arrays(piece.arrays, rng)
                what = ", ".join(f"{k}{v.shape}" for k, v in changed.items() if v is not piece.arrays.get(k))
                piece = piece._replace(arrays=changed)
            pieces = [piece if k == which else other for k, other in enumerate(parts.pieces)]
            signed(odd, parts._replace(pieces=pieces))
        tally.attempt(f"{number}: {what[:300] or 'one less'}", lambda: crug.load(odd), _used)
    return tally


def _as_said(entry: Any, changed: Any) -> Any:
    """The changed entry, which an entry has to be: it is made one."""
    return changed if isinstance(changed, dict) else {"records": changed}


def _used(model: crug.Model) -> str:
    """A model that was loaded does what models do; what was learned is shown to be other where it is."""
    same = model.verify()
    for name in model.tasks:
        model.rollout(name, 20)
        model.about(name)
        model.capacity_curve(name)
    return "taken as what it says" if all(same.values()) else "shown by verify"


def runs(place: Path, count: int) -> Tally:
    """So many run folders."""
    tally = Tally("tampered run folders", "refused with the file's name, or shown by verify")
    whole, rng = small_run(place / "whole"), random.Random(2)
    files = [f for f in sorted(whole.rglob("*")) if f.is_file() and "figures" not in f.parts]
    for number in range(count):
        file = rng.choice(files)
        content = file.read_bytes()
        what = _spoilt(file, files, rng)
        tally.attempt(f"{number}: {file.relative_to(whole)} {what}", lambda: list(verify(whole)), _seen)
        if file.is_dir():
            shutil.rmtree(file)
        file.write_bytes(content)
    assert all(equal for _, equal in verify(whole))
    return tally


def _seen(lines: list[tuple[str, bool]]) -> str:
    return "taken as what it says" if all(equal for _, equal in lines) else "shown by verify"


def _spoilt(file: Path, files: list[Path], rng: random.Random) -> str:
    """Spoil one file; returns how."""
    kind = rng.random()
    if kind < 0.1:
        file.unlink()
        return "removed"
    if kind < 0.15:
        file.unlink()
        file.mkdir()
        return "a folder"
    if kind < 0.25:
        other = rng.choice(files)
        file.write_bytes(other.read_bytes())
        return f"is {other.name}"
    if kind < 0.35:
        file.write_bytes(rng.choice([b"", b"{}", b"[]", b"null", b"NaN", b"[" * 10_000, bytes(100)]))
        return "other content"
    if file.suffix == ".json":
        store.write_json(file, changed := tampered_json(store.encode(store.read_json(file)), rng))
        return json.dumps(changed)[:200]
    arrays, about = store.read_described(file)
    if not arrays:
        store.write_arrays(file, {"x": np.zeros(3)}, **about)
        return "a stranger"
    store.write_arrays(file, tampered_arrays(arrays, rng), **about)
    return "other arrays"


# every bit


def bits(content: bytes, step: int) -> Iterator[tuple[int, bytes]]:
    """The content with one bit flipped: every `step`-th bit of it."""
    for bit in range(0, 8 * len(content), step):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(flipped)


def every_bit(place: Path, step: int = 1) -> list[Tally]:
    """Every bit of a small model, and of all files of a small run: noticed by what reads it, or the same value."""
    file, folder = place / "bits.crug", place / "bits"
    model = crug.Model(units=4, seed=3, settings={**START, "path.start": 4})
    model.learn(wave(1, samples=300), "w", 0.1, epochs=1, progress=False)
    model.save(file)
    small_run(folder)
    one = Tally("bits of a model", "every single flipped bit is noticed, or means the same")
    _flipped(one, file, _all_of, step)
    all_ = Tally("bits of a run folder", "every single flipped bit of every file is noticed, or means the same")
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and "figures" not in p.parts):
        _flipped(all_, path, READERS.get(path.name, store.read_described), step)
    return [one, all_]


READERS: dict[str, Callable[[Path], Any]] = {
    "config.json": lambda file: read_config(file.parent),
    "result.json": lambda file: Result.read(file.parent),
    "task.json": lambda file: read_learned(file.parent),
}


def _flipped(tally: Tally, file: Path, reader: Callable[[Path], Any], step: int) -> None:
    content, whole = file.read_bytes(), exactly(reader(file))
    for bit, flipped in bits(content, step):
        file.write_bytes(flipped)
        try:
            same = exactly(reader(file)) == whole
            tally.count("means the same", "" if same else f"{file.name}: bit {bit} is believed")
        except CrugError:
            tally.count("noticed")
        except Exception as error:
            tally.count(type(error).__name__, f"{file.name}: bit {bit}: {error}")
    file.write_bytes(content)


def _all_of(file: Path) -> list[Any]:
    """All that a model has: the bytes of its records, and what is made of them."""
    model = crug.load(file)
    known = [[one.about, one.learned, one.scale, one.arrays()] for one in model.recordings]
    stored = [[one.listed, one.content()] for one in model.kept]
    return [model.seed, model.settings, model.units_free, stored, known, model.arrays()]


def exactly(value: Any) -> Any:
    """A value taken apart, so that it equals only what has the same bits: arrays by their bytes, numbers by their kind
    and all their digits."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, BaseModel):
        return type(value).__name__, exactly(dict(value))
    if is_dataclass(value):
        return type(value).__name__, exactly(vars(value))
    if isinstance(value, Mapping):
        return [(key, exactly(value[key])) for key in sorted(value)]
    if isinstance(value, list | tuple):
        return [exactly(item) for item in value]
    return value if isinstance(value, bytes) else (type(value).__name__, repr(value))
