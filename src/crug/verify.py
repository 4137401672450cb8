"""The retention guarantee, proven from saved files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crug import store
from crug.evaluation import STARTS, free_run, respond
from crug.model import load
from crug.network import Network, from_arrays
from crug.proof import machine
from crug.tasks.base import STEPS


def verify_model(file: Path) -> Iterator[tuple[str, bool]]:
    """The same for a model's file, against what it remembers of the moment when each recording was learned."""
    model = load(file)
    for name, equal in model.verify().items():
        same = "parameters and rollout are the same bits"
        if (there := model.about(name).machine) != machine():
            same = f"parameters are the same bits (rollout not compared: other machines than {there} round differently)"
        yield f"{name}: {same if equal else 'CHANGED'}", equal


def verify(folder: Path) -> Iterator[tuple[str, bool]]:
    """For every task a line and whether its rollout from the checkpoint after its own training and from the final
    network are the same bits. The starts are drawn: the guarantee does not depend on them."""
    result = store.read_json(folder / "result.json")
    final = from_arrays(store.read_arrays(folder / "network.safetensors", check=False))
    names = [row["name"] for row in result["tasks"]][: len(final.readouts)]
    for number, name in enumerate(names):
        file = store.task_folder(folder, number, name) / "network.safetensors"
        then = from_arrays(store.read_arrays(file))
        before, after = (_behaviour(network, number) for network in (then, final))
        equal = before.shape == after.shape and before.tobytes() == after.tobytes()
        if equal:
            what = "rollouts" if len(final.readouts[number]) else "answers"
            yield f"{name}: {len(before)} {what} of {before.shape[1]} steps are the same bits", True
        else:
            bits = (np.ascontiguousarray(x).view(np.uint32) for x in (before, after))
            differ = np.argwhere(np.not_equal(*bits).any(axis=(0, 2)))
            yield f"{name}: CHANGED, rollouts differ from step {int(differ[0, 0]) + 1} on", False


def _behaviour(network: Network, number: int) -> np.ndarray:
    """What a task does from drawn starts, or to drawn inputs: (several, steps, outputs)."""
    rng, dim = np.random.default_rng(number), len(network.readouts[number])
    if dim:
        return free_run(network, number, rng.standard_normal((STARTS, dim)), STEPS)
    return respond(network, number, rng.standard_normal((TRIALS, STEPS // TRIALS, network.C.shape[1])))


TRIALS = 200
