"""Records as a model holds them: in memory, or in a file until they are asked for; and their bytes.

The bytes of a record follow from the recording, the settings and the seed. How long learning took does not, so it is
kept beside them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as dump_tensors

from crug.core.network import Network, to_arrays
from crug.core.sound import read_network
from crug.errors import CrugError
from crug.model.container import DAMAGED, Place, Source, digest
from crug.model.known import About, Known
from crug.model.record import Member, Record, Units, family
from crug.runs import store
from crug.runs.result import LEARNED
from crug.sections import Stored

UNITS = "units."
"""Before the names of the arrays that are parameters."""


class Listed(Stored):
    """What a model says of a record without reading it."""

    name: str
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    linear: NonNegativeInt
    relu: NonNegativeInt
    heard: tuple[str, ...] = ()
    seconds: tuple[float, ...] = Field(description="what learning took in all, and each phase")

    @property
    def count(self) -> dict[str, int]:
        """How many units of each kind it owns."""
        return {"linear": self.linear, "relu": self.relu}


class Kept:
    """A record of a model."""

    def __init__(self, listed: Listed, place: Place | None = None, source: Source | None = None):
        self.listed, self.place, self.source = listed, place, source

    @classmethod
    def of(cls, record: Record) -> Kept:
        """A record in memory."""
        learned = record.known.learned
        kept = cls(
            Listed(
                name=record.name,
                digest=digest(packed(record)),
                **record.units.count,
                heard=record.units.heard,
                seconds=(learned.seconds, *(outcome.seconds for outcome in learned.history)),
            )
        )
        kept.record = record
        return kept

    @property
    def name(self) -> str:
        return self.listed.name

    @property
    def where(self) -> str:
        """The file that it comes from."""
        return str(self.source.path) if self.source else "the model"

    @cached_property
    def record(self) -> Record:
        return unpacked(self.content(), self.listed, self.where)

    def content(self) -> bytes:
        """Its bytes, as they are stored."""
        if self.source is None or self.place is None:
            return packed(self.record)
        return self.source.piece(self.place)


def packed(record: Record) -> bytes:
    """The bytes of a record: a safetensors file."""
    arrays = {f"{UNITS}{name}": value for name, value in record.units.arrays().items()} | record.known.arrays()
    stored = json.loads(json.dumps(store.encode(record.known.learned.to_json()), allow_nan=False))
    learned = LEARNED.validate_python(store.decode(stored)).to_json()  # numbers as they are when they are read again
    untimed = _timed(learned, [0.0] * (1 + len(learned["history"])))
    said = {
        "about": record.known.about.model_dump(mode="json"),
        "learned": store.encode(untimed),
        "heard": list(record.units.heard),
    }
    contiguous = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    return dump_tensors(contiguous, metadata={"record": json.dumps(said, allow_nan=False)})


def unpacked(content: bytes, listed: Listed, where: str) -> Record:
    """The record in these bytes, which came from `where`; refused where they are not what crug wrote."""
    try:
        arrays = parse_tensors(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        said = store.parsed_json(header["__metadata__"]["record"], where, DAMAGED)
        about = About.model_validate(said["about"])
        learned = LEARNED.validate_python(_timed(store.decode(said["learned"]), listed.seconds))
        own = {name.removeprefix(UNITS): value for name, value in arrays.items() if name.startswith(UNITS)}
        units = Units.of(own, said["heard"])
        rest = {name: value for name, value in arrays.items() if not name.startswith(UNITS)}
        strangers = own.keys() - units.arrays().keys() | said.keys() - {"about", "learned", "heard"}
        problem = units.misfit() or about.contradicts(rest, len(units.readout), units.C.shape[1])
        if (about.name, units.count, units.heard) != (listed.name, listed.count, listed.heard):
            problem = problem or "it is another recording than its entry says"
        if strangers or problem:
            raise ValueError(problem or f"{min(strangers)} has no place in it")
        return Record(units, Known.restored(about, learned, rest))
    except CrugError:
        raise
    except Exception as error:  # of a program that signs what it made up, there is no telling which
        brief = str(error).splitlines()[-1] if str(error) else type(error).__name__
        raise CrugError(f"{where}: not what crug wrote ({listed.name}: {brief}); {DAMAGED}") from None


def _timed(learned: dict[str, Any], seconds: Sequence[float]) -> dict[str, Any]:
    """What is said of how a recording was learned, with the time that it took."""
    history = [{**outcome, "seconds": each} for outcome, each in zip(learned["history"], seconds[1:], strict=True)]
    return {**learned, "history": history, "seconds": seconds[0]}


def joined(kept: Sequence[Kept], put_together: Callable[[Sequence[Member]], Network]) -> Network:
    """The network that is put together of records. It is looked at before anything of a file is used."""
    where = next((one.where for one in kept if one.source), "")
    try:
        network = put_together([one.record.member for one in kept])
    except (CrugError, IndexError, KeyError, ValueError) as error:
        raise CrugError(f"{where or 'the model'}: not what crug wrote ({kept[-1].name}: {error}); {DAMAGED}") from None
    return read_network(to_arrays(network), where, DAMAGED) if where else network


class Family:
    """A record with those that it hears, as a small network."""

    def __init__(self, kept: Sequence[Kept]):
        self.kept = tuple(kept)

    @property
    def number(self) -> int:
        """Of the record in question: it is the last one."""
        return len(self.kept) - 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.kept)

    @cached_property
    def network(self) -> Network:
        return joined(self.kept, family)

    def change(self) -> str:
        """In what the record is not what was learned; an empty text if in nothing."""
        try:
            same = self.kept[-1].record.known.unchanged(self.network, self.number)
        except CrugError as error:
            return error.what
        return "" if same else "its parameters or its rollout are other bits"
