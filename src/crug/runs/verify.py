"""The retention guarantee of a run, proven from its saved files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crug.core.dynamics import run_under
from crug.core.network import Network, from_arrays
from crug.core.noise import roll_out
from crug.core.streams import Stream, generator
from crug.runs import store
from crug.runs.result import NOISE_SEED, Result

STARTS, STEPS = 5, 40_000
TRIALS = 200


def verify(folder: Path) -> Iterator[tuple[str, bool]]:
    """For every task of a run a line and whether its rollout from the checkpoint after its own training and from the
    final network are the same bits. The starts are drawn: the guarantee does not depend on them."""
    final = from_arrays(store.read_arrays(folder / "network.safetensors", check=False))
    names = [row.name for row in Result.read(folder).tasks][: len(final.readouts)]
    for number, name in enumerate(names):
        file = store.task_folder(folder, number, name) / "network.safetensors"
        before, after = (behaviour(network, number) for network in (from_arrays(store.read_arrays(file)), final))
        if before.shape == after.shape and before.tobytes() == after.tobytes():
            what = "rollouts" if len(final.readouts[number]) else "answers"
            what += ", half of them under noise," if final.noises[number] else ""
            yield f"{name}: {len(before)} {what} of {before.shape[1]} steps are the same bits", True
        else:
            bits = (np.ascontiguousarray(x).view(np.uint32) for x in (before, after))
            differ = np.argwhere(np.not_equal(*bits).any(axis=(0, 2)))
            yield f"{name}: CHANGED, rollouts differ from step {int(differ[0, 0]) + 1} on", False


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
