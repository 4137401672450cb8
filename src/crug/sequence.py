"""A method through a sequence: train, evaluate, record. Killed at any moment, the same call ends with the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from crug import __version__, store
from crug.block import open_block
from crug.config import RunConfig
from crug.data import Recipe, View, make_trials, make_view, make_windows
from crug.errors import CrugError, Exhausted
from crug.evaluation import (
    DIVERGENT,
    Answers,
    AnyScore,
    JointScore,
    Score,
    TrainingScore,
    TrialScore,
    evaluate,
    score_of,
)
from crug.journal import Journal
from crug.methods.base import Hints, Lesson, Memory, Method, Opening
from crug.network import Network, create, create_driven, from_arrays, to_arrays
from crug.phases import Bench, Outcome, Phase, Progress, outcome, run_phase
from crug.tasks import AnyTask, TrialTask, load
from crug.tasks.cognitive import INPUTS

NETWORK, WINDOWS, RECYCLING = range(3)
"""Streams of randomness, so that none depends on how much another has drawn."""


class Listener(Protocol):
    """Who watches a run."""

    def task(self, number: int, task: AnyTask, /) -> None: ...

    def chunk(self, phase: Phase, progress: Progress, spent: int, /) -> None: ...

    def learned(self, number: int, name: str, score: AnyScore, units: dict[str, int], /) -> None: ...


@dataclass(frozen=True)
class Learned:
    """One task of a run as it was right after its own training."""

    own: AnyScore
    history: list[Outcome]
    chosen: int | None
    floor: float
    seconds: float
    earlier: list[AnyScore] = field(default_factory=list)
    """For trials, where it costs nothing: what the tasks before have become."""

    def to_json(self) -> dict[str, Any]:
        phases = [o.to_json() for o in self.history]
        earlier = [score._asdict() for score in self.earlier]
        return {**self.__dict__, "own": self.own._asdict(), "earlier": earlier, "history": phases}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Learned:
        history = [Outcome.from_json(o) for o in data["history"]]
        earlier = [score_of(score) for score in data.get("earlier", [])]
        return cls(score_of(data["own"]), history, data["chosen"], data["floor"], data["seconds"], earlier)


def run(config: RunConfig, method: Method, folder: Path, listener: Listener) -> dict[str, Any]:
    """Learn the sequence into one network, in `folder`; returns what result.json holds."""
    store.prepare(folder, config.model_dump(mode="json"), __version__)
    finished = folder / "result.json"
    whole = all(map(store.complete, (folder / "tasks").glob("*"))) and (folder / "network.safetensors").exists()
    if finished.exists() and whole:
        return store.read_json(finished)
    with store.alone(folder):
        result = _through(config, method, folder, listener)
        store.write_json(finished, result)
    return store.decode(store.encode(result))


def _through(config: RunConfig, method: Method, folder: Path, listener: Listener) -> dict[str, Any]:
    tasks = [load(name, config.seed, config.trials) for name in config.tasks]
    network = new_network(config, tasks)
    learned: list[Learned] = []
    memory: Memory = {}
    stopped = None
    for number, task in enumerate(tasks):
        place = store.task_folder(folder, number, task.name)
        if store.complete(place):
            network = from_arrays(store.read_arrays(place / "network.safetensors"))
            memory = store.read_arrays(place / "memory.safetensors")
            learned.append(Learned.from_json(store.read_json(place / "task.json")))
        else:
            listener.task(number, task)
            try:
                network, memory, record = learn(
                    config, method, network, memory, tasks, number, folder / "progress", place, listener
                )
            except Exhausted as why:
                stopped = f"{task.name}: {why}"
                break
            learned.append(record)
        listener.learned(number, task.name, learned[-1].own, network.units_of(number))
    store.write_arrays(folder / "network.safetensors", to_arrays(network))
    return _result(config, network, memory, tasks, learned, stopped)


def new_network(config: RunConfig, tasks: Sequence[AnyTask]) -> Network:
    """Untrained, for recordings or for trials."""
    M, P, rng = config.network.M, config.network.P, _rng(config, NETWORK, 0)
    trials = [isinstance(task, TrialTask) for task in tasks]
    if any(trials) and not all(trials):
        raise CrugError("recordings and cognitive tasks cannot be mixed in one sequence")
    return create_driven(M, P, INPUTS, rng) if all(trials) else create(M, P, max(t.dim for t in tasks), rng)


def learn(
    config: RunConfig,
    method: Method,
    network: Network,
    memory: Memory,
    tasks: Sequence[AnyTask],
    number: int,
    scratch: Path,
    place: Path,
    listener: Listener,
) -> tuple[Network, Memory, Learned]:
    """One task of a run: learned, evaluated, and recorded in `place`."""
    network, memory, record, curves = train(
        config, method, network, memory, tasks, number, scratch, place.name, listener
    )
    store.write_arrays(place / "curves.safetensors", curves)
    store.write_arrays(place / "memory.safetensors", memory)
    store.write_arrays(place / "network.safetensors", to_arrays(network))
    store.write_json(place / "task.json", record.to_json())
    store.clear(scratch)
    return network, memory, record


def train(
    config: RunConfig,
    method: Method,
    network: Network,
    memory: Memory,
    tasks: Sequence[AnyTask],
    number: int,
    scratch: Path,
    label: str,
    listener: Listener,
) -> tuple[Network, Memory, Learned, dict[str, np.ndarray]]:
    """Phase after phase as the method decides, then what the method makes of it; and the learning curves.

    What has been done of it is kept in `scratch` under `label`, and the same call goes on from there.
    """
    task = tasks[number]
    opening = method.open(network, tasks, number)
    if not isinstance(opening, Opening):
        raise CrugError(f"{config.method}: open returned {type(opening).__name__}, not an Opening")
    recipe = config.recipe(samples_of(task))
    bench = make_bench(config, method, network, memory, tasks, number, opening)
    scorer = bench.scorer
    hints = Hints(number, opening.size, task.dim, scorer.floor, scorer.weight, recipe.batches)
    journal = Journal(scratch, label, network, opening, recipe, method.objective, scorer.names)
    history = journal.history()
    while phase := method.next_phase(history, hints):
        index = len(history)
        progress = journal.resume(index) or journal.beginning(phase)
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(config.seed), number), index)
        spent = sum(o.phase.epochs for o in history)
        run_phase(
            bench,
            phase,
            index,
            progress,
            key,
            lambda p, index=index: journal.save(index, p),
            lambda p, phase=phase, spent=spent: listener.chunk(phase, p, spent + p.epoch),
        )
        history.append(outcome(phase, progress))
        journal.finish(index, progress, history)
    chosen = None
    if history:
        chosen = method.choose(history, hints)
        block, params = journal.kept(chosen)
        params = {**params, **bench.ungated(history[chosen].phase, block, params)}
        running = {name: jnp.asarray(value) for name, value in journal.running(chosen).items()}
        lesson = Lesson(number, tasks, block, params, running, bench.windows, recipe, scorer)
        closed = method.close(network, lesson, memory, _rng(config, RECYCLING, number))
        if not (isinstance(closed, tuple) and [type(part) for part in closed] == [Network, dict]):
            raise CrugError(f"{config.method}: close returned {_kinds(closed)}, not a Network and a dict of arrays")
        network, memory = closed
    if number >= len(network.readouts):
        raise CrugError(f"{config.method}: {task.name} was never closed: next_phase gave no phase to train it in")
    own = evaluate(network, number, task)
    earlier = [evaluate(network, k, t) for k, t in enumerate(tasks[:number])] if isinstance(task, TrialTask) else []
    record = Learned(own, history, chosen, hints.floor, sum(o.seconds for o in history), earlier)
    return network, memory, record, journal.curves(len(history))


def make_bench(
    config: RunConfig,
    method: Method,
    network: Network,
    memory: Memory,
    tasks: Sequence[AnyTask],
    number: int,
    opening: Opening,
) -> Bench:
    """What training of a task needs: its windows, its score, other tasks to train on, and what the method recalls."""
    task = tasks[number]
    recipe = config.recipe(samples_of(task))
    block, _ = open_block(network, opening.units(None), opening.readout, opening.feeders, opening.decoder)
    rehearsals = method.rehearse(network, tasks, number, memory)
    if isinstance(task, TrialTask):
        train = task.train
        windows = make_trials(network, opening.feeders, train.inputs, train.targets, task.weight)
        everyone = jnp.arange(len(block.units))
        others = tuple(View(make_trials(network, NOBODY, *r.pieces), block.fixed, everyone) for r in rehearsals)
    else:
        draw = _rng(config, WINDOWS, number)
        windows = make_windows(network, opening.feeders, task.train, recipe, draw, task.breaks)
        others = tuple(make_view(network, block, r.readout, r.pieces, recipe) for r in rehearsals)
    _check_pool(task, len(windows.starts), recipe)
    if not all(len(view.windows.starts) for view in others):
        raise CrugError(
            f"{task.name}: no window of {recipe.window} steps fits into what {config.method} rehearses; "
            "set training.window lower"
        )
    scorer, scored = _scorer(config, network, opening, task), zip(rehearsals, others, strict=True)
    if joint := [(_scorer(config, network, opening, r.task), view) for r, view in scored if r.task]:
        scorer = JointScore(scorer, joint)
    extra = method.recall(memory, block)
    return Bench(network, windows, method.objective, recipe, scorer, method.threshold, others, extra)


def _scorer(config: RunConfig, network: Network, opening: Opening, task: AnyTask) -> TrainingScore | TrialScore:
    """How checkpoints are compared on a task."""
    if isinstance(task, TrialTask):
        return TrialScore(network, opening.feeders, task)
    return TrainingScore(task, config.training.starts)


def _kinds(answer: Any) -> str:
    return " and ".join(type(part).__name__ for part in (answer if isinstance(answer, tuple) else (answer,)))


NOBODY = np.array([], np.int64)


def _check_pool(task: AnyTask, pool: int, recipe: Recipe) -> None:
    """Whether there is enough to draw an epoch from."""
    if not pool:
        raise CrugError(f"{task.name}: no window of {recipe.window} steps fits into it; set training.window lower")
    if recipe.fixed_windows and pool < recipe.batches * recipe.batch:
        have = f"{pool} {'trials' if isinstance(task, TrialTask) else 'windows'}"
        raise CrugError(
            f"{task.name}: {recipe.batches} batches of {recipe.batch} are more than its {have}; "
            "set training.batch or training.batches lower"
        )


def samples_of(task: AnyTask) -> int:
    return len(task.train.inputs) if isinstance(task, TrialTask) else len(task.train)


def _rng(config: RunConfig, stream: int, task: int) -> np.random.Generator:
    return np.random.default_rng([config.seed, stream, task])


def _result(
    config: RunConfig,
    network: Network,
    memory: Memory,
    tasks: Sequence[AnyTask],
    learned: list[Learned],
    stopped: str | None,
) -> dict[str, Any]:
    rows = []
    trials = isinstance(tasks[0], TrialTask)
    for number, task in enumerate(tasks):
        done = number < len(learned)
        own = learned[number].own if done else Answers(0.0, np.inf) if trials else DIVERGENT
        final = evaluate(network, number, task) if done else own
        measures = {when: _measures(score) for when, score in (("own", own), ("final", final))}
        rows.append({"name": task.name, **measures, "units": network.units_of(number)})
    overall = (
        {m: max(row["final"][m] for row in rows) for m in Score._fields}
        if not trials
        else {"accuracy": float(np.mean([row["final"]["accuracy"] for row in rows]))}
    )
    result = {
        "sequence": config.sequence,
        "method": config.method,
        "seed": config.seed,
        "config": config.model_dump(mode="json"),
        "tasks": rows,
        "overall": overall,
        "units": len(network.used()),
        "shared": len(network.used()) > len(network.committed()),
        "memory_bytes": sum(value.nbytes for value in memory.values()),
        "completed": stopped is None,
        "seconds": round(sum(r.seconds for r in learned), 1),
    }
    if trials:
        result["matrix"] = [[_measures(score)["accuracy"] for score in (*r.earlier, r.own)] for r in learned]
    return result if stopped is None else {**result, "stopped": stopped}


def _measures(score: AnyScore) -> dict[str, float]:
    return {"accuracy": score.accuracy} if isinstance(score, Answers) else score._asdict()
