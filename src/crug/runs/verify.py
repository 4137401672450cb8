"""The retention guarantee of a run, proven from its saved files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crug.core.dynamics import run_under
from crug.core.network import Network
from crug.core.noise import roll_out
from crug.core.streams import Stream, generator
from crug.errors import CrugError
from crug.runs.folder import Config, final_network, read_config, read_curves, read_task, task_folder
from crug.runs.proof import parameters_digest
from crug.runs.result import NOISE_SEED, Learned, Result

STARTS, STEPS = 5, 40_000
TRIALS = 200


def verify(folder: Path) -> Iterator[tuple[str, bool]]:
    """For every task of a run a line and whether its rollout from the checkpoint after its own training and from the
    final network are the same bits. The starts are drawn: the guarantee does not depend on them.

    Which tasks there are follows from what the run is of and from its networks, so that none is left out because
    result.json does not name it. All other files are read and checked too; what is damaged has a line of its own.
    """
    config, final = read_config(folder), final_network(folder)
    names, records = config.plan.tasks[: len(final.readouts)], []
    for number, name in enumerate(names):
        place = task_folder(folder, number, name)
        try:
            learned, before, _ = read_task(place)
            read_curves(place)
        except CrugError as error:
            yield f"{name}: CHANGED, {error.what}", False
            continue
        records.append(learned)
        yield _compared(name, number, before, final)
    if len(records) == len(names) and (problem := _told(folder, config, records)):
        yield f"result.json: CHANGED, {problem}", False


def _compared(name: str, number: int, before: Network, final: Network) -> tuple[str, bool]:
    """A task by the network after its own training, and by the final one."""
    if number >= len(before.readouts):
        return f"{name}: CHANGED, the network after its training has not learned it", False
    first, last = (behaviour(network, number) for network in (before, final))
    if first.shape != last.shape or first.tobytes() != last.tobytes():
        if first.shape != last.shape:
            return f"{name}: CHANGED, rollouts differ in what is read out", False
        bits = (np.ascontiguousarray(x).view(np.uint32) for x in (first, last))
        differ = np.argwhere(np.not_equal(*bits).any(axis=(0, 2)))
        return f"{name}: CHANGED, rollouts differ from step {int(differ[0, 0]) + 1} on", False
    if not np.array_equal(np.flatnonzero(before.owner == number), np.flatnonzero(final.owner == number)):
        return f"{name}: CHANGED, rollouts are the same but the ledger gives it other units", False
    if parameters_digest(before, number) != parameters_digest(final, number):
        return f"{name}: CHANGED, rollouts are the same but parameters, encoder or kinds of units are not", False
    what = "rollouts" if len(final.readouts[number]) else "answers"
    what += ", half of them under noise," if final.noises[number] else ""
    return f"{name}: {len(first)} {what} of {first.shape[1]} steps are the same bits", True


def _told(folder: Path, config: Config, records: list[Learned]) -> str:
    """What is wrong with what result.json tells of a run."""
    try:
        result = Result.read(folder)
    except CrugError as error:
        return error.what
    same = (result.plan, result.settings) == (config.plan, config.settings)
    if not same or (result.completed and len(records) < len(config.plan.tasks)):
        return "it is of another run"
    for row, learned in zip(result.tasks, records, strict=False):
        if row.own != learned.own.measures():
            return f"{row.name} has other measures than right after it was learned"
    return ""


def behaviour(network: Network, number: int) -> np.ndarray:
    """What a task does from drawn starts, or to drawn inputs: (several, steps, outputs)."""
    rng, system = generator(0, Stream.PROOF, number), network.task_system(number)
    if len(system.readout):
        x0, noise = rng.standard_normal((STARTS, len(system.readout))), network.noises[number]
        seeds = (None,) if noise is None else (None, NOISE_SEED)
        return np.concatenate([roll_out(system, x0, (STEPS, 0), noise, seed) for seed in seeds])
    inputs = rng.standard_normal((TRIALS, STEPS // TRIALS, network.C.shape[1]))
    states = run_under(system, np.zeros((TRIALS, 0)), inputs, np.arange(len(network.runs[number])))
    return states @ network.decoders[number][network.runs[number]]
