"""One task: phase after phase as the method decides, then what the method makes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from crug.core.block import Opening, View, masked, open_block
from crug.core.network import Network, with_gain, with_noise
from crug.core.streams import Stream, generator
from crug.errors import CrugError
from crug.methods.base import Assignment, Closing, Hints, Lesson, Memory, Method, Rehearsal
from crug.runs import answers
from crug.runs.journal import Journal
from crug.runs.listeners import Listener
from crug.runs.result import NOISE_SEED, Learned, Noisy
from crug.runtime import affordable, make_room
from crug.tasks.base import Data, RolloutScorer, Task, WorstOf
from crug.tasks.variability import Varied
from crug.tasks.windows import NOBODY
from crug.training.epochs import Recipe, Rules
from crug.training.phases import Course, Outcome, outcome, run_phase

STEP = 16.0
"""Bytes for each unit at each sample of a batch that a gradient step takes."""


@dataclass(frozen=True)
class Desk:
    """Where a task is learned: the folder in which interrupted work is kept, the label by which it is known again, and
    who watches."""

    folder: Path
    label: str
    listener: Listener


@dataclass(frozen=True)
class Taught:
    """What comes of an assignment: the network and the memory with which the next one begins, what is kept of the
    lesson, and its learning curves."""

    network: Network
    memory: Memory
    learned: Learned
    curves: dict[str, np.ndarray]


class Stopwatch:
    """How long it has been since it was made, in seconds, without what it was stopped for."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @contextmanager
    def stopped(self) -> Iterator[None]:
        since = time.monotonic()
        yield
        self.began += time.monotonic() - since


def learn(method: Method, assignment: Assignment, desk: Desk) -> Taught:
    """Learn the task of an assignment. Interrupted, the same call goes on from what is in the desk's folder."""
    a, task, watch = assignment, assignment.task, Stopwatch()
    course, hints = prepare(method, assignment)
    journal = Journal(desk.folder, desk.label, course)
    with watch.stopped():  # phases have their own time, which outlives an interruption
        history = _train(method, assignment, journal, hints, desk.listener)
    closing, chosen = Closing(a.network, a.memory), None
    if history:
        chosen = answers.choice(method, method.choose(history, hints), history)
        closing = _close(method, assignment, journal, chosen)
    network, memory = closing
    if a.number >= len(network.readouts):
        raise CrugError(f"{method.name}: {task.name} was never closed: next_phase gave no phase to train it in")
    network = with_gain(network, a.number, task.gain(network, a.number))
    network, noisy = _varied(method, assignment, network)
    own = task.evaluate(network, a.number)
    earlier = [t.evaluate(network, k) for k, t in enumerate(a.sequence[: a.number])] if task.quick else []
    seconds = watch.seconds + sum(o.seconds for o in history)
    learned = Learned(own, history, chosen, hints.floor, seconds, earlier, noisy)
    return Taught(network, memory, learned, journal.curves(len(history)))


def _varied(method: Method, assignment: Assignment, network: Network) -> tuple[Network, Noisy | None]:
    """The network whose new task carries noise, where that is asked for and does its rollouts good."""
    task, number, settings = assignment.task, assignment.number, method.settings
    if not settings.noise:
        return network, None
    scorer = task.scorer(network, NOBODY, settings.training)
    found = task.variability(network.task_system(number), scorer)
    if found is None:
        return network, None
    network = with_noise(network, number, found.noise)
    return network, Noisy(found.scale, found.without, found.rank, task.evaluate(network, number, NOISE_SEED))


