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
from crug.studies.records import NOT_RECORDED, OUTDATED, Record, Shelf
from crug.studies.study import Budget, Part, Row, Study
from crug.studies.wanted import Wanted
from crug.tasks import FAMILIES, SEQUENCES, family_of, load
from crug.tasks.gait import GROUPS, SUBJECTS, TITLES

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
    def mark(self) -> str:
        """What is to be said of the code that made them."""
        return next((record.mark for record in self.records if record.mark), "")

    @property
    def epochs(self) -> int:
        return self.results[0].settings["epochs"]


def stored(row: Row, shelf: Shelf, budget: Budget | None = None) -> Stored:
    """The records of a row, of all seeds: of a budget, or of the largest for which there are any."""
    usual = row.usual
    seeds = shelf.seeds(usual)
    if budget is not None:
        return Stored(row, _found(row.runs(seeds, budget), shelf))
    if full := _found(row.runs(seeds), shelf):
        return Stored(row, full)
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
    rows = [stored(row, shelf, budget) for row in part.all_rows(study.label)]
    if brief and part.sweep:
        rows = [one for one in rows if one.records or one.row.selected or not one.row.tried]
    if part.layout == "versus":
        return _versus(title, rows)
    columns = layouts.COLUMNS[part.layout](tasks_of(part))
    alike: dict[str, list[Stored]] = {}
    for one in rows:  # the paper may have several rows for what is one run here
        alike.setdefault(one.row.usual.key, []).append(one)
    lines: list[Line] = []
    for first, *others in alike.values():
        lines.append(_ours(part, first, columns, _rival(first, rows)))
        lines += [_paper(study, part, one.row, columns) for one in (first, *others) if one.row.paper is not None]
    headings = ("", "runs", *(column.heading for column in columns), "p", "epochs")
    return Grid(title, headings, (*lines, *_floors(rows, columns)), _caption(part, rows))


def compact(study: Study, shelf: Shelf) -> Grid:
    """The first table of a study, of systems, in a few columns: the paper's numbers stand beside ours."""
    part = study.parts[0]
    rows = [stored(row, shelf) for row in part.all_rows(study.label)]
    columns = {column.name: column for column in layouts.systems(tasks_of(part))}
    lines = []
    for one in rows:
        ours = {name: columns[name].text(one.results) if one.records else "" for name in ("D_stsp", "D_H", "units")}
        paper = {} if one.row.paper is None else _published_row(study, part, one.row)
        beside = [cell for name in ("D_stsp", "D_H") for cell in (ours[name], paper.get(name, ""))]
        label = one.row.label + (f" ({one.mark})" if one.mark else "")
        lines.append(Line((label, _runs(one), *beside, ours["units"], str(one.epochs) if one.records else "")))
    headings = ("", "runs", "D_stsp, worst", "paper", "D_H, worst", "paper", "units", "epochs")
    said = f"The worst of the tasks at the end. {READ['systems'].partition('; ')[2]}."
    return Grid(f"{study.title}: {part.title}", headings, tuple(lines), said)


def tasks_of(part: Part) -> tuple[str, ...]:
    """The tasks of a part, in the order of its own sequence."""
    return SEQUENCES[part.sequence]


def _rival(one: Stored, rows: Sequence[Stored]) -> Sequence[Result]:
    """What a row is held against: the first of the same tasks, in whatever order; nothing if that is the row itself."""
    first = next(other for other in rows if sorted(other.row.usual.plan.tasks) == sorted(one.row.usual.plan.tasks))
    return [] if first is one else first.results


def _ours(part: Part, one: Stored, columns: Sequence[layouts.Column], rival: Sequence[Result]) -> Line:
    label = one.row.label + (" (selected)" if one.row.selected else "")
    if not one.records:
        return Line((label, "0", *("" for _ in columns), "", ""))
    p = layouts.p_value(layouts.compared(part.layout, one.results), layouts.compared(part.layout, rival))
    mark = f" ({one.mark})" if one.mark else ""
    return Line((label + mark, _runs(one), *(c.text(one.results) for c in columns), p, str(one.epochs)))


def _runs(one: Stored) -> str:
    """How many, and how many of them ran out of units or diverged."""
    exhausted = sum(not r.completed for r in one.results)
    divergent = sum(r.completed and not np.isfinite(list(r.overall.values())).all() for r in one.results)
    said = [f"{count} {word}" for count, word in ((exhausted, "exhausted"), (divergent, "divergent")) if count]
    return f"{len(one.results)}" + (f" ({', '.join(said)})" if said else "")


def _paper(study: Study, part: Part, row: Row, columns: Sequence[layouts.Column]) -> Line:
    found = _published_row(study, part, row)
    group = found.get("group", "")
    cells = [found.get(c.name, found["D_stsp"] if group and c.name == group else "") for c in columns]
    cells = ["" if cell == published.NOTHING else cell for cell in cells]
    label = "paper" + (f", {row.said}" if row.said else "")
    return Line((label, found.get("completed", ""), *cells, "", ""), paper=True)


