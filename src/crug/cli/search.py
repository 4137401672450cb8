"""The command line of searches for settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from crug.cli import stopping
from crug.cli.options import Sets, listed
from crug.cli.options import settings as read_settings
from crug.errors import CrugError
from crug.report.terminal import new_table, print_wide, say
from crug.studies.cluster import Cluster
from crug.studies.pool import Done, Engine, Pool
from crug.studies.records import Shelf
from crug.studies.reproduce import Desk
from crug.studies.search import JOURNAL, Plan, Space, table
from crug.studies.search import search as carry_out
from crug.studies.wanted import Wanted
from crug.tasks import SEQUENCES
from crug.training.settings import flat

Workers = Annotated[int, typer.Option(min=1, help="Processes on this machine, one thread each.")]
Scheduler = Annotated[
    str | None, typer.Option("--cluster", help="Instead: the workers of a dask scheduler, by its file or address.")
]


def engine(workers: int, scheduler: str | None, runs: Path) -> Engine:
    """Who carries runs out."""
    return Cluster(scheduler, runs) if scheduler else Pool(runs, workers)


def search(
    sequence: Annotated[str, typer.Argument(help="A named sequence, or tasks with commas between.")],
    method: Annotated[str, typer.Option(help="A method, or the path of your own .py file.")] = "crug",
    trials: Annotated[int, typer.Option(min=1, help="Settings to try.")] = 20,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each; their median counts.")] = 3,
    range_: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="KEY=LOW:HIGH", help="A setting to search.", show_default="the paper's"),
    ] = None,
    set_: Sets = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs a task.")] = None,
    pareto: Annotated[bool, typer.Option("--pareto", help="Few units count beside a good score.")] = False,
    hopeless: Annotated[bool, typer.Option(help="Stop trials whose first seed is far worse than the best.")] = False,
    sampler: Annotated[int, typer.Option(min=0, help="Seed of what is proposed.")] = 0,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the search.", show_default="searches/SEQUENCE-METHOD")
    ] = None,
) -> None:
    """Search for the settings of a method: the paper's ranges, or your own.

    The outcome does not depend on how many workers there are. Interrupted, the same command goes on where it was.
    `optuna-dashboard FOLDER/search.journal` shows it.
    """
    tasks = listed(sequence) or []
    given = flat(read_settings(None, set_ or [], epochs))
    wanted = Wanted(sequence=sequence if sequence in SEQUENCES else tuple(tasks), method=method, seed=0, given=given)
    _ = wanted.settings  # errors come before any work
    plan = Plan(wanted, Space.of(wanted, _ranges(range_ or [])), trials, seeds, pareto, hopeless, sampler)
    out = out or Path("searches") / f"{wanted.plan.sequence}-{Path(method).stem}"
    desk = Desk(Shelf(out / "results"), out)

    def tell(over: int, done: Done) -> None:
        said = f"failed, counts as the worst: {done.error}" if done.result is None else _short(done.result.overall)
        say(f"{over} of {trials} trials; {done.wanted.place}: {said}")

    try:
        found = table(carry_out(plan, desk, engine(workers, scheduler, out), tell))
    except KeyboardInterrupt:
        stopping.say("stopped; the same command goes on from here")
        raise typer.Exit(stopping.STOPPED) from None
    columns = ("score", "units") if pareto else ("score",)
    rows = new_table(f"{method} on {wanted.plan.sequence}", "trial", *plan.space.ranges, *columns)
    for number, settings, values in found:
        rows.add_row(str(number), *(f"{value:g}" for value in settings.values()), *(f"{value:.3g}" for value in values))
    rows.caption = f"score: the worst task, median of {seeds} seeds; less is better. The journal is {out / JOURNAL}"
    print_wide(rows)


def _short(overall: dict[str, Any]) -> str:
    name, value = next(iter(overall.items()))
    return f"{name} {value:.2f}"


def _ranges(texts: list[str]) -> dict[str, tuple[float, float]] | None:
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        key, _, span = text.partition("=")
        low, _, high = span.partition(":")
        try:
            found[key] = float(low), float(high)
        except ValueError:
            raise CrugError(f"--range {text}: write it as KEY=LOW:HIGH, for example --range strength=1:1e5") from None
    return found or None
