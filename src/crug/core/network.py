"""The almost-linear recurrent network as data: parameters, unit kinds, ledger, encoder, readouts.

| paper | here | shape | meaning |
|---|---|---|---|
| a | `a` | (M,) | diagonal of A |
| W | `W` | (M, M) | recurrent weights, [target, source] |
| C | `C` | (M, Q) | input weights |
| h | `h` | (M,) | biases |
| B | `B` | (M, N_max) | fixed encoder, shared by all tasks |
| Phi* | `relu` | (M,) | which units rectify |
| U_committed | `owner` | (M,) | the ledger: -1 is free, otherwise the index of the owning task |
| D_k | `readouts[k]` | (N_k,) | the units whose states are task k's observation |
| D_k | `decoders[k]` | (M, 3) | for a task of trials: what its outputs are made of instead; (M, 0) otherwise |
| | `noises[k]` | | what a rollout of task k may be disturbed by (`core/noise.py`); None where it has no noise |
| | `gains[k]` | | how closely task k follows the context of a forecast (`core/following.py`) |

`runs[k]` lists, in ascending order, every unit that has to be computed for a rollout of task k: its own units and those
of all tasks it draws on. It is fixed when the task is committed, which is what makes later rollouts the same bits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int32, Integer
from scipy.sparse.linalg import svds

from crug.core.dynamics import System, floors
from crug.core.noise import Noise

FREE = -1
PER_TASK = ("readouts", "runs", "decoders", "noises", "gains")
GAIN = 0.2
"""Of a task for which none was chosen."""
LARGE = 2_048
"""Units beyond which the largest eigenvalue alone is computed: all of them would take minutes."""
Units = Integer[np.ndarray, " _"]


@dataclass(frozen=True)
class Network:
    """All units with their parameters, who owns them, and how each task is read out of them."""

    a: Float32[np.ndarray, " M"]
    W: Float32[np.ndarray, "M M"]
    C: Float32[np.ndarray, "M Q"]
    h: Float32[np.ndarray, " M"]
    B: Float32[np.ndarray, "M N"]
    relu: Bool[np.ndarray, " M"]
    owner: Int32[np.ndarray, " M"]
    readouts: tuple[np.ndarray, ...] = ()
    runs: tuple[np.ndarray, ...] = ()
    decoders: tuple[np.ndarray, ...] = ()
    noises: tuple[Noise | None, ...] = ()
    gains: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        return len(self.a)

    def free(self) -> np.ndarray:
        return np.flatnonzero(self.owner == FREE)

    def committed(self) -> np.ndarray:
        return np.flatnonzero(self.owner != FREE)

    def used(self) -> np.ndarray:
        """Every unit that some task needs."""
        return np.unique(np.concatenate([*self.runs, np.array([], np.int32)]))

    def system(self, units: Units, readout: Units) -> System:
        """The units, in ascending order, as they run by themselves; `readout` are those that are read out."""
        return System(
            a=self.a[units],
            W=self.W[np.ix_(units, units)],
            C=self.C[units],
            h=self.h[units],
            floor=floors(self.relu[units]),
            encoder=self.B[units, : len(readout)],
            readout=np.searchsorted(units, readout),
        )

    def task_system(self, task: int) -> System:
        """What task number `task` runs on: only the units that it needs, in an order and shape that never change."""
        return self.system(self.runs[task], self.readouts[task])

    def units_of(self, task: int) -> dict[str, int]:
        """How many units of each kind a task has: its own, or, where units are shared, all that it uses."""
        if task >= len(self.runs):
            return {"linear": 0, "relu": 0}
        units = self.runs[task]
        relu = self.relu[units[np.isin(self.owner[units], (task, FREE))]]
        return {"linear": int((~relu).sum()), "relu": int(relu.sum())}


def create(M: int, P: int, n_max: int, rng: np.random.Generator) -> Network:
    """A new network for recordings (appendix A.1): the last P units rectify, W = C = h = 0."""
    bound = 1 / np.sqrt(n_max)
    return Network(
        a=_diagonal(rng.standard_normal((M, M))).astype(np.float32),
        W=np.zeros((M, M), np.float32),
        C=np.zeros((M, 0), np.float32),
        h=np.zeros(M, np.float32),
        B=rng.uniform(-bound, bound, (M, n_max)).astype(np.float32),
        relu=np.arange(M) >= M - P,
        owner=np.full(M, FREE, np.int32),
    )


def _diagonal(gaussian: np.ndarray) -> np.ndarray:
    """The diagonal of G G' as a part of its largest eigenvalue."""
    if len(gaussian) <= LARGE:
        spd = gaussian @ gaussian.T
        return np.diag(spd) / np.linalg.eigvalsh(spd)[-1]
    how: dict[str, Any] = {"v0": np.ones(len(gaussian)), "tol": 1e-4, "return_singular_vectors": False}
    largest = np.asarray(svds(gaussian, 1, **how))[0]
    return np.einsum("ij,ij->i", gaussian, gaussian) / largest**2


