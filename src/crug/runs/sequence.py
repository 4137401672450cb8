"""A method through a sequence: train, evaluate, record. Killed at any moment, the same call ends with the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crug import methods
from crug.analysis.verdict import judged
from crug.core.network import from_arrays, to_arrays
from crug.core.streams import Stream, generator
from crug.errors import CrugError, Exhausted
from crug.methods.base import Assignment, Method
from crug.runs import store
from crug.runs.learning import Desk, Taught, learn
from crug.runs.listeners import Listener, Silent, Ticker
from crug.runs.plan import Plan
from crug.runs.result import FILE, NOISE_SEED, Ending, Learned, Result, make_result
from crug.tasks import load


def run(
    sequence: str | Sequence[str],
    method: str = "crug",
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool | Listener = False,
    **settings: Any,
) -> Result:
    """Learn a sequence of tasks into one network.

    Parameters
    ----------
    sequence : a named sequence ("vlrc"), or a list of tasks in any order (["lorenz", "chua"]).
    method : a method's name ("crug", "ewc"), or the path of your own .py file.
    seed : decides the data, the network and every random draw.
    out : folder of the run; interrupted, the same call goes on there. Without it, nothing is kept but the result.
    progress : whether to say how far it is.
    **settings : as `crug methods` lists them: `epochs=500`, a section as a dictionary (`training={"lr": 1e-2}`), or
        dotted names (`**{"training.lr": 1e-2}`).

    Returns
    -------
    The result: measures and units of every task, right after it was learned and at the end.
    """
    plan = Plan.make(sequence, method, seed)
    chosen = methods.find(method)
    made = chosen(chosen.Settings.resolve(plan.case, settings))
    if isinstance(progress, bool):
        progress = Ticker(made.settings.epochs) if progress else Silent()
    if out is not None:
        return carry_out(plan, made, Path(out), progress)
    with tempfile.TemporaryDirectory() as folder:
        return carry_out(plan, made, Path(folder) / "run", progress)


def carry_out(plan: Plan, method: Method, folder: Path, listener: Listener) -> Result:
    """Carry a plan out in a folder, or go on with it; what is finished is only read."""
    about = {"plan": plan.model_dump(mode="json"), "settings": method.settings.model_dump(mode="json")}
    store.prepare(folder, about, version("crug"))
    whole = all(map(store.complete, (folder / "tasks").glob("*"))) and (folder / "network.safetensors").exists()
    if (folder / FILE).exists() and whole:
        return Result.read(folder)
    with store.alone(folder):
        ending = _through(plan, method, folder, listener)
        return make_result(plan, about["settings"], ending).write(folder)


def _through(plan: Plan, method: Method, folder: Path, listener: Listener) -> Ending:
    tasks = tuple(load(name, plan.seed, method.settings) for name in plan.tasks)
    if len({task.outputs for task in tasks}) > 1:
        raise CrugError("recordings and tasks of trials cannot be mixed in one sequence; run them apart")
    network = tasks[0].new_network(method.settings.network, tasks, generator(plan.seed, Stream.NETWORK, 0))
    learned: list[Learned] = []
    memory, stopped = {}, None
    for number, task in enumerate(tasks):
        place = store.task_folder(folder, number, task.name)
        if store.complete(place):
            network = from_arrays(store.read_arrays(place / "network.safetensors"))
            memory = store.read_arrays(place / "memory.safetensors")
            file = place / "task.json"
            learned.append(Learned.from_json(store.read_json(file), file))
        else:
            listener.begins(task)
            try:
                assignment = Assignment(task, number, network, memory, plan.seed, tasks)
                taught = learn(method, assignment, Desk(folder / "progress", place.name, listener))
            except Exhausted as why:
                stopped = f"{task.name}: {why}"
                break
            _record(place, taught)
            store.clear(folder / "progress")
            network, memory = taught.network, taught.memory
            learned.append(taught.learned)
        listener.learned(task.name, learned[-1], network.units_of(number))
    store.write_arrays(folder / "network.safetensors", to_arrays(network))
    size = sum(value.nbytes for value in memory.values())
    done = list(enumerate(tasks[: len(learned)]))
    final = [task.evaluate(network, k) for k, task in done]
    noisy = [task.evaluate(network, k, NOISE_SEED) if network.noises[k] else None for k, task in done]
    worst = [task.worst() for task in tasks]
    beside = [judged(network, k, task, NOISE_SEED if network.noises[k] else None) for k, task in done]
    return Ending(network, size, learned, final, noisy, worst, stopped, all(t.quick for t in tasks), beside)


def _record(place: Path, taught: Taught) -> None:
    """What the next task begins with, and what is said of this one: task.json comes last and vouches for the rest."""
    store.write_arrays(place / "curves.safetensors", taught.curves)
    store.write_arrays(place / "memory.safetensors", taught.memory)
    store.write_arrays(place / "network.safetensors", to_arrays(taught.network))
    store.write_json(place / "task.json", taught.learned.to_json())
