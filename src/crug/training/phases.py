"""A phase: a stretch of training with one loss, one rate schedule and one rule to stop; and the loop that runs it.

A method hands phases to the loop as data. The loop trains in compiled chunks, drops units that are closed or whose turn
it is, scores checkpoints on the training data and keeps the best. What comes out is a block of plain parameters:
whatever the method's objective put around them is absorbed, as at commitment.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from crug.core.block import UNIT_AXES, Block, Opening, Params, State, View, compact, gather, masked, open_block
from crug.core.network import Network
from crug.errors import CrugError
from crug.tasks.base import Look, Score, Scorer
from crug.training.epochs import CHUNK, Given, Recipe, Rules, start, train_epochs, unit_costs
from crug.training.objective import Controls, Objective

SAVE_SECONDS = 60
BLOWN_UP, STUMBLE_RATE = 10.0, 0.5
"""A loss ten times the variance of the data, and ten times what it was at first, means that the network has become
unstable: training goes on from before, with this part of the rate."""
CLOSE = 2
"""A checkpoint that is worse than the best by less than so many standard errors is looked at closely."""
PRESS_PART = 0.35
PRESSES = 8
"""A block is pressed to its size in the first part of a phase, in so many portions."""


@dataclass(frozen=True)
class Phase:
    """What to do next.

    `begin` is the number of the earlier phase whose kept network it starts from; None opens fresh units. `size` is how
    many units the block has: drawn when it opens, or pressed down to, one least important unit after another, in the
    first part of the phase. Checkpoints are scored after `score_from` of the epochs, every `score_every` epochs;
    `select` says which of them is kept (see `RunSettings`). `controls` are numbers for the method's objective,
    `forcing` settings of training by which the phase departs from the task's: interval, strength, window.
    """

    kind: str
    epochs: int
    lr: float
    lr_end: float
    begin: int | None = None
    size: int | None = None
    controls: Mapping[str, float] = field(default_factory=dict)
    score_from: float = 0.5
    score_every: int = 16
    select: str = "best"
    forcing: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a phase ended: what a method decides by, and what a run stores of it."""

    phase: Phase
    linear: int
    relu: int
    loss: float
    score: Score
    seconds: float = 0.0
    stumbles: int = 0

    @property
    def units(self) -> int:
        return self.linear + self.relu


class CurvePoint(NamedTuple):
    """One point of the learning curves. Measures are there where the checkpoint was scored."""

    epoch: int
    phase: int
    loss: float
    linear: int
    relu: int
    taking_part: float  # of all units, on average
    measures: Mapping[str, float] = {}

    def row(self, measures: tuple[str, ...]) -> list[float]:
        """The point as numbers: its columns (`CURVES`), then the measures of these names."""
        return [float(v) for v in (*self[:-1], *(self.measures.get(name, np.nan) for name in measures))]


CURVES = CurvePoint._fields[:-1]


@dataclass
class Progress:
    """Everything that changes while a phase runs; what a checkpoint inside a phase holds."""

    block: Block
    state: State
    epoch: int = 0
    loss: float = np.inf
    first: float = np.nan  # the loss of the first epoch
    kept: tuple[Block, Params] | None = None
    account: Params = field(default_factory=dict)  # the objective's, when the network was kept
    score: Score | None = None  # of what is kept
    stumbles: int = 0
    curves: list[CurvePoint] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Course:
    """What stays the same through all phases of a task. `others` are further tasks to train on, `recalled` what the
    objective is given besides the phase's numbers. `make` makes the data of a phase with a forcing of its own."""

    network: Network
    opening: Opening
    data: Any  # see tasks.base.Data
    rules: Rules
    scorer: Scorer
    others: tuple[View, ...] = ()
    recalled: Controls = field(default_factory=dict)
    make: Callable[[Mapping[str, int | float]], Any] | None = None

    def data_of(self, phase: Phase) -> Any:
        """What a phase is trained on."""
        return self.make(phase.forcing) if phase.forcing and self.make else self.data

    @property
    def objective(self) -> Objective:
        return self.rules.objective

    @property
    def recipe(self) -> Recipe:
        return self.rules.recipe

    @property
    def axes(self) -> dict[str, tuple[int, ...]]:
        """Which axes of every trained array run over the block's units."""
        return {**UNIT_AXES, **self.objective.axes}

    def open(self, size: int | None) -> Progress:
        """A phase that begins with units as the network has them."""
        block, params = open_block(self.network, self.opening, size)
        everyone = np.arange(len(block.members))
        own = self.objective.arrays(len(everyone), len(block.feeders)).items()
        arrays = {name: jnp.asarray(gather(value, everyone, self.axes[name])) for name, value in own}
        return self.go_on(block, {**params, **arrays})

    def go_on(self, block: Block, params: Params) -> Progress:
        """A phase that begins with what an earlier one kept."""
        return Progress(block, start(params, self.rules))

    def controls(self, phase: Phase, rate: float = 1.0) -> Controls:
        """A phase's numbers as the compiled epochs take them, and what the method recalls."""
        own = {"epochs": phase.epochs, "lr": phase.lr * rate, "lr_end": phase.lr_end * rate, "progress": 1.0}
        for theirs in (phase.controls, self.recalled):
            if taken := sorted(own.keys() & theirs.keys()):
                raise CrugError(f"the method names {taken[0]!r} twice in what its objective is given; rename one")
            own |= theirs if theirs is phase.controls else {}
        return {**{name: np.float32(value) for name, value in own.items()}, **self.recalled}


