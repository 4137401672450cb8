"""Gait runs as the paper's appendix A.9 sums them up: group by group, and one model for all against one for each."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from crug.report.terminal import new_table
from crug.runs.result import Result
from crug.studies.layouts import forgetting, median, over_subjects, owned, p_value, subjects, versus
from crug.tasks.gait import GROUPS, SUBJECTS, TITLES

Results = list[Result]
SCORE, SPECTRUM, UNITS, PERCENT = ".2f", ".3f", "g", ".1f"
"""How many digits the paper gives."""


def by_group(kinds: dict[str, Results]) -> Table | None:
    """A row for each kind of runs: the medians over the subjects of every group, and over all subjects, without noise
    and with it. Each is the median and quartiles over seeds of a run's own median.

    Where there are several kinds, the scores of each are held against those of the first, subject by subject and seed
    by seed (Mann-Whitney). None where a run has other tasks than gait.
    """
    results = [r for group in kinds.values() for r in group]
    if not all(row.name in SUBJECTS for r in results for row in r.tasks):
        return None
    groups = [g for g in GROUPS if subjects(results, g)]
    noisy = any(row.noisy for r in results for row in r.tasks)
    headings = [*(TITLES[g] for g in groups), "all", "D_H", "units", "forgetting %"]
    headings += ["all, noise", "D_H, noise"] if noisy else []
    headings += ["p"] if len(kinds) > 1 else []
    out = new_table("gait: medians over subjects", "", *headings)
    first = subjects(next(iter(kinds.values())))
    for number, (label, runs) in enumerate(kinds.items()):
        scores = (median(over_subjects(runs, "d_stsp", g), SCORE) for g in (*groups, ""))
        rest = [median(over_subjects(runs, "d_h"), SPECTRUM), median(owned(runs), UNITS)]
        rest += [median([forgetting(r) for r in runs], PERCENT)]
        if noisy:
            rest += [median(over_subjects(runs, "d_stsp", noise=True), SCORE)]
            rest += [median(over_subjects(runs, "d_h", noise=True), SPECTRUM)]
        if len(kinds) > 1:
            rest += [p_value(first, subjects(runs)) if number else ""]
        out.add_row(label, *scores, *rest)
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
    apart = {g: [r for r in results if r.plan.sequence == f"gait-{g}"] for g in GROUPS}
    apart = {g: runs for g, runs in apart.items() if runs}
    if not joint or not apart:
        return None
    title = "gait: one model for all subjects against one for every group"
    out = new_table(title, "group", "D_stsp joint", "by group", "p", "units joint", "by group", "p", wrap=True)
    for group, cells in versus(joint, apart).items():
        if group == "all":
            out.add_section()
        out.add_row(TITLES.get(group, group), *cells, style="bold" if group == "all" else None)
    lost = float(np.median([forgetting(r) for r in joint]))
    out.caption = (
        "median +upper -lower quartile, D_stsp over subjects and seeds, units over seeds; "
        f"relative forgetting of the joint model {lost:+.1f} %"
    )
    return out
