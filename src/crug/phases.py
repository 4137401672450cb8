"""A phase: a stretch of training with one loss, one rate schedule and one rule to stop; and the loop that runs it.

A method hands phases to the loop as data. The loop trains in compiled chunks, drops units whose gate has closed or
whose turn it is, scores checkpoints on the training data and keeps the best. What comes out is a block without gates:
they are cut at the threshold and absorbed into the parameters, as at commitment.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from crug.block import Block, Params, State, compact
from crug.data import Data, Recipe, View
from crug.evaluation import DIVERGENT, AnyScore, Scorer, score_of
from crug.gates import SHUT, START, gate
from crug.network import Network
from crug.training import CHUNK, Objective, start, train_epochs, unit_costs

SAVE_SECONDS = 60
CURVES = ("epoch", "phase", "loss", "linear", "relu", "gate")
"""The columns of the learning curves, before the two of the score."""


@dataclass(frozen=True)
class Phase:
    """What to do next.

    `begin` is the number of the earlier phase whose kept network it starts from; None opens fresh units. `size` is how
    many units the block has: drawn when it opens, or pressed down to, one least important unit after another, in the
    first part of the phase. Checkpoints are scored after `score_from` of the epochs, every `score_every` epochs;
    `select` says whether the best or the last of them is kept.
    """

    kind: str
    epochs: int
    lr: float
    lr_end: float
    begin: int | None = None
    size: int | None = None
    gates: bool = False
    gate_lr: float = 0.0
    price_linear: float = 0.0
    price_relu: float = 0.0
    price_transfer: float = 0.0
    warm: float = 0.0
    score_from: float = 0.5
    score_every: int = 16
    select: str = "best"


@dataclass(frozen=True)
class Outcome:
    """How a phase ended: what a method decides by, and what a run stores of it."""

    phase: Phase
    linear: int
    relu: int
    loss: float
    score: AnyScore
    seconds: float = 0.0
    stumbles: int = 0

    @property
    def units(self) -> int:
        return self.linear + self.relu

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "score": self.score._asdict()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Outcome:
        return cls(**{**data, "phase": Phase(**data["phase"]), "score": score_of(data["score"])})


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
    score: AnyScore = DIVERGENT
    stumbles: int = 0
    curves: list[tuple[float, ...]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Bench:
    """What stays the same through all phases of a task. `others` are further tasks to train on, `extra` what the
    objective is given besides the phase's numbers."""

    network: Network
    windows: Data
    objective: Objective
    recipe: Recipe
    scorer: Scorer
    threshold: float
    others: tuple[View, ...] = ()
    extra: Params = field(default_factory=dict)

    def ungated(self, phase: Phase, block: Block, params: Params) -> Params:
        """The parameters that run, once the gates are absorbed."""
        return self.objective.effective(params, block.fixed, controls(replace(phase, gates=False)) | self.extra)


def run_phase(
    bench: Bench,
    phase: Phase,
    number: int,
    progress: Progress,
    key: jax.Array,
    save: Callable[[Progress], None],
    report: Callable[[Progress], None],
) -> None:
    """Run `progress` to the end of the phase. `save` is called every minute or so, `report` after every chunk."""
    saved = time.monotonic()
    while progress.epoch < phase.epochs:
        began = time.monotonic()
        _press(bench, phase, progress, key)
        count = min(_stop(phase, progress.epoch) - progress.epoch, phase.epochs - progress.epoch)
        before = progress.state
        progress.state, losses = train_epochs(
            progress.state,
            progress.block.fixed,
            bench.windows,
            controls(phase, STUMBLE_RATE**progress.stumbles) | bench.extra,
            key,
            jnp.int32(progress.epoch),
            jnp.int32(count),
            bench.objective,
            bench.recipe,
            bench.others,
        )
        progress.epoch += count
        losses = np.asarray(losses)[:count]
        progress.loss = float(losses.mean())
        if np.isnan(progress.first):
            progress.first = float(losses[0])
        if not losses[-1] < max(BLOWN_UP, BLOWN_UP * progress.first if np.isfinite(progress.first) else 0):
            progress.state = start(before.params, bench.recipe, bench.objective)._replace(running=before.running)
            progress.stumbles += 1
        score = _score(bench, phase, progress)
        if phase.gates:
            _drop_closed(bench, progress)
        progress.curves.append(_curve_row(bench, phase, number, progress, score))
        progress.seconds += time.monotonic() - began
        report(progress)
        if time.monotonic() - saved > SAVE_SECONDS:
            save(progress)
            saved = time.monotonic()
    if progress.stumbles == len(progress.curves):
        warnings.warn(
            f"nothing was learned in {phase.epochs} epochs ({phase.kind}): loss or gradient were not finite or grew "
            "beyond bounds; lower training.lr, or look at what the method adds to the loss",
            stacklevel=2,
        )


BLOWN_UP, STUMBLE_RATE = 10.0, 0.5
"""A loss ten times the variance of the data, and ten times what it was at first, means that the network has become
unstable: training goes on from before, with this part of the rate."""


def controls(phase: Phase, rate: float = 1.0) -> dict[str, jax.Array]:
    """A phase's numbers as the compiled epochs take them."""
    phase = replace(phase, lr=phase.lr * rate, lr_end=phase.lr_end * rate)
    names = ("epochs", "lr", "lr_end", "gates", "gate_lr", "price_linear", "price_relu", "price_transfer", "warm")
    return {name: jnp.float32(getattr(phase, name)) for name in names}


