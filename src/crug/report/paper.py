"""The paper's figures, from stored results and the networks in the folders of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from crug.core.network import Network, from_arrays
from crug.errors import CrugError
from crug.report.figures import task_by_task
from crug.report.palette import EACH, MODEL, THIRD, TRUTH
from crug.report.pareto import fronts
from crug.report.schematic import schematic
from crug.report.strides import stride_pictures
from crug.runs import Result, store
from crug.studies.reproduce import Desk
from crug.studies.study import FULL, Part, Row, Study
from crug.studies.tables import stored, tasks_of
from crug.tasks import SEQUENCES, TASKS, load
from crug.tasks.base import Task
from crug.training.settings import RunSettings

SHOWN, SKIPPED = 6_000, 2_000
"""Samples of a portrait, and steps of a rollout that are not drawn."""
STEPS = 1_000
"""Samples of a series, as the paper has them."""
GRID = 60
"""Points of a learning curve within a task: runs take different numbers of epochs."""


def draw(study: Study, desk: Desk, out: Path) -> list[Path]:
    """Draw a figure into a folder, as PNG and PDF."""
    figure = FIGURES[study.label](study, desk)
    if said := rests_on(study, desk):
        figure.text(0.998, 0.002, said, ha="right", va="bottom", fontsize=6)
    files = [out / f"{study.label}.{ending}" for ending in ("png", "pdf")]
    for file in files:
        figure.savefig(file, dpi=130, metadata={"CreationDate": None} if file.suffix == ".pdf" else None)
    return files


def rests_on(study: Study, desk: Desk) -> str:
    """The runs that a figure is drawn from: how many, their budget, and whether their numbers have changed since."""
    rows = [one for _, row in study.rows() if (one := stored(row, desk.shelf, desk.budget)).records]
    if not rows:
        return ""
    runs, epochs = sum(len(one.records) for one in rows), {one.epochs for one in rows}
    budget = " to ".join(map(str, sorted({min(epochs), max(epochs)})))
    marks = "".join(sorted({f"; some: {one.mark}" for one in rows if one.mark}))
    return f"{runs} runs, {budget} epochs a task{marks}"


def opened(study: Study, part: Part, desk: Desk) -> tuple[list[Task], Network]:
    """The tasks that were learned and the final network, of the first run of a part whose folder is there."""
    row = part.all_rows(study.label)[0]
    found = folders(row, desk)
    if not found:
        raise CrugError(
            f"{study.label}: no run of it is in {desk.runs}",
            "run it first",
            f"leave --draw out: crug reproduce {study.label}",
        )
    result = Result.read(found[0])
    known = {key: value for key, value in result.settings.items() if key in RunSettings.model_fields}
    settings = RunSettings.model_validate(known)
    network = from_arrays(store.read_arrays(found[0] / "network.safetensors"))
    learned = result.plan.tasks[: len(network.readouts)]
    return [load(name, result.plan.seed, settings) for name in learned], network


def folders(row: Row, desk: Desk) -> list[Path]:
    """The folders of the runs of a row that are there, by seed: of the records' own budget."""
    found = stored(row, desk.shelf, desk.budget).results
    wanted = [row.runs([r.plan.seed], desk.budget or FULL)[0] for r in found]
    if desk.budget is None:
        wanted = [one.at(r.settings["epochs"]) for one, r in zip(wanted, found, strict=True)]
    places = [desk.runs / one.place for one in wanted]
    return [place for place in places if (place / "network.safetensors").exists()]


def _rollout(
    task: Any, network: Network, number: int, count: int, skip: int = SKIPPED
) -> tuple[np.ndarray, np.ndarray]:
    """So many samples of the test part, and as many of a rollout that begins there."""
    rolled = task.rolled(network, number, (count + skip, skip))
    return task.test[1 : count + 1], rolled["network"]


def _letter(figure: Any, letter: str) -> None:
    figure.suptitle(letter, x=0.01, ha="left", fontweight="bold", fontsize=12)


