"""Gait runs as the paper's appendix A.9 sums them up: group by group, and one model for all against one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import mannwhitneyu

from crug.metrics import quartiles
from crug.report.terminal import new_table
from crug.runs.result import Result, TaskResult
from crug.tasks.gait import GROUPS, SUBJECTS, TITLES

Results = list[Result]
SCORE, SPECTRUM, UNITS, PERCENT = ".2f", ".3f", "g", ".1f"
"""How many digits the paper gives."""


def forgetting(result: Result) -> float:
    """The median over subjects of the relative increase of D_stsp from right after a subject to the end, in percent."""
    pairs = [(row.own["d_stsp"], row.final["d_stsp"]) for row in result.tasks]
    return float(np.median([100 * (final / own - 1) if np.isfinite(own) else 0.0 for own, final in pairs]))


def by_group(kinds: dict[str, Results]) -> Table | None:
    """A row for each kind of runs: the medians over the subjects of every group, and over all subjects, without noise
    and with it. Each is the median and quartiles over seeds of a run's own median.

    Where there are several kinds, the scores of each are held against those of the first, subject by subject and seed
    by seed (Mann-Whitney). None where a run has other tasks than gait.
    """
    results = [r for group in kinds.values() for r in group]
    if not all(row.name in SUBJECTS for r in results for row in r.tasks):
        return None
    groups = [g for g in GROUPS if any(_rows([r], g) for r in results)]
    noisy = any(row.noisy for r in results for row in r.tasks)
    headings = [*(TITLES[g] for g in groups), "all", "D_H", "units", "forgetting %"]
    headings += ["all, noise", "D_H, noise"] if noisy else []
    headings += ["p"] if len(kinds) > 1 else []
    out = new_table("gait: medians over subjects", "", *headings)
    first = _scores(next(iter(kinds.values())))
    for number, (label, runs) in enumerate(kinds.items()):
        scores = (_cell([_median([r], "d_stsp", g) for r in runs if _rows([r], g)], SCORE) for g in (*groups, ""))
        spectra = _cell([_median([r], "d_h") for r in runs], SPECTRUM)
        rest = [_cell(_units(runs), UNITS), _cell([forgetting(r) for r in runs], PERCENT)]
        if noisy:
            rest += [_cell([_median([r], "d_stsp", noise=True) for r in runs], SCORE)]
            rest += [_cell([_median([r], "d_h", noise=True) for r in runs], SPECTRUM)]
        if len(kinds) > 1:
            rest += [_p(first, _scores(runs)) if number else ""]
        out.add_row(label, *scores, spectra, *rest)
    out.caption = "D_stsp, median +upper -lower quartile over seeds; forgetting is its relative increase"
    if noisy:
        out.caption += "; noise: rollouts of subjects that carry some are under it"
    if len(kinds) > 1:
        out.caption += "; p: of D_stsp against the first row"
    return out


def joint_against_groups(results: Results) -> Table | None:
    """D_stsp of the subjects and units of the models, joint and by group, with Mann-Whitney p-values.

    `results` are runs of `gait` and of `gait-control`, ..., any number of seeds of each; None where either is missing.
    """
    joint = [r for r in results if r.plan.sequence == "gait"]
    by_group = {g: [r for r in results if r.plan.sequence == f"gait-{g}"] for g in GROUPS}
    present = [g for g in GROUPS if by_group[g]]
    if not joint or not present:
        return None
    title = "gait: one model for all subjects against one for every group"
    out = new_table(title, "group", "D_stsp joint", "by group", "p", "units joint", "by group", "p", wrap=True)
    everyone: list[list[float]] = [[], []]
    for group in present:
        scores = [_scores(joint, group), _scores(by_group[group], group)]
        everyone = [one + more for one, more in zip(everyone, scores, strict=True)]
        units = [_units(joint, group), _units(by_group[group], group)]
        out.add_row(TITLES[group], *_compared(scores, SCORE), *_compared(units, UNITS))
    out.add_section()
    own = [sum(per_group) for per_group in zip(*(_units(by_group[g], g) for g in present), strict=False)]
    units = [_together(joint, present), own]
    out.add_row("all", *_compared(everyone, SCORE), *_compared(units, UNITS), style="bold")
    lost = float(np.median([forgetting(r) for r in joint]))
    out.caption = (
        "median +upper -lower quartile, D_stsp over subjects and seeds, units over seeds; "
        f"relative forgetting of the joint model {lost:+.1f} %"
    )
    return out


def _rows(results: Sequence[Result], group: str = "") -> list[TaskResult]:
    """The subjects of a group; all where none is named."""
    return [row for r in results for row in r.tasks if row.name.startswith(group)]


def _scores(results: Sequence[Result], group: str = "") -> list[float]:
    return [row.final["d_stsp"] for row in _rows(results, group)]


def _median(results: Sequence[Result], measure: str, group: str = "", noise: bool = False) -> float:
    """Over the subjects; under noise, where it is asked for and they carry some."""
    found = [row.noisy if noise and row.noisy else row.final for row in _rows(results, group)]
    return float(np.median([measures[measure] for measures in found]))


def _units(results: Sequence[Result], group: str = "") -> list[float]:
    """For each run, the units of a group's subjects together."""
    return [float(sum(row.size for row in _rows([r], group))) for r in results]


def _together(results: Sequence[Result], groups: Sequence[str]) -> list[float]:
    """For each run, the units of several groups."""
    return [sum(_units([r], g)[0] for g in groups) for r in results]


def _cell(values: Sequence[float], digits: str) -> str:
    """Median and quartiles; of one seed there is no spread."""
    if len(values) > 1:
        return f"{quartiles(values):{digits}}"
    if not values:
        return ""
    return f"{values[0]:{digits}}" if np.isfinite(values[0]) else "div."


def _compared(sides: list[list[float]], digits: str) -> tuple[str, str, str]:
    return _cell(sides[0], digits), _cell(sides[1], digits), _p(*sides)


def _p(one: Sequence[float], other: Sequence[float]) -> str:
    """The two-sided p-value of the Mann-Whitney test."""
    test: Any = mannwhitneyu(one, other)
    p = float(test.pvalue) if min(len(one), len(other)) > 1 else np.nan
    return f"{p:.2g}" if np.isfinite(p) else "-"
