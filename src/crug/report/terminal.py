"""Live progress and tables in the terminal."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from crug.evaluation import Score
from crug.metrics import quartiles
from crug.phases import Phase
from crug.phases import Progress as PhaseProgress
from crug.tasks import Task

console = Console(highlight=False)


def print_wide(table: Table) -> None:
    """A table that is not squeezed into a narrow terminal."""
    Console(highlight=False, width=max(console.width, 200)).print(table)


def say(text: str) -> None:
    """A sentence, left to the terminal to wrap: paths in it stay whole."""
    console.print(text, soft_wrap=True, markup=False)


def shown(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "div."


def table(result: dict[str, Any]) -> Table:
    """The result of one run: own -> final for every task, and overall, the worst of them."""
    title = f"{result['method']} on {result['sequence']}, seed {result['seed']}"
    out = Table(title=title, title_justify="left")
    for heading in ("task", "D_stsp own", "final", "D_H own", "final", "linear", "ReLU"):
        out.add_column(heading, justify="left" if heading == "task" else "right")
    for row in result["tasks"]:
        own, final, units = row["own"], row["final"], row["units"]
        scores = (shown(v) for m in ("d_stsp", "d_h") for v in (own[m], final[m]))
        out.add_row(row["name"], *scores, str(units["linear"]), str(units["relu"]))
    overall = result["overall"]
    totals = [sum(row["units"][kind] for row in result["tasks"]) for kind in ("linear", "relu")]
    shared = sum(totals) > result["units"]
    kinds = ("", "") if shared else map(str, totals)
    out.add_section()
    out.add_row("overall (worst)", "", shown(overall["d_stsp"]), "", shown(overall["d_h"]), *kinds, style="bold")
    state = "complete" if result["completed"] else f"INCOMPLETE: {result['stopped']}"
    held = f"{result['units']} of {result['config']['network']['M']} units in all"
    if shared:
        held += ", shared by the tasks"
    if result.get("memory_bytes"):
        held += f", {result['memory_bytes'] / 1e6:.1f} MB of memory beside them"
    out.caption = f"{held}; {result['seconds'] / 60:.1f} minutes, {state}"
    return out


def summary(results: list[dict[str, Any]], label: str) -> Table:
    """Several seeds of one configuration: median and quartiles, divergent and incomplete runs counted as the worst."""
    seeds = ", ".join(str(r["seed"]) for r in results)
    out = Table(title=f"{results[0]['sequence']}: {label}, seeds {seeds}", title_justify="left")
    for heading in ("task", "D_stsp own", "final", "D_H final", "units"):
        out.add_column(heading, justify="left" if heading == "task" else "right", no_wrap=True)
    for rows in zip(*(r["tasks"] for r in results), strict=True):
        scores = (quartiles([row[when][m] for row in rows]) for when, m in SHOWN)
        units = float(np.median([sum(row["units"].values()) for row in rows]))
        out.add_row(rows[0]["name"], *map(str, scores), f"{units:g}")
    overall = (quartiles([r["overall"][m] for r in results]) for m in ("d_stsp", "d_h"))
    out.add_section()
    units = float(np.median([r["units"] for r in results]))
    out.add_row("overall (worst)", "", *map(str, overall), f"{units:g}", style="bold")
    complete = sum(r["completed"] for r in results)
    minutes = float(np.median([r["seconds"] for r in results])) / 60
    out.caption = f"median +upper -lower quartile; {complete} of {len(results)} complete; {minutes:.1f} minutes a run"
    return out


def comparison(groups: dict[str, list[dict[str, Any]]]) -> Table:
    """Several kinds of runs of one sequence, a row each: the median own -> final D_stsp of every task, and overall."""
    first = next(iter(groups.values()))[0]
    out = Table(title=f"{first['sequence']}: medians over seeds, D_stsp own -> final", title_justify="left")
    headings = ("", *(row["name"] for row in first["tasks"]), "worst", "D_H", "units", "seeds", "minutes")
    for heading in headings:
        out.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for label, results in groups.items():
        middle = [[quartiles([r["tasks"][i][w]["d_stsp"] for r in results]).median for w in ("own", "final")]
                  for i in range(len(first["tasks"]))]  # fmt: skip
        overall = (quartiles([r["overall"][m] for r in results]).median for m in ("d_stsp", "d_h"))
        units = f"{float(np.median([r['units'] for r in results])):g}"
        complete = sum(r["completed"] for r in results)
        seeds = f"{len(results)}" if complete == len(results) else f"{complete}/{len(results)}"
        minutes = float(np.median([r["seconds"] for r in results])) / 60
        tasks = (f"{shown(own)} -> {shown(final)}" for own, final in middle)
        out.add_row(label, *tasks, *map(shown, overall), units, seeds, f"{minutes:.1f}")
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

    def task(self, number: int, task: Task) -> None:
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

    def learned(self, number: int, name: str, score: Score, units: dict[str, int]) -> None:
        say(
            f"{name}: D_stsp {shown(score.d_stsp)}, D_H {shown(score.d_h)} with {units['linear']} linear and "
            f"{units['relu']} ReLU units"
        )
