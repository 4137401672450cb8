"""The pictures of one task: its attractor, its course over time, its spectra and exponents, and how it was learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from crug.page.book import LINES, Chapter, Drawn
from crug.page.picture import MODEL, OTHER, TRUTH, Figure, Trace, log_axis, log_ticks, numbers
from crug.page.words import failed, lost, of_sizes
from crug.runs.result import Learned

REGIONS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#dd8452", "#937860", "#8172b3", "#bbbbbb")
"""Of linear regions, the most frequent first; the last is of rare ones. They are told apart by the colour-blind too."""
COLOURED = 27
"""Regions that have a colour; colours repeat."""
MARKS = {"saddle": "square-open", "unstable focus": "diamond-open", "unstable node": "circle-open"}
"""Of fixed points and cycles; stable ones are filled circles. Three dimensions have few marks that any font shows."""
LATER = 10
"""About how many samples later one column is drawn against itself."""
COLUMNS = 6
"""Most columns in a time series."""


def of_chapter(chapter: Chapter) -> list[Figure]:
    """All pictures of a task."""
    found: list[Figure] = []
    if chapter.drawn is not None:
        found += [*attractors(chapter, chapter.drawn), series(chapter, chapter.drawn), spectra(chapter, chapter.drawn)]
    if chapter.analysis is not None and np.isfinite(chapter.analysis.exponents.largest):
        found.append(exponents(chapter))
    learned = chapter.material.learned
    if len(learned.history) > 1 and learned.chosen is not None:
        found.append(capacity(chapter, learned, learned.chosen))
    if len(chapter.material.curves.get("loss", ())):
        found.append(learning(chapter))
    return found


# attractors


def attractors(chapter: Chapter, drawn: Drawn) -> list[Figure]:
    """The recording and the network's rollout side by side."""
    N, names = drawn.truth.shape[1], list(drawn.columns[:3])
    three = N > 2
    shown = f"{', '.join(names)} of {N} columns" if N > 3 else ", ".join(names)
    layout = _space(drawn, names) if three else _plane(drawn, names)
    twin = chapter.name if three else ""
    later = _later(drawn)
    truth = _path(drawn.truth, {"color": TRUTH, "width": 1.5}, "recorded", later)
    one = Figure(
        "attractor",
        "Recorded",
        f"The attractor of {chapter.name} as it was recorded, in {shown}.",
        f"What was recorded: {shown}. " + ("Drag to turn; the other picture turns with it." if three else ""),
        [truth],
        layout,
        twin,
        380,
    )
    if how := lost(drawn.rollout, drawn.truth):
        gone = f"The network of {chapter.name} {how}: there is no rollout to show."
        return [one, Figure("attractor", "Network", gone, gone, [], layout, "", 380)]
    rare = len(REGIONS) - 1
    few = np.where(drawn.regions < COLOURED, drawn.regions % rare, rare)
    colours = [[i / (len(REGIONS) - 1), colour] for i, colour in enumerate(REGIONS)]
    if three:
        line = {"color": few.tolist(), "colorscale": colours, "cmin": 0, "cmax": len(REGIONS) - 1, "width": 2}
        paths = [_path(drawn.rollout, line, "network", later)]
    else:
        dots = {"color": few.tolist(), "colorscale": colours, "cmin": 0, "cmax": len(REGIONS) - 1, "size": 3}
        paths = [{**_path(drawn.rollout, {}, "network", later), "mode": "markers", "marker": dots}]
    visited = chapter.analysis.regions.count if chapter.analysis else int(few.max()) + 1
    orbits = _orbits(chapter, drawn)
    says = f"What the network does by itself, coloured by its linear regions ({visited} are visited)."
    marks = Counter(f"{o['marker']['symbol'].removesuffix('-open')}: {o['name']}" for o in orbits)
    says += "".join(f" {mark[0].upper()}{mark[1:]}{f' ({n})' if n > 1 else ''}." for mark, n in marks.items())
    alt = f"The attractor of {chapter.name} as its network generates it, {chapter.material.verdict}."
    return [one, Figure("attractor", "Network", alt, says, [*paths, *orbits], layout, twin, 380)]


def _later(drawn: Drawn) -> int:
    """How many points later one column is drawn against itself."""
    return max(1, round(LATER / drawn.step))


