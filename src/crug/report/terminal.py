"""Live progress and tables in the terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from crug.analysis.verdict import WORDS
from crug.metrics import MEASURES, quartiles
from crug.page.words import failed, floor_of, shown, verdicts
from crug.runs.result import Learned, Result
from crug.tasks.base import Score, Task
from crug.training.phases import Phase
from crug.training.phases import Progress as PhaseProgress

console = Console(highlight=False)


def print_wide(table: Table) -> None:
    """A table that is not squeezed into a narrow terminal."""
    Console(highlight=False, width=max(console.width, 200)).print(table)


def say(text: str) -> None:
    """A sentence, left to the terminal to wrap: paths in it stay whole."""
    console.print(text, soft_wrap=True, markup=False)


def new_table(title: str, *headings: str, wrap: bool = False) -> Table:
    """An empty table: the first column to the left, all others to the right."""
    out = Table(title=title or None, title_justify="left")
    for i, heading in enumerate(headings):
        out.add_column(heading, justify="right" if i else "left", no_wrap=not wrap or not i)
    return out


def said(score: Score) -> str:
    """All measures in one line."""
    return said_of(score.measures(), score.errors)


def said_of(measures: Mapping[str, float], errors: Mapping[str, float] | None = None) -> str:
    """The same of measures by name."""
    return ", ".join(f"{MEASURES[name].label} {shown(measures, name, errors)}" for name in measures)


def names_of(results: Sequence[Result]) -> list[str]:
    """The measures of these results that stand in tables, in the order of the registry."""
    names = {name for r in results for row in r.tasks for name in row.final}
    return [name for name, measure in MEASURES.items() if name in names and measure.brief]


def names_of_scores(scores: Sequence[Score]) -> dict[str, str]:
    """The measures that these scores have, with their labels, in the order of the registry."""
    return {name: m.label for name, m in MEASURES.items() if any(name in score.values for score in scores)}


def overall_label(name: str) -> str:
    """How the tasks are summed up."""
    return "overall (mean)" if MEASURES[name].percent else "overall (worst)"


def table(result: Result) -> Table:
    """The result of one run: for every task all measures at the end, the first one also right after its own training
    where that differs, beside what a perfect model would get, and under noise where tasks carry some; and overall."""
    names = names_of([result])
    main, labels = names[0], [MEASURES[name].label for name in names]
    forgot = any(row.own[main] != row.final[main] for row in result.tasks)
    noisy = any(row.noisy for row in result.tasks)
    perfect = "\n(perfect)" if any(row.floor for row in result.tasks) else ""
    first = (f"{labels[0]} own", f"final{perfect}") if forgot else (labels[0] + perfect,)
    title = f"{result.plan.method} on {result.plan.sequence}, seed {result.plan.seed}"
    units = "linear\n+ ReLU"
    out = new_table(title, "task", *first, *labels[1:], *(["noise"] if noisy else []), units, wrap=True)
    out.box, out.caption_justify = box.SIMPLE_HEAD, "left"
    for row in result.tasks:
        scores = [shown(row.final, n, row.errors) for n in names]
        scores[0] += f" ({shown(row.floor, main)})" if row.floor else ""
        own = [shown(row.own, main)] if forgot else []
        under = [shown(row.noisy, main)] if noisy else []
        out.add_row(row.name, *own, *scores, *under, f"{row.units['linear']} + {row.units['relu']}")
    linear, relu = (sum(row.units[kind] for row in result.tasks) for kind in ("linear", "relu"))
    out.add_section()
    overall = [*([""] if forgot else []), *(shown(result.overall, name) for name in names), *([""] if noisy else [])]
    out.add_row(overall_label(main), *overall, "" if result.shared else f"{linear} + {relu}", style="bold")
    out.caption = f"{_held(result)}; {result.seconds / 60:.1f} minutes, {_state(result)}{_words(result)}"
    return out


def _words(result: Result) -> str:
    """The tasks by their verdicts, the best first, and what is remarked of them."""
    judged = {row.name: row.judged.word(row.noisy or row.final) for row in result.tasks if row.floor}
    order = sorted(set(judged.values()) - {""}, key=lambda word: WORDS.index(word) if word in WORDS else len(WORDS))
    lines = [f"{word}: {', '.join(name for name in judged if judged[name] == word)}" for word in order]
    lines += [f"{row.name}: {remark}" for row in result.tasks for remark in row.remarks]
    return "".join(f"\n{line}" for line in lines)


def _state(result: Result) -> str:
    return "complete" if result.completed else f"INCOMPLETE: {result.stopped}"


def _held(result: Result) -> str:
    held = f"{result.units} of {result.size} units in all"
    held += ", shared by the tasks" if result.shared else f" ({100 * result.units / result.size:.1f} %)"
    if result.memory_bytes:
        held += f", {result.memory_bytes / 1e6:.1f} MB of memory beside them"
    return held


def middle(name: str, values: Sequence[float]) -> str:
    """One cell for several seeds: median and quartiles, or mean and standard deviation of a measure in percent. Of one
    seed there is no spread."""
    if len(values) == 1:
        return MEASURES[name].shown(values[0])
    return spread(values) if MEASURES[name].percent else str(quartiles(values))


def spread(parts: Sequence[float]) -> str:
    """Mean and standard deviation in percent, as the paper gives accuracies."""
    return f"{100 * np.mean(parts):.2f} +- {100 * np.std(parts, ddof=len(parts) > 1):.2f}"


def summary(results: list[Result], label: str) -> Table:
    """Several seeds of one kind of run: median and quartiles, divergent and incomplete runs counted as the worst.

    Measures in percent are means over the runs that were completed, as in the paper, and so is what is said of units.
    """
    main, *others = names_of(results)
    percent = MEASURES[main].percent
    seeds = ", ".join(str(r.plan.seed) for r in results)
    floors = [floor_of((r.tasks[i] for r in results), main) for i in range(len(results[0].tasks))]
    perfect, judged = (["perfect"], ["verdict"]) if any(floors) else ([], [])
    labels = (f"{MEASURES[main].label} own", "final", *perfect, *(MEASURES[name].label for name in others))
    out = new_table(f"{results[0].plan.sequence}: {label}, seeds {seeds}", "task", *labels, "units", *judged)
    whole = finished(results)
    scored = whole if percent else results
    for i, row in enumerate(results[0].tasks):
        own = middle(main, [r.tasks[i].own[main] for r in scored])
        final = [middle(n, [r.tasks[i].final[n] for r in scored]) for n in (main, *others) if n in row.final]
        final[1:1] = [floors[i] for _ in perfect]
        words = (verdicts(r.tasks[i] for r in scored) for _ in judged)
        out.add_row(row.name, own, *final, f"{float(np.median([r.tasks[i].size for r in whole])):g}", *words)
    overall = [middle(n, [r.overall[n] for r in scored]) for n in (main, *others) if n in results[0].overall]
    overall[1:1] = ["" for _ in perfect]
    out.add_section()
    units = f"{float(np.median([r.units for r in whole])):g}"
    out.add_row(overall_label(main), "", *overall, units, *("" for _ in judged), style="bold")
    complete = sum(r.completed for r in results)
    how = "mean +- standard deviation" if percent else "median +upper -lower quartile"
    out.caption = f"{how}; {complete} of {len(results)} complete; {_minutes(results)} minutes a run"
    return out


def finished(results: list[Result]) -> list[Result]:
    """The runs that were completed; all of them where none was."""
    return [r for r in results if r.completed] or results


def _minutes(results: list[Result]) -> str:
    return f"{float(np.median([r.seconds for r in results])) / 60:.1f}"


def _seeds(results: list[Result]) -> str:
    complete = sum(r.completed for r in results)
    return f"{len(results)}" if complete == len(results) else f"{complete}/{len(results)}"


def comparison(groups: dict[str, list[Result]]) -> Table:
    """Several kinds of runs of one sequence, a row each: the median own -> final of every task, and overall. Of
    measures in percent, where there are many tasks, the means over tasks and the part of the units in use."""
    first = next(iter(groups.values()))[0]
    main, *others = names_of([first])
    if MEASURES[main].percent:
        return _means(groups, first.plan.sequence, main)
    title = f"{first.plan.sequence}: medians over seeds, {MEASURES[main].label} own -> final"
    labels = ("worst", *(MEASURES[name].label for name in others))
    every = [result for results in groups.values() for result in results]
    floors = [floor_of((r.tasks[i] for r in every), main) for i in range(len(first.tasks))]
    judged = ["verdicts"] if any(floors) else []
    headings = (*(row.name for row in first.tasks), *labels, "units", "seeds", "minutes", *judged)
    out = new_table(title, "", *headings)
    for label, results in groups.items():

        def median(values: Sequence[float], name: str = main) -> str:
            return MEASURES[name].shown(quartiles(values).median)

        tasks = (
            f"{median([r.tasks[i].own[main] for r in results])} -> {median([r.tasks[i].final[main] for r in results])}"
            for i in range(len(first.tasks))
        )
        worst = (median([r.overall.get(n, np.inf) for r in results], n) for n in (main, *others))
        units = f"{float(np.median([r.units for r in finished(results)])):g}"
        words = (verdicts(row for r in results for row in r.tasks) for _ in judged)
        out.add_row(label, *tasks, *worst, units, _seeds(results), _minutes(results), *words)
    if judged:
        out.add_section()
        out.add_row("a perfect model", *floors)
    return out


def _means(groups: dict[str, list[Result]], sequence: str, main: str) -> Table:
    title, label = f"{sequence}: means over the completed seeds", f"{MEASURES[main].label} own"
    out = new_table(title, "", label, "final", "capacity", "seeds", "minutes")
    for label, results in groups.items():
        whole = finished(results)
        own = spread([float(np.mean([row.own[main] for row in r.tasks])) for r in whole])
        final = spread([r.overall[main] for r in whole])
        capacity = spread([r.units / r.size for r in whole])
        complete = f"{sum(r.completed for r in results)}/{len(results)}"
        out.add_row(label, own, final, capacity, complete, _minutes(results))
    return out


def _ranked(learned: Learned) -> str:
    """How what was kept of a recording ranks on the training part, beside a perfect model."""
    if learned.chosen is None or MEASURES[next(iter(learned.own.values))].percent:
        return ""
    rank = learned.history[learned.chosen].score.rank
    verdict = "not what was recorded: " if failed(learned) and not learned.noisy else ""
    return f" ({verdict}rank {rank:.1f} on the training part, a perfect model: {learned.floor:.1f})"


class Live:
    """Shows task, phase, epoch, loss, units by kind and the time left while learning goes on.

    Parameters
    ----------
    epochs : of a task.
    tasks : how many there are.
    """

    def __init__(self, epochs: int, tasks: int):
        self.epochs, self.tasks, self.began = epochs, tasks, time.monotonic()
        self.done, self.before = 0, 0
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

    def begins(self, task: Task) -> None:
        label = f"task {self.done + 1}/{self.tasks} {escape(task.name)}"
        self.bar.update(self.id, description=label, text="compiling", completed=0)

    def chunk(self, phase: Phase, progress: PhaseProgress, spent: int) -> None:
        turns = max(1.0, phase.epochs / self.epochs)  # a phase may do the work of several tasks
        share = min(turns, spent / self.epochs)
        now, all_ = self.done + share - self.before, self.tasks - self.before
        left = (time.monotonic() - self.began) * (all_ - now) / max(1e-6, now)
        point = progress.curves[-1]
        text = f"{phase.kind} epoch {progress.epoch}/{phase.epochs}  loss {point.loss:.1e}"
        text += f"  units {point.linear:g} linear {point.relu:g} ReLU"
        text += f"  at most {left / 60:.0f} min left" if left > 60 else f"  at most {left:.0f} s left"
        self.bar.update(self.id, completed=share / turns, text=text)

    def learned(self, name: str, learned: Learned, units: dict[str, int]) -> None:
        self.done += 1
        if time.monotonic() - self.began < 1:  # it was learned before
            self.before = self.done
        count = f"{units['linear']} linear and {units['relu']} ReLU units"
        say(f"{name}: {said(learned.own)} with {count}{_ranked(learned)}")
        if learned.noisy:
            say(f"{name}: {learned.noisy}: {said(learned.noisy.own)}")
