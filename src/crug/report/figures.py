"""Figures of one run: phase portraits, learning curves, capacity curves. Functions take data and return a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from crug import store
from crug.evaluation import free_run
from crug.model import Model
from crug.network import from_arrays
from crug.sequence import Learned
from crug.tasks import Task, load

TRUTH, MODEL = "#444444", "#c8401e"
SHOWN, TRANSIENT = 8_000, 2_000
LAG = 10


def portraits(pairs: list[tuple[str, np.ndarray, np.ndarray]]) -> Figure:
    """Truth (T, N) and rollout (T, N) of each task side by side; three dimensions are drawn as such."""
    figure = plt.figure(figsize=(3.2 * len(pairs), 6.4))
    for i, (title, truth, model) in enumerate(pairs):
        if truth.shape[1] == 1:  # one column is drawn against itself, a little later
            truth, model = (np.concatenate([v[:-LAG], v[LAG:]], axis=1) for v in (truth, model))
        for row, (x, colour, label) in enumerate(((truth, TRUTH, "truth"), (model, MODEL, "network"))):
            place = row * len(pairs) + i + 1
            three = x.shape[1] > 2
            axes: Any = figure.add_subplot(2, len(pairs), place, projection="3d" if three else None)
            axes.plot(*x.T[:3], lw=0.35, color=colour)
            axes.set_title(f"{title}: {label}", fontsize=10)
            low, high = truth.min(axis=0), truth.max(axis=0)
            for axis, (a, b) in zip("xyz", zip(low, high, strict=True), strict=False):
                margin = 0.05 * (b - a)
                getattr(axes, f"set_{axis}lim")(a - margin, b + margin)
                getattr(axes, f"set_{axis}ticks")([])
    figure.tight_layout()
    return figure


def capacity_curves(titles: list[str], learned: list[Learned]) -> Figure:
    """Quality on the training data against size for every network on the way, and the one that was committed."""
    figure, axes = plt.subplots(1, len(learned), figsize=(3.2 * len(learned), 3.2), squeeze=False, sharey=True)
    for ax, title, record in zip(axes[0], titles, learned, strict=False):
        if record.chosen is None:  # nothing was left to learn
            continue
        sizes = [o.units for o in record.history]
        scores = np.array([o.score.d_stsp for o in record.history])
        finite = np.isfinite(scores)
        ax.plot(np.array(sizes)[finite], scores[finite], "o", ms=4, color=TRUTH)
        chosen = record.history[record.chosen]
        ax.plot(chosen.units, chosen.score.d_stsp, "o", ms=9, mfc="none", mec=MODEL, mew=1.8)
        ax.set(title=f"{title}: {chosen.units} units", xlabel="units (circle: committed)", yscale="log")
    axes[0, 0].set_ylabel("D_stsp on training data")
    axes[0, 0].yaxis.set_major_formatter("{x:g}")
    figure.tight_layout()
    return figure


def learning_curves(titles: list[str], curves: list[dict[str, np.ndarray]]) -> Figure:
    """Loss, units by kind and periodic scores through all tasks, one after another (figure 2B)."""
    figure, axes = plt.subplots(3, 1, figsize=(9, 7), sharex=True)
    offset = 0.0
    for title, c in zip(titles, curves, strict=False):
        if not len(c["epoch"]):  # nothing was left to learn
            continue
        steps = np.diff(c["epoch"], prepend=0)
        epoch = offset + np.cumsum(np.where(steps > 0, steps, c["epoch"]))
        axes[0].plot(epoch, c["loss"], color=TRUTH, lw=0.8)
        scored = np.isfinite(c["d_stsp"])
        axes[1].plot(epoch[scored], c["d_stsp"][scored], ".", ms=3, color=MODEL)
        axes[1].plot(epoch[scored], c["d_h"][scored], ".", ms=3, color="#3b6ea5")
        axes[2].plot(epoch, c["linear"], "--", color=TRUTH, lw=1)
        axes[2].plot(epoch, c["relu"], "-", color=TRUTH, lw=1)
        axes[0].annotate(title, (offset, 1), xycoords=("data", "axes fraction"), fontsize=9, va="bottom")
        offset = epoch[-1]
        for ax in axes:
            ax.axvline(offset, color="#bbbbbb", lw=0.8)
    losses = np.concatenate([c["loss"] for c in curves])
    axes[0].set(yscale="log", ylabel="loss", ylim=(0.5 * np.nanmin(losses), 10))
    axes[1].set(yscale="log", ylabel="D_stsp (red), D_H (blue)")
    axes[2].set(yscale="log", ylabel="units: ReLU solid, linear dashed", xlabel="epoch")
    for ax in axes[1:]:
        ax.yaxis.set_major_formatter("{x:g}")
    figure.tight_layout()
    return figure


def draw_run(folder: Path) -> None:
    """All figures of a finished run, into its folder `figures`."""
    result = store.read_json(folder / "result.json")
    network = from_arrays(store.read_arrays(folder / "network.safetensors"))
    names = [row["name"] for row in result["tasks"]][: len(network.readouts)]
    if not names:
        return
    tasks = [load(name, result["seed"]) for name in names]
    places = [store.task_folder(folder, i, name) for i, name in enumerate(names)]
    learned = [Learned.from_json(store.read_json(place / "task.json")) for place in places]
    titles = [task.title for task in tasks]
    figures = {
        "portraits": portraits([_pair(network, i, task) for i, task in enumerate(tasks)]),
        "learning": learning_curves(titles, [store.read_arrays(place / "curves.safetensors") for place in places]),
    }
    if any(len(record.history) > 1 for record in learned):
        figures["capacity"] = capacity_curves(titles, learned)
    (folder / "figures").mkdir(exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / "figures" / f"{name}.png", dpi=130)
        plt.close(figure)


def draw_model(model: Model, folder: Path) -> None:
    """Every recording of a model: its held-out part beside a rollout, and what each size would have cost."""
    names = list(model.tasks)
    if not names:
        return
    folder.mkdir(parents=True, exist_ok=True)
    pairs = []
    for name in names:
        known = model.about(name)
        truth = known.scale.restore(known.test[:SHOWN])
        pairs.append((name, truth, model.rollout(name, SHOWN + TRANSIENT)[TRANSIENT:]))
    figures = {
        "portraits": portraits(pairs),
        "capacity": capacity_curves(names, [model.about(name).learned for name in names]),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
        plt.close(figure)


def _pair(network, number: int, task: Task) -> tuple[str, np.ndarray, np.ndarray]:
    rollout = free_run(network, number, task.test[:1], SHOWN + TRANSIENT, TRANSIENT)[0]
    return task.title, task.test[:SHOWN], rollout
