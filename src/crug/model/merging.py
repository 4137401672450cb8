"""Several models become one."""

from __future__ import annotations

from collections.abc import Sequence

from crug.errors import CrugError
from crug.model.kept import Kept
from crug.model.model import Model
from crug.model.uses import Uses


def merge(model: Model, *others: Model) -> Model:
    """A new model with the recordings of all of these, and the free units of all; see `Model.merge`."""
    return model.merge(*others)


def merged_records(models: Sequence[Uses]) -> tuple[Kept, ...]:
    """The records of all models, those of the first one first; one that several have is there once."""
    found: dict[str, Kept] = {}
    for model in models:
        for one in model.kept:
            there = found.setdefault(one.name, one)
            if there.listed.digest != one.listed.digest:
                raise CrugError(
                    f"two models have different recordings called {one.name!r}; remove one of them, or learn it again "
                    "under another name"
                )
    return tuple(found.values())
