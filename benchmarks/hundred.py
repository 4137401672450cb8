"""A hundred systems in one network: the table and the wall of pictures, from the model that learned them.

    crug learn hundred.crug dysts:100 --size 4096 --workers 2
    python benchmarks/hundred.py --model hundred.crug --page docs/hundred.md --figure docs/hundred.png

Nothing is learned here. The scores are those that the model keeps, and every recording is verified before it is drawn.
The model says how long each of its recordings took, so the last ones can be compared with the first; the time of an
epoch stands beside that of a whole task, because systems differ in how many epochs and units they take. How much memory
each took it does not say.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pages import renew

from crug.model import Model, load
from crug.report.wall import wall
from crug.runtime import one_thread
from crug.tasks import dysts

BEGIN, SUMMARY = "<!-- table of a hundred systems -->", "<!-- table of their medians -->"
GOOD, NEAR = 1.0, 0.5
"""A system is learned where its D_stsp is below the one, or off its floor by less than the other."""


class Row(NamedTuple):
    """One system."""

    name: str
    columns: int
    d_stsp: float
    floor: float
    units: int
    minutes: float
    epoch: float
    verdict: str

    @property
    def learned(self) -> bool:
        return self.d_stsp < GOOD or self.d_stsp < self.floor + NEAR


def rows(model: Model) -> list[Row]:
    """All systems of the model."""
    found = []
    for name in model.tasks:
        learned, about = model.learned(name), model.about(name)
        best = (learned.noisy.own if learned.noisy else learned.own).measures()
        floor = about.floor.get("d_stsp", np.nan)
        units, minutes = sum(model.ledger[name].values()), learned.seconds / 60
        epoch = 1e3 * sum(o.seconds for o in learned.history) / sum(o.phase.epochs for o in learned.history)
        called = name.removeprefix(dysts.PREFIX)
        measured = len(about.columns), best["d_stsp"], floor, units, minutes, epoch
        found.append(Row(called, *measured, model.verdict(name)))
    return found


def table(found: list[Row]) -> str:
    """As Markdown, the best first."""
    lines = ["| system | columns | D_stsp | truth | units | minutes | verdict |", "|---|--:|--:|--:|--:|--:|---|"]
    for row in sorted(found, key=lambda row: row.d_stsp):
        mark = "" if row.learned else "**"
        numbers = f"{mark}{row.d_stsp:.2f}{mark} | {row.floor:.2f} | {row.units} | {row.minutes:.1f}"
        lines.append(f"| {row.name} | {row.columns} | {numbers} | {row.verdict} |")
    return "\n".join(lines)


def summary(found: list[Row], verified: int) -> str:
    """What there is to say of them all."""
    scores, units = np.array([row.d_stsp for row in found]), sum(row.units for row in found)
    learned, minutes = sum(row.learned for row in found), sum(row.minutes for row in found)
    return "\n".join(
        [
            "| | |",
            "|---|--:|",
            f"| systems | {len(found)} |",
            f"| units in all | {units:,} |",
            f"| recordings whose bits are verified | {verified} |",
            f"| median D_stsp | {np.median(scores):.2f} |",
            f"| D_stsp below {GOOD:g}, or off the truth's own by less than {NEAR:g} | {learned} |",
            f"| minutes of training, on one core | {minutes:.0f} |",
            f"| median minutes of a task, first and last ten | {_ends([row.minutes for row in found])} |",
            f"| median milliseconds of an epoch, first and last ten | {_ends([row.epoch for row in found])} |",
        ]
    )


def _ends(values: list[float]) -> str:
    first, last = np.median(values[:10]), np.median(values[-10:])
    return f"{first:.1f}, {last:.1f} ({last / first:.2f} times)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="the model that learned the systems")
    parser.add_argument("--page", type=Path, help="the page whose tables are to be renewed")
    parser.add_argument("--figure", type=Path, help="the picture to be drawn")
    given = parser.parse_args()
    model = load(given.model)
    verified, found = sum(model.verify().values()), rows(model)
    print(summary(found, verified), table(found), sep="\n\n")
    if given.page:
        renew(given.page, SUMMARY, summary(found, verified))
        renew(given.page, BEGIN, table(found))
    if given.figure:
        pictures = [model.picture(name)._replace(title=name.removeprefix(dysts.PREFIX)) for name in model.tasks]
        says = (
            f"{len(found)} systems, {sum(row.units for row in found):,} units, {verified} verified to the bit. "
            "Left the true system, right the network by itself."
        )
        wall(pictures, says).savefig(given.figure, dpi=110)


if __name__ == "__main__":
    one_thread()
    main()