def create_for_trials(M: int, P: int, inputs: int, rng: np.random.Generator) -> Network:
    """A new network for tasks of trials (appendix A.10)."""
    empty = np.zeros((M, 0), np.float32)
    network = Network(
        a=np.zeros(M, np.float32),
        W=np.zeros((M, M), np.float32),
        C=np.zeros((M, inputs), np.float32),
        h=np.zeros(M, np.float32),
        B=empty,
        relu=np.arange(M) >= M - P,
        owner=np.full(M, FREE, np.int32),
    )
    return recycle_for_trials(network, rng)


def commit(
    network: Network,
    units: np.ndarray,
    readout: np.ndarray,
    parameters: dict[str, np.ndarray],
    feeders: np.ndarray,
    decoder: np.ndarray | None = None,
) -> Network:
    """Give `units` to the next task. `parameters` are gate-absorbed: a (n,), W (n, n), h (n,), C (n, Q) and the
    transfer block V (n, len(feeders)). The rows of units that were committed before are not touched."""
    task = len(network.readouts)
    a, W, C, h, owner = (x.copy() for x in (network.a, network.W, network.C, network.h, network.owner))
    a[units], h[units], C[units] = parameters["a"], parameters["h"], parameters["C"]
    W[units] = 0
    W[np.ix_(units, units)] = parameters["W"]
    W[np.ix_(units, feeders)] = parameters["V"]
    owner[units] = task
    used = feeders[np.any(parameters["V"] != 0, axis=0)]
    sources = [network.runs[k] for k in np.unique(network.owner[used])]
    runs = np.unique(np.concatenate([units, *sources])).astype(np.int32)
    return replace(
        network,
        a=a,
        W=W,
        C=C,
        h=h,
        owner=owner,
        readouts=(*network.readouts, np.asarray(readout, np.int32)),
        runs=(*network.runs, runs),
        decoders=(*network.decoders, _decoder(network, decoder) * (owner == task)[:, None]),
        noises=(*network.noises, None),
        gains=(*network.gains, GAIN),
    )


def _decoder(network: Network, decoder: np.ndarray | None) -> np.ndarray:
    return np.zeros((network.size, 0), np.float32) if decoder is None else np.asarray(decoder, np.float32)


def share(
    network: Network,
    units: np.ndarray,
    readouts: Sequence[np.ndarray],
    parameters: dict[str, np.ndarray],
    decoder: np.ndarray | None = None,
) -> Network:
    """Write `units` back as tasks left them, and read the next tasks out of them. Nobody owns them: any later task may
    change them again."""
    a, W, C, h = (x.copy() for x in (network.a, network.W, network.C, network.h))
    a[units], h[units], C[units] = parameters["a"], parameters["h"], parameters["C"]
    W[np.ix_(units, units)] = parameters["W"]
    runs = np.asarray(units, np.int32)
    return replace(
        network,
        a=a,
        W=W,
        C=C,
        h=h,
        readouts=(*network.readouts, *(np.asarray(r, np.int32) for r in readouts)),
        runs=(*network.runs, *(runs for _ in readouts)),
        decoders=(*network.decoders, *(_decoder(network, decoder) for _ in readouts)),
        noises=(*network.noises, *(None for _ in readouts)),
        gains=(*network.gains, *(GAIN for _ in readouts)),
    )


def with_noise(network: Network, task: int, noise: Noise | None) -> Network:
    """The network in which task number `task` carries this noise."""
    return replace(network, noises=tuple(noise if k == task else old for k, old in enumerate(network.noises)))


def with_gain(network: Network, task: int, gain: float) -> Network:
    """The network in which task number `task` follows a context with this gain."""
    return replace(network, gains=tuple(gain if k == task else old for k, old in enumerate(network.gains)))


def recycle(network: Network, rng: np.random.Generator) -> Network:
    """Reinitialise every free unit for the next recording (appendix A.1, 'Reinitialization during recycling')."""
    free = network.free()
    a, W, C, h = _silenced(network, free)
    a[free] = rng.uniform(0.3, 0.9, len(free))
    return replace(network, a=a, W=W, C=C, h=h)


def recycle_for_trials(network: Network, rng: np.random.Generator) -> Network:
    """Bring every free unit back to the untrained state of a network for trials (appendix A.10)."""
    free = network.free()
    a, W, C, h = _silenced(network, free)
    a[free] = rng.normal(0.9, 0.1, len(free))
    W[np.ix_(free, free)] = rng.normal(0, 0.1 / np.sqrt(network.size), (len(free), len(free)))
    C[free] = rng.normal(0, 0.1, (len(free), network.C.shape[1]))
    return replace(network, a=a, W=W, C=C, h=h)


def _silenced(network: Network, units: Units) -> tuple[np.ndarray, ...]:
    """Copies of a, W, C and h in which nothing enters or leaves the units."""
    a, W, C, h = (x.copy() for x in (network.a, network.W, network.C, network.h))
    W[units, :] = W[:, units] = 0
    C[units], h[units] = 0, 0
    return a, W, C, h


