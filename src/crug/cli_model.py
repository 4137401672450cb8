"""The command line of a model file: learn, info, rollout, score, verify, extract, remove, grow."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from crug import store
from crug.errors import STOPPED, CrugError
from crug.methods.crug import CrugConfig
from crug.model import UNITS, Model, load
from crug.proof import digest_of
from crug.report.terminal import Live, print_wide, say, shown
from crug.tasks.columns import FILLS, Recording
from crug.tasks.files import read
from crug.tasks.recordings import automatic_lags, prepare, shaped

File = Annotated[Path, typer.Argument(help="The model's file, e.g. lab.crug.")]
Out = Annotated[Path, typer.Option(help="Where to write: .csv or .npy.")]
Columns = Annotated[str | None, typer.Option(help="Columns to take, by name or number from 1, e.g. x,z or 1,3.")]
Lags = Annotated[str | None, typer.Option(help="Delay embedding: lags in samples, e.g. 20,40, or auto.")]


def register(app: typer.Typer) -> None:
    for command in (learn, info, rollout, score, extract, remove, grow):
        app.command()(command)


def learn(
    file: File,
    recordings: Annotated[
        list[str], typer.Argument(help="Recordings: .csv, .tsv, .npy, .npz, .mat, .parquet files or WFDB records.")
    ],
    name: Annotated[
        str | None, typer.Option(help="What it is called from now on.", show_default="the file's name")
    ] = None,
    dt: Annotated[
        float | None,
        typer.Option(help="Interval between samples as recorded.", show_default="what the file says, or 1"),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="The most epochs that may be spent.")] = None,
    units: Annotated[int | None, typer.Option(help="No more units than that for a recording.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="How much worse a smaller network may score.")] = None,
    together: Annotated[bool, typer.Option(help="The recordings are trajectories of one system.")] = False,
    columns: Columns = None,
    decimate: Annotated[int, typer.Option(min=1, help="Keep every so many samples, behind an anti-alias filter.")] = 1,
    cut: Annotated[int, typer.Option(min=0, help="Samples to cut from both ends.")] = 0,
    lags: Lags = None,
    fill: Annotated[str | None, typer.Option(help="Replace missing values: linear or previous.")] = None,
    smooth: Annotated[bool, typer.Option(help="Smooth noise away, in columns that have some.")] = True,
    size: Annotated[int, typer.Option(min=4, help="Units of a new model.")] = UNITS,
    seed: Annotated[int, typer.Option(help="Seed of a new model.")] = 0,
) -> None:
    """Add recordings to a model; the file is made if there is none.

    Each is learned and saved before the next begins. Interrupted, the same command goes on where it was.
    """
    with store.alone(file):
        model = load(file) if file.exists() else Model(units=size, seed=seed)
        groups = _groups(recordings, together, columns, decimate, cut, lags, fill, dt)
        todo = _names(model, groups, name)
        intervals = [decimate if group[0].dt is None else group[0].dt for _, group in todo]
        for (called, group), interval in zip(todo, intervals, strict=True):  # errors come before any work
            values, names = [recording.values for recording in group], group[0].columns
            task = prepare(values, called, interval, units, names, smooth)[1]
            if task.smoothed:
                noisy = ", ".join(f"{n} over {w}" for n, w in zip(names, task.smoothed, strict=True) if w)
                say(f"{called}: noisy, smoothed before learning ({noisy} samples); --no-smooth learns it as it is")
        for number, (called, group) in enumerate(todo):
            with Live(epochs or EPOCHS, len(todo)) as live:
                live.first = number
                try:
                    model.learn(
                        [recording.values for recording in group],
                        called,
                        intervals[number],
                        epochs=epochs,
                        units=units,
                        tolerance=tolerance,
                        columns=group[0].columns,
                        smooth=smooth,
                        progress=live,
                        scratch=_scratch(file),
                    )
                except KeyboardInterrupt:
                    kept = f"has the {number} before it" if number else "is as it was"
                    typer.echo(f"crug: stopped; {file} {kept}, and the same command goes on from here", err=True)
                    raise typer.Exit(STOPPED) from None
            model.save(file)
            store.clear(_scratch(file))
    say(f"{file}: {len(model.tasks)} recordings, {model.units_free} of {model.units} units are free")


EPOCHS = CrugConfig.model_validate({"sequence": "model", "tasks": ("recording",), "method": "crug"}).epochs


def _scratch(file: Path) -> Path:
    file = file.resolve()
    return file.with_name(file.name + ".progress")


def _groups(
    paths: list[str],
    together: bool,
    columns: str | None,
    decimate: int,
    cut: int,
    lags: str | None,
    fill: str | None,
    dt: float | None,
) -> list[list[Recording]]:
    """The recordings, read and shaped, as one group each or all in one. `dt` overrules what the files say."""
    if fill not in (None, *FILLS):
        raise CrugError(f"--fill {fill}: there are {' and '.join(FILLS)}")
    steps: list[int] | None = None
    if lags and lags != "auto":
        try:
            steps = [int(part) for part in lags.split(",")]
        except ValueError:
            raise CrugError(f"--lags {lags}: give whole numbers like 20,40, or auto") from None
    found = []
    for path in paths:
        recording = read(path, columns.split(",") if columns else None, fill)
        recording = shaped(recording if dt is None else replace(recording, dt=dt), cut, decimate)
        if lags:
            own = steps or automatic_lags(recording.values)
            if together:
                steps = own
            recording = shaped(recording, lags=own)
        found.append(recording)
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


def _names(model: Model, groups: list[list[Recording]], name: str | None) -> list[tuple[str, list[Recording]]]:
    """What there is left to learn, by name."""
    if name and len(groups) > 1:
        raise CrugError("--name: names one recording; leave it out for several, or add --together")
    names = [name or Path(group[0].source).stem for group in groups]
    todo = []
    for called, group in zip(names, groups, strict=True):
        if names.count(called) > 1:
            raise CrugError(f"two recordings would be called {called!r}; learn them one by one with --name")
        if called not in model.tasks:
            todo.append((called, group))
        elif model.about(called).data == digest_of([recording.values for recording in group]):
            say(f"{called}: already learned; to learn it anew, crug remove it first")
        else:
            raise CrugError(f"the model already has another recording called {called!r}; give this one a --name")
    return todo


def info(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    figures: Annotated[Path | None, typer.Option(help="Folder for pictures: rollouts and capacity curves.")] = None,
) -> None:
    """What a model knows: its recordings, their units and scores, and what is free."""
    model = load(file)
    rows = []
    for name in model.tasks:
        known, units = model.about(name), model.ledger[name]
        rows.append(
            {
                "name": name,
                "dimensions": known.test.shape[1],
                "columns": list(known.columns),
                "smoothed": list(known.smoothed),
                "samples": known.samples,
                "dt": known.dt,
                "units": units,
                "score": known.learned.own._asdict(),
                "minutes": known.learned.seconds / 60,
            }
        )
    if as_json:
        free = {"units": model.units, "free": model.ledger["free"], "seed": model.seed}
        typer.echo(json.dumps(store.encode({**free, "tasks": rows}), indent=1))
    else:
        print_wide(_table(model, rows))
    if figures:
        from crug.report.figures import draw_model

        draw_model(model, figures)
        typer.echo(f"pictures are in {figures}", err=as_json)


def _table(model: Model, rows: list[dict[str, Any]]) -> Table:
    out = Table()
    for heading in ("recording", "dimensions", "samples", "D_stsp", "D_H", "linear", "ReLU", "minutes"):
        out.add_column(heading, justify="left" if heading == "recording" else "right", no_wrap=True)
    for row in rows:
        units, score = row["units"], row["score"]
        numbers = (str(row["dimensions"]), f"{row['samples']:,}", shown(score["d_stsp"]), shown(score["d_h"]))
        out.add_row(escape(row["name"]), *numbers, str(units["linear"]), str(units["relu"]), f"{row['minutes']:.1f}")
    free = model.ledger["free"]
    out.caption = f"free: {free['linear']} linear and {free['relu']} ReLU units of {model.units}; seed {model.seed}"
    return out


def rollout(
    file: File,
    name: Annotated[str, typer.Argument(help="A recording of the model.")],
    out: Out,
    steps: Annotated[int, typer.Option(min=1, help="Steps to run.")] = 10_000,
    start: Annotated[
        str | None, typer.Option(help="Where to start, e.g. 0.1,2.5.", show_default="where the test part begins")
    ] = None,
) -> None:
    """Run a recording's network freely and write what it does, in the recording's own units."""
    model = load(file)
    x0 = None
    if start is not None:
        try:
            x0 = np.array([float(part) for part in start.split(",")])
        except ValueError:
            raise CrugError(f"--start {start}: give numbers like 0.1,2.5") from None
    if out.suffix not in (".csv", ".npy"):
        raise CrugError(f"--out {out}: write .csv or .npy")
    if out.exists():
        raise CrugError(f"--out {out}: is there already; choose another name, or remove it")
    known = model.about(name)
    _write(out, model.rollout(name, steps, x0), known.columns)
    say(f"{out}: {steps} steps of {name}, {known.dt:g} apart")


def _write(out: Path, values: np.ndarray, columns: tuple[str, ...]) -> None:
    try:
        if out.suffix == ".npy":
            np.save(out, values)
            return
        with open(out, "w", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(columns)
            writer.writerows(values.tolist())
    except OSError as error:
        raise CrugError(f"--out {out}: cannot write there ({error.strerror})") from None


def score(
    file: File,
    name: Annotated[str | None, typer.Argument(help="A recording; all if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """D_stsp and D_H of recordings on their held-out parts."""
    model = load(file)
    scores = {n: model.score(n) for n in ([name] if name else model.tasks)}
    if as_json:
        typer.echo(json.dumps(store.encode({n: s._asdict() for n, s in scores.items()}), indent=1))
        return
    for n, s in scores.items():
        say(f"{n}: D_stsp {shown(s.d_stsp)}, D_H {shown(s.d_h)}")


def extract(
    file: File,
    name: Annotated[str, typer.Argument(help="A recording of the model.")],
    out: Annotated[Path, typer.Option(help="The file of the small model.")],
) -> None:
    """Write the small stand-alone network of one recording as a model of its own."""
    if out.exists():
        raise CrugError(f"--out {out}: is there already; choose another name")
    small = load(file).extract(name)
    small.save(out)
    say(f"{out}: {small.units} units")


def remove(file: File, name: Annotated[str, typer.Argument(help="A recording of the model.")]) -> None:
    """Take a recording out of a model and its units back. The others keep every bit."""
    with store.alone(file):
        model = load(file).remove(name)
        model.save(file)
    say(f"{file}: {len(model.tasks)} recordings, {model.units_free} of {model.units} units are free")


def grow(file: File, units: Annotated[int, typer.Argument(help="How many units to add, half of them linear.")]) -> None:
    """Add free units to a model. Nothing that was learned changes by a bit."""
    with store.alone(file):
        model = load(file).grow(units)
        model.save(file)
    say(f"{file}: {model.units_free} of {model.units} units are free")
