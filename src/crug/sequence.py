"""A method through a sequence: train, evaluate, record. Killed at any moment, the same call ends with the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np

from crug import __version__, store
from crug.config import RunConfig
from crug.errors import Exhausted
from crug.evaluation import Score, TrainingScore, evaluate
from crug.journal import Journal
from crug.methods.base import Hints, Method
from crug.network import Network, commit, create, from_arrays, recycle, to_arrays
from crug.phases import Bench, Outcome, Phase, Progress, begin, outcome, run_phase
from crug.tasks import Task, load
from crug.training import make_windows

NETWORK, WINDOWS, RECYCLING = range(3)
"""Streams of randomness, so that none depends on how much another has drawn."""


class Listener(Protocol):
    """Who watches a run."""

    def task(self, number: int, task: Task, /) -> None: ...

    def chunk(self, phase: Phase, progress: Progress, spent: int, /) -> None: ...

    def learned(self, number: int, name: str, score: Score, units: dict[str, int], /) -> None: ...


@dataclass(frozen=True)
class Learned:
    """One task of a run as it was right after its own training."""

    own: Score
    history: list[Outcome]
    chosen: int
    floor: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        phases = [o.to_json() for o in self.history]
        return {**self.__dict__, "own": list(self.own), "history": phases}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Learned:
        history = [Outcome.from_json(o) for o in data["history"]]
        return cls(Score(*data["own"]), history, data["chosen"], data["floor"], data["seconds"])


def run(config: RunConfig, method: Method, folder: Path, listener: Listener) -> dict[str, Any]:
    """Learn the sequence into one network, in `folder`; returns what result.json holds."""
    store.prepare(folder, config.model_dump(mode="json"), __version__)
    finished = folder / "result.json"
    if finished.exists():
        return store.read_json(finished)
    tasks = [load(name, config.seed) for name in config.tasks]
    network = create(config.network.M, config.network.P, max(t.dim for t in tasks), _rng(config, NETWORK, 0))
    learned: list[Learned] = []
    stopped = None
    for number, task in enumerate(tasks):
        place = store.task_folder(folder, number, task.name)
        if (place / "task.json").exists() and (place / "network.safetensors").exists():
            network = from_arrays(store.read_arrays(place / "network.safetensors"))
            learned.append(Learned.from_json(store.read_json(place / "task.json")))
        else:
            listener.task(number, task)
            try:
                network, record = learn(config, method, network, number, task, folder / "progress", place, listener)
            except Exhausted as why:
                stopped = f"{task.name}: {why}"
                break
            learned.append(record)
        listener.learned(number, task.name, learned[-1].own, network.units_of(number))
    store.write_arrays(folder / "network.safetensors", to_arrays(network))
    result = _result(config, network, tasks, learned, stopped)
    store.write_json(finished, result)
    return store.decode(store.encode(result))


def learn(
    config: RunConfig,
    method: Method,
    network: Network,
    number: int,
    task: Task,
    scratch: Path,
    place: Path,
    listener: Listener,
) -> tuple[Network, Learned]:
    """One task: phase after phase as the method decides, then commit, recycle, evaluate and record."""
    opening = method.open(network, task.dim)
    recipe = config.recipe(len(task.train))
    scorer = TrainingScore(task)
    hints = Hints(opening.size, task.dim, scorer.floor, scorer.weight)
    windows = make_windows(network, opening.feeders, task.train, recipe, _rng(config, WINDOWS, number))
    bench = Bench(network, windows, method.objective, recipe, scorer, method.threshold)
    journal = Journal(scratch, place.name, network, opening, recipe)
    history = journal.history()
    while phase := method.next_phase(history, hints):
        index = len(history)
        progress = journal.resume(index) or begin(*journal.beginning(phase), recipe)
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
    chosen = method.choose(history, hints)
    network = commit(network, **journal.commitment(chosen))
    network = recycle(network, _rng(config, RECYCLING, number))
    own = evaluate(network, number, task)
    record = Learned(own, history, chosen, hints.floor, sum(o.seconds for o in history))
    store.write_arrays(place / "curves.safetensors", journal.curves(len(history)))
    store.write_arrays(place / "network.safetensors", to_arrays(network))
    store.write_json(place / "task.json", record.to_json())
    store.clear(scratch)
    return network, record


def _rng(config: RunConfig, stream: int, task: int) -> np.random.Generator:
    return np.random.default_rng([config.seed, stream, task])


def _result(
    config: RunConfig, network: Network, tasks: list[Task], learned: list[Learned], stopped: str | None
) -> dict[str, Any]:
    rows = []
    for number, task in enumerate(tasks):
        done = number < len(learned)
        own = learned[number].own if done else Score(np.inf, np.inf)
        final = evaluate(network, number, task) if done else own
        units = network.units_of(number)
        rows.append({"name": task.name, "own": own._asdict(), "final": final._asdict(), "units": units})
    result = {
        "sequence": config.sequence,
        "method": config.method,
        "seed": config.seed,
        "config": config.model_dump(mode="json"),
        "tasks": rows,
        "overall": {m: max(row["final"][m] for row in rows) for m in Score._fields},
        "units": len(network.committed()),
        "completed": stopped is None,
        "seconds": round(sum(r.seconds for r in learned), 1),
    }
    return result if stopped is None else {**result, "stopped": stopped}