def _published_row(study: Study, part: Part, row: Row) -> dict[str, str]:
    lines = published.table(study.label, part.name)
    if row.tried:
        return lines[int(row.paper or 0)]
    first = next(iter(lines[0]))
    return next(line for line in lines if line[first] == row.paper)


def _floors(rows: Sequence[Stored], columns: Sequence[layouts.Column]) -> list[Line]:
    """What a perfect model would score: the median over all seeds in the table. Of groups, over their subjects too."""
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(name for one in rows for name in one.row.usual.plan.tasks):
        results = [r for one in rows for r in one.results if name in r.plan.tasks]
        if floors := [f for f in _known(name, results).values() if f]:
            found[name] = {key: float(np.median([f[key] for f in floors])) for key in ("d_stsp", "d_h")}

    def cell(column: str) -> str:
        measure, group = ("d_h", "") if column == "D_H" else ("d_stsp", "" if column == "D_stsp" else column)
        gait = column in (*GROUPS, "D_stsp", "D_H") and all(name in SUBJECTS for name in found)
        values = [f[measure] for name, f in found.items() if name == column or (gait and name.startswith(group))]
        return format(float(np.median(values)), ".3f" if measure == "d_h" else ".2f") if values else ""

    cells = [cell(column.name) for column in columns]
    return [Line(("truth against truth", "", *cells, "", ""))] if any(cells) else []


def _known(name: str, results: Sequence[Result]) -> dict[int, dict[str, float]]:
    """The floors of a task by seed: those that results have kept, and of generated systems the others."""
    found = {r.plan.seed: row.floor for r in results for row in r.tasks if row.name == name}
    if family_of((name,)) is FAMILIES["systems"]:
        found = {seed: kept or floor(name, seed) for seed, kept in (found or {0: {}}).items()}
    return found


@lru_cache(maxsize=256)
def floor(name: str, seed: int) -> dict[str, float]:
    """What a perfect model would score on a system's test part."""
    return load(name, seed).floor()


def _caption(part: Part, rows: Sequence[Stored]) -> str:
    there = [one for one in rows if one.records]
    said = READ[part.layout]
    if epochs := sorted({one.epochs for one in there}):
        few, most = epochs[0], epochs[-1]
        said += f"; budget: {few} epochs a task" if few == most else f"; budget: {few} to {most} epochs a task, by row"
    if len(there) > 1:
        said += "; p: two-sided Mann-Whitney test against the first row of the same tasks"
        said += ", whatever the budgets" if len(epochs) > 1 else ""
    marks = {one.mark for one in there}
    if OUTDATED in marks:
        said += f"; {OUTDATED}: by code whose numbers have changed since"
    if marks - {OUTDATED, ""}:
        said += f"; edition {NOT_RECORDED}: nobody noted whether numbers have changed since"
    return said + "."


def _ranges(title: str) -> Grid:
    """What the paper searched for the price of transfer, and what is searched here."""
    lines = []
    for row in published.table("transfer-hyperparameters"):
        span = CrugSettings.strengths.get(row["transfer"])
        ours = published.NOTHING if span is None else "[{:g},{:g}]".format(*span)
        lines.append(Line((row["transfer"], ours, row["range"])))
    return Grid(title, ("transfer", "searched here", "paper"), tuple(lines), "The price of transfer, by its kind.")


def _versus(title: str, rows: Sequence[Stored]) -> Grid:
    """One model for all subjects against one for every group."""
    headings = ("group", "joint", "by group", "p", "units joint", "units by group", "p")
    paper = {line["group"]: line for line in published.table("gait_joint_vs_group")}
    found = layouts.versus(rows[0].results, {one.row.label: one.results for one in rows[1:]})
    lines: list[Line] = []
    for group, cells in found.items():
        lines += [Line((TITLES.get(group, group), *cells)), _published(paper[group])]
    counts = ", ".join(f"{one.row.label}: {_counted(one)}" for one in rows)
    caption = (
        "D_stsp over subjects and seeds, units over seeds: median +upper -lower quartile; a run that ran out of units "
        f"counts as the worst and as all units; p: Mann-Whitney; runs: {counts}."
    )
    return Grid(title, headings, tuple(lines), caption)


def _counted(one: Stored) -> str:
    """How many models, and what is to be said of them."""
    epochs = f", {one.epochs} epochs a task" if one.records else ""
    return _runs(one) + (f" ({one.mark})" if one.mark else "") + epochs


def _published(line: dict[str, str]) -> Line:
    names = ("joint", "groups", "p", "units joint", "units groups", "p units")
    return Line(("paper", *(line[name] for name in names)), paper=True)


__all__ = ["Stored", "compact", "floor", "grids", "stored"]
