"""The command line of a model file: learn, info, score, extract, remove, merge, grow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.markup import escape
from rich.table import Table

from crug.analysis import Judged
from crug.analysis.recognition import FEWEST as SHORTEST
from crug.cli import stopping
from crug.cli.ahead import read_alike
from crug.cli.options import File, Json, Name
from crug.cli.recordings import embedded, groups, read_all, shaped_as_asked
from crug.errors import CrugError
from crug.methods.crug import CrugSettings
from crug.metrics import MEASURES
from crug.model import Model, load
from crug.model.asked import Asked
from crug.model.many import already, learning, may_hear
from crug.model.model import CASE, UNITS
from crug.model.order import Order, in_folder
from crug.readers import Recording
from crug.report.terminal import Live, names_of_scores, new_table, print_wide, said_of, say, shown
from crug.runs import store
from crug.runs.hands import Crew, Hands
from crug.studies.cluster import Dispatch

Columns = Annotated[str | None, typer.Option(help="Columns to take, by name or number from 1, e.g. x,z or 1,3.")]
Recordings = Annotated[
    list[str],
    typer.Argument(
        help="Recordings: .csv, .tsv, .npy, .npz, .mat, .parquet files or WFDB records; or systems of the database "
        "dysts: dysts:Lorenz, or dysts:10 for the first ten."
    ),
]
Lags = Annotated[str | None, typer.Option(help="Delay embedding: lags in samples, e.g. 20,40, or auto.")]
LOOKED_AT = 2_000
"""Samples by which a recording is told from those that a model already has."""
SEVERAL = "several"
"""The part of the folder with interrupted work in which several recordings are learned at once."""
SEEN = "nothing was held out: scored on samples that it was learned from"


def learn(
    file: File,
    recordings: Recordings,
    name: Annotated[
        str | None, typer.Option(help="What it is called from now on.", show_default="the file's or the system's name")
    ] = None,
    dt: Annotated[
        float | None,
        typer.Option(help="Interval between samples as recorded.", show_default="what the file says, or 1"),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="The most epochs that may be spent.")] = None,
    units: Annotated[int | None, typer.Option(help="No more units than that for a recording.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="How much worse a smaller network may score.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="high spends units and time, where forecasts are to be valid for long.")
    ] = None,
    together: Annotated[bool, typer.Option(help="The recordings are trajectories of one system.")] = False,
    columns: Columns = None,
    inputs: Annotated[
        str | None, typer.Option(help="Columns that drove the system, by name or number, e.g. torque.")
    ] = None,
    decimate: Annotated[int, typer.Option(min=1, help="Keep every so many samples, behind an anti-alias filter.")] = 1,
    cut: Annotated[int, typer.Option(min=0, help="Samples to cut from both ends.")] = 0,
    lags: Lags = None,
    fill: Annotated[str | None, typer.Option(help="Replace missing values: linear or previous.")] = None,
    smooth: Annotated[bool, typer.Option(help="Smooth noise away, in columns that have some.")] = True,
    hold_out: Annotated[bool, typer.Option(help="Keep the last sixth for scores, or learn from all of it.")] = True,
    size: Annotated[int, typer.Option(min=4, help="Units of a new model.")] = UNITS,
    seed: Annotated[int, typer.Option(help="Seed of a new model.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Learn so many recordings at a time.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(help="Learn on the workers of a dask scheduler, by its file or address.")
    ] = None,
) -> None:
    """Add recordings to a model; the file is made if there is none.

    Each is saved as soon as it is learned and those before it are. With several workers the records are the same, to
    the bit, as with one. Interrupted, the same command goes on where it was.
    """
    with store.alone(file):
        model = load(file) if file.exists() else Model(units=size, seed=seed)
        found = [shaped_as_asked(one, cut, decimate, dt) for one in read_all(recordings, columns, inputs, fill)]
        todo = _names(model, groups(embedded(found, lags, together), together), name)
        how: Any = {"epochs": epochs, "units": units, "tolerance": tolerance, "smooth": smooth}
        how |= {"hold_out": hold_out, "precision": precision}
        for called, group in todo:
            _tell_alike(called, model, group)
        several = (workers > 1 and len(todo) > 1) or cluster
        if several and may_hear(model):
            say("recordings that may hear one another are learned one after another, by one worker")
        elif several:
            crew = Dispatch(cluster, in_folder) if cluster else Hands(min(workers, len(todo)), in_folder)
            learn_together(file, model, todo, how, crew)
            todo = []
        learn_all(file, model, todo, how)
    _say_room(file, model)


def learn_together(
    file: Path, model: Model, todo: Sequence[tuple[str, Any]], how: dict[str, Any], crew: Crew[Order, bytes]
) -> None:
    """Learn recordings, each with its name, several at a time; each is saved when those before it are."""
    for called, group in todo:  # errors come before any work
        _tell_noise(called, model.prepared(group, called, **how).task)
    count, place = len(todo), scratch(file)
    try:
        for number, kept in enumerate(learning(model, dict(todo), Asked.of(how), place / SEVERAL, crew), 1):
            model.save(file)
            units = sum(kept.listed.count.values())
            say(f"{number} of {count}: {kept.name}, {units} units, {said_of(kept.record.known.learned.own.measures())}")
            _tell_verdict(model, kept.name)
    except KeyboardInterrupt:
        _stopped(file, todo)
    store.clear(place)


def learn_all(file: Path, model: Model, todo: Sequence[tuple[str, Any]], how: dict[str, Any]) -> None:
    """Learn recordings, each with its name, one after another; each is saved before the next begins."""
    for called, group in todo:  # errors come before any work
        _tell_noise(called, model.prepared(group, called, **how).task)
    most = CrugSettings.resolve(CASE, Asked.of(how).settings()).epochs
    with Live(most, len(todo)) as live:
        for called, group in todo:
            try:
                model.learn(group, called, **how, progress=live, scratch=scratch(file))
                model.save(file)
            except KeyboardInterrupt:
                _stopped(file, todo)
            store.clear(scratch(file))
            _tell_verdict(model, called)


def _stopped(file: Path, todo: Sequence[tuple[str, Any]]) -> NoReturn:
    """Say how many of the recordings the file has. Only the file knows: a save may have been stopped."""
    there = load(file).tasks if file.exists() else ()
    number = sum(called in there for called, _ in todo)
    kept = f"has the {number} before it" if number else "is as it was"
    stopping.say(f"stopped; {file} {kept}, and the same command goes on from here")
    raise typer.Exit(stopping.STOPPED) from None


def _tell_verdict(model: Model, name: str) -> None:
    if verdict := model.verdict(name):
        beside = model.judged(name).beside(model.learned(name).own.measures())
        say(f"{name}: {verdict} ({beside})")


def _say_room(file: Path, model: Model) -> None:
    count = len(model.tasks)
    recordings = "1 recording" if count == 1 else f"{count} recordings"
    say(f"{file}: {recordings}, {model.units_free} of {model.units} units are free")


def _tell_noise(name: str, task: Any) -> None:
    if task.smoothed:
        noisy = ", ".join(f"{n} over {w}" for n, w in zip(task.columns, task.smoothed, strict=True) if w)
        say(f"{name}: noisy, smoothed before learning ({noisy} samples); --no-smooth learns it as it is")


def _tell_alike(name: str, model: Model, recordings: Sequence[Recording]) -> None:
    """A warning where a recording looks like one that the model already has."""
    longest = max(recordings, key=len)
    if longest.inputs is not None or len(longest) < SHORTEST:
        return
    found = model.recognise(longest[:LOOKED_AT])
    if found.name:
        typer.echo(f"crug: {name} looks like {found.name}, which the model already has ({found})", err=True)


def scratch(file: Path) -> Path:
    """The folder beside a model's file in which interrupted learning is kept."""
    file = file.resolve()
    return file.with_name(file.name + ".progress")