def _path(x: np.ndarray, line: Trace, name: str, later: int = 1) -> Trace:
    if x.shape[1] == 1:
        x = np.concatenate([x[:-later], x[later:]], axis=1)
    kind = "scatter3d" if x.shape[1] > 2 else "scatter"
    axes = dict(zip("xyz", (numbers(column) for column in x.T[:3]), strict=False))
    return {"type": kind, "mode": "lines", "line": line, "name": name, "hoverinfo": "skip", **axes}


def _orbits(chapter: Chapter, drawn: Drawn) -> list[Trace]:
    """Fixed points and cycles within or near what is drawn."""
    found: list[Trace] = []
    analysis = chapter.analysis
    if analysis is None or drawn.truth.shape[1] == 1:
        return found
    for orbit, place, inside in zip(analysis.orbits.found, analysis.places, analysis.inside, strict=True):
        if not inside:
            continue
        named = orbit.kind if orbit.order == 1 else f"{orbit.kind}, a cycle of {orbit.order} samples"
        mark = {"symbol": MARKS.get(orbit.kind, "circle"), "size": 6, "color": OTHER}
        trace = {**_path(place, {"color": OTHER}, named), "mode": "markers+lines", "marker": mark}
        found.append({**trace, "hoverinfo": "name"})
    return found


def _range(values: np.ndarray) -> list[float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.08 * ((high - low) or 1.0)
    return [low - margin, high + margin]


def _space(drawn: Drawn, names: Sequence[str]) -> dict[str, Any]:
    axes = {
        f"{axis}axis": {"title": {"text": name}, "range": _range(drawn.truth[:, i])}
        for i, (axis, name) in enumerate(zip("xyz", names, strict=True))
    }
    camera = {"eye": {"x": 1.4, "y": -1.4, "z": 0.6}}
    return {"scene": {**axes, "aspectmode": "cube", "camera": camera}, "showlegend": False}


def _plane(drawn: Drawn, names: Sequence[str]) -> dict[str, Any]:
    if len(names) == 1:
        names, columns = [names[0], f"{names[0]}, {_later(drawn) * drawn.step} samples later"], [0, 0]
    else:
        columns = [0, 1]
    axes = {
        f"{axis}axis": {"title": {"text": name}, "range": _range(drawn.truth[:, column])}
        for axis, name, column in zip("xy", names, columns, strict=True)
    }
    return {**axes, "showlegend": False}


# over time


def series(chapter: Chapter, drawn: Drawn) -> Figure:
    """Truth and network from the same sample on."""
    truth, rollout = drawn.series
    count = min(COLUMNS, truth.shape[1])
    data, layout = [], {"grid": {"rows": count, "columns": 1, "pattern": "independent"}, "showlegend": True}
    for k in range(count):
        axis = "" if k == 0 else str(k + 1)
        at = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "type": "scatter", "mode": "lines", "showlegend": k == 0}
        data.append({**at, "y": numbers(truth[:, k]), "line": {"color": TRUTH, "width": 2}, "name": "recorded"})
        data.append({**at, "y": numbers(rollout[:, k]), "line": {"color": MODEL, "width": 1.3}, "name": "network"})
        layout[f"yaxis{axis}"] = {"title": {"text": drawn.columns[k]}, "range": _range(truth[:, k])}
        layout[f"xaxis{axis}"] = {"title": {"text": "sample"}} if k == count - 1 else {"showticklabels": False}
    more = f" The first {count} of {truth.shape[1]} columns." if truth.shape[1] > count else ""
    says = "Both begin at the same sample. A chaotic system parts from its model after a while; a good model goes on "
    says += f"in the same manner.{more}"
    alt = f"{chapter.name} over time: recorded, and the network from the same sample on."
    return Figure("series", "Over time", alt, says, data, layout, height=120 + 110 * count)


def spectra(chapter: Chapter, drawn: Drawn) -> Figure:
    """Power over frequency."""
    frequency, truth, rollout = drawn.spectra
    lines = (("recorded", truth, TRUTH, 3), ("network", rollout, MODEL, 1.5))
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": numbers(frequency),
            "y": numbers(power),
            "line": {"color": colour, "width": width},
        }
        for name, power, colour, width in lines
    ]
    layout = {"xaxis": log_axis("frequency, per unit of time"), "yaxis": log_axis("power"), "showlegend": True}
    says = "The rhythms of both. Peaks at the same places mean the same periods; D_H is the distance between the two."
    return Figure("spectra", "Power spectra", f"Power spectra of {chapter.name} and its network.", says, data, layout)