def run_phase(
    course: Course,
    phase: Phase,
    number: int,
    progress: Progress,
    key: jax.Array,
    watch: Callable[[Progress, bool], None],
) -> None:
    """Run `progress` to the end of the phase. `watch` is called after every chunk, and told every minute or so that it
    is time to save."""
    saved = time.monotonic()
    course = replace(course, data=course.data_of(phase))
    while progress.epoch < phase.epochs:
        began = time.monotonic()
        _press(course, phase, progress, key)
        _chunk(course, phase, progress, key)
        score = _score(course, phase, progress)
        controls = course.controls(phase)
        _drop_closed(course, progress, controls)
        progress.curves.append(_point(course, number, progress, score, controls))
        progress.seconds += time.monotonic() - began
        due = time.monotonic() - saved > SAVE_SECONDS
        saved = time.monotonic() if due else saved
        watch(progress, due)
    if progress.kept and _careful(course, phase):  # what was chosen by its score has been lucky
        began = time.monotonic()
        progress.score = _judge(course, *progress.kept, Look.FRESH)
        progress.seconds += time.monotonic() - began
    if progress.stumbles == len(progress.curves):
        warnings.warn(
            f"nothing was learned in {phase.epochs} epochs ({phase.kind}): loss or gradient were not finite or grew "
            "beyond bounds; lower training.lr, or look at what the method adds to the loss",
            stacklevel=2,
        )


def _chunk(course: Course, phase: Phase, progress: Progress, key: jax.Array) -> None:
    """Some epochs, up to the next one at which the host has something to do. Where the network blew up, it is as before
    and the rate is lower."""
    count = min(_stop(phase, progress.epoch), phase.epochs) - progress.epoch
    before = progress.state
    given = Given(
        progress.block.fixed, course.data, course.controls(phase, STUMBLE_RATE**progress.stumbles), course.others
    )
    span = jnp.int32(progress.epoch), jnp.int32(count)
    progress.state, losses = train_epochs(progress.state, given, key, *span, course.rules)
    progress.epoch += count
    losses = np.asarray(losses)[:count]
    progress.loss = float(losses.mean())
    if np.isnan(progress.first):
        progress.first = float(losses[0])
    if not losses[-1] < max(BLOWN_UP, BLOWN_UP * progress.first if np.isfinite(progress.first) else 0):
        progress.state = start(before.params, course.rules)._replace(account=before.account)
        progress.stumbles += 1


def _presses(phase: Phase) -> list[int]:
    """The epochs at which units are dropped."""
    if phase.begin is None or phase.size is None:
        return []
    return sorted({round(i * PRESS_PART * phase.epochs / PRESSES) for i in range(PRESSES)})


