"""The paper's gait figure: every subject's strides above, the network's below, and how long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from crug.metrics.strides import Strides, strides
from crug.report.palette import EACH, MEAN, MODEL
from crug.tasks.base import Picture

ACROSS = 4
"""Subjects in a row: one of every group."""


def stride_pictures(pictures: Sequence[Picture]) -> Figure:
    """For each subject the strides of the first sensor, each from where it begins: of the test part (grey) with their
    mean (black), and below those of the network, under noise where it carries some; the rollout without noise is the
    darker line. Titles give the mean and the spread of stride times."""
    across = min(ACROSS, len(pictures))
    down = -(-len(pictures) // across)
    figure = Figure(figsize=(3.2 * across, 4.0 * down), layout="constrained")
    grid: Any = figure.subplots(2 * down, across, squeeze=False)
    for ax in grid.flat:
        ax.set_axis_off()
    for i, picture in enumerate(pictures):
        row, column = divmod(i, across)
        above, below = grid[2 * row, column], grid[2 * row + 1, column]
        truth, dt = picture.parts["truth"][:, 0], float(picture.parts["dt"])
        still = picture.parts["network"][:, 0]
        moved = picture.parts["noisy"][:, 0] if "noisy" in picture.parts else None
        found = strides(truth)
        _draw(above, truth, found, dt, EACH)
        _mean(above, truth, found, dt, MEAN)
        above.set_title(f"{picture.title}: data {_lengths(found, dt)}", fontsize=8)
        said = f"network {_lengths(strides(still), dt)}"
        if moved is not None:
            _draw(below, moved, strides(moved), dt, MODEL, 0.25)
            said += f", with noise {_lengths(strides(moved), dt)}"
        _draw(below, still, strides(still), dt, MODEL)
        below.set_title(said, fontsize=7)
        for ax in (above, below):
            _frame(ax, truth, 1.1 * dt * found.aligned(truth).shape[1] or 1.0)
        if row == down - 1 or i + across >= len(pictures):
            below.set_xlabel("seconds into the stride", fontsize=7)
    return figure


def _draw(ax: Any, x: np.ndarray, found: Strides, dt: float, colour: str, alpha: float = 0.6) -> None:
    """Every stride from its beginning; what has none is drawn as it goes on."""
    each = found.aligned(x)
    each = each if each.size else x[None, : round(1 / dt)]
    ax.plot(dt * np.arange(each.shape[1]), each.T, color=colour, lw=0.5, alpha=alpha)


def _mean(ax: Any, x: np.ndarray, found: Strides, dt: float, colour: str) -> None:
    each = found.aligned(x)
    if each.size:
        ax.plot(dt * np.arange(each.shape[1]), each.mean(axis=0), color=colour, lw=1.4)


def _lengths(found: Strides, dt: float) -> str:
    times = found.times(dt)
    return f"{times.mean():.2f} ± {times.std():.3f} s" if len(times) else "no strides"


def _frame(ax: Any, truth: np.ndarray, length: float) -> None:
    """As wide and high as the data need it."""
    margin = 0.15 * np.ptp(truth)
    ax.set_axis_on()
    ax.set_ylim(truth.min() - margin, truth.max() + margin)
    ax.set_xlim(0, length)
    ax.set_yticks([])
    ax.tick_params(labelsize=6)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
