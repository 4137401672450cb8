"""The capacity path: how many units does this task need?

Open a block, press it down a rung, let it settle, score it, and go on from there while it is as good as the best. After
a rung that is worse, try the sizes between it and the last good one, always from a good network: one unlucky rung does
not end the walk, and the rungs are densest where quality breaks. Where even the opened block is far from what the data
allow, a block of twice the size is opened instead, as long as that helps. Where it does not, the first size is opened
anew: near a bifurcation a network as good as any other in its error may lock into a periodic window, and the next one
need not. Last, a recording may vary in ways that no network foresees, and every network that is taught to follow it
strictly becomes a cycle. Taught gently, pulled to the data a little at every step over longer windows, some keep
an irregularity of their own; many become unstable instead, so these are tried only where all else is far off. At the
end the smallest good size settles once more, for longer.

The walk is a pure function of the outcomes so far, so an interrupted run takes the same path again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crug.methods.base import Hints
from crug.methods.crug.price import ungated
from crug.methods.crug.settings import CrugSettings, PathSettings
from crug.training.phases import Outcome, Phase

HELPED = 0.8
"""A block has helped when it brings the score down to this part."""
CALMER = 1 / 3
"""The last settling begins with this part of the rate: at the full one, as many networks were spoilt as mended."""
DOUBT = 2
"""Scores that cannot be told apart count as equal up to so many tolerances."""
LONGER = 2
"""Windows of gentle teaching are this much longer: how a small pull adds up shows late."""
GATE_LR = 5e-3
"""Of the gates of L0 transfer: the path has no others, and they decide while a block is open."""


@dataclass(frozen=True)
class Open:
    """A step of the walk: open fresh units; with a strength, they are taught gently."""

    size: int
    strength: float | None = None


@dataclass(frozen=True)
class Press:
    """A step of the walk: press what phase `begin` kept down to a size."""

    begin: int
    size: int


def next_phase(settings: CrugSettings, history: Sequence[Outcome], hints: Hints) -> Phase | None:
    """The next phase of the walk; at its end one last settling."""
    path, epochs = settings.path, settings.epochs
    hints = hints._replace(available=min(hints.available, path.most or hints.available))
    if not history:
        return _phase(settings, Open(path.start), hints)
    if history[-1].phase.kind == "final":
        return None
    spent = sum(o.phase.epochs for o in history)
    room = spent + round((path.rung + path.final) * epochs) <= epochs
    step = _walk(path, history, hints) if room else None
    if step is None:
        best = choose(path, history)
        return _settling(settings, "final", Press(best, history[best].units), history)
    if isinstance(step, Press):
        return _settling(settings, "rung", step, history)
    return _phase(settings, step, hints)


def _phase(settings: CrugSettings, step: Open, hints: Hints) -> Phase:
    s, t = settings, settings.training
    length = max(1, round(s.path.open * s.epochs))
    size = max(min(max(step.size, 2 * hints.dim), hints.available), hints.dim)
    controls = ungated(s.transfer.price, t.gate_lr or GATE_LR)
    gently = {} if step.strength is None else {"interval": 1, "strength": step.strength, "window": LONGER * t.window}
    # the rate need not fall far: the rungs below start again from settle_lr
    opened = Phase("open", length, t.lr, t.lr / 30, size=size, controls=controls, forcing=gently)
    return replace(opened, select=s.select, score_every=s.path.every)


def _settling(settings: CrugSettings, kind: str, step: Press, history: Sequence[Outcome]) -> Phase:
    """What a phase kept, pressed to a size and settled; it is taught on as it was before."""
    s, before, final = settings, history[step.begin].phase, kind == "final"
    length = max(1, round((s.path.final if final else s.path.rung) * s.epochs))
    lr, controls = s.path.settle_lr * (CALMER if final else 1), ungated(s.transfer.price)
    begun = Phase(kind, length, lr, s.training.lr_end, begin=step.begin, size=step.size, controls=controls)
    return replace(begun, select=s.select, score_every=s.path.every, forcing=before.forcing)


def _walk(path: PathSettings, history: Sequence[Outcome], hints: Hints) -> Open | Press | None:
    """The next step; None when the walk is over."""
    ranks = [o.score.rank for o in history]
    opened = max(i for i, o in enumerate(history) if o.phase.kind == "open")
    width = history[opened].units
    if opened == len(history) - 1:
        return Press(opened, below(width, hints.dim))
    if opened == len(history) - 2 and min(ranks) > hints.floor + path.far:
        strict = [o for o in history if o.phase.kind == "open" and not o.phase.forcing]
        helped = opened == 0 or min(ranks[opened:]) < HELPED * min(ranks[:opened])
        if helped and not history[opened].phase.forcing and 2 * width <= hints.available:
            return Open(2 * width)
        if sum(o.units <= history[0].units for o in strict) <= path.again:
            return Open(history[0].units)
        gentle = sum(o.phase.kind == "open" for o in history) - len(strict)
        if gentle < len(path.gently) and hints.dim:
            return Open(3 * history[0].units // 2, path.gently[gentle])
    anchor = smallest_good(path, history)
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
    return Press(anchor, target)


def below(size: int, dim: int) -> int:
    """The next rung: multiples of eight while that is a fifth to a third off, then about a seventh off."""
    if size > 16:
        return max(16, int(0.8 * size) // 8 * 8)
    return max(dim + 1, min(size - 1, int(0.86 * size)))


def smallest_good(path: PathSettings, history: Sequence[Outcome]) -> int:
    """The phase with the smallest network that scores as well as the best, within the tolerance or as far as the scores
    can tell; one that differs much from start to start gets no more benefit of the doubt. Where forecasts were looked
    at, it is the one among these that forecasts longest."""
    scores = [o.score for o in history]
    best = min(scores, key=lambda score: score.rank)
    doubt = [min(s.apart(best), DOUBT * path.tolerance) for s in scores]
    good = [i for i, s in enumerate(scores) if s.rank <= best.rank + max(path.tolerance, doubt[i])]
    return min(good, key=lambda i: (-scores[i].values.get("valid", 0.0), history[i].units, scores[i].rank))


def choose(path: PathSettings, history: Sequence[Outcome]) -> int:
    """The phase whose network is committed. A last settling only has to beat what it began from."""
    last = history[-1].phase
    if last.kind != "final" or last.begin is None:
        return smallest_good(path, history)
    final = len(history) - 1
    return final if history[final].score.rank <= history[last.begin].score.rank else last.begin
