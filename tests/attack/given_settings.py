"""Settings of any kind: a model that takes them can be saved, and says the same when it is loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, seed
from hypothesis import strategies as st

import crug
from attack.malformed import quiet
from attack.tally import Tally
from crug.methods.crug import CrugSettings
from crug.model.asked import Asked
from crug.tasks import as_recordings, prepare
from crug.training.settings import keys
from waves import START, wave

names = st.one_of(st.sampled_from(sorted(keys(CrugSettings))), st.sampled_from(["training", "path", "network", "x.y"]))
values: Any = st.one_of(
    st.floats(),
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.text(max_size=5),
    st.booleans(),
    st.none(),
    st.lists(st.floats(), max_size=3),
    st.sampled_from(
        [np.int64(3), np.float32(0.5), np.inf, np.array([0.2, 0.3]), {}, {"a": 1}, object(), b"x", 10**5000]
    ),
)


def mostly(usual: int) -> Any:
    """The usual value, and anything else now and then."""
    return st.integers(0, 9).flatmap(lambda n: values if n == 0 else st.just(usual))


def attack(place: Path, count: int) -> Tally:
    """So many settings, seeds and sizes."""
    tally = Tally("settings", "refused by name in a line, or a model that is saved and loaded as it is")
    prepared = prepare(as_recordings(wave(), "w", 0.1), "w")
    file = place / "settings.crug"

    def made(given: dict[str, Any], seed: Any, units: Any) -> crug.Model:
        model = crug.Model(units=units, seed=seed, settings={**START, **given})
        model._said(prepared, model._settings(Asked(), prepared).training)
        return model

    def kept(model: crug.Model) -> str:
        file.unlink(missing_ok=True)
        model.save(file)
        again = crug.load(file)
        assert (again.seed, again.settings, again.units) == (model.seed, model.settings, model.units)
        return "saved and loaded"

    @seed(1)
    @quiet(count)
    @given(st.dictionaries(names, values, max_size=2), mostly(3), mostly(40))
    def some(given: dict[str, Any], seed: Any, units: Any) -> None:
        tally.attempt(f"{list(given)} {type(seed)} {type(units)}", lambda: made(given, seed, units), kept)

    some()
    return tally
