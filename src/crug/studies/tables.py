"""The tables of the paper from stored results: ours and the paper's, row below row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from crug.methods.crug import CrugSettings
from crug.runs import Result
from crug.studies import layouts, published
from crug.studies.grid import Grid, Line
from crug.studies.records import Record, Shelf
from crug.studies.study import Budget, Part, Row, Study
from crug.studies.wanted import Wanted
from crug.tasks import SEQUENCES, load
from crug.tasks.gait import GROUPS, TITLES

MOST_SEEDS = 10
"""Seeds that a table takes, where the paper has fewer."""
READ = {
    "systems": "D_stsp right after a task -> at the end of the sequence, once where they are equal; median +upper "
    "-lower quartile over seeds; divergent and exhausted runs count as the worst (div.: an infinite median, †: an "
    "infinite upper quartile)",
    "gait": "D_stsp (mixtures): medians over subjects, then median +upper -lower quartile over seeds",
    "trials": "mean ± standard deviation over the completed seeds, in percent (of the paper's searches the standard "
    "error)",
}


class Stored(NamedTuple):
    """What there is of a row: the records of its seeds, all of one budget."""

    row: Row
    records: list[Record]

    @property
    def results(self) -> list[Result]:
        return [record.result for record in self.records]

    @property
    def outdated(self) -> bool:
        return not all(record.current for record in self.records)

    @property
    def epochs(self) -> int:
        return self.results[0].settings["epochs"]


def stored(part: Part, row: Row, shelf: Shelf, budget: Budget | None = None) -> Stored:
    """The records of a row: of a budget, or of the largest for which there are any."""
    seeds = range(max(part.seeds, MOST_SEEDS))
    if budget is not None:
        return Stored(row, _found(row.runs(seeds, budget), shelf))
    if full := _found(row.runs(seeds), shelf):
        return Stored(row, full)
    usual = row.usual
    tasks, size = usual.plan.tasks, usual.settings.network.M
    known = [r.result for r in shelf.records if (r.result.plan.method, r.result.plan.tasks) == (row.method, tasks)]
    for epochs in sorted({r.settings["epochs"] for r in known if r.size == size}, reverse=True):
        if found := _found([one.at(epochs) for one in row.runs(seeds)], shelf):
            return Stored(row, found)
    return Stored(row, [])


def _found(wanted: Sequence[Wanted], shelf: Shelf) -> list[Record]:
    return [record for one in wanted if (record := shelf.find(one))]


def grids(study: Study, shelf: Shelf, budget: Budget | None = None, brief: bool = False) -> list[Grid]:
    """The tables of a study, one for each part. A brief one leaves out what the paper's searches tried and did not
    select, where there are no runs of it."""
    return [_grid(study, part, shelf, budget, brief) for part in study.parts]


def _grid(study: Study, part: Part, shelf: Shelf, budget: Budget | None, brief: bool) -> Grid:
    title = f"{study.title}: {part.title}"
    if part.layout == "ranges":
        return _ranges(title)
    rows = [stored(part, row, shelf, budget) for row in part.all_rows(study.label)]
    if brief and part.sweep:
        rows = [one for one in rows if one.records or one.row.selected or not one.row.tried]
    if part.layout == "versus":
        return _versus(title, rows)
    columns = layouts.COLUMNS[part.layout](tasks_of(part))
    lines: list[Line] = []
    first = rows[0].results
    for i, one in enumerate(rows):
        lines.append(_ours(part, one, columns, first if i else []))
        if one.row.paper is not None:
            lines.append(_paper(study, part, one.row, columns))
    if part.layout == "systems":
        lines.append(Line(("truth against truth", "", *_floors(part, columns), *("" for _ in range(2)))))
    headings = ("", "runs", *(column.heading for column in columns), "p", "epochs")
    return Grid(title, headings, tuple(lines), _caption(part, rows))


def tasks_of(part: Part) -> tuple[str, ...]:
    """The tasks of a part, in the order of its own sequence."""
    return SEQUENCES[part.sequence]


def _ours(part: Part, one: Stored, columns: Sequence[layouts.Column], first: Sequence[Result]) -> Line:
    label = one.row.label + (" (selected)" if one.row.selected else "")
    if not one.records:
        return Line((label, "0", *("" for _ in columns), "", ""))
    p = layouts.p_value(layouts.compared(part.layout, one.results), layouts.compared(part.layout, first))
    mark = " (outdated)" if one.outdated else ""
    return Line((label + mark, _runs(one), *(c.text(one.results) for c in columns), p, str(one.epochs)))


def _runs(one: Stored) -> str:
    """How many, and how many of them ran out of units or diverged."""
    exhausted = sum(not r.completed for r in one.results)
    divergent = sum(r.completed and not np.isfinite(list(r.overall.values())).all() for r in one.results)
    said = [f"{count} {word}" for count, word in ((exhausted, "exhausted"), (divergent, "divergent")) if count]
    return f"{len(one.results)}" + (f" ({', '.join(said)})" if said else "")


def _paper(study: Study, part: Part, row: Row, columns: Sequence[layouts.Column]) -> Line:
    lines = published.table(study.label, part.name)
    if row.tried:
        found = lines[int(row.paper or 0)]
    else:
        first = next(iter(lines[0]))
        found = next(line for line in lines if line[first] == row.paper)
    group = found.get("group", "")
    cells = [found.get(c.name, found["D_stsp"] if group and c.name == group else "") for c in columns]
    cells = ["" if cell == published.NOTHING else cell for cell in cells]
    return Line(("paper", found.get("completed", ""), *cells, "", ""), paper=True)


def _floors(part: Part, columns: Sequence[layouts.Column]) -> list[str]:
    """What a perfect model would score: stretches of the training part in place of rollouts."""
    tasks = tasks_of(part)
    return [f"{floor(c.name):.2f}" if c.name in tasks else "" for c in columns]


@lru_cache(maxsize=64)
def floor(name: str) -> float:
    """What a perfect model would score on a system's test part, from seed 0."""
    return load(name, 0).floor()["d_stsp"]


