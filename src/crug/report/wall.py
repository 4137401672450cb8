"""Many attractors at once: every recording of a model beside what its network does by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from crug.report.palette import MODEL, TRUTH
from crug.tasks.base import Picture

ACROSS, SIZE = 10, 1.25
"""Recordings in a row, and inches that an attractor takes."""
SHOWN = 3_000
"""Samples of each that are drawn."""
MARGIN = 0.15
"""Of what was recorded, beyond its range, that is still shown."""


def wall(pictures: Sequence[Picture], says: str) -> Figure:
    """Each recording (left) and a rollout of its network (right), seen from where the recording is widest; below them
    what there is to say."""
    rows = -(-len(pictures) // ACROSS)
    figure = Figure(figsize=(ACROSS * SIZE * 1.7, rows * (SIZE + 0.28) + 0.5))
    grid = figure.add_gridspec(
        rows, 2 * ACROSS, left=0.005, right=0.995, top=1 - 0.25 / figure.get_figheight(),
        bottom=0.45 / figure.get_figheight(), wspace=0.06, hspace=0.28,
    )  # fmt: skip
    for i, picture in enumerate(pictures):
        truth = picture.parts["truth"][:SHOWN]
        seen = _widest(truth)
        for k, (kind, colour) in enumerate((("truth", TRUTH), (_kind(picture), MODEL))):
            ax = figure.add_subplot(grid[i // ACROSS, 2 * (i % ACROSS) + k])
            x = seen(picture.parts[kind][:SHOWN])
            ax.plot(*x.T, lw=0.25, color=colour, rasterized=True)
            _frame(ax, seen(truth))
            if k == 0:
                ax.set_title(picture.title, fontsize=6, loc="left", pad=2)
    figure.text(0.5, 0.12 / figure.get_figheight(), says, ha="center", fontsize=11)
    return figure


def _kind(picture: Picture) -> str:
    """Which rollout is shown: one under noise, where the recording carries some."""
    return "noisy" if "noisy" in picture.parts else "network"


def _widest(truth: np.ndarray):
    """The view of samples (T, N) in the plane in which the truth is widest, each column in its own standard deviations;
    of one column, beside itself a little later."""
    if truth.shape[1] == 1:
        lag = 10
        return lambda x: np.concatenate([x[:-lag], x[lag:]], axis=1)
    mean, std = truth.mean(axis=0), truth.std(axis=0)
    _, _, axes = np.linalg.svd((truth - mean) / std, full_matrices=False)
    return lambda x: ((x - mean) / std) @ axes[:2].T


def _frame(ax, truth: np.ndarray) -> None:
    low, high = truth.min(axis=0), truth.max(axis=0)
    room = MARGIN * (high - low)
    ax.set_xlim(low[0] - room[0], high[0] + room[0])
    ax.set_ylim(low[1] - room[1], high[1] + room[1])
    ax.set_axis_off()
