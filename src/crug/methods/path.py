"""The capacity path: how many units does this task need?

Open a block, press it down a rung, let it settle, score it, and go on from there while it is as good as the best. After
a rung that is worse, try the sizes between it and the last good one, always from a good network: one unlucky rung does
not end the walk, and the rungs are densest where quality breaks. Where even the opened block is far from what the data
allow, a block of twice the size is opened instead, as long as that helps. Where it does not, the first size is opened
anew: near a bifurcation a network as good as any other in its error may lock into a periodic window, and the next one
need not. At the end the smallest good size settles once more, for longer.

The walk is a pure function of the outcomes so far, so an interrupted run takes the same path again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from crug.config import NonNegative, RunConfig, Section
from crug.methods.base import Hints
from crug.phases import Outcome, Phase


class PathConfig(Section):
    start: Annotated[int, Field(ge=4, description="units of the block that is opened first")] = 32
    tolerance: Annotated[NonNegative, Field(description="how much worse than the best a smaller network may score")] = (
        0.1
    )
    open: Annotated[float, Field(gt=0, lt=1, description="part of the epochs for opening a block")] = 0.08
    rung: Annotated[float, Field(gt=0, lt=1, description="part of the epochs for one rung")] = 0.07
    final: Annotated[float, Field(gt=0, lt=1, description="part of the epochs for the last settling")] = 0.15
    settle_lr: Annotated[float, Field(gt=0, description="learning rate at the start of a rung")] = 1e-2
    tries: Annotated[int, Field(ge=1, description="attempts at one size")] = 2
    again: Annotated[int, Field(ge=0, description="times that the first block is opened anew if all is far off")] = 2
    most: Annotated[int | None, Field(ge=4, description="no task gets more units than that; none: no limit")] = None


def next_rung(
    path: PathConfig, config: RunConfig, select: str, transfer: float, history: Sequence[Outcome], hints: Hints
) -> Phase | None:
    lr, lr_end, epochs = config.training.lr, config.training.lr_end, config.epochs

    def opening(size: int) -> Phase:
        # the rate need not fall far: the rungs below start again from settle_lr
        rest = max(1, round(path.open * epochs))
        size = max(min(max(size, 2 * hints.dim), hints.available), hints.dim)
        rate = config.training.gate_lr or 5e-3  # the path has no gates but those of L0 transfer: they decide here
        return Phase("open", rest, lr, lr / 30, size=size, gate_lr=rate, price_transfer=transfer, select=select)

    def settling(kind: str, begin: int, size: int, part: float) -> Phase:
        length = max(1, round(part * epochs))
        rates = path.settle_lr, lr_end
        return Phase(kind, length, *rates, begin=begin, size=size, price_transfer=transfer, select=select)

    if not history:
        return opening(path.start)
    if history[-1].phase.kind == "final":
        return None
    spent = sum(o.phase.epochs for o in history)
    room = spent + round((path.rung + path.final) * epochs) <= epochs
    step = _walk(path, history, hints) if room else None
    if step is None:
        best = choose(path, history, hints)
        return settling("final", best, history[best].units, path.final)
    begin, size = step
    return opening(size) if begin is None else settling("rung", begin, size, path.rung)


def _walk(path: PathConfig, history: Sequence[Outcome], hints: Hints) -> tuple[int | None, int] | None:
    """(from which phase, to how many units), (None, units) to open a larger block, or None when the walk is over."""
    totals = [hints.total(o) for o in history]
    opened = max(i for i, o in enumerate(history) if o.phase.kind == "open")
    width = history[opened].units
    if opened == len(history) - 1:
        return opened, below(width, hints.dim)
    if opened == len(history) - 2 and min(totals) > hints.floor + FAR * path.tolerance:
        helped = opened == 0 or min(totals[opened:]) < HELPED * min(totals[:opened])
        if helped and 2 * width <= hints.available:
            return None, 2 * width
        if sum(o.phase.kind == "open" and o.units <= history[0].units for o in history) <= path.again:
            return None, history[0].units
    anchor = smallest_good(path, history, hints)
    size = history[anchor].units
    tried = [o.units for o in history if o.units < size]
    if not tried:
        target = below(size, hints.dim)
    elif size - max(tried) > max(1, size // 16):
        target = (size + max(tried)) // 2
    else:
        target = max(tried)
    if target <= hints.dim or target >= size or tried.count(target) >= path.tries:
        return None
    return anchor, target


FAR, HELPED = 6, 0.8
"""All is far off when the best score is this many tolerances above the floor; a block has helped when it brings the
score down to this part."""


def below(size: int, dim: int) -> int:
    """The next rung: multiples of eight while that is a fifth to a third off, then about a seventh off."""
    if size > 16:
        return max(16, int(0.8 * size) // 8 * 8)
    return max(dim + 1, min(size - 1, int(0.86 * size)))


def smallest_good(path: PathConfig, history: Sequence[Outcome], hints: Hints) -> int:
    """The phase with the smallest network that scores as well as the best within the tolerance."""
    totals = [hints.total(o) for o in history]
    limit = min(totals) + path.tolerance
    good = [i for i, total in enumerate(totals) if total <= limit]
    return min(good, key=lambda i: (history[i].units, totals[i]))


def choose(path: PathConfig, history: Sequence[Outcome], hints: Hints) -> int:
    """The phase whose network is committed. A last settling only has to beat what it began from."""
    last = history[-1].phase
    if last.kind != "final" or last.begin is None:
        return smallest_good(path, history, hints)
    final = len(history) - 1
    return final if hints.total(history[final]) <= hints.total(history[last.begin]) else last.begin
