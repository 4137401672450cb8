"""What transfer buys: quality against units for every kind of transfer, and how much units hear from earlier tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import mannwhitneyu

from crug.core.network import Network, from_arrays
from crug.metrics import quartiles
from crug.report.palette import MODEL, TRUTH
from crug.runs import store
from crug.studies.reproduce import Desk
from crug.studies.study import Part, Row, Study
from crug.studies.tables import Stored, stored

STARRED = "l2"
"""The kind of transfer whose best runs are looked at more closely."""
MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


class Point(NamedTuple):
    """One setting: the medians over seeds of units and of the worst task's D_stsp."""

    units: float
    d_stsp: float
    stored: Stored


def fronts(study: Study, desk: Desk) -> Figure:
    """A, B) worst D_stsp against units, settings as faint points and fronts as steps, the best of L2 starred; C) the
    root mean square of what the starred networks' tasks hear from others and of their own weights."""
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    axes: Any = figure.subplots(1, 3)
    starred: list[Row | None] = []
    for ax, letter, part in zip(axes, "AB", study.parts, strict=False):
        starred.append(_front(ax, study, part, desk))
        ax.set_title(f"{letter})  {part.title}", loc="left", fontsize=10)
    _weights(axes[2], [part.title for part in study.parts], [_rms(one, desk) for one in starred])
    axes[2].set_title("C)  what is heard from earlier tasks", loc="left", fontsize=10)
    return figure


def points(study: Study, part: Part, desk: Desk) -> dict[str, list[Point]]:
    """Of every kind of transfer, the settings whose runs are stored; those that diverge in the median are left out."""
    found: dict[str, list[Point]] = {}
    for row in part.all_rows(study.label):
        there = stored(row, desk.shelf, desk.budget)
        if there.records:
            worst = quartiles([r.overall.get("d_stsp", np.inf) for r in there.results]).median
            units = float(np.median([r.units for r in there.results]))
            if np.isfinite(worst):
                found.setdefault(row.settings["transfer.kind"], []).append(Point(units, worst, there))
    return found


def front(points: Sequence[Point]) -> list[Point]:
    """Those that no other one beats in both, by units."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.units, p.d_stsp)):
        if not best or point.d_stsp < best[-1].d_stsp:
            best.append(point)
    return best


def _front(ax: Any, study: Study, part: Part, desk: Desk) -> Row | None:
    star = None
    labels = {row.settings["transfer.kind"]: row.label for row in part.all_rows(study.label)}
    colours = {kind: f"C{i}" for i, kind in enumerate(labels)}  # of all kinds: panels agree, whatever is stored
    for kind, some in points(study, part, desk).items():
        colour = colours[kind]
        units, scores = ([p.units for p in some], [p.d_stsp for p in some])
        ax.plot(units, scores, "o", ms=4, color=colour, alpha=0.3)
        best = front(some)
        ax.step([p.units for p in best], [p.d_stsp for p in best], where="post", color=colour, label=labels[kind])
        if kind == STARRED:
            chosen = min(some, key=lambda p: p.d_stsp)
            ax.plot(chosen.units, chosen.d_stsp, "*", ms=13, color=colour, mec=TRUTH)
            star = chosen.stored.row
    ax.set(xlabel="units", ylabel="worst D_stsp", yscale="log")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=7)
    return star


def rms(network: Network, number: int) -> tuple[float, float]:
    """The root mean square of the weights by which a task's units hear the committed ones before it, and of those among
    themselves."""
    own, before = (
        np.flatnonzero(network.owner == number),
        np.flatnonzero((network.owner >= 0) & (network.owner < number)),
    )
    heard, among = network.W[np.ix_(own, before)], network.W[np.ix_(own, own)]
    return tuple(float(np.sqrt(np.mean(w.astype(np.float64) ** 2))) if w.size else 0.0 for w in (heard, among))  # pyright: ignore[reportReturnType]


def _rms(starred: Row | None, desk: Desk) -> Mapping[str, list[float]]:
    """Of all runs of a setting, tasks from the second on."""
    found: dict[str, list[float]] = {"transfer": [], "own": []}
    if starred is None:
        return found
    from crug.report.paper import folders

    for folder in folders(starred, desk):
        network = from_arrays(store.read_arrays(folder / "network.safetensors"))
        for number in range(1, len(network.readouts)):
            heard, own = rms(network, number)
            found["transfer"].append(heard)
            found["own"].append(own)
    return found


def _weights(ax: Any, titles: Sequence[str], weights: Sequence[Mapping[str, list[float]]]) -> None:
    for i, found in enumerate(weights):
        for j, (kind, colour) in enumerate((("own", TRUTH), ("transfer", MODEL))):
            values = found[kind]
            if values:
                ax.boxplot(
                    values, positions=[3 * i + j], widths=0.7, patch_artist=True, boxprops={"fc": colour, "alpha": 0.4}
                )
    ratios = [np.array(f["transfer"]) / np.array(f["own"]) for f in weights]
    if len(ratios) == 2 and min(map(len, ratios)) > 1:
        test: Any = mannwhitneyu(ratios[0], ratios[1])
        mark = next((mark for bound, mark in MARKS if test.pvalue < bound), "n.s.")
        top = max(max(f["own"] + f["transfer"]) for f in weights)
        ax.plot([0.5, 0.5, 3.5, 3.5], [1.08 * top, 1.12 * top, 1.12 * top, 1.08 * top], color=TRUTH, lw=1)
        ax.text(2, 1.13 * top, f"{mark} (ratios, p = {test.pvalue:.2g})", ha="center", fontsize=8)
    ax.set_xticks(
        [3 * i + j for i in range(len(titles)) for j in (0, 1)],
        [f"{w}\n{t}" for t in titles for w in ("own", "heard")],
        fontsize=7,
    )
    ax.set(ylabel="RMS(W)", xlim=(-1, 3 * len(titles) - 1))
