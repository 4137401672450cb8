"""The command line of the paper's tables and figures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn

from crug.cli import stopping
from crug.cli.search import Scheduler, Workers, engine
from crug.errors import CrugError
from crug.report.paper import FIGURES, draw
from crug.report.terminal import console, new_table, print_wide, say
from crug.studies import study as studies
from crug.studies.pages import renew
from crug.studies.pool import Done, Engine
from crug.studies.records import Shelf, collect
from crug.studies.reproduce import Desk, Stock, budget_of, carry_out, seeds_of, stock
from crug.studies.study import Study
from crug.studies.tables import grids
from crug.tasks import gait

Folder = Annotated[Path, typer.Option(help="Where records of finished runs are kept, a few kB each.")]


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Labels of tables and figures, or all.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="What there is, what is stored of it, what it takes.")] = False,
    budget: Annotated[
        str | None,
        typer.Option(help="paper, a part of it (25%), epochs a task (500), or toy.", show_default="paper"),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Which seeds, e.g. 0-9.", show_default="as many as the paper has")
    ] = None,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    draw_only: Annotated[bool, typer.Option("--draw", help="Run nothing: draw from what is stored.")] = False,
    data: Annotated[Path | None, typer.Option(help="Gait: folder with the gaitndd files.")] = None,
    results: Folder = Path("results"),
    runs: Annotated[Path, typer.Option(help="Where runs are kept, with their networks.")] = Path("runs"),
    out: Annotated[Path, typer.Option(help="Where tables and figures are written.")] = Path("reproduced"),
) -> None:
    """Make a table or a figure of the paper: run what is missing, and write it beside the paper's numbers.

    Interrupted, the same command goes on where it was. Tables are written as Markdown, LaTeX and CSV, figures as PNG
    and PDF.
    """
    desk = Desk(Shelf(results), runs, None if budget is None else budget_of(budget))
    chosen = seeds_of(seeds) if seeds else None
    if list_ or not names:
        _list(desk, chosen)
        return
    if data:
        gait.adopt(data)
    wanted = [studies.load(name) for name in (studies.labels() if names == ["all"] else names)]
    errors: list[CrugError] = []
    for study in wanted:
        try:
            if not draw_only:
                _run(study, desk, stock(study, desk, chosen), engine(workers, scheduler, runs))
        except CrugError as error:
            errors.append(error)
        try:  # what is there is written, whatever has failed
            _write(study, desk, out)
        except CrugError as error:
            errors.append(error)
    if errors:
        raise CrugError("\n".join(error.on_the_command_line for error in errors))


def _list(desk: Desk, seeds: Sequence[int] | None) -> None:
    table = new_table("", "label", "what", "runs", "stored", "minutes to go", wrap=True)
    for label in studies.labels():
        study = studies.load(label)
        found = stock(study, desk, seeds)
        minutes = "?" if found.seconds is None else f"{found.seconds / 60:.0f}"
        stored = len(found.wanted) - len(found.missing)
        table.add_row(label, f"{study.kind}: {study.title}", f"{len(found.wanted)}", f"{stored}", minutes)
    table.caption = "minutes of one core, by the stored runs of the same kind; ? where there are none"
    print_wide(table)


def _run(study: Study, desk: Desk, found: Stock, by: Engine) -> None:
    if not found.missing:
        return
    began = time.monotonic()
    bar = Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[text]}"),
        console=console,
    )
    over, failures, at_once = 0, 0, by.at_once
    with bar:

        def running(over: int) -> int:
            return min(at_once, len(found.missing) - over)

        text = f"{len(found.missing)} runs to make, {running(0)} running"
        id_ = bar.add_task(study.label, total=len(found.missing), text=text)

        def tell(done: Done) -> None:
            nonlocal over, failures
            over, failures = over + 1, failures + (done.result is None)
            left = (time.monotonic() - began) / over * (len(found.missing) - over)
            text = f"{over}/{len(found.missing)} runs, {running(over)} running, {failures} failed"
            text += f", about {left / 60:.0f} min left"
            bar.update(id_, completed=over, text=text)
            if done.result is None:
                say(f"{done.wanted.place}: failed: {done.error}")

        try:
            failed = carry_out(found.missing, desk, by, tell)
        except KeyboardInterrupt:
            stopping.say("stopped; the same command goes on from here")
            raise typer.Exit(stopping.STOPPED) from None
    if failed:
        raise CrugError(
            f"{study.label}: {len(failed)} of {len(found.missing)} runs failed; the same command tries again"
        )


def _write(study: Study, desk: Desk, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if study.kind == "figure" or study.label in FIGURES:
        for file in draw(study, desk, out):
            say(f"{file}")
        return
    tables = grids(study, desk.shelf, desk.budget)
    for ending, text in (
        ("md", "\n".join(grid.markdown() for grid in tables)),
        ("tex", "\n".join(grid.latex() for grid in tables)),
        ("csv", "\n".join(grid.csv() for grid in tables)),
    ):
        (out / f"{study.label}.{ending}").write_text(text)
    say(f"{out / study.label}.md, .tex, .csv")


def record(
    folders: Annotated[list[Path] | None, typer.Argument(help="Folders of finished runs.")] = None,
    results: Folder = Path("results"),
    pages: Annotated[
        list[Path] | None, typer.Option("--page", help="A page whose tables are made anew; repeatable.")
    ] = None,
) -> None:
    """Keep the results of finished runs without their networks, and renew the tables of pages."""
    shelf = Shelf(results)
    for file in collect(folders or [], shelf):
        say(f"{file}")
    for page in pages or []:
        say(f"{page}: {'renewed' if renew(page, shelf) else 'as it was'}")
