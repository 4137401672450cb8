"""What pictures and tables say, on a page, in a figure and in the terminal alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from crug.analysis.verdict import DIVERGENT, WORDS
from crug.metrics import MEASURES
from crug.runs.result import Learned, TaskResult


def shown(measures: Mapping[str, float], name: str, errors: Mapping[str, float] | None = None) -> str:
    """A measure as tables have it; nothing where it was not taken."""
    return MEASURES[name].shown(measures[name], (errors or {}).get(name)) if name in measures else ""


def verdicts(rows: Iterable[TaskResult]) -> str:
    """In words, of one task or of several: each verdict with how many have it, where there is more than one."""
    found = Counter(word for row in rows if (word := row.judged.word(row.noisy or row.final)))
    order = [word for word in (*WORDS, DIVERGENT) if word in found]
    return ", ".join(f"{found[word]} {word}" for word in order) if len(order) > 1 else "".join(order)


def floor_of(rows: Iterable[TaskResult], name: str) -> str:
    """What a perfect model would get of a measure, the median over several runs of a task; empty where nobody knows."""
    found = [row.floor[name] for row in rows if name in row.floor]
    return MEASURES[name].shown(float(np.median(found))) if found else ""


def lost(x: np.ndarray, truth: np.ndarray) -> str:
    """What to say instead of drawing a rollout x (T, N) beside the truth (T, N) where nothing would be seen of it;
    nothing where something is."""
    if not np.isfinite(x).all():
        return "runs away"
    late, extent = x[-len(x) // 2 :], np.maximum(np.ptp(truth, axis=0), 1e-300)
    if (np.abs(late - truth.mean(axis=0)) > extent).any(axis=1).all():
        return "runs away"
    return "stands still" if (late.std(axis=0) < 1e-6 * extent).all() else ""


def failed(learned: Learned) -> bool:
    """Whether the network that was kept of a recording has another attractor."""
    if learned.chosen is None or MEASURES[next(iter(learned.own.values))].percent:
        return False
    return learned.history[learned.chosen].score.verdict(learned.floor) != "what was recorded"


def of_sizes(learned: Learned) -> str:
    """What a capacity curve has on its vertical axis."""
    main = MEASURES[next(iter(learned.own.values))]
    return f"1 / {main.label}, fresh trials" if main.percent else f"{main.label} on training data"
