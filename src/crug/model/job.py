"""One recording to be learned, and the record that comes of it.

Without transfer the record follows from the recording's samples, the settings and the seed, and from nothing else: not
from the name, nor from what else a model knows, where units would lie, or how many are free while there are enough. So
every recording is learned in a pool of units of its own, and all its random streams begin with a digest of its samples.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crug.core.network import FREE, Network
from crug.core.streams import Stream, generator, seed_of
from crug.errors import CrugError, Exhausted
from crug.methods.base import Assignment
from crug.methods.crug import Crug, CrugSettings
from crug.model.known import About, Known
from crug.model.record import Member, Record, cut, family, whole
from crug.runs.learning import Desk, Taught, learn
from crug.runs.listeners import Listener
from crug.runs.proof import digest, network_bytes
from crug.tasks import Prepared

PROGRESS = "crug-progress"
DOUBLINGS, LARGE = 8, 2_048
"""A path may try so many times the units of its first block; where that is more than `LARGE`, twice as many."""


@dataclass(frozen=True)
class Job:
    """A recording with all that its network follows from; `room` are the units that are free."""

    prepared: Prepared
    about: About
    settings: CrugSettings
    seed: int
    room: int

    @property
    def block(self) -> int:
        """Units of the block that is opened first."""
        return max(self.settings.path.start, 2 * self.prepared.task.dim)

    @property
    def pool(self) -> int:
        """Units among which the recording finds its own, if so many are free."""
        return max(2 * self.block, min(DOUBLINGS * self.block, LARGE))

    @property
    def most(self) -> int:
        """Units that it may take."""
        return min(self.pool, self.room, self.settings.path.most or self.pool)

    def same_with(self, room: int, record: Record) -> bool:
        """Whether the record would be the same to the bit with so many free units: either it has as many to choose
        from, or it never asked for more."""
        here, there = self.most, replace(self, room=room).most
        if here == there or self.settings.allocation == "price":
            return here == there
        return 2 * max(outcome.units for outcome in record.known.learned.history) <= min(here, there)


def done(job: Job, heard: Sequence[Record], folder: Path | None, listener: Listener) -> Record:
    """The record of a recording, which may hear those in `heard`; interrupted work is kept in the folder."""
    task, about = job.prepared.task, job.about
    with np.errstate(all="ignore"):  # what runs away is not finite, and looked at where it counts
        taught, number = _taught(job, heard, folder, listener)
        if not np.isfinite(taught.learned.history[taught.learned.chosen or 0].score.main):
            raise CrugError(
                f"recording {task.name!r}: every network that was tried diverged; allow more epochs or units"
            )
        units = cut(taught.network, number, [record.name for record in heard], len(about.inputs))
        others = {record.name: record.member for record in heard}
        network = family([*(others[name] for name in units.heard), Member(task.name, units)])
        return Record(units, Known.of(job.prepared, taught.learned, about, network))


def _taught(job: Job, heard: Sequence[Record], folder: Path | None, listener: Listener) -> tuple[Taught, int]:
    """What comes of learning, and the number of the task."""
    task, settings = job.prepared.task, _bounded(job)
    seed = seed_of(job.seed, job.about.data.encode())
    count = job.pool if settings.allocation == "path" else job.most
    network = task.fit(pooled(whole([record.member for record in heard]), count, task.dim, seed))
    number = len(network.readouts)
    samples = (part.tobytes() for part in task.examples())
    label = digest(settings.model_dump_json().encode(), *samples, str(seed).encode(), network_bytes(network))
    with tempfile.TemporaryDirectory() as temporary:
        desk = Desk(Path(folder or temporary) / PROGRESS, label, listener)
        try:
            return learn(Crug(settings), Assignment(task, number, network, {}, seed, (task,)), desk), number
        except Exhausted as error:
            raise Exhausted(f"recording {task.name!r}: {error.what}", "allow it more units") from None


def _bounded(job: Job) -> CrugSettings:
    """The settings, in which a path takes no more units than there are."""
    path = job.settings.path
    if job.room >= job.pool:
        return job.settings
    most = min(job.room, path.most or job.room)
    return job.settings.model_copy(update={"path": path.model_copy(update={"most": most})})


def pooled(network: Network, count: int, dim: int, seed: int) -> Network:
    """The network with so many free units behind the others, half of them linear, as they are before a recording is
    learned (appendix A.1). Which number a unit begins with does not depend on how many there are."""
    size, pairs = network.size, -(-count // 2)
    decay = generator(seed, Stream.NETWORK).uniform(0.3, 0.9, (pairs, 2)).astype(np.float32)
    bound = 1 / np.sqrt(dim)
    encoders = generator(seed, Stream.ENCODER, dim).uniform(-bound, bound, (size + 2 * pairs, dim)).astype(np.float32)
    linear, relu = count - count // 2, count // 2
    own = encoders[size:].reshape(pairs, 2, dim)
    B = np.zeros((size + count, max(dim, network.B.shape[1])), np.float32)
    B[:size, : network.B.shape[1]] = network.B
    B[size:, :dim] = np.concatenate([own[:linear, 0], own[:relu, 1]])
    B[:size, :dim] = np.where(B[:size, :dim] != 0, B[:size, :dim], encoders[:size])  # heard with more dimensions now
    return replace(
        network,
        a=np.concatenate([network.a, decay[:linear, 0], decay[:relu, 1]]),
        W=np.pad(network.W, ((0, count), (0, count))),
        C=np.pad(network.C, ((0, count), (0, 0))),
        h=np.pad(network.h, (0, count)),
        B=B,
        relu=np.concatenate([network.relu, np.arange(count) >= linear]),
        owner=np.concatenate([network.owner, np.full(count, FREE, np.int32)]),
        decoders=tuple(np.zeros((size + count, 0), np.float32) for _ in network.decoders),
    )
