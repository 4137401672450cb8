"""Which columns a table of the paper has, and how each is computed from the results of a row's seeds.

Divergent and exhausted runs count as the worst wherever a median is taken, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from crug.metrics import quartiles
from crug.runs import Result
from crug.tasks import TASKS
from crug.tasks.gait import GROUPS, TITLES

Results = Sequence[Result]
EQUAL = 0.005
"""Where scores right after a task and at the end differ by less, in all seeds, they are given once."""


class Column(NamedTuple):
    """A column: the paper's name for it, its heading, and its text for a row's results."""

    name: str
    heading: str
    text: Callable[[Results], str]


def median(values: Sequence[float], digits: str = ".2f") -> str:
    """Median and quartiles as the paper writes them; of one seed, the value, and of none nothing."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:{digits}}" if np.isfinite(values[0]) else "div."
    return format(quartiles(values), digits)


def mean(values: Sequence[float]) -> str:
    """Mean and standard deviation of parts of one, in percent."""
    if len(values) == 1:
        return f"{100 * values[0]:.2f}"
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values, ddof=1):.2f}"


def p_value(one: Sequence[float], other: Sequence[float]) -> str:
    """The two-sided p-value of the Mann-Whitney test; nothing where a side has less than two values."""
    if min(len(one), len(other)) < 2:
        return ""
    test: Any = mannwhitneyu(one, other)
    return f"{test.pvalue:.2g}" if np.isfinite(test.pvalue) else ""


# benchmarks of systems


def overall(results: Results, measure: str = "d_stsp") -> list[float]:
    """The worst task at the end, of each run."""
    return [r.overall.get(measure, np.inf) for r in results]


def _task(name: str) -> Column:
    def text(results: Results) -> str:
        rows = [next(row for row in r.tasks if row.name == name) for r in results]
        own, final = ([row[when]["d_stsp"] for row in _dumped(rows)] for when in ("own", "final"))
        if all(a == b or abs(a - b) < EQUAL for a, b in zip(own, final, strict=True)):
            return median(final)
        return f"{median(own)} -> {median(final)}"

    return Column(name, TASKS[name], text)


def _dumped(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"own": row.own, "final": row.final} for row in rows]


def _precise(results: Results) -> str:
    """The worst task by thirty starts, where they were taken."""
    found = overall(results, "d_stsp_30")
    return median(found) if all("d_stsp_30" in r.overall for r in results) else ""


def _units(results: Results) -> str:
    """A run that ran out of units has used all, which is the worst."""
    return median([float(r.units if r.completed else r.size) for r in results], "g")


def systems(tasks: Sequence[str]) -> list[Column]:
    """Of a benchmark of systems."""
    return [
        *map(_task, tasks),
        Column("D_stsp", "D_stsp, worst", lambda rs: median(overall(rs))),
        Column("D_stsp_30", "by 30 starts", _precise),
        Column("D_H", "D_H, worst", lambda rs: median(overall(rs, "d_h"))),
        Column("units", "units", _units),
    ]


# gait


def subjects(results: Results, group: str = "") -> list[float]:
    """D_stsp of all subjects of a group, seed by seed; of all groups where none is named."""
    return [row.final["d_stsp"] for r in results for row in r.tasks if row.name.startswith(group)]


def over_subjects(results: Results, measure: str, group: str = "", noise: bool = False) -> list[float]:
    """The median over the subjects of each run that has some of the group; under noise, where it is asked for and they
    carry some."""
    found = []
    for result in results:
        rows = [row for row in result.tasks if row.name.startswith(group)]
        if rows:
            found.append(float(np.median([(row.noisy if noise and row.noisy else row.final)[measure] for row in rows])))
    return found


def owned(results: Results, *groups: str) -> list[float]:
    """The units of the subjects of groups together, run by run; of all where none is named. A run that ran out of units
    has used all."""
    of = groups or ("",)
    units = [sum(row.size for row in r.tasks if row.name.startswith(of)) if r.completed else r.size for r in results]
    return [float(count) for count in units]


def versus(joint: Results, apart: Mapping[str, Results]) -> dict[str, tuple[str, ...]]:
    """One model for all subjects against one for every group: for each group, and for "all" that have models of their
    own, D_stsp of both and its p-value, units of both and their p-value."""
    there = [group for group, results in apart.items() if results]
    sides = {group: (subjects(joint, group), subjects(apart[group], group)) for group in apart}
    units = {group: (owned(joint, group), owned(apart[group], group)) for group in apart}
    pooled = tuple([value for group in there for value in sides[group][side]] for side in (0, 1))
    summed = (owned(joint, *there), [sum(seed) for seed in zip(*(units[g][1] for g in there), strict=False)])
    cells = {}
    for name, pair, counts in (*((g, sides[g], units[g]) for g in apart), ("all", pooled, summed)):
        scores, sizes = ([median(side, digits) for side in two] for two, digits in ((pair, ".2f"), (counts, "g")))
        cells[name] = (*scores, p_value(*pair), *sizes, p_value(*counts))
    return cells


def forgetting(result: Result) -> float:
    """The median over subjects of the relative increase of D_stsp from right after a subject to the end, in percent."""
    pairs = [(row.own["d_stsp"], row.final["d_stsp"]) for row in result.tasks]
    return float(np.median([100 * (final / own - 1) if np.isfinite(own) else 0.0 for own, final in pairs]))


def _group(group: str) -> Column:
    return Column(group, TITLES[group], lambda rs: median(over_subjects(rs, "d_stsp", group)))


def gait(tasks: Sequence[str]) -> list[Column]:
    """Of gait: medians over subjects."""
    return [
        *map(_group, GROUPS),
        Column("D_stsp", "all", lambda rs: median(over_subjects(rs, "d_stsp"))),
        Column("noise", "all, with noise", lambda rs: median(over_subjects(rs, "d_stsp", noise=True))),
        Column("D_H", "D_H", lambda rs: median(over_subjects(rs, "d_h"), ".3f")),
        Column("units", "units", _units),
        Column("forgetting (%)", "forgetting (%)", lambda rs: median([forgetting(r) for r in rs], ".1f")),
    ]


# trials


def accuracy(results: Results) -> list[float]:
    """Of each run that was completed, the mean over its tasks at the end."""
    return [r.overall["accuracy"] for r in results if r.completed]


def _capacity(results: Results) -> str:
    """Of methods that give units to tasks."""
    used = [r.units / r.size for r in results if r.completed and not r.shared]
    return mean(used) if used else ""


def _own(results: Results) -> str:
    whole = [r for r in results if r.completed]
    return mean([float(np.mean([row.own["accuracy"] for row in r.tasks])) for r in whole]) if whole else ""


def trials(tasks: Sequence[str]) -> list[Column]:
    """Of the cognitive tasks: means over the runs that were completed."""
    return [
        Column("own", "accuracy after each task (%)", _own),
        Column("accuracy (%)", "at the end (%)", lambda rs: mean(accuracy(rs)) if accuracy(rs) else ""),
        Column("capacity (%)", "capacity (%)", _capacity),
    ]


COLUMNS: dict[str, Callable[[Sequence[str]], list[Column]]] = {"systems": systems, "gait": gait, "trials": trials}


def compared(layout: str, results: Results) -> list[float]:
    """What a row is compared with others by: the worst task of a run, its subjects, or its accuracy."""
    return {"systems": overall, "gait": subjects, "trials": accuracy}[layout](results)
