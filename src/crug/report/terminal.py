"""Live progress and tables in the terminal."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from crug.evaluation import AnyScore
from crug.metrics import quartiles
from crug.phases import Phase
from crug.phases import Progress as PhaseProgress
from crug.tasks import AnyTask

console = Console(highlight=False)


def print_wide(table: Table) -> None:
    """A table that is not squeezed into a narrow terminal."""
    Console(highlight=False, width=max(console.width, 200)).print(table)


def say(text: str) -> None:
    """A sentence, left to the terminal to wrap: paths in it stay whole."""
    console.print(text, soft_wrap=True, markup=False)


def shown(value: float, measure: str = "") -> str:
    if measure == "accuracy":
        return f"{100 * value:.2f} %"
    return f"{value:.2f}" if np.isfinite(value) else "div."


def table(result: dict[str, Any]) -> Table:
    """The result of one run: own -> final for every task, and overall: the worst of them, or the mean accuracy."""
    title = f"{result['method']} on {result['sequence']}, seed {result['seed']}"
    out = Table(title=title, title_justify="left")
    measures = list(result["overall"])
    scores = [heading for m in measures for heading in (f"{LABELS[m]} own", "final")]
    for heading in ("task", *scores, "linear", "ReLU"):
        out.add_column(heading, justify="left" if heading == "task" else "right")
    for row in result["tasks"]:
        own, final, units = row["own"], row["final"], row["units"]
        values = (shown(v, m) for m in measures for v in (own[m], final[m]))
        out.add_row(row["name"], *values, str(units["linear"]), str(units["relu"]))
    totals = [sum(row["units"][kind] for row in result["tasks"]) for kind in ("linear", "relu")]
    shared = result.get("shared", sum(totals) > result["units"])  # older results do not say it
    kinds = ("", "") if shared else map(str, totals)
    out.add_section()
    worst = [cell for m in measures for cell in ("", shown(result["overall"][m], m))]
    out.add_row("overall (mean)" if "accuracy" in measures else "overall (worst)", *worst, *kinds, style="bold")
    state = "complete" if result["completed"] else f"INCOMPLETE: {result['stopped']}"
    M = result["config"]["network"]["M"]
    held = f"{result['units']} of {M} units in all"
    if "accuracy" in measures and not shared:
        held += f" ({100 * result['units'] / M:.1f} %)"
    if shared:
        held += ", shared by the tasks"
    if result.get("memory_bytes"):
        held += f", {result['memory_bytes'] / 1e6:.1f} MB of memory beside them"
    out.caption = f"{held}; {result['seconds'] / 60:.1f} minutes, {state}"
    return out


LABELS = {"d_stsp": "D_stsp", "d_h": "D_H", "accuracy": "accuracy"}


def summary(results: list[dict[str, Any]], label: str) -> Table:
    """Several seeds of one configuration: median and quartiles, divergent and incomplete runs counted as the worst.

    Accuracies are means over the runs that were completed, as in the paper, and so is everything that is said of units.
    """
    seeds = ", ".join(str(r["seed"]) for r in results)
    out = Table(title=f"{results[0]['sequence']}: {label}, seeds {seeds}", title_justify="left")
    trials = "accuracy" in results[0]["overall"]
    asked = (("own", "accuracy"), ("final", "accuracy")) if trials else SHOWN
    headings = ("accuracy own", "final") if trials else ("D_stsp own", "final", "D_H final")
    for heading in ("task", *headings, "units"):
        out.add_column(heading, justify="left" if heading == "task" else "right", no_wrap=True)
    middle = spread if trials else lambda values: str(quartiles(values))
    whole = finished(results)
    scored = whole if trials else results
    for i, row in enumerate(results[0]["tasks"]):
        scores = (middle([r["tasks"][i][when][m] for r in scored]) for when, m in asked)
        units = float(np.median([sum(r["tasks"][i]["units"].values()) for r in whole]))
        out.add_row(row["name"], *scores, f"{units:g}")
    overall = (middle([r["overall"][m] for r in scored]) for m in results[0]["overall"])
    out.add_section()
    units = float(np.median([r["units"] for r in whole]))
    out.add_row("overall (mean)" if trials else "overall (worst)", "", *overall, f"{units:g}", style="bold")
    complete = sum(r["completed"] for r in results)
    minutes = float(np.median([r["seconds"] for r in results])) / 60
    how = "mean +- standard deviation" if trials else "median +upper -lower quartile"
    out.caption = f"{how}; {complete} of {len(results)} complete; {minutes:.1f} minutes a run"
    return out


def finished(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs that were completed; all of them where none was."""
    return [r for r in results if r["completed"]] or results