def _portrait(ax: Any, x: np.ndarray, colour: str, limits: np.ndarray, width: float = 0.35) -> None:
    ax.plot(*x.T[:3], lw=width, color=colour)
    low, high = limits.min(axis=0), limits.max(axis=0)
    for axis, a, b in zip("xyz", low, high, strict=False):
        getattr(ax, f"set_{axis}lim")(a - 0.05 * (b - a), b + 0.05 * (b - a))
        getattr(ax, f"set_{axis}ticks")([])
        getattr(ax, f"set_{axis}label")(axis, fontsize=8, labelpad=-12 if x.shape[1] > 2 else 1)


def _place(figure: Any, shape: tuple[int, int], place: int, dim: int) -> Any:
    return figure.add_subplot(*shape, place, projection="3d" if dim > 2 else None)


def ground_truth(study: Study, desk: Desk) -> Figure:
    """All eight systems, the first benchmark above the second."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    halves: Any = figure.subfigures(2, 1)
    for sub, letter, sequence in zip(halves, "AB", ("vlrc", "blgf"), strict=True):
        _letter(sub, letter)
        for i, name in enumerate(SEQUENCES[sequence]):
            task: Any = load(name, 0)
            ax = _place(sub, (1, 4), i + 1, task.dim)
            _portrait(ax, task.test[:SHOWN], f"C{i}", task.test[:SHOWN])
            ax.set_title(task.title, fontsize=10)
    return figure


def second_benchmark(study: Study, desk: Desk) -> Figure:
    """A) rollouts of the final network; B) the first dimension, network and truth, over 1,000 steps."""
    tasks, network = opened(study, study.parts[0], desk)
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1, 1.2])
    above, below = halves
    _letter(above, "A")
    _letter(below, "B")
    axes: Any = below.subplots(len(tasks), 1, sharex=True)
    for i, task in enumerate(tasks):
        truth, made = _rollout(task, network, i, SHOWN)
        ax = _place(above, (1, len(tasks)), i + 1, task.dim)
        _portrait(ax, made, f"C{i}", truth)
        ax.set_title(task.title, fontsize=10)
        truth, made = _rollout(task, network, i, STEPS, 0)
        axes[i].plot(truth[:, 0], color=EACH, lw=2, label="truth")
        axes[i].plot(made[:, 0], color=f"C{i}", lw=0.9, label="network")
        axes[i].set_ylabel("x", fontsize=8)
        axes[i].set_title(task.title, fontsize=8, loc="left")
        axes[i].legend(fontsize=6, loc="upper right")
    axes[-1].set_xlabel("step")
    return figure


def lorenz_family(study: Study, desk: Desk) -> Figure:
    """Each system's rollout (coloured) over the truth (grey)."""
    tasks, network = opened(study, study.parts[0], desk)
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    for i, task in enumerate(tasks):
        truth, made = _rollout(task, network, i, SHOWN)
        ax = _place(figure, (1, len(tasks)), i + 1, task.dim)
        _portrait(ax, truth, EACH, truth, 0.8)
        _portrait(ax, made, f"C{i}", truth)
        ax.set_title(task.title, fontsize=10)
    return figure


def gait_strides(study: Study, desk: Desk) -> Figure:
    """Every subject's strides above the network's."""
    tasks, network = opened(study, study.parts[0], desk)
    return stride_pictures([task.picture(network, i) for i, task in enumerate(tasks)])


def methods_compared(study: Study, desk: Desk) -> Figure:
    """A) rollouts, B) learning curves of systems; C) accuracy and D) units on the cognitive tasks, task by task."""
    systems, trials = study.parts
    tasks, network = opened(study, systems, desk)
    figure = Figure(figsize=(12, 11), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=[1, 1.6, 1.3])
    above, middle, below = parts
    _letter(above, "A")
    for i, task in enumerate(tasks):
        truth, made = _rollout(task, network, i, SHOWN)
        ax = _place(above, (1, len(tasks)), i + 1, task.dim)
        _portrait(ax, made, f"C{i}", truth)
        ax.set_title(task.title, fontsize=10)
    _letter(middle, "B")
    _curves(middle, tasks_of(systems), folders(systems.all_rows(study.label)[0], desk))
    rows = [stored(row, desk.shelf, desk.budget) for row in trials.all_rows(study.label)]
    groups = {one.row.label: one.results for one in rows if one.records}
    if groups:
        task_by_task(groups, below)
        for ax, letter in zip(below.axes, "CD", strict=False):
            ax.set_title(letter, loc="left", fontweight="bold")
    return figure


