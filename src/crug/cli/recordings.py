"""From what `crug learn` is given to recordings: files and systems of the database dysts, cut, decimated, delayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crug.cli.options import listed
from crug.errors import CrugError
from crug.readers import Recording, read, shaped
from crug.readers.shape import automatic_lags
from crug.tasks import dysts

DATABASE = "dysts:"
"""What comes before the name of a system, or before how many of them are asked for."""


def read_all(given: Sequence[str], columns: str | None, inputs: str | None, fill: str | None) -> Iterator[Recording]:
    """The recordings, one after another. A file is a file, whatever it is called."""
    options = {"--columns": columns, "--inputs": inputs, "--fill": fill}
    for text in given:
        if not text.startswith(DATABASE) or Path(text).exists():
            yield read(text, listed(columns), fill, listed(inputs))
            continue
        if asked := [option for option, value in options.items() if value]:
            raise CrugError(f"{text}: a system of dysts is taken as it is; leave {asked[0]} out")
        for name in dysts.asked_for(text.removeprefix(DATABASE)):
            yield replace(dysts.recording(name), source=name)


def shaped_as_asked(recording: Recording, cut: int, decimate: int, dt: float | None) -> Recording:
    """Cut and decimated. `dt` overrules what the file says; where neither says, it counts samples as recorded."""
    interval = recording.dt if dt is None else dt
    return shaped(replace(recording, dt=1.0 if interval is None else interval), cut, decimate)


def embedded(recordings: list[Recording], lags: str | None, together: bool) -> list[Recording]:
    """With delayed copies of all columns; recordings of one system have the lags of the first."""
    if not lags:
        return recordings
    steps: list[int] | None = None
    if lags != "auto":
        try:
            steps = [int(part) for part in lags.split(",")]
        except ValueError:
            raise CrugError(f"--lags {lags[:40]}: give whole numbers like 20,40, or auto") from None
    elif together:
        steps = automatic_lags(recordings[0].values)
    return [shaped(one, lags=steps or automatic_lags(one.values)) for one in recordings]


def groups(found: list[Recording], together: bool) -> list[list[Recording]]:
    """One group each, or all in one."""
    if not together:
        return [[one] for one in found]
    for one in found[1:]:
        if one.columns != found[0].columns:
            raise CrugError(f"--together: {one.source} has other columns than {found[0].source}; choose by --columns")
        if not np.isclose(one.dt or 0, found[0].dt or 0, rtol=0.01):
            raise CrugError(
                f"--together: {one.source} is sampled every {one.dt}, {found[0].source} every {found[0].dt}; "
                "resample one of them, or say --dt"
            )
    return [found]
