"""The scratch folder of a task being learned: the network that each phase kept, and the phase under way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import TypeAdapter

from crug.core.block import Block, Params, make_block
from crug.errors import CrugError
from crug.runs import store
from crug.sections import Stored
from crug.tasks.base import Score
from crug.training.phases import CURVES, Course, CurvePoint, Outcome, Phase, Progress

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Numbers:
    """Of a phase under way, what is no array."""

    index: int
    epoch: int
    loss: float
    first: float
    stumbles: int
    seconds: float
    score: Score | None


class Log(Stored):
    """The phases of a task that are over."""

    task: str
    outcomes: list[Outcome]


NUMBERS: TypeAdapter[Numbers] = TypeAdapter(Numbers)
LOG: TypeAdapter[Log] = TypeAdapter(Log)


class Journal:
    """What has been done of a task.

    Parameters
    ----------
    folder : where it is kept.
    name : of the task; what the folder has of another one is thrown away.
    course : on which the task is learned.
    """

    def __init__(self, folder: Path, name: str, course: Course):
        self.folder, self.name, self.course = folder, name, course
        self.log, self.under_way = folder / "history.json", folder / "running.safetensors"
        if not self.log.exists() or self._logged().task != name:
            store.clear(folder)
            self._write(Log(task=name, outcomes=[]))

    def _logged(self) -> Log:
        return store.checked(LOG, store.read_json(self.log), self.log)

    def _write(self, log: Log) -> None:
        store.write_json(self.log, _spelled(LOG.dump_python(log)))

    def history(self) -> list[Outcome]:
        """The phases that are over, as far as what they kept is still there."""
        outcomes = self._logged().outcomes
        missing = (i for i in range(len(outcomes)) if not self._file(i).exists())
        return outcomes[: next(missing, len(outcomes))]

    def beginning(self, phase: Phase) -> Progress:
        """What a phase starts from: units as the network has them, or what an earlier phase kept."""
        if phase.begin is None:
            return self.course.open(phase.size)
        return self.course.go_on(*self.kept(phase.begin))

    def save(self, index: int, progress: Progress) -> None:
        """The phase under way, whole: training goes on from here to the same bits."""
        p = progress
        arrays = self._pack(p.block, p.state.params, "now.") | _leaves(p.state[1:])
        if p.kept:
            arrays |= self._pack(*p.kept, "kept.") | _named(p.account, "account.")
        numbers = Numbers(index, p.epoch, p.loss, p.first, p.stumbles, p.seconds, p.score)
        store.write_arrays(
            self.under_way, arrays | {"curves": self._table(p)}, numbers=json.dumps(NUMBERS.dump_python(numbers))
        )

    def resume(self, index: int) -> Progress | None:
        """The phase under way, if it is this one."""
        if not self.under_way.exists():
            return None
        arrays, metadata = store.read_described(self.under_way)
        stored = store.parsed_json(metadata.get("numbers", "null"), self.under_way, store.REMEDY, finite=False)
        numbers = store.checked(NUMBERS, stored, self.under_way)
        if numbers.index != index:
            return None
        progress = self.course.go_on(*self._unpack(arrays, "now.", self.under_way))
        progress.state = progress.state._replace(**self._restored(progress.state[1:], arrays))
        for name in ("epoch", "loss", "first", "stumbles", "seconds", "score"):
            setattr(progress, name, getattr(numbers, name))
        progress.kept = self._unpack(arrays, "kept.", self.under_way) if "kept.units" in arrays else None
        progress.account = {name: jnp.asarray(value) for name, value in _part(arrays, "account.").items()}
        progress.curves = [self._point(row) for row in self._rows(arrays, self.under_way)]
        return progress

    def finish(self, index: int, progress: Progress, history: list[Outcome]) -> None:
        """A phase is over: its network first, the log that vouches for it last."""
        assert progress.kept is not None
        kept = self._pack(*progress.kept, "kept.") | _named(progress.account, "account.")
        store.write_arrays(self._file(index), kept | {"curves": self._table(progress)})
        self._write(Log(task=self.name, outcomes=history))
        self.under_way.unlink(missing_ok=True)

    def kept(self, index: int) -> tuple[Block, Params]:
        """What a phase kept."""
        file = self._file(index)
        return self._unpack(store.read_arrays(file), "kept.", file)

    def account(self, index: int) -> Params:
        """The objective's account when a phase kept its network."""
        arrays = _part(store.read_arrays(self._file(index)), "account.")
        return {name: jnp.asarray(value) for name, value in arrays.items()}

    def curves(self, phases: int) -> Arrays:
        """The learning curves of all phases, one array a column."""
        files = [self._file(i) for i in range(phases)]
        tables = [self._rows(store.read_arrays(file), file) for file in files]
        names = (*CURVES, *self.course.scorer.names)
        table = np.concatenate([*tables, np.empty((0, len(names)))])
        return {name: table[:, i] for i, name in enumerate(names)}

    def _table(self, progress: Progress) -> np.ndarray:
        names = self.course.scorer.names
        rows = [point.row(names) for point in progress.curves]
        return np.array(rows, np.float64).reshape(-1, len(CURVES) + len(names))

    def _point(self, row: np.ndarray) -> CurvePoint:
        measures = dict(zip(self.course.scorer.names, map(float, row[len(CURVES) :]), strict=True))
        numbers: dict[str, Any] = dict(zip(CURVES, row, strict=False))
        return CurvePoint(**numbers, measures={} if np.isnan(list(measures.values())).all() else measures)

    def _file(self, index: int) -> Path:
        return self.folder / f"phase-{index:03d}.safetensors"

    def _pack(self, block: Block, params: Params, prefix: str) -> Arrays:
        return {f"{prefix}units": block.members} | _named(params, prefix)

    def _unpack(self, arrays: Arrays, prefix: str, file: Path) -> tuple[Block, Params]:
        """A block and its parameters, if they are of this task: units that it may use, arrays over these."""
        own, opening = _part(arrays, prefix), self.course.opening
        units = own.pop("units", np.empty((0, 0)))
        usual, dim = self.course.open(None), len(opening.readout)
        one = units.ndim == 1 and units.dtype.kind == "i" and len(np.unique(units)) == len(units) >= dim
        _belongs(one and np.isin(units, opening.units(None)).all(), file)
        _belongs(np.array_equal(units[:dim], opening.readout), file)
        block = make_block(self.course.network, opening, units)
        _belongs(own.keys() == usual.state.params.keys(), file)
        for name, like in usual.state.params.items():
            over = self.course.axes[name]
            shape = tuple(len(block.units) if i in over else size for i, size in enumerate(like.shape))
            _belongs(own[name].shape == shape and own[name].dtype == like.dtype, file)
        return block, {name: jnp.asarray(value) for name, value in own.items()}

    def _rows(self, arrays: Arrays, file: Path) -> np.ndarray:
        """The learning curves in a file."""
        table = arrays.get("curves", np.empty(0))
        width = len(CURVES) + len(self.course.scorer.names)
        _belongs(table.ndim == 2 and table.shape[1] == width and table.dtype == np.float64, file)
        return table

    def _restored(self, state: tuple[Any, ...], arrays: Arrays) -> dict[str, Any]:
        """Optimiser and account of the same structure, with the arrays that `_leaves` named."""
        paths, structure = jax.tree_util.tree_flatten_with_path(state)
        leaves = []
        for path, like in paths:
            value = arrays.get(f"state{jax.tree_util.keystr(path)}")
            _belongs(value is not None and (value.shape, value.dtype) == (like.shape, like.dtype), self.under_way)
            leaves.append(jnp.asarray(value))
        optimiser, account = jax.tree.unflatten(structure, leaves)
        return {"optimiser": optimiser, "account": account}


def _spelled(value: Any) -> Any:
    """Numbers that are not finite as words, from which the schema makes the same numbers again: what a method decides
    by is what it was, whether a process was killed in between or not."""
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return repr(float(value)) if isinstance(value, float) and not np.isfinite(value) else value


def _belongs(right: bool | np.bool_, file: Path) -> None:
    """Refuse a file that holds something else than what was kept of this task."""
    if not right:
        raise CrugError(f"{file}: not what crug kept of this task; {store.REMEDY}")


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _named(params: Params, prefix: str) -> Arrays:
    return {f"{prefix}{name}": np.asarray(value) for name, value in params.items()}


def _leaves(state: tuple[Any, ...]) -> Arrays:
    """Optimiser and account, every array by its place in the tree."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {f"state{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}
