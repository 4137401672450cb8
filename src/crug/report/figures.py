"""Figures of a run, or of several: functions that take data and return a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from crug.metrics import MEASURES
from crug.model import Model
from crug.page.words import failed, lost, of_sizes
from crug.report.palette import MODEL, THIRD, TRUTH
from crug.report.strides import stride_pictures
from crug.runs import store
from crug.runs.folder import final_network, read_curves, read_learned, task_folder
from crug.runs.result import Learned, Result
from crug.tasks import load
from crug.tasks.base import Picture
from crug.training.settings import RunSettings

COLOURS = (TRUTH, MODEL, THIRD)
LAG = 10
DECADE = 10.0
"""The least range of a capacity curve: the largest score over the smallest."""
SHOWN, MOST = 1_000, 6
"""Samples and columns in a figure over time."""


def portraits(pictures: Sequence[Picture]) -> Figure:
    """Truth (T, N) and rollout (T, N) of each task, one above the other, and below a rollout under noise where there is
    some; three dimensions are drawn as such."""
    kinds = {"truth": ("truth", TRUTH), "network": ("network", MODEL), "noisy": ("with noise", MODEL)}
    rows = 3 if any("noisy" in picture.parts for picture in pictures) else 2
    figure = Figure(figsize=(3.2 * len(pictures), 3.2 * rows))
    for i, picture in enumerate(pictures):
        parts = {kind: x for kind, x in picture.parts.items() if kind in kinds}
        names = list(picture.labels[:3]) or ["x", "y", "z"][: parts["truth"].shape[1]]
        if parts["truth"].shape[1] == 1:  # one column is drawn against itself, a little later
            parts = {kind: np.concatenate([v[:-LAG], v[LAG:]], axis=1) for kind, v in parts.items()}
            names = [names[0], f"{names[0]}, {LAG} samples later"]
        truth = parts["truth"]
        for row, (kind, x) in enumerate(parts.items()):
            label, colour = kinds[kind]
            three = x.shape[1] > 2
            place = row * len(pictures) + i + 1
            if gone := lost(x, truth):
                axes: Any = figure.add_subplot(rows, len(pictures), place)
                axes.text(0.5, 0.5, gone, ha="center", va="center", transform=axes.transAxes)
                axes.set_axis_off()
            else:
                axes = figure.add_subplot(rows, len(pictures), place, projection="3d" if three else None)
                axes.plot(*x.T[:3], lw=0.35, color=colour)
                _frame(axes, truth, names)
            more = f" ({', '.join(names)} of {x.shape[1]} columns)" if x.shape[1] > 3 else ""
            axes.set_title(f"{picture.title}: {label}{more}", fontsize=8 if more else 10)
    figure.tight_layout()
    return figure


def times(pictures: Sequence[Picture]) -> Figure:
    """The first samples of each task and of a rollout, column by column."""
    rows = [(picture, k) for picture in pictures for k in range(min(MOST, picture.parts["truth"].shape[1]))]
    figure = Figure(figsize=(10, 1.3 * len(rows) + 0.8), layout="constrained")
    axes: Any = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for ax, (picture, k) in zip(axes, rows, strict=True):
        truth, model = (picture.parts[kind][:SHOWN, k] for kind in ("truth", "network"))
        ax.plot(truth, color=TRUTH, lw=1.8, alpha=0.6, label="truth")
        if np.isfinite(model).all():
            ax.plot(model, color=MODEL, lw=0.8, label="network")
        margin = 0.1 * np.ptp(truth)
        ax.set(ylim=(truth.min() - margin, truth.max() + margin), xlim=(0, len(truth)))
        name = picture.labels[k] if k < len(picture.labels) else str(k + 1)
        ax.set_ylabel(name, fontsize=8)
        ax.tick_params(labelsize=7)
        if k == 0:
            ax.set_title(f"{picture.title}: both go on for themselves, so compare their manner", fontsize=9)
    axes[0].legend(fontsize=7, loc="upper right")
    axes[-1].set_xlabel("sample", fontsize=8)
    return figure


def _frame(axes: Any, truth: np.ndarray, names: Sequence[str]) -> None:
    """Limits a little beyond the truth, and the names of the columns."""
    low, high = truth.min(axis=0), truth.max(axis=0)
    for axis, name, a, b in zip("xyz", names, low, high, strict=False):
        margin = 0.05 * (b - a)
        getattr(axes, f"set_{axis}lim")(a - margin, b + margin)
        getattr(axes, f"set_{axis}ticks")([])
        getattr(axes, f"set_{axis}label")(name, fontsize=8)


def capacity_curves(titles: list[str], learned: list[Learned]) -> Figure:
    """Quality on the training data against size for every network on the way, and the one that was committed."""
    figure = Figure(figsize=(3.2 * len(learned), 3.2))
    axes = figure.subplots(1, len(learned), squeeze=False, sharey=True)
    for ax, title, record in zip(axes[0], titles, learned, strict=False):
        if record.chosen is None:  # nothing was left to learn
            continue
        sizes = [o.units for o in record.history]
        scores = np.array([o.score.main for o in record.history])
        finite = np.isfinite(scores)
        ax.plot(np.array(sizes)[finite], scores[finite], "o", ms=4, color=TRUTH)
        chosen = record.history[record.chosen]
        ax.plot(chosen.units, chosen.score.main, "o", ms=9, mfc="none", mec=MODEL, mew=1.8)
        title += ": failed" if failed(record) else f": {chosen.units} units"
        ax.set(title=title, xlabel="units (circle: committed)")
    _logarithmic(*axes[0])
    low, high = axes[0, 0].get_ylim()
    if high < DECADE * low:  # so that noise does not look like a trend
        middle = np.sqrt(low * high)
        axes[0, 0].set_ylim(middle / DECADE**0.5, middle * DECADE**0.5)
    axes[0, 0].yaxis.set_minor_formatter("")
    axes[0, 0].set_ylabel(of_sizes(learned[0]))
    axes[0, 0].yaxis.set_major_formatter("{x:g}")
    figure.tight_layout()
    return figure


def learning_curves(titles: list[str], curves: list[dict[str, np.ndarray]]) -> Figure:
    """Loss, units by kind and periodic scores through all tasks, one after another (figure 2B)."""
    figure = Figure(figsize=(9, 7))
    axes: Any = figure.subplots(3, 1, sharex=True)
    measures = [name for name in MEASURES if name in curves[0]][:2]
    offset = 0.0
    for title, c in zip(titles, curves, strict=False):
        if not len(c["epoch"]):  # nothing was left to learn
            continue
        steps = np.diff(c["epoch"], prepend=0)
        epoch = offset + np.cumsum(np.where(steps > 0, steps, c["epoch"]))
        axes[0].plot(epoch, c["loss"], color=TRUTH, lw=0.8)
        for measure, colour in zip(measures, (MODEL, THIRD), strict=False):
            scored = np.isfinite(c[measure])
            axes[1].plot(epoch[scored], c[measure][scored], ".", ms=3, color=colour)
        axes[2].plot(epoch, c["linear"], "--", color=TRUTH, lw=1)
        axes[2].plot(epoch, c["relu"], "-", color=TRUTH, lw=1)
        axes[0].annotate(title, (offset, 1), xycoords=("data", "axes fraction"), fontsize=9, va="bottom")
        offset = epoch[-1]
        for ax in axes:
            ax.axvline(offset, color="#bbbbbb", lw=0.8)
    axes[0].set_xlim(0, max(offset, 1))
    losses = np.concatenate([c["loss"] for c in curves])
    finite = losses[np.isfinite(losses)]
    axes[0].set(ylabel="loss", yscale="log", ylim=(0.5 * min(finite, default=1), 10))
    labels = zip(measures, ("red", "blue"), strict=False)
    axes[1].set(ylabel=", ".join(f"{MEASURES[name].label} ({colour})" for name, colour in labels))
    axes[2].set(ylabel="units: ReLU solid, linear dashed", xlabel="epoch")
    for ax in axes[1:]:
        _logarithmic(ax)
        ax.yaxis.set_major_formatter("{x:g}")
    figure.tight_layout()
    return figure


def _logarithmic(*axes: Any) -> None:
    """Logarithmic axes that share their range, also where nothing could be drawn because all of it is divergent."""
    if not any(ax.dataLim.intervaly[1] > 0 for ax in axes):
        axes[0].set_ylim(0.1, 20)
    for ax in axes:
        ax.set_yscale("log")


def draw_run(folder: Path) -> None:
    """All figures of a finished run, into its folder `figures`."""
    result = Result.read(folder)
    network = final_network(folder)
    names = [row.name for row in result.tasks][: len(network.readouts)]
    if not names:
        return
    known = {key: value for key, value in result.settings.items() if key in RunSettings.model_fields}
    settings = RunSettings.model_validate(known)
    tasks = [load(name, result.plan.seed, settings) for name in names]
    places = [task_folder(folder, i, name) for i, name in enumerate(names)]
    learned = [read_learned(place)[0] for place in places]
    titles = [task.title for task in tasks]
    curves = [read_curves(place) for place in places]
    figures = {"learning": learning_curves(titles, curves)}
    figures |= drawn([task.picture(network, i) for i, task in enumerate(tasks)])
    if result.matrix:
        main = next(iter(result.overall))
        figures["retention"] = retention(titles, [[m[main] for m in row] for row in result.matrix])
        used = [len(np.unique(np.concatenate(network.runs[: i + 1]))) for i in range(len(names))]
        figures["units"] = capacity_used(titles, used, network.size)
    if any(len(record.history) > 1 for record in learned):
        figures["capacity"] = capacity_curves(titles, learned)
    _save(figures, folder / "figures")


def drawn(pictures: Sequence[Picture]) -> dict[str, Figure]:
    """A figure for each kind of picture that there is."""
    found = {kind: [p for p in pictures if p.kind == kind] for kind in DRAWERS}
    figures = {f"{kind}s": DRAWERS[kind](alike) for kind, alike in found.items() if alike}
    return {**figures, "times": times(found["portrait"])} if found["portrait"] else figures


def _save(figures: Mapping[str, Figure], folder: Path) -> None:
    for name, figure in figures.items():
        with store.whole(folder / f"{name}.png") as file:
            figure.savefig(file, dpi=130, format="png")


def trial_pictures(pictures: Sequence[Picture]) -> Figure:
    """One trial of each task: inputs (T, Q), targets (T, 3) and outputs (T, 3) from top to bottom."""
    figure = Figure(figsize=(2.1 * len(pictures), 5))
    axes: Any = figure.subplots(3, len(pictures), squeeze=False, sharex=True)
    for column, picture in enumerate(pictures):
        inputs, *answers = picture.parts.values()
        axes[0, column].imshow(inputs.T, aspect="auto", cmap="RdBu_r", vmin=-1.5, vmax=1.5)
        axes[0, column].set_title(picture.title, fontsize=8)
        for row, values in enumerate(answers, start=1):
            for value, colour, label in zip(values.T, COLOURS, ("fixation", "sin", "cos"), strict=True):
                axes[row, column].plot(value, color=colour, lw=1.2, label=label)
            axes[row, column].set_ylim(-1.4, 1.4)
        axes[2, column].set_xlabel("step")
        for ax in axes[:, column]:
            ax.tick_params(labelsize=6)
            if column:
                ax.set_yticklabels([])
    for ax, label in zip(axes[:, 0], pictures[0].parts, strict=True):
        ax.set_ylabel(label, fontsize=8)
    axes[1, 0].legend(fontsize=6, loc="lower left")
    figure.tight_layout()
    return figure


def series(pictures: Sequence[Picture]) -> Figure:
    """Truth (T, N) and rollout (T, N) of each task over time, under the inputs (T, Q) that both had."""
    figure = Figure(figsize=(9, 3.2 * len(pictures)))
    axes: Any = figure.subplots(2 * len(pictures), 1, squeeze=False, height_ratios=[3, 1] * len(pictures))[:, 0]
    for i, picture in enumerate(pictures):
        above, below = axes[2 * i : 2 * i + 2]
        truth, model = picture.parts["truth"], picture.parts["network"]
        for k, name in enumerate(picture.labels):
            above.plot(truth[:, k], color=TRUTH, lw=2.2, alpha=0.5, label=None if k else "recorded")
            above.plot(model[:, k], color=f"C{k % 10}", lw=0.9, label=f"network: {name}")
        above.set_title(picture.title, fontsize=10)
        above.legend(fontsize=7, loc="upper right")
        below.plot(picture.parts["inputs"], color=THIRD, lw=0.8)
        below.set(ylabel="inputs", xlabel="sample")
    figure.tight_layout()
    return figure


DRAWERS: dict[str, Callable[[Sequence[Picture]], Figure]] = {
    "portrait": portraits,
    "trial": trial_pictures,
    "serie": series,
    "stride": stride_pictures,
}
"""By kind of picture, what draws several of them."""


def retention(titles: list[str], matrix: list[list[float]]) -> Figure:
    """Accuracy on every task after each task was learned (figure 2C)."""
    figure = Figure(figsize=(5.6, 4.6))
    ax: Any = figure.subplots()
    square = np.full((len(titles), len(titles)), np.nan)
    for i, row in enumerate(matrix):
        square[i, : len(row)] = row
    image = ax.imshow(square, vmin=0, vmax=1, cmap="viridis")
    for (i, j), value in np.ndenumerate(square):
        if np.isfinite(value):
            ax.text(j, i, f"{100 * value:.0f}", ha="center", va="center", fontsize=7, color="w" if value < 0.6 else "k")
    ticks = range(len(titles))
    ax.set_xticks(ticks, titles, rotation=45, ha="right", fontsize=7)
    ax.set_yticks(ticks, titles, fontsize=7)
    ax.set(xlabel="accuracy on", ylabel="after learning")
    figure.colorbar(image, ax=ax, shrink=0.8)
    figure.tight_layout()
    return figure


def capacity_used(titles: list[str], units: list[int], size: int) -> Figure:
    """The part of the units in use after each task (figure 2D)."""
    figure = Figure(figsize=(5.2, 3.4))
    ax: Any = figure.subplots()
    ax.plot(range(1, len(units) + 1), 100 * np.array(units) / size, "o-", color=MODEL)
    ax.set_xticks(range(1, len(titles) + 1), titles, rotation=45, ha="right", fontsize=7)
    ax.set(ylim=(0, 105), ylabel="units in use (%)")
    figure.tight_layout()
    return figure


def task_by_task(groups: Mapping[str, Sequence[Result]], place: Any = None) -> Any:
    """Several kinds of runs, as each task is added: the mean of the first measure over the tasks so far, and units in
    use where a task has its own (figures 2C and 2D). Mean and standard deviation over the seeds. Returns a figure of
    its own, or `place`, a part of another one that it is drawn in."""
    figure = Figure(figsize=(12, 4), layout="constrained") if place is None else place
    left, right = figure.subplots(1, 2)
    main = next(iter(next(iter(groups.values()))[0].matrix[0][0]))
    for number, (label, results) in enumerate(groups.items()):
        style = {"color": f"C{number % 10}", "ls": "-" if number < 10 else "--", "label": label}
        _band(left, [[100 * float(np.mean([m[main] for m in row])) for row in r.matrix] for r in results], style)
        owned = [r for r in results if sum(row.size for row in r.tasks) == r.units]
        if owned:
            per_task = [[row.size for row in r.tasks][: len(r.matrix)] for r in owned]
            _band(right, [100 * np.cumsum(u) / r.size for u, r in zip(per_task, owned, strict=True)], style)
    left.set(xlabel="tasks learned", ylabel=f"mean {MEASURES[main].label} on them (%)", ylim=(0, 103))
    right.set(xlabel="tasks learned", ylabel="units in use (%)", ylim=(0, 103))
    figure.legend(*left.get_legend_handles_labels(), fontsize=7, loc="outside right upper")
    return figure


def _band(ax: Any, curves: Sequence[Sequence[float] | np.ndarray], style: dict[str, str]) -> None:
    """Mean and standard deviation; a run that ended early counts as long as it lasted."""
    longest = max(map(len, curves))
    values = np.array([[*curve, *[np.nan] * (longest - len(curve))] for curve in curves])
    middle, width, x = np.nanmean(values, axis=0), np.nanstd(values, axis=0), np.arange(1, longest + 1)
    ax.plot(x, middle, "o", ms=3, **style)
    ax.fill_between(x, middle - width, middle + width, color=style["color"], alpha=0.15, lw=0)


def draw_model(model: Model, folder: Path) -> None:
    """Every recording of a model: its held-out part beside a rollout, and what each size would have cost."""
    names = list(model.tasks)
    if names:
        figures = drawn([model.picture(name) for name in names])
        _save({**figures, "capacity": capacity_curves(names, [model.learned(name) for name in names])}, folder)
