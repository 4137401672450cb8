"""Fixed points and cycles of a network, exactly.

In each linear region the step is affine, so a cycle of k samples through a given sequence of k regions is the solution
of one linear system; it exists if each of its states lies in the region that it was solved for. Where there are few
sequences all are tried. Otherwise random ones are, and a solution that lies elsewhere leads on: the regions that it
would visit are tried next (SCYFI: Eisenmann, Monfared, Goering, Durstewitz 2023). That search is quick and usually
finds all, but it cannot promise to.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from crug.analysis.maps import Map

ALL = 4_096
"""Sequences of regions up to which all are tried."""
TRIES, ROUNDS = 2_048, 30
"""Random sequences that a search begins with, and how often each may lead on to another."""
WORK, FEWEST = 3e8, 4
"""Multiplications in the first round of a search, about: large networks have fewer tries, but so many at least."""
TOGETHER = 2_000_000
"""Numbers in the matrices that are held at a time, where one alone has not more."""
CLOSE = 1e-8
"""How far, in parts of its size, a state of a cycle may be from where one step leads."""
APART = 1e-5
"""In parts of their size, by how much two states have to differ to be two."""


@dataclass(frozen=True)
class Orbit:
    """A fixed point, or a cycle of several samples.

    Parameters
    ----------
    states : (k, n) the states of all units, one after another.
    multipliers : (n,) eigenvalues of the Jacobian of k steps, the largest first.
    error : by how much one step misses the next state, at most.
    """

    states: np.ndarray
    multipliers: np.ndarray
    error: float

    @property
    def order(self) -> int:
        """How many samples it has."""
        return len(self.states)

    @property
    def stable(self) -> bool:
        """Whether states nearby come nearer."""
        return bool(np.abs(self.multipliers[0]) < 1)

    @property
    def kind(self) -> str:
        """In words: stable or not, and whether states nearby spiral (focus) or not."""
        leading = self.multipliers[0]
        turning = abs(leading.imag) > 1e-9
        if self.stable:
            return "stable focus" if turning else "stable node"
        if turning:
            return "unstable focus"
        return "saddle" if np.abs(self.multipliers[-1]) < 1 else "unstable node"

    @property
    def leading(self) -> str:
        """In words, what the largest multiplier does to states nearby."""
        value, each = self.multipliers[0], "sample" if self.order == 1 else "turn"
        way = ", turning" if abs(value.imag) > 1e-9 else ", changing sides" if value.real < 0 else ""
        return f"distances times {abs(value):.3g} a {each}{way}"


@dataclass(frozen=True)
class Orbits:
    """All that were found, the shortest first; `complete` are the orders of which none can be missing."""

    found: tuple[Orbit, ...]
    complete: tuple[int, ...]

    def of(self, order: int) -> list[Orbit]:
        """Those of so many samples."""
        return [orbit for orbit in self.found if orbit.order == order]


def find_orbits(system: Map, most: int = 1, seen: np.ndarray | None = None, seed: int = 0) -> Orbits:
    """Fixed points and all cycles of up to `most` samples. A search also begins with the regions (T, P) that a rollout
    has `seen`."""
    found: list[Orbit] = []
    complete = []
    for order in range(1, most + 1):
        if system.rectifying * order <= np.log2(ALL):
            new = enumerated(system, order)
            complete.append(order)
        else:
            new = searched(system, order, seen, np.random.default_rng([seed, order]))
        found += new
    return Orbits(tuple(found), tuple(complete))


def enumerated(system: Map, order: int) -> list[Orbit]:
    """All cycles of so many samples."""
    P = system.rectifying
    codes = np.arange(2 ** (P * order))
    bits = (codes[:, None] >> np.arange(P * order)) & 1
    patterns = bits.reshape(len(codes), order, P).astype(bool)
    return _distinct(
        orbit for part in _parts(system, patterns) for orbit in _valid(system, part, solved(system, part))[0]
    )


def _parts(system: Map, patterns: np.ndarray) -> list[np.ndarray]:
    """Sequences of regions in parts whose matrices are held at a time."""
    return np.array_split(patterns, max(1, len(patterns) * system.size**2 // TOGETHER))


def searched(
    system: Map, order: int, seen: np.ndarray | None = None, rng: np.random.Generator | None = None
) -> list[Orbit]:
    """Cycles of so many samples that a random search finds."""
    rng = np.random.default_rng(0) if rng is None else rng
    P = system.rectifying
    tries = int(np.clip(WORK / (order * system.size**3), FEWEST, TRIES))
    patterns = rng.random((tries, order, P)) < rng.random((tries, 1, 1))
    if seen is not None and len(seen) >= order:
        begins = np.unique(np.linspace(0, len(seen) - order, tries).astype(int))
        some = np.stack([seen[i : i + order] for i in begins])
        patterns = np.concatenate([np.unique(some, axis=0), patterns])
    found: list[Orbit] = []
    tried: set[bytes] = set()
    for _ in range(ROUNDS):
        patterns = _untried(patterns, tried)
        if not len(patterns):
            break
        leading = []
        for part in _parts(system, patterns):
            z = solved(system, part)
            orbits, actual = _valid(system, part, z)
            found += orbits
            leading.append(actual[np.isfinite(z).all(axis=1)])
        patterns = np.concatenate(leading)
    return _distinct(found)


def _untried(patterns: np.ndarray, tried: set[bytes]) -> np.ndarray:
    """Those sequences that are new, and from now on are not."""
    fresh = []
    for i, key in enumerate(np.packbits(patterns.reshape(len(patterns), -1), axis=1)):
        if (code := key.tobytes()) not in tried:
            tried.add(code)
            fresh.append(i)
    return patterns[fresh]


def solved(system: Map, patterns: np.ndarray) -> np.ndarray:
    """For each sequence of regions (batch, k, P) the state (batch, n) that k steps through them would bring back, not
    a number where there is none."""
    M = system.jacobian(patterns[:, 0])
    c = np.broadcast_to(system.h[:, None], (*M.shape[:2], 1))
    for k in range(1, patterns.shape[1]):
        J = system.jacobian(patterns[:, k])
        M, c = J @ M, J @ c + system.h[:, None]
    away = np.eye(system.size) - M
    try:
        return np.linalg.solve(away, c)[..., 0]
    except np.linalg.LinAlgError:
        return np.array([_one_solved(*pair) for pair in zip(away, c[..., 0], strict=True)])


def _one_solved(away: np.ndarray, c: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(away, c)
    except np.linalg.LinAlgError:
        return np.full(len(c), np.nan)


def _valid(system: Map, patterns: np.ndarray, z: np.ndarray) -> tuple[list[Orbit], np.ndarray]:
    """The cycles among solutions z (batch, n), and the regions (batch, k, P) that they really visit."""
    states, actual = [np.nan_to_num(z)], []
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(patterns.shape[1]):
            actual.append(system.pattern(states[-1]))
            states.append(np.einsum("bij,bj->bi", system.jacobian(patterns[:, k]), states[-1]) + system.h)
        real = np.stack(actual, axis=1)
        whole = np.stack(states[:-1], axis=1)  # (batch, k, n)
        size = 1 + np.abs(whole).max(axis=(1, 2))
        steps = np.abs(system.step(whole) - np.roll(whole, -1, axis=1)).max(axis=(1, 2)) / size
        good = np.isfinite(z).all(axis=1) & (steps < CLOSE)
    orbits = [_orbit(system, whole[i], float(steps[i])) for i in np.flatnonzero(good)]
    return [orbit for orbit in orbits if _primitive(orbit)], real


def _orbit(system: Map, states: np.ndarray, error: float) -> Orbit:
    """From the state that comes first in order, so that a cycle is the same from wherever it was found."""
    first = min(range(len(states)), key=lambda i: tuple(np.round(states[i], 6)))
    states = np.roll(states, -first, axis=0)
    M = np.eye(system.size)
    for J in system.jacobian(system.pattern(states)):
        M = J @ M
    values = np.linalg.eigvals(M)
    return Orbit(states, values[np.argsort(-np.abs(values), kind="stable")], error)


def _primitive(orbit: Orbit) -> bool:
    """Whether it is not a shorter cycle gone through several times."""
    return all(not _same(orbit.states, np.roll(orbit.states, k, axis=0)) for k in divisors(orbit.order))


def divisors(number: int) -> Iterator[int]:
    """Those below the number itself."""
    return (k for k in range(1, number) if number % k == 0)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.abs(one - other).max() < APART * (1 + np.abs(one).max()))


def _distinct(orbits: Iterable[Orbit]) -> list[Orbit]:
    """Each once."""
    kept: list[Orbit] = []
    for orbit in orbits:
        turns = (np.roll(orbit.states, k, axis=0) for k in range(orbit.order))
        if not any(_same(other.states, turned) for other, turned in itertools.product(kept, list(turns))):
            kept.append(orbit)
    return kept


def closed(system: Map, states: np.ndarray, longest: int) -> Orbit | None:
    """The cycle that a rollout (T, n) has ended on, if it has: solved exactly in the regions of its last turn."""
    last = states[-1]
    size = 1 + np.abs(last).max()
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.abs(states[-1 - longest : -1] - last).max(axis=1)[::-1]
    near = np.flatnonzero(distance < 1e-6 * size)
    if not len(near):
        return None
    order = int(near[0]) + 1
    patterns = system.pattern(states[-1 - order : -1])[None]
    found, _ = _valid(system, patterns, solved(system, patterns))
    return found[0] if found and found[0].stable else None
