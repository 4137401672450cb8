"""Commands that look at what was learned: analyse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from crug.analysis import Analysis, Subject
from crug.analysis import analyse as analyse_subject
from crug.cli.options import Json
from crug.errors import CrugError
from crug.model import load
from crug.report.terminal import say
from crug.runs import store
from crug.runs.opened import open_run

Place = Annotated[Path, typer.Argument(help="A model's file, or the folder of a run.")]


def analyse(
    path: Place,
    name: Annotated[str | None, typer.Argument(help="A recording or task; all if not given.")] = None,
    cycles: Annotated[int, typer.Option(min=1, help="Look for cycles of up to so many samples.")] = 1,
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
