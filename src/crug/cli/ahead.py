"""What a recording's network does by itself: rollout and forecast."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from crug.cli.options import File, Name, listed
from crug.core.noise import PIECE
from crug.errors import CrugError
from crug.model import load
from crug.model.known import About
from crug.readers import Recording, read, shaped
from crug.readers.shape import lags_in
from crug.report.terminal import say
from crug.runs import store
from crug.runs.result import NOISE_SEED
from crug.runtime import gigabytes

DIGITS = 20
"""Bytes that a number takes in a text, about."""
Out = Annotated[Path, typer.Option(help="Where to write: .csv or .npy.")]


def rollout(
    file: File,
    name: Name,
    out: Out,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps to run.", show_default="10000, or as many as there are inputs")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Where to start, e.g. 0.1,2.5.", show_default="where the test part begins")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(help="A file with the inputs to run under, for a recording learned with inputs.")
    ] = None,
    noise: Annotated[bool, typer.Option("--noise", help="Vary as the recording did, where that was learned.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the noise.")] = NOISE_SEED,
) -> None:
    """Run a recording's network freely and write what it does, in the recording's own units."""
    model = load(file)
    x0 = None
    if start is not None:
        try:
            x0 = np.array([float(part) for part in start.split(",")])
        except ValueError:
            raise CrugError(f"--start {start}: give numbers like 0.1,2.5") from None
    _check(out)
    about = model.about(name)
    given = None if inputs is None else _inputs(inputs, about.inputs)
    if given is None and not about.inputs and (steps or 0) > PIECE:  # more than need be in memory
        count = int(steps or 0)
        _check_room(out, count, len(about.columns))
        _write(out, model.rollout_in_pieces(name, count, x0, noise, seed), about.columns, count)
    else:
        values = model.rollout(name, steps, x0, given, noise=noise, seed=seed)
        count = len(values)
        _write(out, [values], about.columns, count)
    say(f"{out}: {count} steps of {name}, {about.dt:g} apart")


def _inputs(path: str, names: tuple[str, ...]) -> np.ndarray:
    """The inputs in a file: the columns by the names that they had when they were learned, or all of them."""
    found = read(path)
    wanted = names if set(names) <= set(found.columns) else found.columns
    return found.values[:, [found.columns.index(name) for name in wanted]]


def forecast(
    file: File,
    name: Name,
    context: Annotated[str, typer.Argument(help="A file with the last samples, in any format that learn takes.")],
    out: Out,
    steps: Annotated[int, typer.Option(min=1, help="Samples to foresee.")] = 1_000,
    columns: Annotated[
        str | None, typer.Option(help="Columns to take.", show_default="those that were learned, or all")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(help="A file with the inputs to come, for a recording learned with inputs.")
    ] = None,
    decimate: Annotated[int, typer.Option(min=1, help="As when it was learned.")] = 1,
    fill: Annotated[str | None, typer.Option(help="Replace missing values: linear or previous.")] = None,
) -> None:
    """What comes after the last samples of a recording, in its own units.

    The network follows the samples, then it runs freely. Where the file has a time column, the forecast goes on with
    it. Delayed copies that were learned with --lags are made again.
    """
    model = load(file)
    _check(out)
    about = model.about(name)
    found = read_alike(context, about, listed(columns), fill, decimate)
    values = model.forecast(name, found, steps, None if inputs is None else _inputs(inputs, about.inputs))
    dt = about.dt if found.dt is None else found.dt
    names = about.columns
    if found.clock:  # its times come first
        values = np.column_stack([found.began + dt * (len(found) + np.arange(steps)), values])
        names = (found.clock, *names)
    _write(out, [values], names, steps)
    say(f"{out}: {steps} samples of {name} after {len(found)}, {dt:g} apart")


def read_alike(
    path: str, about: About, columns: list[str] | None = None, fill: str | None = None, decimate: int = 1
) -> Recording:
    """Samples of a recording that was learned, from another file: its columns, as far apart, with delayed copies where
    it was learned with them."""
    found = shaped(_context(path, about, columns, fill), decimate=decimate, lags=lags_in(about.columns)[1])
    dt = about.dt if found.dt is None else found.dt
    if not np.isclose(dt, about.dt, rtol=0.01):
        raise CrugError(
            f"{path}: its samples are {dt:g} apart, those of {about.name} {about.dt:g}; give them as far apart as they "
            "were learned, or --decimate them"
        )
    return found


def _context(path: str, about: About, columns: list[str] | None, fill: str | None) -> Recording:
    """The last samples: the columns that were asked for, or by the names that they were learned by, or all."""
    driving = list(about.inputs) or None
    plain = list(lags_in(about.columns)[0])
    found = read(path, columns, fill, driving)
    wanted = columns is None and set(plain) < set(found.columns)
    return read(path, plain, fill, driving) if wanted else found


def _check(out: Path) -> None:
    if out.suffix not in (".csv", ".npy"):
        raise CrugError(f"--out {out}: write .csv or .npy")
    if out.exists():
        raise CrugError(f"--out {out}: is there already; choose another name, or remove it")


def _check_room(out: Path, steps: int, columns: int) -> None:
    """Whether the disk holds so many samples, as far as it says."""
    needed = (8 if out.suffix == ".npy" else DIGITS) * steps * columns
    place = out.resolve().parent
    free = shutil.disk_usage(place).free if place.is_dir() else needed
    if needed > free:
        raise CrugError(
            f"--out {out}: {steps:,} steps take about {gigabytes(needed)}, {gigabytes(free)} are free there; "
            f"at most about {int(steps * free / needed):,} steps are possible"
        )


def _write(out: Path, pieces: Iterable[np.ndarray], columns: Sequence[str], count: int) -> None:
    """So many samples as a file, piece by piece; it is there when all of it is written."""
    with store.whole(out) as file:
        if out.suffix == ".npy":
            shape = {"descr": "<f8", "fortran_order": False, "shape": (count, len(columns))}
            np.lib.format.write_array_header_1_0(file, shape)
            for piece in pieces:
                file.write(np.ascontiguousarray(piece, "<f8").tobytes())
            return
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow(columns)
        for piece in pieces:
            writer.writerows(piece.tolist())
        text.detach()