def _curves(figure: Any, names: Sequence[str], runs: Sequence[Path]) -> None:
    """D_stsp and D_H of checkpoints through all tasks, and the units by kind that are committed by then: median and
    quartiles over runs. Within a task, runs are laid over each other by the part of it that is over; a run that ended
    early counts as long as it lasted."""
    axes: Any = figure.subplots(3, 1, sharex=True)
    columns = {"d_stsp": (axes[0], MODEL), "d_h": (axes[1], THIRD)}
    for number, name in enumerate(names):
        files = [run / "tasks" / f"{number + 1}-{name}" / "curves.safetensors" for run in runs]
        curves = [store.read_arrays(file) for file in files if file.exists()]
        for measure, (ax, colour) in columns.items():
            _band(ax, number, [_even(c, measure) for c in curves], colour)
        for ax in axes:
            ax.axvline(number + 1, color="#bbbbbb", lw=0.8)
        axes[0].annotate(TASKS[name], (number + 0.02, 1), xycoords=("data", "axes fraction"), fontsize=9, va="bottom")
    for kind, style in (("linear", "--"), ("relu", "-")):
        _staircase(axes[2], [committed(Result.read(run), kind) for run in runs], style)
    axes[0].set(ylabel="D_stsp", yscale="log", xlim=(0, len(names)))
    axes[1].set(ylabel="D_H", yscale="log")
    axes[2].set(ylabel="committed units:\nReLU solid,\nlinear dashed")
    axes[2].set_xlabel(f"tasks; {len(runs)} runs, median and quartiles")


def committed(result: Result, kind: str) -> np.ndarray:
    """How many units of a kind are committed before the first task and after each."""
    return np.cumsum([0, *(row.units[kind] for row in result.tasks)])


def _staircase(ax: Any, counts: Sequence[np.ndarray], style: str) -> None:
    low, middle, high = np.percentile(np.array(counts), [25, 50, 75], axis=0)
    x = np.arange(len(middle))
    ax.step(x, middle, style, where="post", color=TRUTH, lw=1.1)
    ax.fill_between(x, low, high, step="post", color=TRUTH, alpha=0.2, lw=0)


def _even(curves: dict[str, np.ndarray], name: str) -> np.ndarray:
    """A curve at evenly spaced parts of the task."""
    steps = np.diff(curves["epoch"], prepend=0)
    epoch = np.cumsum(np.where(steps > 0, steps, curves["epoch"]))
    values = curves[name]
    there = np.isfinite(values)
    if not there.any():
        return np.full(GRID, np.nan)
    part = epoch / epoch[-1]
    found = np.interp(np.linspace(0, 1, GRID), part[there], values[there])
    return np.where(np.linspace(0, 1, GRID) >= part[there][0], found, np.nan)


def _band(ax: Any, number: int, curves: Sequence[np.ndarray], colour: str) -> None:
    x, values = number + np.linspace(0, 1, GRID), np.array(curves).reshape(-1, GRID)
    there = np.isfinite(values).any(axis=0)
    if not there.any():
        return
    low, middle, high = np.nanpercentile(values[:, there], [25, 50, 75], axis=0)
    ax.plot(x[there], middle, color=colour, lw=1.1)
    ax.fill_between(x[there], low, high, color=colour, alpha=0.2, lw=0)


FIGURES: dict[str, Callable[[Study, Desk], Figure]] = {
    "schematic": schematic,
    "CRUG_results": methods_compared,
    "DSR_task_pareto_fronts": fronts,
    "ground_truth_DS": ground_truth,
    "BLGF_DSR_tasks": second_benchmark,
    "Lorenz_family_dsr": lorenz_family,
    "gait_reconstruction": gait_strides,
}
"""By label, what draws it."""
