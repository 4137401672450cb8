"""Gait runs as the paper's appendix A.9 sums them up: group by group, and one model for all against one for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import mannwhitneyu

from crug.metrics import quartiles
from crug.report.terminal import middle, new_table
from crug.runs.result import Result
from crug.tasks.gait import GROUPS, SUBJECTS, TITLES

Results = list[Result]


def forgetting(results: Results) -> float:
    """The median over subjects of the relative increase of D_stsp from right after a subject to the end, in percent."""
    rows = [row for result in results for row in result.tasks]
    pairs = [(row.own["d_stsp"], row.final["d_stsp"]) for row in rows]
    return float(np.median([100 * (final / own - 1) if np.isfinite(own) else 0.0 for own, final in pairs]))


def by_group(kinds: dict[str, Results]) -> Table | None:
    """A row for each kind of runs: the medians over the subjects of every group, and over all subjects.

    Each is the median and quartiles over seeds of a run's own median. None where a run has other tasks than gait.
    """
    results = [r for group in kinds.values() for r in group]
    if not all(row.name in SUBJECTS for r in results for row in r.tasks):
        return None
    groups = [g for g in GROUPS if any(_scores([r], g) for r in results)]
    titles = (TITLES[g] for g in groups)
    out = new_table("gait: medians over subjects", "", *titles, "all", "D_H", "units", "forgetting")
    for label, runs in kinds.items():
        scores = [[float(np.median(_scores([r], g))) for r in runs if _scores([r], g)] for g in (*groups, "")]
        spectra = [float(np.median([row.final["d_h"] for row in r.tasks])) for r in runs]
        cells = (middle("d_stsp", found) if found else "" for found in (*scores, spectra))
        units = f"{float(np.median(_units(runs, ''))):g}"
        out.add_row(label, *cells, units, f"{forgetting(runs):+.1f} %")
    out.caption = "D_stsp, median +upper -lower quartile over seeds; forgetting is its relative increase"
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
    whole: dict[str, list[list[float]]] = {"score": [[], []], "units": [[], []]}
    for group in present:
        scores = [_scores(joint, group), _scores(by_group[group], group)]
        units = [_units(joint, group), _units(by_group[group], group)]
        for side in (0, 1):
            whole["score"][side] += scores[side]
        out.add_row(TITLES[group], *_compared(scores), *_compared(units, digits=0))
        whole["units"][0].append(float(np.median(units[0])))
        whole["units"][1].append(float(np.median(units[1])))
    out.add_section()
    totals = (f"{sum(side):.0f}" for side in whole["units"])
    out.add_row("all", *_compared(whole["score"]), *totals, "", style="bold")
    out.caption = f"median +upper -lower quartile; relative forgetting of the joint model {forgetting(joint):+.1f} %"
    return out


def _scores(results: Results, group: str) -> list[float]:
    """The final scores of a group's subjects; of all subjects where no group is named."""
    return [row.final["d_stsp"] for r in results for row in r.tasks if row.name.startswith(group)]


def _units(results: Results, group: str) -> list[float]:
    """For each run, the units of a group's subjects together."""
    return [float(sum(row.size for row in r.tasks if row.name.startswith(group))) for r in results]


def _compared(sides: list[list[float]], digits: int = 2) -> tuple[str, str, str]:
    medians = [str(quartiles(side)) if digits else f"{float(np.median(side)):.0f}" for side in sides]
    test: Any = mannwhitneyu(sides[0], sides[1])
    p = float(test.pvalue) if min(map(len, sides)) > 1 else np.nan
    return medians[0], medians[1], f"{p:.2g}" if np.isfinite(p) else "-"
