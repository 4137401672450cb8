"""Gait runs as the paper's appendix A.9 sums them up: group by group, and one model for all against one for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import mannwhitneyu

from crug.metrics import quartiles
from crug.report.terminal import shown
from crug.tasks.gait import GROUPS, SUBJECTS, TITLES

Results = list[dict[str, Any]]


def forgetting(results: Results) -> float:
    """The median over subjects of the relative increase of D_stsp from right after a subject to the end, in percent."""
    rows = [row for result in results for row in result["tasks"]]
    pairs = [(row["own"]["d_stsp"], row["final"]["d_stsp"]) for row in rows]
    return float(np.median([100 * (final / own - 1) if np.isfinite(own) else 0.0 for own, final in pairs]))


def by_group(kinds: dict[str, Results]) -> Table | None:
    """A row for each kind of runs: the medians over the subjects of every group, and over all subjects.

    Each is the median and quartiles over seeds of a run's own median. None where a run has other tasks than gait.
    """
    results = [r for group in kinds.values() for r in group]
    if not all(row["name"] in SUBJECTS for r in results for row in r["tasks"]):
        return None
    groups = [g for g in GROUPS if any(_scores([r], g) for r in results)]
    out = Table(title="gait: medians over subjects", title_justify="left")
    for heading in ("", *(TITLES[g] for g in groups), "all", "D_H", "units", "forgetting"):
        out.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for label, runs in kinds.items():
        scores = [[float(np.median(_scores([r], g))) for r in runs if _scores([r], g)] for g in (*groups, "")]
        spectra = [float(np.median([row["final"]["d_h"] for row in r["tasks"]])) for r in runs]
        cells = (_middle(found) if found else "" for found in (*scores, spectra))
        units = f"{float(np.median(_units(runs, ''))):g}"
        out.add_row(label, *cells, units, f"{forgetting(runs):+.1f} %")
    out.caption = "D_stsp, median +upper -lower quartile over seeds; forgetting is its relative increase"
    return out


def joint_against_groups(results: Results) -> Table | None:
    """D_stsp of the subjects and units of the models, joint and by group, with Mann-Whitney p-values.

    `results` are runs of `gait` and of `gait-control`, ..., any number of seeds of each; None where either is missing.
    """
    joint = [r for r in results if r["sequence"] == "gait"]
    by_group = {g: [r for r in results if r["sequence"] == f"gait-{g}"] for g in GROUPS}
    present = [g for g in GROUPS if by_group[g]]
    if not joint or not present:
        return None
    out = Table(title="gait: one model for all subjects against one for every group", title_justify="left")
    for heading in ("group", "D_stsp joint", "by group", "p", "units joint", "by group", "p"):
        out.add_column(heading, justify="left" if heading == "group" else "right")
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
    return [row["final"]["d_stsp"] for r in results for row in r["tasks"] if row["name"].startswith(group)]


def _units(results: Results, group: str) -> list[float]:
    """For each run, the units of a group's subjects together."""
    return [
        float(sum(sum(row["units"].values()) for row in r["tasks"] if row["name"].startswith(group))) for r in results
    ]


def _middle(values: list[float]) -> str:
    return str(quartiles(values)) if len(values) > 1 else shown(values[0])


def _compared(sides: list[list[float]], digits: int = 2) -> tuple[str, str, str]:
    middle = [str(quartiles(side)) if digits else f"{float(np.median(side)):.0f}" for side in sides]
    test: Any = mannwhitneyu(sides[0], sides[1])
    p = float(test.pvalue) if min(map(len, sides)) > 1 else np.nan
    return middle[0], middle[1], f"{p:.2g}" if np.isfinite(p) else "-"
