"""What a picture is on its way to the page: plain data and a layout as plotly takes them, and words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

TRUTH, MODEL, OTHER = "var-truth", "var-model", "var-other"
"""Colours by name: the page has one set for light and one for dark."""
Trace = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """One picture: `alt` is what a screen reader says, `says` what to look for. Figures of one `twin` turn together."""

    kind: str
    title: str
    alt: str
    says: str
    data: list[Trace]
    layout: dict[str, Any] = field(default_factory=dict)
    twin: str = ""
    height: int = 320


def numbers(x: Any) -> list[float | None]:
    """To four digits, as JSON has them: nothing where there is no number."""
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in np.asarray(x, np.float64).reshape(-1)]


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """1, 2 and 5 of every power of ten on a logarithmic axis."""
    values = [digit * 10.0**power for power in range(int(low) - 1, int(high) + 2) for digit in (1, 2, 5)]
    return {"tickmode": "array", "tickvals": values, "ticktext": [f"{value:g}" for value in values]}


def log_axis(title: str) -> dict[str, Any]:
    return {"title": {"text": title}, "type": "log", "exponentformat": "power", "dtick": 1}