PRESS_PART = 0.35
PRESSES = 8


def _presses(phase: Phase) -> list[int]:
    """The epochs at which units are dropped."""
    return sorted({round(i * PRESS_PART * phase.epochs / PRESSES) for i in range(PRESSES)})


def _stop(phase: Phase, epoch: int) -> int:
    """The next epoch at which the host has something to do."""
    stops = [epoch + CHUNK, (epoch // phase.score_every + 1) * phase.score_every]
    if phase.begin is not None and phase.size is not None:
        stops += [e for e in _presses(phase) if e > epoch]
    return min(stops)


def _press(bench: Bench, phase: Phase, progress: Progress, key: jax.Array) -> None:
    """Drop the units that the loss misses least, a few at a time until the block has the phase's size."""
    if phase.begin is None or phase.size is None or progress.epoch not in _presses(phase):
        return
    block, state = progress.block, progress.state
    excess = len(block.members) - phase.size
    if excess <= 0:
        return
    left = sum(e >= progress.epoch for e in _presses(phase))
    for _ in range(-(-excess // left)):
        draw = jax.random.fold_in(key, 1_000_000 + 1_000 * progress.epoch + len(block.members))
        index = jax.random.randint(draw, (4 * bench.recipe.batch,), 0, len(bench.windows.starts))
        effective = bench.ungated(phase, block, state.params)
        costs = np.array(unit_costs(effective, block.fixed, bench.windows, index, bench.recipe))
        costs[: block.dim] = np.inf
        costs[len(block.members) :] = np.inf
        worst = int(np.argmin(np.where(np.isfinite(costs), costs, np.finfo(np.float32).max)))
        worst = max(worst, block.dim)
        block, state = compact(bench.network, block, state, np.delete(np.arange(len(block.members)), worst))
    progress.block, progress.state = block, state


def _open_gates(phase: Phase, block: Block, params: Params) -> np.ndarray:
    g = np.array(gate(params["log_alpha"])) if phase.gates else np.ones(len(block.units), np.float32)
    g[: block.dim] = 1
    g[len(block.members) :] = 0
    return g


def _drop_closed(bench: Bench, progress: Progress) -> None:
    g = np.array(gate(progress.state.params["log_alpha"]))
    members = len(progress.block.members)
    keep = np.flatnonzero((g[:members] > 0) | (np.arange(members) < progress.block.dim))
    if len(keep) < members:
        progress.block, progress.state = compact(bench.network, progress.block, progress.state, keep)


def absorbed(bench: Bench, phase: Phase, block: Block, params: Params) -> tuple[Block, Params]:
    """The block as it would be committed: gates cut at the threshold, absorbed, closed units dropped."""
    if not phase.gates and not bench.objective.lateral:
        return block, params
    g = _open_gates(phase, block, params)
    plain = {**params, **bench.objective.effective(params, block.fixed, controls(phase) | bench.extra)}
    plain["log_alpha"] = jnp.full_like(params["log_alpha"], START)
    if bench.objective.lateral:
        listening = gate(params["lateral"]) > bench.threshold
        plain["V"] = plain["V"] * listening
        plain["lateral"] = jnp.where(listening, SHUT, -SHUT)
    block, state = compact(bench.network, block, State(plain, (), {}), np.flatnonzero(g > bench.threshold))
    return block, state.params


def _score(bench: Bench, phase: Phase, progress: Progress) -> AnyScore | None:
    """Score the network as it would be committed now, and keep it if it is the best so far."""
    last = progress.epoch >= phase.epochs
    due = progress.epoch % phase.score_every == 0 and progress.epoch >= phase.score_from * phase.epochs
    if not (last or due):
        return None
    block, params = absorbed(bench, phase, progress.block, progress.state.params)
    effective = bench.ungated(phase, block, params)
    score = bench.scorer.of(bench.network, block, effective)
    better = progress.kept is None or bench.scorer.total(score) < bench.scorer.total(progress.score)
    full = phase.size is None or len(block.members) <= phase.size
    if full and (progress.kept is None or (better if phase.select == "best" else last)):
        progress.kept, progress.score, progress.account = (block, params), score, progress.state.running
    return score


def _curve_row(
    bench: Bench, phase: Phase, number: int, progress: Progress, score: AnyScore | None
) -> tuple[float, ...]:
    g = _open_gates(phase, progress.block, progress.state.params)
    relu = np.asarray(progress.block.fixed.relu) > 0
    counted = g > bench.threshold
    mean_gate = float(g[: len(progress.block.members)].mean())
    linear, rectified = int((counted & ~relu).sum()), int((counted & relu).sum())
    return (progress.epoch, number, progress.loss, linear, rectified, mean_gate, *(score or (np.nan, np.nan)))


def outcome(phase: Phase, progress: Progress) -> Outcome:
    assert progress.kept is not None
    block = progress.kept[0]
    relu = int(np.asarray(block.fixed.relu).sum())
    members = len(block.members)
    counts = members - relu, relu
    return Outcome(phase, *counts, progress.loss, progress.score, progress.seconds, progress.stumbles)


def begin(block: Block, params: Params, recipe: Recipe, objective: Objective) -> Progress:
    return Progress(block, start(params, recipe, objective))
