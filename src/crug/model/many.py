"""Several recordings at once, each learned by a process of its own, and taken in one after another.

A process is told how many units are free when it begins. They may be fewer when its recording's turn comes; where its
record would have been another one then, it is learned once more. So the model is the same to the bit as if all had been
learned one after another.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crug.errors import CrugError
from crug.methods.crug import CrugSettings
from crug.model.asked import Asked
from crug.model.job import PROGRESS, Job
from crug.model.kept import Kept
from crug.model.model import CASE, Model
from crug.model.order import Order, found, in_folder, label, ordered, received
from crug.readers import Recording
from crug.runs.hands import Crew, Hands
from crug.runs.listeners import Silent, Ticker
from crug.sections import positive
from crug.tasks import as_recordings


def learn_many(model: Model, recordings: Mapping[str, Any], workers: int, dt: float | None, asked: Asked) -> None:
    """Learn recordings by name, so many at a time."""
    if asked.inputs is not None:
        raise CrugError("inputs: of several recordings, each brings its own; give Recordings with inputs")
    workers, todo = positive("workers", workers), _todo(model, recordings, dt, asked)
    if workers > 1 and may_hear(model):
        warnings.warn("recordings that may hear one another are learned one after another", stacklevel=3)
        workers = 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.scratch or temporary) / PROGRESS
        listener = asked.progress
        if workers == 1:
            for name, pieces in todo.items():
                scratch = folder / label(ordered(model, name, pieces, asked))
                model.learn(pieces, name, **vars(replace(asked, scratch=scratch)))
            return
        if isinstance(listener, bool):
            listener = Ticker(1) if listener else Silent()
        for kept in learning(model, todo, asked, folder, Hands(min(workers, max(1, len(todo))), in_folder)):
            listener.learned(kept.name, kept.record.known.learned, kept.listed.count)


def may_hear(model: Model) -> bool:
    """Whether new recordings may hear those that are known."""
    return CrugSettings.resolve(CASE, model.settings).transfer.kind != "none"


def _todo(
    model: Model, recordings: Mapping[str, Any], dt: float | None, asked: Asked
) -> dict[str, Sequence[Recording]]:
    """What there is to learn; what cannot be learned is refused before any work."""
    todo = {}
    for name, x in recordings.items():
        pieces = as_recordings(x, name, dt, asked.columns)
        if not already(model, name, pieces):
            model.prepared(pieces, name, **vars(asked))
            todo[name] = pieces
    return todo


def already(model: Model, name: str, pieces: Sequence[Recording]) -> bool:
    """Whether the model has learned just these samples, under these inputs if there are any, by this name."""
    there = (one.record.known for one in model.kept if one.name == name)
    return any(known.is_of(pieces) for known in there)


def learning(
    model: Model, todo: Mapping[str, Sequence[Recording]], asked: Asked, folder: Path, crew: Crew[Order, bytes]
) -> Iterator[Kept]:
    """Have recordings learned by a crew, and take each in when those before it are: the records as they are taken in.

    What is done is kept in the folder: the same call goes on from there.
    """
    orders = {name: _order(model, name, pieces, asked, folder) for name, pieces in todo.items()}
    ready = {name: found(Path(order.folder)) for name, order in orders.items()}
    errors: dict[str, CrugError] = {}
    under_way: set[str] = set()
    with crew:
        for name, order in orders.items():
            if not ready[name]:
                crew.give(order)
                under_way.add(name)
        for name, pieces in todo.items():
            job = model.job(pieces, name, None, asked)
            while (kept := _fitting(job, ready[name])) is None:
                if name in errors:
                    raise errors[name]
                if name not in under_way:
                    crew.give(orders[name]._replace(room=job.room))
                    under_way.add(name)
                order, outcome = crew.next()
                under_way.discard(order.name)
                if isinstance(outcome, CrugError):
                    errors[order.name] = outcome
                else:
                    ready[order.name][order.room] = received(order, outcome)
            model.add(kept)
            yield kept


def _order(model: Model, name: str, pieces: Sequence[Recording], asked: Asked, folder: Path) -> Order:
    content = ordered(model, name, pieces, asked)
    return Order(name, content, str((folder / label(content)).resolve()), model.units_free)


def _fitting(job: Job, records: Mapping[int, Kept]) -> Kept | None:
    """The record that the job would make, if it is among these, which were learned where so many units were free."""
    fits = (kept for room, kept in records.items() if replace(job, room=room).same_with(job.room, kept.record))
    return next(fits, None)