def _stop(phase: Phase, epoch: int) -> int:
    """The next epoch at which the host has something to do."""
    stops = [epoch + CHUNK, (epoch // phase.score_every + 1) * phase.score_every]
    return min(stops + [e for e in _presses(phase) if e > epoch])


def _press(course: Course, phase: Phase, progress: Progress, key: jax.Array) -> None:
    """Drop the units that the loss misses least, a few at a time until the block has the phase's size."""
    if progress.epoch not in _presses(phase):
        return
    block, state, controls = progress.block, progress.state, course.controls(phase)
    excess = len(block.members) - (phase.size or 0)
    if excess <= 0:
        return
    left = sum(e >= progress.epoch for e in _presses(phase))
    for _ in range(-(-excess // left)):
        draw = jax.random.fold_in(key, 1_000_000 + 1_000 * progress.epoch + len(block.members))
        index = jax.random.randint(draw, (4 * course.recipe.batch,), 0, course.data.count)
        effective = course.objective.effective(state.params, block.fixed, controls)
        costs = np.array(unit_costs(effective, block.fixed, course.data, index))
        costs[: block.dim] = np.inf
        costs[len(block.members) :] = np.inf
        worst = int(np.argmin(np.where(np.isfinite(costs), costs, np.finfo(np.float32).max)))
        worst = max(worst, block.dim)
        keep = np.delete(np.arange(len(block.members)), worst)
        block, state = compact(course.network, block, state, keep, course.axes)
    progress.block, progress.state = block, state


def _drop_closed(course: Course, progress: Progress, controls: Controls) -> None:
    block = progress.block
    closed = course.objective.closed(progress.state.params, block.fixed, controls)
    if closed is None:
        return
    members = len(block.members)
    keep = np.flatnonzero(~np.asarray(closed)[:members] | (np.arange(members) < block.dim))
    if len(keep) < members:
        progress.block, progress.state = compact(course.network, block, progress.state, keep, course.axes)


def _taking_part(course: Course, block: Block, params: Params, controls: Controls) -> np.ndarray:
    """How far every unit takes part: the readouts always do, padding never."""
    part = np.array(course.objective.taking_part(params, block.fixed, controls))
    part[: block.dim] = 1
    part[len(block.members) :] = 0
    return part


def absorbed(course: Course, phase: Phase, block: Block, params: Params) -> tuple[Block, Params]:
    """The block as it would be committed: plain parameters of the units that take part."""
    controls = course.controls(phase)
    keep = np.flatnonzero(_taking_part(course, block, params, controls) > course.objective.threshold)
    plain = course.objective.absorb(params, block, controls)
    if len(keep) == len(block.members):
        return block, plain
    block, state = compact(course.network, block, State(plain, (), {}), keep, course.axes)
    return block, state.params


def _score(course: Course, phase: Phase, progress: Progress) -> Score | None:
    """Score the network as it would be committed now, and keep it if it is the best so far."""
    last = progress.epoch >= phase.epochs
    due = progress.epoch % phase.score_every == 0 and progress.epoch >= phase.score_from * phase.epochs
    if not (last or due):
        return None
    block, params = absorbed(course, phase, progress.block, progress.state.params)
    full = phase.size is None or len(block.members) <= phase.size
    score, best = _judge(course, block, params), progress.score
    near = best is None or score.rank < best.rank + CLOSE * score.apart(best)
    if full and near and _careful(course, phase):
        score = _judge(course, block, params, Look.CLOSE)
    better = best is None or (score.rank < best.rank and phase.select != "last")
    if full and (better or (last and phase.select == "last")):
        progress.kept, progress.score, progress.account = (block, params), score, progress.state.account
    return score


def _careful(course: Course, phase: Phase) -> bool:
    return phase.select == "surest" and course.scorer.uncertain


def _judge(course: Course, block: Block, params: Params, look: Look = Look.QUICK) -> Score:
    return course.scorer.score(course.network, block, masked(params, block.fixed.alive), look)


def _point(course: Course, number: int, progress: Progress, score: Score | None, controls: Controls) -> CurvePoint:
    block = progress.block
    part = _taking_part(course, block, progress.state.params, controls)
    relu, counted = np.asarray(block.fixed.relu) > 0, part > course.objective.threshold
    linear, rectified = int((counted & ~relu).sum()), int((counted & relu).sum())
    average = float(part[: len(block.members)].mean())
    measures = {} if score is None else score.measures()
    return CurvePoint(progress.epoch, number, progress.loss, linear, rectified, average, measures)


def outcome(phase: Phase, progress: Progress) -> Outcome:
    """How a phase that is over ended."""
    assert progress.kept is not None
    assert progress.score is not None
    linear, relu = progress.kept[0].counts
    return Outcome(phase, linear, relu, progress.loss, progress.score, progress.seconds, progress.stumbles)