def _caption(part: Part, rows: Sequence[Stored]) -> str:
    there = [one for one in rows if one.records]
    said = READ[part.layout]
    if len(there) > 1:
        said += "; p: two-sided Mann-Whitney test against the first row"
    if any(one.outdated for one in there):
        said += "; outdated: by code whose numbers have changed since"
    return said + "."


def _ranges(title: str) -> Grid:
    """What the paper searched for the price of transfer, and what is searched here."""
    low, high = CrugSettings.search["transfer.strength"]
    lines = []
    for row in published.table("transfer-hyperparameters"):
        ours = f"[{low:g},{high:g}]" if row["transfer"] == "l2" else SEARCHED.get(row["transfer"], published.NOTHING)
        lines.append(Line((row["transfer"], ours, row["range"])))
    return Grid(title, ("transfer", "searched here", "paper"), tuple(lines), "The price of transfer, by its kind.")


SEARCHED = {"l0": "[1e-06,0.001]", "l1": "[1e-06,0.01]"}


def _versus(title: str, rows: Sequence[Stored]) -> Grid:
    """One model for all subjects against one for every group."""
    joint, apart = rows[0].results, {one.row.label: one.results for one in rows[1:]}
    headings = ("group", "joint", "by group", "p", "units joint", "units by group", "p")
    lines: list[Line] = []
    paper = {line["group"]: line for line in published.table("gait_joint_vs_group")}
    everyone: list[list[float]] = [[], []]
    units: list[list[list[float]]] = [[], []]
    for group in GROUPS:
        sides = [layouts.subjects(joint, group), layouts.subjects(apart[group])]
        owned = [_owned(joint, group), _owned(apart[group], group)]
        everyone = [one + more for one, more in zip(everyone, sides, strict=True)]
        units = [[*one, more] for one, more in zip(units, owned, strict=True)]
        lines += [_beside(TITLES[group], sides, owned), _published(paper[group])]
    together = [[float(sum(seed)) for seed in zip(*side, strict=False)] for side in units]
    lines += [_beside("all", everyone, together), _published(paper["all"])]
    counts = f"{len(joint)} joint models, {', '.join(f'{len(apart[g])} of {g}' for g in GROUPS)}"
    caption = (
        f"D_stsp over subjects and seeds, units over seeds: median +upper -lower quartile; p: Mann-Whitney; {counts}."
    )
    return Grid(title, headings, tuple(lines), caption)


def _owned(results: Sequence[Result], group: str) -> list[float]:
    return [float(sum(row.size for row in r.tasks if row.name.startswith(group))) for r in results]


def _beside(label: str, sides: list[list[float]], units: list[list[float]]) -> Line:
    cells = []
    for pair, digits in ((sides, ".2f"), (units, "g")):
        cells += [layouts.median(side, digits) if side else "" for side in pair] + [layouts.p_value(*pair)]
    return Line((label, *cells))


def _published(line: dict[str, str]) -> Line:
    names = ("joint", "groups", "p", "units joint", "units groups", "p units")
    return Line(("paper", *(line[name] for name in names)), paper=True)


__all__ = ["Stored", "floor", "grids", "stored"]
