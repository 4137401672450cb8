"""A recording that was learned, as a record that nothing ever touches again; and networks put together of such records.

A record has the parameters of its own units only. Where it listens to other recordings, it names them, and says which
of their units run with its own and in which order. A model is a list of records, so it grows with what was learned, and
not with its square. The dense network of the paper is put together where somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from crug.core.network import GAIN, Network
from crug.core.noise import Noise
from crug.errors import CrugError
from crug.model.known import Known

PARTS = ("a", "W", "C", "h", "B", "relu", "readout")
"""The arrays that every record has."""


@dataclass(frozen=True)
class Units:
    """The units of one recording, n of them, with N readouts. In a rollout r units run: these, and those heard.

    Parameters
    ----------
    a, h, relu : (n,) as in `crug.core.network.Network`.
    W : (n, r) what the units hear from all that run, in the order in which they run.
    C : (n, Q) what they hear from the inputs.
    B : (r, N) the encoder of all that run.
    readout : (N,) which of the n units are read out.
    heard : the names of the recordings whose units run too; each stands behind those that it hears itself.
    owner : (r,) whose unit this is: a number in `heard`, or, of its own units, the number after the last.
    unit : (r,) its number among the units of that recording.
    noise, gain : as in `crug.core.network.Network`.
    """

    a: np.ndarray
    W: np.ndarray
    C: np.ndarray
    h: np.ndarray
    B: np.ndarray
    relu: np.ndarray
    readout: np.ndarray
    heard: tuple[str, ...]
    owner: np.ndarray
    unit: np.ndarray
    noise: Noise | None = None
    gain: float = GAIN

    @property
    def count(self) -> dict[str, int]:
        """How many units of each kind there are."""
        relu = int(self.relu.sum())
        return {"linear": len(self.relu) - relu, "relu": relu}

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything but the names, ready to be stored. What follows from the rest is left out."""
        found: dict[str, np.ndarray] = {name: getattr(self, name) for name in PARTS}
        if self.heard:
            found |= {"owner": self.owner, "unit": self.unit}
        if self.noise is not None:
            found |= {f"noise.{name}": np.asarray(value) for name, value in self.noise._asdict().items()}
        return found if self.gain == GAIN else {**found, "gain": np.asarray(self.gain, np.float64)}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray], heard: Sequence[str]) -> Units:
        """What `arrays` took apart. Whether they fit each other is seen when a network is put together of them."""
        noise = {name: arrays[f"noise.{name}"] for name in Noise._fields if f"noise.{name}" in arrays}
        alone = {"owner": np.zeros(len(arrays["a"]), np.int32), "unit": np.arange(len(arrays["a"]), dtype=np.int32)}
        return cls(
            **{name: arrays[name] for name in PARTS},
            heard=tuple(heard),
            owner=arrays["owner"] if heard else alone["owner"],
            unit=arrays["unit"] if heard else alone["unit"],
            noise=Noise(**noise) if noise else None,
            gain=float(arrays.get("gain", GAIN)),
        )

    def misfit(self) -> str:
        """In which way arrays from a file cannot be those of one record; what a network checks is left to it."""
        n, r = len(self.relu), len(self.owner)
        shapes = {"a": (n,), "h": (n,), "relu": (n,), "W": (n, r), "B": (r, len(self.readout)), "unit": (r,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                return f"{name} has the shape {getattr(self, name).shape}"
        if self.readout.ndim != 1 or self.C.ndim != 2 or len(self.C) != n:
            return "its units do not fit each other"
        kinds = dict.fromkeys(("a", "W", "C", "h", "B"), "float32") | {"relu": "bool"}
        for name, kind in kinds.items():
            if getattr(self, name).dtype != kind:
                return f"{name} holds {getattr(self, name).dtype}"
        places = (self.owner, self.unit, self.readout)
        if any(place.dtype != np.int32 for place in places) or min(place.min(initial=0) for place in places) < 0:
            return "its units have no numbers"
        own = self.unit[self.owner == len(self.heard)]
        if sorted(own) != list(range(n)) or self.owner.max(initial=0) > len(self.heard):
            return "it does not run on its own units"
        if self.readout.max(initial=0) >= n or len(set(self.heard)) < len(self.heard):
            return "it is read out of other units, or hears another twice"
        return ""


@dataclass(frozen=True)
class Record:
    """What a model keeps of a recording: its units, and what is known of it."""

    units: Units
    known: Known

    @property
    def name(self) -> str:
        return self.known.name

    @property
    def member(self) -> Member:
        return Member(self.name, self.units)


class Member(NamedTuple):
    """Units that are put together with others, and the name by which these know them."""

    name: str
    units: Units


def family(members: Sequence[Member]) -> Network:
    """A record, the last one, with those that it hears, as a small network: all that its rollouts need.

    Its units run in the order that they had when it was learned, which is what makes rollouts the same bits for ever.
    """
    last = members[-1].units
    found = together(members, last.owner, last.unit)
    B = found.B.copy()
    B[:, : last.B.shape[1]] = last.B
    return replace(found, B=B)


def whole(members: Sequence[Member]) -> Network:
    """All records in one network, one after another: the paper's view."""
    sizes = [len(one.units.a) for one in members]
    owner = np.repeat(np.arange(len(members), dtype=np.int32), sizes)
    return together(members, owner, np.concatenate([np.arange(0), *map(np.arange, sizes)]))


def together(members: Sequence[Member], owner: np.ndarray, unit: np.ndarray) -> Network:
    """The network of these records whose units lie as `owner` and `unit` say: of whom, and which one.

    Encoders are the units' own; beyond their own dimensions, those of the first record that hears them.
    """
    units, size = [one.units for one in members], len(owner)
    numbers = {one.name: k for k, one in enumerate(members)}
    places = [np.zeros(len(one.a), np.int64) for one in units]
    for k, place in enumerate(places):
        place[unit[owner == k]] = np.flatnonzero(owner == k)
    runs = [_run(one, k, numbers, places) for k, one in enumerate(units)]
    a, h = np.zeros(size, np.float32), np.zeros(size, np.float32)
    W, relu = np.zeros((size, size), np.float32), np.zeros(size, bool)
    C = np.zeros((size, max((one.C.shape[1] for one in units), default=0)), np.float32)
    B = np.zeros((size, max((one.B.shape[1] for one in units), default=0)), np.float32)
    drawn = np.zeros(B.shape, bool)
    for k, one in enumerate(units):
        at = places[k]
        a[at], h[at], relu[at] = one.a, one.h, one.relu
        W[np.ix_(at, runs[k])], C[at, : one.C.shape[1]] = one.W, one.C
        own, dim = one.owner == len(one.heard), one.B.shape[1]
        B[runs[k][own], :dim], drawn[runs[k][own], :dim] = one.B[own], True
    for one, run in zip(units, runs, strict=True):
        dim = one.B.shape[1]
        new = ~drawn[run, :dim]
        B[run, :dim] = np.where(new, one.B, B[run, :dim])
        drawn[run, :dim] = True
    return Network(
        a=a,
        W=W,
        C=C,
        h=h,
        B=B,
        relu=relu,
        owner=np.asarray(owner, np.int32),
        readouts=tuple(place[one.readout].astype(np.int32) for place, one in zip(places, units, strict=True)),
        runs=tuple(np.sort(run).astype(np.int32) for run in runs),
        decoders=tuple(np.zeros((size, 0), np.float32) for _ in units),
        noises=tuple(one.noise for one in units),
        gains=tuple(one.gain for one in units),
    )


def _run(one: Units, number: int, numbers: Mapping[str, int], places: Sequence[np.ndarray]) -> np.ndarray:
    """Where the units that run with record `number` lie, in the order in which they run."""
    members = [*(numbers[name] for name in one.heard), number]
    found = np.zeros(len(one.owner), np.int64)
    for j, member in enumerate(members):
        mine = one.owner == j
        if mine.any() and one.unit[mine].max() >= len(places[member]):
            raise CrugError("a record hears units that there are not")
        found[mine] = places[member][one.unit[mine]]
    return found


def cut(network: Network, number: int, names: Sequence[str], inputs: int) -> Units:
    """The units of task `number` of a network, `names` of whose tasks come before it, apart from the rest."""
    run = np.asarray(network.runs[number])
    own = run[network.owner[run] == number]
    heard = [int(k) for k in np.unique(network.owner[run]) if k != number]
    owner, unit = np.full(len(run), len(heard), np.int32), np.searchsorted(own, run).astype(np.int32)
    for j, k in enumerate(heard):
        mine = network.owner[run] == k
        owner[mine] = j
        unit[mine] = np.searchsorted(np.flatnonzero(network.owner == k), run[mine])
    C = np.pad(network.C[own], ((0, 0), (0, max(0, inputs - network.C.shape[1]))))
    channels = max(inputs, 1 + int(max(np.flatnonzero(C.any(axis=0)), default=-1)))
    return Units(
        a=network.a[own],
        W=network.W[np.ix_(own, run)],
        C=C[:, :channels],
        h=network.h[own],
        B=network.B[run, : len(network.readouts[number])],
        relu=network.relu[own],
        readout=np.searchsorted(own, network.readouts[number]).astype(np.int32),
        heard=tuple(names[k] for k in heard),
        owner=owner,
        unit=unit,
        noise=network.noises[number],
        gain=network.gains[number],
    )