def spread(accuracies: list[float]) -> str:
    """Mean and standard deviation in percent, as the paper gives accuracies."""
    return f"{100 * np.mean(accuracies):.2f} +- {100 * np.std(accuracies, ddof=len(accuracies) > 1):.2f}"


def comparison(groups: dict[str, list[dict[str, Any]]]) -> Table:
    """Several kinds of runs of one sequence, a row each: the median own -> final D_stsp of every task, and overall."""
    first = next(iter(groups.values()))[0]
    if "accuracy" in first["overall"]:
        return _accuracies(groups)
    out = Table(title=f"{first['sequence']}: medians over seeds, D_stsp own -> final", title_justify="left")
    headings = ("", *(row["name"] for row in first["tasks"]), "worst", "D_H", "units", "seeds", "minutes")
    for heading in headings:
        out.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for label, results in groups.items():
        middle = [[quartiles([r["tasks"][i][w]["d_stsp"] for r in results]).median for w in ("own", "final")]
                  for i in range(len(first["tasks"]))]  # fmt: skip
        overall = (quartiles([r["overall"][m] for r in results]).median for m in ("d_stsp", "d_h"))
        units = f"{float(np.median([r['units'] for r in finished(results)])):g}"
        complete = sum(r["completed"] for r in results)
        seeds = f"{len(results)}" if complete == len(results) else f"{complete}/{len(results)}"
        minutes = float(np.median([r["seconds"] for r in results])) / 60
        tasks = (f"{shown(own)} -> {shown(final)}" for own, final in middle)
        out.add_row(label, *tasks, *map(shown, overall), units, seeds, f"{minutes:.1f}")
    return out


def _accuracies(groups: dict[str, list[dict[str, Any]]]) -> Table:
    """The same for accuracies: own -> final on average over the tasks, and the part of the units in use."""
    out = Table(title="cognitive: means over the completed seeds", title_justify="left")
    for heading in ("", "accuracy own", "final", "capacity", "seeds", "minutes"):
        out.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for label, results in groups.items():
        whole = finished(results)
        own = spread([float(np.mean([row["own"]["accuracy"] for row in r["tasks"]])) for r in whole])
        final = spread([r["overall"]["accuracy"] for r in whole])
        capacity = spread([r["units"] / r["config"]["network"]["M"] for r in whole])
        complete = sum(r["completed"] for r in results)
        minutes = float(np.median([r["seconds"] for r in results])) / 60
        out.add_row(label, own, final, capacity, f"{complete}/{len(results)}", f"{minutes:.1f}")
    return out


SHOWN = (("own", "d_stsp"), ("final", "d_stsp"), ("final", "d_h"))


class Live:
    """Shows task, phase, epoch, loss, units alive by kind and the time left while a run goes on."""

    def __init__(self, epochs: int, tasks: int):
        self.epochs, self.tasks, self.began, self.before = epochs, tasks, time.monotonic(), 0.0
        self.first = 0
        """Tasks that were done before the first one that this is told of."""
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[text]}"),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Live:
        self.bar.start()
        self.id = self.bar.add_task("starting", total=1.0, text="")
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def task(self, number: int, task: AnyTask) -> None:
        self.number, self.name = self.first + number, task.name
        self.before = self.number / self.tasks if self.before == 0 else self.before
        label = f"task {self.number + 1}/{self.tasks} {escape(task.name)}"
        self.bar.update(self.id, description=label, text="compiling", completed=0)

    def chunk(self, phase: Phase, progress: PhaseProgress, spent: int) -> None:
        turns = max(1.0, phase.epochs / self.epochs)  # a phase may do the work of several tasks
        share = min(turns, spent / self.epochs)
        done = (self.number + share) / self.tasks
        rate = (time.monotonic() - self.began) / max(1e-6, done - self.before)
        left = rate * (1 - done)
        _, _, loss, linear, relu, *_ = progress.curves[-1]
        text = f"{phase.kind} epoch {progress.epoch}/{phase.epochs}  loss {loss:.1e}"
        text += f"  units {linear:g} linear {relu:g} ReLU"
        text += f"  at most {left / 60:.0f} min left" if left > 60 else f"  at most {left:.0f} s left"
        self.bar.update(self.id, completed=share / turns, text=text)

    def learned(self, number: int, name: str, score: AnyScore, units: dict[str, int]) -> None:
        measures = (f"{LABELS[m]} {shown(v, m)}" for m, v in score._asdict().items() if m in LABELS)
        say(f"{name}: {', '.join(measures)} with {units['linear']} linear and {units['relu']} ReLU units")
