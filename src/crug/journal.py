"""The scratch folder of a task being learned: the network that each phase kept, and the phase under way."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from crug import store
from crug.block import Block, Params, State, make_block, open_block
from crug.data import Recipe
from crug.evaluation import Score, score_of
from crug.methods.base import Opening
from crug.network import Network
from crug.phases import CURVES, Outcome, Phase, Progress, begin
from crug.training import Objective

Arrays = dict[str, np.ndarray]


class Journal:
    def __init__(
        self,
        folder: Path,
        name: str,
        network: Network,
        opening: Opening,
        recipe: Recipe,
        objective: Objective,
        measures: tuple[str, ...] = Score._fields,
    ):
        self.folder, self.name = folder, name
        self.network, self.opening, self.recipe, self.objective = network, opening, recipe, objective
        self.measures = measures
        self.log, self.under_way = folder / "history.json", folder / "running.safetensors"
        if not self.log.exists() or store.read_json(self.log)["task"] != name:
            store.clear(folder)  # what is there belongs to another task
            store.write_json(self.log, {"task": name, "outcomes": []})

    def history(self) -> list[Outcome]:
        """The phases that are over, as far as what they kept is still there."""
        if not self.log.exists():
            return []
        outcomes = [Outcome.from_json(o) for o in store.read_json(self.log)["outcomes"]]
        missing = (i for i in range(len(outcomes)) if not self._file(i).exists())
        return outcomes[: next(missing, len(outcomes))]

    def beginning(self, phase: Phase) -> Progress:
        """What a phase starts from: units as the network has them, or what an earlier phase kept."""
        if phase.begin is None:
            units = self.opening.units(phase.size)
            o = self.opening
            opened = open_block(self.network, units, o.readout, o.feeders, o.decoder)
        else:
            opened = self.kept(phase.begin)
        return begin(*opened, self.recipe, self.objective)

    def save(self, index: int, progress: Progress) -> None:
        """The phase under way, whole: training goes on from here to the same bits."""
        arrays = self._pack(progress.block, progress.state.params, "now.")
        for i, leaf in enumerate(jax.tree.leaves(progress.state[1:])):
            arrays[f"state.{i}"] = np.asarray(leaf)
        if progress.kept:
            arrays |= self._pack(*progress.kept, "kept.") | _named(progress.account, "running.")
        numbers = [index, progress.epoch, progress.loss, *progress.score, progress.seconds, progress.stumbles]
        numbers.append(progress.first)
        arrays |= {"numbers": np.array(numbers, np.float64), "curves": _table(progress)}
        store.write_arrays(self.under_way, arrays)

    def resume(self, index: int) -> Progress | None:
        """The phase under way, if it is this one."""
        if not self.under_way.exists():
            return None
        arrays = store.read_arrays(self.under_way)
        number, epoch, loss, one, two, seconds, stumbles, first = arrays["numbers"]
        if number != index:
            return None
        progress = begin(*self._unpack(arrays, "now."), self.recipe, self.objective)
        leaves, structure = jax.tree.flatten(progress.state[1:])
        stored = [jnp.asarray(arrays[f"state.{i}"]) for i in range(len(leaves))]
        progress.state = State(progress.state.params, *jax.tree.unflatten(structure, stored))
        progress.epoch, progress.loss, progress.seconds = int(epoch), float(loss), float(seconds)
        progress.score = score_of(dict(zip(self.measures, (float(one), float(two)), strict=True)))
        progress.stumbles, progress.first = int(stumbles), float(first)
        progress.kept = self._unpack(arrays, "kept.") if "kept.units" in arrays else None
        progress.account = {name: jnp.asarray(value) for name, value in _part(arrays, "running.").items()}
        progress.curves = [tuple(row) for row in arrays["curves"]]
        return progress

    def finish(self, index: int, progress: Progress, history: list[Outcome]) -> None:
        """A phase is over: its network first, the log that vouches for it last."""
        assert progress.kept is not None
        kept = self._pack(*progress.kept, "kept.") | _named(progress.account, "running.")
        store.write_arrays(self._file(index), kept | {"curves": _table(progress)})
        store.write_json(self.log, {"task": self.name, "outcomes": [o.to_json() for o in history]})
        self.under_way.unlink(missing_ok=True)

    def kept(self, index: int) -> tuple[Block, Params]:
        """What a phase kept."""
        return self._unpack(store.read_arrays(self._file(index)), "kept.")

    def running(self, index: int) -> Arrays:
        """The objective's running account when a phase kept its network."""
        return _part(store.read_arrays(self._file(index)), "running.")

    def curves(self, phases: int) -> Arrays:
        """The learning curves of all phases, one array a column."""
        tables = [store.read_arrays(self._file(i))["curves"] for i in range(phases)]
        names = (*CURVES, *self.measures)
        table = np.concatenate([*tables, np.empty((0, len(names)))])
        return {name: table[:, i] for i, name in enumerate(names)}

    def _file(self, index: int) -> Path:
        return self.folder / f"phase-{index:03d}.safetensors"

    def _pack(self, block: Block, params: Params, prefix: str) -> Arrays:
        return {f"{prefix}units": block.members} | _named(params, prefix)

    def _unpack(self, arrays: Arrays, prefix: str) -> tuple[Block, Params]:
        own = _part(arrays, prefix)
        o = self.opening
        block = make_block(self.network, own.pop("units"), o.feeders, len(o.readout), o.decoder)
        return block, {name: jnp.asarray(value) for name, value in own.items()}


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _named(params: Params, prefix: str) -> Arrays:
    return {f"{prefix}{name}": np.asarray(value) for name, value in params.items()}


def _table(progress: Progress) -> np.ndarray:
    return np.array(progress.curves, np.float64).reshape(-1, len(CURVES) + 2)
