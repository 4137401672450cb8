"""What tests of models share: small recordings, and how to learn them in no time."""

from dataclasses import replace
from typing import Any

import numpy as np

from crug import Model
from crug.model.kept import Kept
from crug.model.known import Known

QUICK: dict[str, Any] = {"epochs": 20, "progress": False}
START: dict[str, Any] = {"path": {"start": 8, "gently": [], "every": 16}, "noise": False, "select": "best"}


def wave(dim: int = 2, frequency: float = 1.0, samples: int = 1_500, offset: float = 0.0) -> np.ndarray:
    t = 0.1 * np.arange(samples)[:, None]
    return offset + (1 + np.arange(dim)) * np.sin(frequency * t * (1 + 0.3 * np.arange(dim)) + np.arange(dim))


def copied(model: Model, name: str, new: str) -> Model:
    """The model with another recording, of another name, that became the same network as one that it has."""
    record = model.kept[model.tasks.index(name)].record
    known = record.known
    about = known.about.model_copy(update={"name": new})
    model.add(Kept.of(replace(record, known=Known.restored(about, known.learned, known.arrays()))))
    return model


def altered(model: Model, name: str, **parts: Any) -> Model:
    """The model with other units of a recording: `parts` of `crug.model.record.Units`."""
    record = model.kept[model.tasks.index(name)].record
    other = Kept.of(replace(record, units=replace(record.units, **parts)))
    kept = tuple(other if one.name == name else one for one in model.kept)
    return Model.restored(model.seed, model.settings, kept, model.units_free)


def nudged(model: Model, name: str) -> Model:
    """The model with one weight of a recording as little off as there is."""
    W = model.kept[model.tasks.index(name)].record.units.W.copy()
    first = tuple(np.argwhere(W)[0])
    W[first] = np.nextafter(W[first], np.float32(9))
    return altered(model, name, W=W)