def _names(model: Model, found: list[list[Recording]], name: str | None) -> list[tuple[str, list[Recording]]]:
    """What there is left to learn, by name."""
    if name and len(found) > 1:
        raise CrugError("--name: names one recording; leave it out for several, or add --together")
    names = [name or Path(group[0].source).stem for group in found]
    todo = []
    for called, group in zip(names, found, strict=True):
        if names.count(called) > 1:
            raise CrugError(f"two recordings would be called {called!r}; learn them one by one with --name")
        if called not in model.tasks:
            todo.append((called, group))
        elif already(model, called, group):
            say(f"{called}: already learned; to learn it anew, crug remove it first")
        else:
            raise CrugError(f"the model already has another recording called {called!r}; give this one a --name")
    return todo


def info(
    file: File,
    as_json: Json = False,
    figures: Annotated[Path | None, typer.Option(help="Folder for pictures: rollouts and capacity curves.")] = None,
) -> None:
    """What a model knows: its recordings, their units and scores, and what is free."""
    model = load(file)
    if as_json:
        rows = [_row(model, name) for name in model.tasks]
        free = {"units": model.units, "free": model.units_free, "seed": model.seed}
        typer.echo(json.dumps(store.encode({**free, "tasks": rows}), indent=1))
    else:
        print_wide(_table(model))
    if figures:
        from crug.report.figures import draw_model

        draw_model(model, figures)
        typer.echo(f"pictures are in {figures}", err=as_json)


def _row(model: Model, name: str) -> dict[str, Any]:
    about, learned = model.about(name), model.learned(name)
    told = {"name", "columns", "inputs", "smoothed", "samples", "dt", "kind", "held_out"}
    facts = about.model_dump(mode="json", include=told)
    numbers = {"dimensions": len(about.columns), "units": model.ledger[name], "minutes": learned.seconds / 60}
    noise = {"noise": learned.noisy.own.measures()} if learned.noisy else {}
    judged = {"floor": model.judged(name).floor, "verdict": model.verdict(name)}
    return {**facts, **numbers, "score": learned.own.measures(), **noise, **judged}


