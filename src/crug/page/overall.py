"""Pictures of a whole network, and of several runs side by side."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from typing import Any

import numpy as np

from crug.metrics import MEASURES
from crug.page.book import Book
from crug.page.picture import TRUTH, Figure, Trace, log_axis, numbers


def of_book(book: Book) -> list[Figure]:
    """Pictures of the whole network, and of several runs."""
    found = []
    if book.network is not None and book.chapters:
        found.append(ledger(book))
        if book.feeding.any():
            found.append(feeding(book))
    if len(book.results) > 1:
        found.append(compared(book))
    return found


def ledger(book: Book) -> Figure:
    """Who owns which unit, and which of them rectify."""
    assert book.network
    owner, relu, across = book.network.owner, book.network.relu, 32
    names = ["free", *(chapter.name for chapter in book.chapters)]
    down = -(-len(owner) // across)
    rows, last = range(down), max(1, len(names) - 1)
    empty = down * across - len(owner)
    z: list[int | None] = [*(int(k) + 1 for k in owner), *[None] * empty]
    kinds = np.where(relu, "ReLU", "linear")
    said = [f"unit {i}: {names[k + 1]}, {kind}" for i, (k, kind) in enumerate(zip(owner, kinds, strict=True))]
    said += [""] * empty
    colours = ["var-free", *(_hue(k, last) for k in range(last))]
    squares = {"type": "heatmap", "zmin": 0, "zmax": last, "showscale": False, "xgap": 1, "ygap": 1}
    squares |= {"hoverinfo": "text", "colorscale": [[k / last, colour] for k, colour in enumerate(colours)]}
    squares |= {"z": [z[i * across : (i + 1) * across] for i in rows]}
    squares |= {"text": [said[i * across : (i + 1) * across] for i in rows]}
    dots: Trace = {"type": "scatter", "mode": "markers", "hoverinfo": "skip"}
    at = np.flatnonzero(relu)
    marks = {**dots, "x": (at % across).tolist(), "y": (at // across).tolist(), "showlegend": False}
    marks["marker"] = {"size": 4, "color": "var-text"}
    legend = [
        {**dots, "x": [None], "y": [None], "name": name, "marker": {"size": 12, "symbol": "square", "color": colour}}
        for name, colour in zip(names, colours, strict=False)
    ]
    plain = {"visible": False}
    layout = {"xaxis": plain, "yaxis": {**plain, "autorange": "reversed"}, "showlegend": True}
    owned = ", ".join(f"{name} {int((owner == k).sum())}" for k, name in enumerate(names[1:]))
    says = f"Every square is a unit, in the colour of the task that owns it ({owned}); a dot marks a ReLU unit."
    alt = f"Who owns which unit: {owned}."
    return Figure("ledger", "Units", alt, says, [squares, marks, *legend], layout, height=130 + 18 * down)


def _hue(k: int, count: int) -> str:
    """Colours around the circle, every other one lighter."""
    red, green, blue = colorsys.hls_to_rgb(k / max(1, count), 0.45 if k % 2 else 0.6, 0.55)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def feeding(book: Book) -> Figure:
    """Who feeds whom."""
    names = [chapter.name for chapter in book.chapters]
    z = [[value or None for value in numbers(row)] for row in book.feeding]
    data = [{"type": "heatmap", "x": names, "y": names, "z": z, "colorscale": "Viridis", "colorbar": {"thickness": 10}}]
    layout = {"xaxis": {"title": {"text": "from"}}, "yaxis": {"title": {"text": "to"}, "autorange": "reversed"}}
    says = "Root mean square of the weights with which a task (row) listens to an earlier one (column)."
    return Figure("feeding", "Who feeds whom", "Weights between tasks.", says, data, layout)


def compared(book: Book) -> Figure:
    """Several runs: the first measure of every task at the end."""
    first = book.results[0]
    main = MEASURES[next(iter(first.overall))]
    labels = called(book)
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": label,
            "x": [row.name for row in result.tasks],
            "y": numbers([row.final.get(main.name, np.nan) for row in result.tasks]),
            "marker": {"size": 9, "symbol": i % 8, "color": _hue(i, len(labels))},
        }
        for i, (label, result) in enumerate(zip(labels, book.results, strict=True))
    ]
    floors = {
        row.name: row.floor[main.name] for result in book.results for row in result.tasks if main.name in row.floor
    }
    if floors:
        line = {"symbol": "line-ew-open", "size": 22, "color": TRUTH}
        floor = {"type": "scatter", "mode": "markers", "name": "a perfect model", "marker": line}
        data.append({**floor, "x": list(floors), "y": numbers(list(floors.values()))})
    percent: Mapping[str, Any] = {"title": {"text": main.label}, "range": [0, 1.03]}
    layout = {"yaxis": percent if main.percent else log_axis(main.label), "showlegend": True}
    says = "Every mark is one run's score of a task after the last one was learned; lower is better."
    says = "Every mark is one run's accuracy at the end; higher is better." if main.percent else says
    return Figure("compared", "Runs side by side", "Scores of several runs.", says, data, layout, height=380)


def called(book: Book) -> list[str]:
    """By which runs are told apart: with their sequence, where there are several."""
    plans = [result.plan for result in book.results]
    several = len({plan.sequence for plan in plans}) > 1
    return [f"{f'{plan.sequence}: ' if several else ''}{plan.method}, seed {plan.seed}" for plan in plans]
