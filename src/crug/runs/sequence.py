"""A method through a sequence: train, evaluate, record. Killed at any moment, the same call ends with the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from crug import methods
from crug.analysis.verdict import judged
from crug.core.network import Network, to_arrays
from crug.core.streams import Stream, generator
from crug.errors import CrugError, Exhausted
from crug.methods.base import Assignment, Method
from crug.runs import store
from crug.runs.folder import NETWORK, complete, final_network, prepare, read_config, read_task, task_folder, write_task
from crug.runs.learning import Desk, learn
from crug.runs.listeners import Listener, Silent, Ticker
from crug.runs.plan import Origin, Plan
from crug.runs.proof import machine, parameters_digest
from crug.runs.result import FILE, NOISE_SEED, Ending, Learned, Result, make_result
from crug.tasks import Score, Task, load


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
    sequence : a named sequence ("vlrc"), its first tasks ("dysts:10"), or a list of tasks in any order
        (["lorenz", "chua"]).
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
    made = chosen(chosen.Settings.resolve(plan.case, plan.settled(settings)))
    if isinstance(progress, bool):
        progress = Ticker(made.settings.epochs) if progress else Silent()
    if out is not None:
        return carry_out(plan, made, Path(out), progress)
    with tempfile.TemporaryDirectory() as folder:
        return carry_out(plan, made, Path(folder) / "run", progress)


def carry_out(plan: Plan, method: Method, folder: Path, listener: Listener) -> Result:
    """Carry a plan out in a folder, or go on with it; what is finished is only read."""
    about = {"plan": plan.model_dump(mode="json"), "settings": method.settings.model_dump(mode="json")}
    prepare(folder, about, Origin(version=version("crug"), edition=plan.edition, machine=machine()))
    if (folder / FILE).exists() and (result := Result.read(folder)).plan == plan and _whole(folder, result):
        return result
    alone = store.alone(folder, within=True)
    with alone, np.errstate(all="ignore"):  # what runs away is not finite, and looked at where it counts
        ending = _through(plan, method, folder, listener)
        return make_result(plan, about["settings"], ending, read_config(folder).origin).write(folder)


def _whole(folder: Path, result: Result) -> bool:
    """Whether all that a finished run has is there."""
    if not (folder / NETWORK).exists():
        return False
    learned = result.plan.tasks[: len(final_network(folder).readouts)]
    places = [task_folder(folder, number, name) for number, name in enumerate(learned)]
    return all(map(complete, places)) and (not result.completed or learned == result.plan.tasks)


def _through(plan: Plan, method: Method, folder: Path, listener: Listener) -> Ending:
    tasks = tuple(load(name, plan.seed, method.settings) for name in plan.tasks)
    if len({task.outputs for task in tasks}) > 1:
        raise CrugError("recordings and tasks of trials cannot be mixed in one sequence; run them apart")
    network = tasks[0].new_network(method.settings.network, tasks, generator(plan.seed, Stream.NETWORK, 0))
    learned: list[Learned] = []
    bits: list[str] = []
    memory, stopped = {}, None
    for number, task in enumerate(tasks):
        place = task_folder(folder, number, task.name)
        if complete(place):
            found, network, memory = read_task(place)
            if number >= len(network.readouts):
                raise CrugError(f"{place / NETWORK}: has not learned {task.name}; remove the folder and run it again")
            learned.append(found)
        else:
            listener.begins(task)
            try:
                assignment = Assignment(task, number, network, memory, plan.seed, tasks)
                taught = learn(method, assignment, Desk(folder / "progress", place.name, listener))
            except Exhausted as why:
                stopped = f"{task.name}: {why}"
                break
            write_task(place, taught)
            store.clear(folder / "progress")
            network, memory = taught.network, taught.memory
            learned.append(taught.learned)
        bits.append(parameters_digest(network, number))
        listener.learned(task.name, learned[-1], network.units_of(number))
    store.write_arrays(folder / NETWORK, to_arrays(network))
    size = sum(value.nbytes for value in memory.values())
    before = zip(tasks, learned, bits, strict=False)
    last = [_again(task, network, k, known, digest) for k, (task, known, digest) in enumerate(before)]
    final, noisy = [score for score, _ in last], [under for _, under in last]
    worst = [task.worst() for task in tasks]
    done = enumerate(tasks[: len(learned)])
    beside = [judged(network, k, task, NOISE_SEED if network.noises[k] else None) for k, task in done]
    return Ending(network, size, learned, final, noisy, worst, stopped, all(t.quick for t in tasks), beside)


def _again(task: Task, network: Network, number: int, learned: Learned, bits: str) -> tuple[Score, Score | None]:
    """The scores of a task by the final network, without noise and under it where it carries some. Where the network
    still has the bits that it was learned with, they are the ones from then."""
    carries = network.noises[number] is not None
    if parameters_digest(network, number) == bits and carries == (learned.noisy is not None):
        return learned.own, learned.noisy and learned.noisy.own
    return task.evaluate(network, number), task.evaluate(network, number, NOISE_SEED) if carries else None
