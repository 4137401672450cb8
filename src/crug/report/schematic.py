"""The paper's first figure, drawn: how CRUG learns systems one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from crug.report.palette import EACH, MODEL, THIRD, TRUTH
from crug.studies.reproduce import Desk
from crug.studies.study import Study
from crug.tasks import load

SYSTEMS = ("van-der-pol", "lorenz", "rossler")
COLOURS = (THIRD, MODEL, "#3a7d44")
UNITS = 4
"""Drawn of every block."""


def schematic(study: Study, desk: Desk) -> Figure:
    """A) systems one after another; B) what is trained on the second task; C) gates close, units are recycled; D) all
    systems run at once and are read out."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    halves: Any = figure.subfigures(2, 2)
    panels = halves.flat
    for panel, letter, title, fill in zip(
        panels,
        "ABCD",
        ("systems are learned one after another", "training on a task", "units are committed or recycled", "inference"),
        (_one_after_another, _training, _recycling, _inference),
        strict=True,
    ):
        panel.suptitle(f"{letter})  {title}", x=0.02, ha="left", fontsize=11)
        fill(panel)
    return figure


def _axes(panel: Any) -> Any:
    ax: Any = panel.subplots()
    ax.set(xlim=(0, 12), ylim=(0, 6), aspect="equal")
    ax.set_axis_off()
    return ax


def _one_after_another(panel: Any) -> None:
    for i, name in enumerate(SYSTEMS):
        task: Any = load(name, 0)
        ax = panel.add_subplot(1, 3, i + 1, projection="3d" if task.dim > 2 else None)
        ax.plot(*task.test[:4_000].T[:3], lw=0.4, color=COLOURS[i])
        ax.set_axis_off()
        ax.set_title(f"task {i + 1}: {task.title}" + ("  →" if i < 2 else ""), fontsize=9)


def _block(ax: Any, x: float, y: float, colour: str, gates: Sequence[float] = (1.0,) * 4) -> list[tuple[float, float]]:
    """Units of a task in a square; the darker, the farther a gate is open."""
    places = [(x + 0.9 * (i % 2), y + 0.9 * (i // 2)) for i in range(UNITS)]
    for place, gate in zip(places, gates, strict=True):
        ax.add_patch(Circle(place, 0.3, fc=colour, alpha=0.15 + 0.85 * gate, ec=TRUTH, lw=0.6))
    return places


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], colour: str, **style: Any) -> None:
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color=colour, lw=1.2, **style))


def _training(panel: Any) -> None:
    ax = _axes(panel)
    _block(ax, 1.5, 2.5, COLOURS[0])
    _block(ax, 8.5, 2.5, COLOURS[1])
    ax.text(2, 4.4, "committed: frozen", ha="center", fontsize=9)
    ax.text(9, 4.4, "free: trained", ha="center", fontsize=9)
    _arrow(ax, (2.9, 3.3), (8.0, 3.3), MODEL)
    ax.text(5.4, 3.5, "forward transfer: trained", ha="center", fontsize=8, color=MODEL)
    _arrow(ax, (8.0, 2.6), (2.9, 2.6), EACH, linestyle="--")
    ax.text(5.4, 2.0, "back: held at zero", ha="center", fontsize=8, color=TRUTH)


def _recycling(panel: Any) -> None:
    ax = _axes(panel)
    for x, gates, said in (
        (0.8, (0.9, 0.9, 0.9, 0.9), "all free units\ntake part"),
        (5.0, (1.0, 0.15, 0.7, 0.05), "the price closes\nunneeded gates"),
    ):
        _block(ax, x, 2.5, COLOURS[1], gates)
        ax.text(x + 0.45, 1.2, said, ha="center", va="center", fontsize=8)
    _arrow(ax, (2.3, 2.95), (4.4, 2.95), TRUTH)
    _arrow(ax, (6.5, 3.2), (8.4, 4.3), TRUTH)
    _arrow(ax, (6.5, 2.7), (8.4, 1.6), TRUTH)
    for i in range(2):
        ax.add_patch(Circle((9.0 + 0.9 * i, 4.4), 0.3, fc=COLOURS[1], ec=TRUTH, lw=0.6))
        ax.add_patch(Circle((9.0 + 0.9 * i, 1.5), 0.3, fc="white", ec=TRUTH, lw=0.6))
    ax.text(9.45, 5.2, "gate above the threshold:\ncommitted and frozen", ha="center", fontsize=8)
    ax.text(9.45, 0.5, "the others: reset for task k + 1", ha="center", fontsize=8)


def _inference(panel: Any) -> None:
    ax = _axes(panel)
    centres = []
    for i in range(3):
        x = 0.8 + 2.6 * i
        _block(ax, x, 2.5, COLOURS[i])
        centres.append((x + 0.45, 2.95))
        _arrow(ax, (x + 0.45, 2.1), (x + 0.45, 1.1), COLOURS[i])
        ax.text(x + 0.45, 0.6, f"readout {i + 1}", ha="center", fontsize=8)
    for i, j, bend in ((0, 1, -0.3), (1, 2, -0.3), (0, 2, -0.45)):
        (x0, y0), (x1, y1) = centres[i], centres[j]
        _arrow(ax, (x0, y0 + 0.9), (x1, y1 + 0.9), EACH, connectionstyle=f"arc3,rad={bend}")
    ax.text(
        10.2,
        3.0,
        "all systems run\nin one network;\neach is read out\nfrom its own units",
        ha="center",
        va="center",
        fontsize=8,
    )
