"""Tables of the field's public files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from crug.field.benchmarks import BENCHMARKS, EQUATIONS, Benchmark
from crug.field.protocols import Measured
from crug.field.scores import Scored
from crug.report.terminal import new_table


def offered() -> Table:
    """All benchmarks, with their protocols and what was published."""
    out = new_table("public files", "", "what", "way", "D_stsp by", "truth", "published (D_stsp / D_H)", wrap=True)
    for one in BENCHMARKS.values():
        published = ", ".join(f"{who} {_pair(values)}" for who, values in one.published.items())
        out.add_row(one.name, one.title, one.way, one.variant, _pair(one.truth), published)
    return out


def scores(scored: Sequence[Scored]) -> Table:
    """What was reached, beside the best that was published and what the truth itself scores."""
    peers = list(dict.fromkeys(peer for one in scored for peer in one.peers))
    headings = ("D_stsp / D_H", "with noise", "units", "minutes", *peers, "best published network", "truth")
    out = new_table("public files, each measured as its authors do", "", *headings)
    for one in scored:
        noisy = "" if one.noisy is None else _measured(one.noisy)
        out.add_row(
            one.benchmark.name,
            _measured(one.plain),
            noisy,
            str(one.units),
            f"{one.seconds / 60:.1f}",
            *(_measured(one.peers[peer]) if peer in one.peers else "" for peer in peers),
            _best(one.benchmark),
            _pair(one.benchmark.truth),
        )
    return out


def _best(benchmark: Benchmark) -> str:
    """The best network, and equations where these were better."""
    if not benchmark.published:
        return ""
    networks = {name: values for name, values in benchmark.published.items() if name != EQUATIONS}
    who = min(networks, key=lambda name: networks[name][0])
    best, equations = networks[who], benchmark.published.get(EQUATIONS)
    beside = f"; {EQUATIONS} {_pair(equations)}" if equations and equations[0] < best[0] else ""
    return f"{_pair(best)} ({who}){beside}"


def _measured(found: Measured) -> str:
    return f"{found.d_stsp:.2f} / {found.d_h:.3f}" if np.isfinite(found.d_stsp) else "div."


def _pair(values: tuple[float | None, float | None]) -> str:
    return " / ".join(f"{value:g}" for value in values if value is not None)