def prepare(method: Method, assignment: Assignment) -> tuple[Course, Hints]:
    """What the training of a task needs: its data, its score, other tasks to train on, and what the method recalls."""
    a, training = assignment, method.settings.training
    opening = answers.opening(method, method.open(a))
    block, _ = open_block(a.network, opening)
    recipe = Recipe.of(training, a.task.samples)

    def make(forcing: Mapping[str, int | float]) -> Data:
        """What the task is trained on, with a forcing other than the usual."""
        settings = training.model_copy(update=dict(forcing))
        made = a.task.data(a.network, opening.feeders, settings, generator(a.seed, Stream.WINDOWS, a.number))
        enough = made.count and not (recipe.shuffled and made.count < recipe.batches * recipe.batch)
        return made if enough or not forcing else make({})  # trajectories may be too short for longer windows

    data = make({})
    rehearsals = answers.rehearsals(method, method.rehearse(a))
    others = tuple(r.task.view(a.network, block, r.readout, r.examples, training) for r in rehearsals)
    _check_pool(method, a.task, data.count, recipe)
    numbers = training.batch * (training.window + 1) * (opening.size + len(opening.feeders) + 1)
    affordable(STEP * numbers, f"{a.task.name}: a gradient step", "set training.batch or training.window lower")
    if not all(view.data.count for view in others):
        raise CrugError(
            f"{a.task.name}: no window of {training.window} steps fits into what {method.name} rehearses; "
            "set training.window lower"
        )
    scorer = a.task.scorer(a.network, opening.feeders, training)
    if method.settings.noise and isinstance(scorer, RolloutScorer):
        scorer = Varied(scorer, a.task.variability)
    if joint := [(r, view) for r, view in zip(rehearsals, others, strict=True) if r.scored]:
        scorer = WorstOf(scorer, [_scored(a, opening, training, r, view) for r, view in joint])
    rules = Rules(method.objective, recipe)
    recalled = answers.recalled(method, method.recall(a.memory, block))
    course = Course(a.network, opening, data, rules, scorer, others, recalled, make)
    return course, Hints(a.number, len(a.sequence), opening.size, a.task.dim, scorer.floor, recipe.batches)


def _scored(assignment: Assignment, opening: Opening, training: Any, rehearsal: Rehearsal, view: View):
    return rehearsal.task.scorer(assignment.network, opening.feeders, training), view


def _check_pool(method: Method, task: Task, pool: int, recipe: Recipe) -> None:
    """Whether there is enough to draw an epoch from."""
    window = method.settings.training.window
    if not pool:
        raise CrugError(f"{task.name}: no window of {window} steps fits into it; set training.window lower")
    if recipe.shuffled and pool < recipe.batches * recipe.batch:
        raise CrugError(
            f"{task.name}: {recipe.batches} batches of {recipe.batch} are more than its {pool} {task.pieces}; "
            "set training.batch or training.batches lower"
        )


def _train(method: Method, assignment: Assignment, journal: Journal, hints: Hints, listener: Listener) -> list[Outcome]:
    """All phases, each from the journal if it has been done."""
    history = journal.history()
    while phase := answers.phase(method, method.next_phase(history, hints), history):
        make_room()
        index, spent = len(history), sum(o.phase.epochs for o in history)
        progress = journal.resume(index) or journal.beginning(phase)
        answers.penalty(method, journal.course, phase, progress)
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(assignment.seed), assignment.number), index)

        def watch(progress, due, phase=phase, index=index, spent=spent):
            listener.chunk(phase, progress, spent + progress.epoch)
            if due:
                journal.save(index, progress)

        run_phase(journal.course, phase, index, progress, key, watch)
        history.append(outcome(phase, progress))
        journal.finish(index, progress, history)
    return history


def _close(method: Method, assignment: Assignment, journal: Journal, chosen: int) -> Closing:
    """What the method makes of the network that the chosen phase kept."""
    course = journal.course
    block, params = journal.kept(chosen)
    params = {**params, **masked(params, block.fixed.alive)}
    lesson = Lesson(assignment, block, params, journal.account(chosen), course.data, course.recipe, course.scorer)
    closed = method.close(lesson, generator(assignment.seed, Stream.RECYCLING, assignment.number))
    return answers.closing(method, closed)
