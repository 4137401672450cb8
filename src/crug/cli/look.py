"""Commands that look at what was learned: analyse, recognise, report, watch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from crug.analysis import Analysis, Subject
from crug.analysis import analyse as analyse_subject
from crug.cli.model import scratch
from crug.cli.options import File, Json, listed
from crug.errors import CrugError
from crug.model import load
from crug.model.told import book_of_model, source_of_model
from crug.page import write_page
from crug.page.run import book_of_runs
from crug.page.server import HOST, server, source_of_run
from crug.readers import read, shaped
from crug.report.terminal import say
from crug.runs import store
from crug.runs.opened import open_run

Place = Annotated[Path, typer.Argument(help="A model's file, or the folder of a run.")]


def analyse(
    path: Place,
    name: Annotated[str | None, typer.Argument(help="A recording or task; all if not given.")] = None,
    cycles: Annotated[int, typer.Option(help="Look for cycles of up to so many samples.")] = 1,
    as_json: Json = False,
) -> None:
    """What was learned, in the words of dynamical systems theory.

    Lyapunov exponents beside those of the recording, fixed points and cycles, the linear regions that are visited,
    where rollouts end from many starts, and what was drawn from earlier recordings.
    """
    found = _of_run(path, name, cycles) if path.is_dir() else _of_model(path, name, cycles)
    if as_json:
        typer.echo(json.dumps(store.encode({one.name: one.to_json() for one in found}), indent=1))
        return
    for number, one in enumerate(found):
        say("\n" * bool(number) + str(one))


def _of_model(file: Path, name: str | None, cycles: int) -> Iterator[Analysis]:
    model = load(file)
    return (model.analyse(one, cycles) for one in ([name] if name else model.tasks))


def _of_run(folder: Path, name: str | None, cycles: int) -> Iterator[Analysis]:
    opened = open_run(folder)
    if name and name not in opened.names:
        raise CrugError(f"{folder}: has no task called {name!r}; it has: {', '.join(opened.names)}")
    for number, task in enumerate(opened.tasks):
        if name in (None, task.name):
            yield analyse_subject(Subject(opened.network, number, task, opened.names), cycles)


def recognise(
    file: File,
    data: Annotated[str, typer.Argument(help="A file with a stretch of data, in any format that learn takes.")],
    columns: Annotated[str | None, typer.Option(help="Columns to take, by name or number from 1.")] = None,
    fill: Annotated[str | None, typer.Option(help="Replace missing values: linear or previous.")] = None,
    decimate: Annotated[int, typer.Option(min=1, help="As when the recordings were learned.")] = 1,
    as_json: Json = False,
) -> None:
    """Which known recording's dynamics made a stretch of data, or whether it is new.

    The data are to have the columns, the units and the interval of the recordings. Delayed copies that a recording was
    learned with are made again.
    """
    found = load(file).recognise(shaped(read(data, listed(columns), fill), decimate=decimate))
    if as_json:
        ranking = [{**vars(one), "same": one.same} for one in found.ranking]
        margin = found.margin if np.isfinite(found.margin) else None  # there is no second best
        told = {"name": found.name, "margin": margin, "ranking": ranking, "left_out": dict(found.left_out)}
        typer.echo(json.dumps(store.encode(told), indent=1))
        return
    say(str(found))


def report(
    paths: Annotated[list[Path], typer.Argument(help="A model's file, or one or several folders of runs.")],
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("page.html"),
) -> None:
    """Write a page that shows what was learned: one HTML file that opens offline.

    Scores with their verdicts, attractors to turn with the mouse, exponents, fixed points, spectra, and who owns which
    unit. Several runs are compared.
    """
    if out.suffix not in (".html", ".htm"):
        raise CrugError(f"--out {out}: write .html")
    if any(path.is_file() for path in paths) and len(paths) > 1:
        raise CrugError("give one model's file, or folders of runs", "", "make a page for each model's file")
    book = book_of_runs(paths) if paths[0].is_dir() else book_of_model(load(paths[0]), paths[0].name)
    size, count = write_page(book, out).stat().st_size, len(book.chapters)
    say(f"{out}: {count} chapter{'' if count == 1 else 's'}, {size / 1e6:.1f} MB; open it in a browser")


def watch(
    path: Place,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8765,
) -> None:
    """Serve the page of a run or a model that is under way, to a browser on this machine.

    The page follows as checkpoints come. It reads only; Ctrl-C ends it, and the run goes on.
    """
    source = source_of_run(path) if path.is_dir() else source_of_model(path, scratch(path))
    served = server(source, port)
    say(f"http://{HOST}:{served.server_port}/ shows {path}; Ctrl-C ends it")
    with served:
        served.serve_forever()