def release(network: Network, task: int, rng: np.random.Generator) -> Network:
    """Give back the units of a task that no other one draws on, and forget it. The others keep every bit."""
    owner = np.where(network.owner == task, FREE, network.owner)
    owner[owner > task] -= 1
    kept = [k for k in range(len(network.readouts)) if k != task]
    left = {name: tuple(getattr(network, name)[k] for k in kept) for name in PER_TASK}
    return recycle(replace(network, owner=owner, **left), rng)


def widen(network: Network, dim: int, rng: np.random.Generator) -> Network:
    """An encoder for observations of at least `dim` dimensions; the columns that earlier tasks use stay as they are."""
    have = network.B.shape[1]
    if dim <= have:
        return network
    bound = 1 / np.sqrt(dim)
    more = rng.uniform(-bound, bound, (network.size, dim - have)).astype(np.float32)
    return replace(network, B=np.concatenate([network.B, more], axis=1))


def open_inputs(network: Network, inputs: int) -> Network:
    """Room for at least so many inputs; nothing that was learned hears the new ones."""
    more = max(0, inputs - network.C.shape[1])
    return replace(network, C=np.pad(network.C, ((0, 0), (0, more))))


def grow(network: Network, linear: int, relu: int, rng: np.random.Generator) -> Network:
    """As many more free units of each kind, behind the others; no other number changes."""
    n = linear + relu
    bound = 1 / np.sqrt(max(1, network.B.shape[1]))
    return replace(
        network,
        a=np.concatenate([network.a, rng.uniform(0.3, 0.9, n).astype(np.float32)]),
        W=np.pad(network.W, ((0, n), (0, n))),
        C=np.pad(network.C, ((0, n), (0, 0))),
        h=np.pad(network.h, (0, n)),
        B=np.concatenate([network.B, rng.uniform(-bound, bound, (n, network.B.shape[1])).astype(np.float32)]),
        relu=np.concatenate([network.relu, np.arange(n) >= linear]),
        owner=np.concatenate([network.owner, np.full(n, FREE, np.int32)]),
        decoders=tuple(np.pad(decoder, ((0, n), (0, 0))) for decoder in network.decoders),
    )


def alone(network: Network, task: int) -> Network:
    """The small network of one task: the units that it needs, renumbered, and nothing else."""
    units = network.runs[task]
    readout, C = np.searchsorted(units, network.readouts[task]).astype(np.int32), network.C[units]
    everyone = np.arange(len(units), dtype=np.int32)
    return Network(
        a=network.a[units],
        W=network.W[np.ix_(units, units)],
        C=C[:, : 1 + max(np.flatnonzero(C.any(axis=0)), default=-1)],  # later tasks may have more inputs
        h=network.h[units],
        B=network.B[units, : len(readout)],
        relu=network.relu[units],
        owner=np.zeros(len(units), np.int32),
        readouts=(readout,),
        runs=(everyone,),
        decoders=(network.decoders[task][units],),
        noises=(network.noises[task],),
        gains=(network.gains[task],),
    )


def to_arrays(network: Network) -> dict[str, np.ndarray]:
    """Everything as named arrays, ready to be stored."""
    arrays = {name: getattr(network, name) for name in ("a", "W", "C", "h", "B", "relu", "owner")}
    for k, (readout, runs) in enumerate(zip(network.readouts, network.runs, strict=True)):
        arrays[f"readout.{k}"], arrays[f"runs.{k}"] = readout, runs
        if network.decoders[k].shape[1]:
            arrays[f"decoder.{k}"] = network.decoders[k]
        if (noise := network.noises[k]) is not None:
            arrays |= {f"noise.{k}.{name}": np.asarray(value) for name, value in noise._asdict().items()}
        if network.gains[k] != GAIN:
            arrays[f"gain.{k}"] = np.float64(network.gains[k])
    return arrays


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Network:
    """The network that `to_arrays` took apart."""
    tasks = range(sum(name.startswith("readout.") for name in arrays))
    fields = {name: arrays[name] for name in ("a", "W", "C", "h", "B", "relu", "owner")}
    nothing = np.zeros((len(fields["a"]), 0), np.float32)
    return Network(
        **fields,
        readouts=tuple(arrays[f"readout.{k}"] for k in tasks),
        runs=tuple(arrays[f"runs.{k}"] for k in tasks),
        decoders=tuple(arrays.get(f"decoder.{k}", nothing) for k in tasks),
        noises=tuple(_noise(arrays, f"noise.{k}.") for k in tasks),
        gains=tuple(float(arrays.get(f"gain.{k}", GAIN)) for k in tasks),
    )


def _noise(arrays: Mapping[str, np.ndarray], prefix: str) -> Noise | None:
    found = {name: arrays[prefix + name] for name in Noise._fields if prefix + name in arrays}
    return Noise(**found) if found else None