def exponents(chapter: Chapter) -> Figure:
    """Lyapunov exponents with their standard errors."""
    assert chapter.analysis
    found = chapter.analysis
    count = max(2, len(found.columns))
    kinds = [("network", found.exponents, MODEL)]
    if found.recorded is not None:
        kinds.append(("recording", found.recorded, TRUTH))
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": list(range(1, len(one.per_time[:count]) + 1)),
            "y": numbers(one.per_time[:count]),
            "error_y": {"type": "data", "array": numbers(one.errors[:count] / one.dt)},
            "marker": {"color": colour, "size": 9, "symbol": "circle" if name == "network" else "diamond-open"},
        }
        for name, one, colour in kinds
    ]
    own = found.exponents.per_time[:count]
    span = _range(np.append(own, [0.0, *(one.per_time[0] for _, one, _ in kinds)]))
    layout = {
        "xaxis": {"title": {"text": "number"}, "dtick": 1},
        "yaxis": {"title": {"text": "per unit of time"}, "range": span},
        "showlegend": True,
    }
    says = (
        "Above zero means chaos: that fast neighbouring states part. Strong contraction in the recording is estimated "
    )
    says += "too weakly, so compare the first ones."
    alt = f"Lyapunov exponents of {chapter.name}: the largest is {found.exponents.per_time[0]:.3g}."
    return Figure("exponents", "Lyapunov exponents", alt, says, data, layout)


# how it was learned


def capacity(chapter: Chapter, learned: Learned, chosen: int) -> Figure:
    """Quality against size for every network on the way."""
    sizes = [o.units for o in learned.history]
    scores = [o.score.main for o in learned.history]
    kept, at = learned.history[chosen], {"type": "scatter", "mode": "markers"}
    data = [
        {**at, "x": sizes, "y": numbers(scores), "marker": {"color": TRUTH, "size": 7}, "name": "tried"},
        {
            **at,
            "x": [kept.units],
            "y": numbers([kept.score.main]),
            "marker": {"symbol": "circle-open", "size": 16, "color": MODEL, "line": {"width": 3}},
            "name": "kept",
        },
    ]
    finite = [score for score in scores if np.isfinite(score) and score > 0] or [1.0]
    low, high = min(finite), max(finite)
    room = (
        max(0.0, 1.0 - np.log10(high / low)) / 2
    )  # at least a factor of ten, so that noise does not look like a trend
    span = [float(np.log10(low)) - room - 0.1, float(np.log10(high)) + room + 0.1]
    layout = {
        "xaxis": {"title": {"text": "units"}},
        "yaxis": {**log_axis(of_sizes(learned)), "range": span, **log_ticks(*span)},
        "showlegend": True,
    }
    says = "Every network that was tried, by its size. "
    says += (
        "None of them is what was recorded."
        if failed(learned)
        else "The smallest that is as good as the best was kept."
    )
    return Figure(
        "capacity", "Size and quality", f"{kept.units} units were kept for {chapter.name}.", says, data, layout
    )


def learning(chapter: Chapter) -> Figure:
    """The loss over all epochs, and the units that took part."""
    curves = chapter.material.curves
    steps = np.diff(curves["epoch"], prepend=0)
    epoch = np.cumsum(np.where(steps > 0, steps, curves["epoch"]))
    some = np.unique(np.linspace(0, len(epoch) - 1, LINES).astype(int))
    units = (curves["linear"] + curves["relu"])[some]
    line: Trace = {"type": "scatter", "mode": "lines", "x": numbers(epoch[some])}
    data = [
        {**line, "y": numbers(curves["loss"][some]), "name": "loss", "line": {"color": MODEL, "width": 1.5}},
        {**line, "y": numbers(units), "name": "units", "yaxis": "y2", "line": {"color": OTHER, "dash": "dot"}},
    ]
    layout = {
        "xaxis": {"title": {"text": "epoch"}},
        "yaxis": log_axis("loss"),
        "yaxis2": {
            "title": {"text": "units"},
            "overlaying": "y",
            "side": "right",
            "rangemode": "tozero",
            "tickmode": "auto",
        },
        "showlegend": True,
    }
    says = "The loss jumps up wherever units are dropped, and comes down again while the rest learns to do without."
    return Figure("learning", "Learning", f"Loss and units of {chapter.name} over training.", says, data, layout)