def _table(model: Model) -> Table:
    names = names_of_scores([model.learned(name).own for name in model.tasks])
    noisy = any(model.learned(name).noisy for name in model.tasks)
    noise = [f"{next(iter(names.values()))}, noise"] if noisy else []
    labels = [f"{label} (perfect)" if i == 0 else label for i, label in enumerate(names.values())]
    sizes = "linear", "ReLU", "minutes", "verdict"
    out = new_table("", "recording", "dimensions", "samples", *labels, *noise, *sizes)
    for name in model.tasks:
        about, learned, units = model.about(name), model.learned(name), model.ledger[name]
        scores = [shown(learned.own.measures(), measure) for measure in names]
        floor, first = model.judged(name).floor, next(iter(names))
        scores[0] += f" ({shown(floor, first)})" if first in floor else ""
        if noisy:
            scores.append(shown(learned.noisy.own.measures(), next(iter(names))) if learned.noisy else "")
        kinds = str(units["linear"]), str(units["relu"])
        size = str(len(about.columns)), f"{about.samples:,}"
        called = escape(name) + ("" if about.held_out else " *")
        word = model.verdict(name).partition(":")[0]
        out.add_row(called, *size, *scores, *kinds, f"{learned.seconds / 60:.1f}", word)
    out.caption = f"free: {model.units_free} of {model.units} units; seed {model.seed}"
    if not all(model.about(name).held_out for name in model.tasks):
        out.caption += f"\n* {SEEN}"
    return out


def score(
    file: File,
    name: Annotated[str | None, typer.Argument(help="A recording; all if not given.")] = None,
    data: Annotated[
        str | None, typer.Argument(help="A file with other samples of it, instead of those held out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Whether recordings were learned: all measures on their held-out parts, beside what a perfect model would get.

    Forecasts stand beside those of two simple models: the last sample for ever (persistence), and a linear
    autoregression (VAR). Of recordings that carry noise, rollouts under it are scored too.
    """
    model = load(file)
    rows = {n: _scored(model, n, data) for n in ([name] if name else model.tasks)}
    if as_json:
        typer.echo(json.dumps(store.encode(rows), indent=1))
        return
    for n, row in rows.items():
        seen = "" if data or model.about(n).held_out else f" ({SEEN})"
        judged = Judged(row["floor"], row["remarks"])
        noisy = f"; with noise {said_of(row['noise'])}" if "noise" in row else ""
        measures = {key: value for key, value in row.items() if key in MEASURES}
        say(f"{n}: {said_of(measures, row['errors'])}{noisy}{seen}")
        verdict = judged.says(row.get("noise", measures))
        if verdict:
            say(f"  {verdict} ({judged.beside(measures)})")
        for called, errors in row["forecasts"].items():
            say(f"  forecasts of {called}: " + ", ".join(f"{e:.2g} after {h}" for h, e in errors.items()))


def _scored(model: Model, name: str, data: str | None) -> dict[str, Any]:
    """Everything that is said of a score."""
    x = None if data is None else read_alike(data, model.about(name))
    score, judged = model.score(name, x), model.judged(name, x)
    noise = {"noise": model.score(name, x, noise=True).measures()} if model.learned(name).noisy else {}
    beside = {"errors": dict(score.errors), "floor": dict(judged.floor), "remarks": list(judged.remarks)}
    verdict = judged.says(noise.get("noise", score.measures()))
    return {**score.measures(), **noise, **beside, "verdict": verdict, "forecasts": model.forecast_errors(name, x)}


def extract(
    file: File,
    name: Name,
    out: Annotated[Path, typer.Option(help="The file of the small model.")],
) -> None:
    """Write the small stand-alone network of one recording as a model of its own."""
    if out.exists():
        raise CrugError(f"--out {out}: is there already; choose another name")
    small = load(file).extract(name)
    small.save(out)
    say(f"{out}: {small.units} units")


def remove(file: File, name: Name) -> None:
    """Take a recording out of a model and its units back. The others keep every bit."""
    with store.alone(file):
        model = load(file).remove(name)
        model.save(file)
    _say_room(file, model)


def merge(
    files: Annotated[list[Path], typer.Argument(help="Models' files.")],
    out: Annotated[Path, typer.Option(help="The file of the model with all their recordings.")],
) -> None:
    """Put the recordings of several models into one. All keep every bit; the free units are added up."""
    if out.exists():
        raise CrugError(f"--out {out}: is there already; choose another name")
    first, *others = [load(file) for file in files]
    model = first.merge(*others)
    model.save(out)
    _say_room(out, model)


def grow(file: File, units: Annotated[int, typer.Argument(help="How many units to add.")]) -> None:
    """Add free units to a model. Nothing that was learned changes by a bit."""
    with store.alone(file):
        model = load(file).grow(units)
        model.save(file)
    say(f"{file}: {model.units_free} of {model.units} units are free")
