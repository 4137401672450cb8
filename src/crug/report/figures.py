"""Figures of a run, or of several: functions that take data and return a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from crug import store
from crug.config import TrialSettings
from crug.evaluation import Answers, free_run, respond
from crug.model import Model
from crug.network import Network, from_arrays
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
        scores = np.array([o.score.main for o in record.history])
        finite = np.isfinite(scores)
        ax.plot(np.array(sizes)[finite], scores[finite], "o", ms=4, color=TRUTH)
        chosen = record.history[record.chosen]
        ax.plot(chosen.units, chosen.score.main, "o", ms=9, mfc="none", mec=MODEL, mew=1.8)
        ax.set(title=f"{title}: {chosen.units} units", xlabel="units (circle: committed)")
    _logarithmic(*axes[0])
    trials = any(isinstance(o.score, Answers) for record in learned for o in record.history)
    axes[0, 0].set_ylabel("1 / accuracy on fresh trials" if trials else "D_stsp on training data")
    axes[0, 0].yaxis.set_major_formatter("{x:g}")
    figure.tight_layout()
    return figure


def learning_curves(titles: list[str], curves: list[dict[str, np.ndarray]]) -> Figure:
    """Loss, units by kind and periodic scores through all tasks, one after another (figure 2B)."""
    figure, axes = plt.subplots(3, 1, figsize=(9, 7), sharex=True)
    measures = ("accuracy", "error") if "accuracy" in curves[0] else ("d_stsp", "d_h")
    offset = 0.0
    for title, c in zip(titles, curves, strict=False):
        if not len(c["epoch"]):  # nothing was left to learn
            continue
        steps = np.diff(c["epoch"], prepend=0)
        epoch = offset + np.cumsum(np.where(steps > 0, steps, c["epoch"]))
        axes[0].plot(epoch, c["loss"], color=TRUTH, lw=0.8)
        for measure, colour in zip(measures, (MODEL, "#3b6ea5"), strict=True):
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
    axes[1].set(ylabel="{} (red), {} (blue)".format(*measures))
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
    result = store.read_json(folder / "result.json")
    network = from_arrays(store.read_arrays(folder / "network.safetensors"))
    names = [row["name"] for row in result["tasks"]][: len(network.readouts)]
    if not names:
        return
    trials = TrialSettings.model_validate(result["config"].get("trials", {}))
    tasks = [load(name, result["seed"], trials) for name in names]
    places = [store.task_folder(folder, i, name) for i, name in enumerate(names)]
    learned = [Learned.from_json(store.read_json(place / "task.json")) for place in places]
    titles = [task.title for task in tasks]
    recordings = [task for task in tasks if isinstance(task, Task)]
    figures = {
        "learning": learning_curves(titles, [store.read_arrays(place / "curves.safetensors") for place in places]),
    }
    if recordings:
        figures["portraits"] = portraits([_pair(network, i, task) for i, task in enumerate(recordings)])
    else:
        figures["trials"] = trial_pictures([_trial(network, i, task) for i, task in enumerate(tasks)])
        figures["retention"] = retention(titles, result["matrix"])
        used = [len(np.unique(np.concatenate(network.runs[: i + 1]))) for i in range(len(names))]
        figures["units"] = capacity_used(titles, used, network.size)
    if any(len(record.history) > 1 for record in learned):
        figures["capacity"] = capacity_curves(titles, learned)
    (folder / "figures").mkdir(exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / "figures" / f"{name}.png", dpi=130)
        plt.close(figure)


def trial_pictures(trials: list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]) -> Figure:
    """One trial of each task: inputs (T, Q), targets (T, 3) and outputs (T, 3) from top to bottom."""
    figure, axes = plt.subplots(3, len(trials), figsize=(2.1 * len(trials), 5), squeeze=False, sharex=True)
    for column, (title, inputs, targets, outputs) in enumerate(trials):
        axes[0, column].imshow(inputs.T, aspect="auto", cmap="RdBu_r", vmin=-1.5, vmax=1.5)
        axes[0, column].set_title(title, fontsize=8)
        for row, values in ((1, targets), (2, outputs)):
            for values_, colour, label in zip(values.T, COLOURS, ("fixation", "sin", "cos"), strict=True):
                axes[row, column].plot(values_, color=colour, lw=1.2, label=label)
            axes[row, column].set_ylim(-1.4, 1.4)
        axes[2, column].set_xlabel("step")
        for ax in axes[:, column]:
            ax.tick_params(labelsize=6)
            if column:
                ax.set_yticklabels([])
    for ax, label in zip(axes[:, 0], ("input channel", "target", "output"), strict=True):
        ax.set_ylabel(label, fontsize=8)
    axes[1, 0].legend(fontsize=6, loc="lower left")
    figure.tight_layout()
    return figure


COLOURS = (TRUTH, MODEL, "#3b6ea5")


def retention(titles: list[str], matrix: list[list[float]]) -> Figure:
    """Accuracy on every task after each task was learned (figure 2C)."""
    figure, ax = plt.subplots(figsize=(5.6, 4.6))
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
    figure, ax = plt.subplots(figsize=(5.2, 3.4))
    ax.plot(range(1, len(units) + 1), 100 * np.array(units) / size, "o-", color=MODEL)
    ax.set_xticks(range(1, len(titles) + 1), titles, rotation=45, ha="right", fontsize=7)
    ax.set(ylim=(0, 105), ylabel="units in use (%)")
    figure.tight_layout()
    return figure


def task_by_task(groups: dict[str, list[dict[str, Any]]]) -> Figure:
    """Several kinds of runs, as each task is added: mean accuracy over the tasks so far, and units in use where a task
    has its own (figures 2C and 2D). Mean and standard deviation over the seeds."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    for number, (label, results) in enumerate(groups.items()):
        style = {"color": f"C{number % 10}", "ls": "-" if number < 10 else "--", "label": label}
        _band(left, [[100 * float(np.mean(row)) for row in r["matrix"]] for r in results], style)
        owned = [r for r in results if sum(sum(row["units"].values()) for row in r["tasks"]) == r["units"]]
        if owned:
            per_task = [[sum(row["units"].values()) for row in r["tasks"]][: len(r["matrix"])] for r in owned]
            sizes = [r["config"]["network"]["M"] for r in owned]
            _band(right, [100 * np.cumsum(u) / size for u, size in zip(per_task, sizes, strict=True)], style)
    left.set(xlabel="tasks learned", ylabel="mean accuracy on them (%)", ylim=(0, 103))
    right.set(xlabel="tasks learned", ylabel="units in use (%)", ylim=(0, 103))
    figure.legend(*left.get_legend_handles_labels(), fontsize=7, loc="outside right upper")
    return figure


def _band(ax: Any, curves: Sequence[Sequence[float]], style: dict[str, str]) -> None:
    """Mean and standard deviation; a run that ended early counts as long as it lasted."""
    longest = max(map(len, curves))
    values = np.array([[*curve, *[np.nan] * (longest - len(curve))] for curve in curves])
    middle, width, x = np.nanmean(values, axis=0), np.nanstd(values, axis=0), np.arange(1, longest + 1)
    ax.plot(x, middle, "o", ms=3, **style)
    ax.fill_between(x, middle - width, middle + width, color=style["color"], alpha=0.15, lw=0)


def _trial(network: Network, number: int, task: Any) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    inputs, targets = task.test.inputs[0], task.test.targets[0]
    return task.title, inputs, targets, respond(network, number, inputs[None])[0]


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
