"""Where a network ends up: from many starts, which limit set each reaches, and what kind of set it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crug.analysis.cycles import APART, Orbit, closed
from crug.analysis.lyapunov import Exponents, spectrum
from crug.analysis.maps import Map

STEPS, LOOKED_AT, LONGEST = 8_000, 8_000, 2_000
"""Steps of a rollout before it is looked at, steps while it is, and most samples of a cycle."""
TOGETHER = 20_000_000
"""Numbers that are held at a time, at most."""
SHORT = 10_000, 0
"""Steps by which the exponents of another attractor than the recording's are taken, and how many are dropped."""
FAR = 1e3
"""Standard deviations beyond which a rollout has run away."""
VAGUE = 1e-3
"""Of an exponent per sample, a standard error beyond which zero is not told from chaos. What moves regularly has
smaller ones."""
ALIKE, ERRORS, PARTS = 0.3, 3, 8
"""Two rollouts that go on for ever are on the same set where their means and spreads differ by less than this many
standard deviations, beside so many standard errors of each. Those follow from how so many parts of a rollout differ:
chaos that changes lobes now and then needs long for its mean."""
FIXED, CYCLE, LOOP, TORUS, CHAOS, DIVERGENT = "fixed point", "cycle", "limit cycle", "torus", "chaos", "divergent"
UNKNOWN = "undecided"


@dataclass(frozen=True)
class LimitSet:
    """What rollouts end on.

    Parameters
    ----------
    kind : "fixed point", "cycle" of some samples, "limit cycle" (a loop that samples never close exactly), "torus",
        "chaos", "divergent", or "undecided" where the exponents allow no answer.
    orbit : the fixed point or cycle itself, where it is one.
    about : (2 N,) means and spreads of what is read out, and their standard errors.
    """

    kind: str
    orbit: Orbit | None = None
    about: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def words(self) -> str:
        """What it is, for a reader."""
        if self.kind == CYCLE and self.orbit is not None:
            return f"a cycle of {self.orbit.order} samples"
        return {
            FIXED: "a fixed point",
            LOOP: "a limit cycle",
            TORUS: "a torus (several rhythms that do not lock)",
            CHAOS: "a chaotic attractor",
            DIVERGENT: "divergent: rollouts run away",
        }.get(self.kind, "undecided: not at rest, and not clearly periodic or chaotic")


@dataclass(frozen=True)
class Basin:
    """A limit set with the part of the starts that reach it."""

    limit: LimitSet
    share: float


def kind_of(exponents: Exponents, x: np.ndarray) -> str:
    """What a rollout that has neither stopped nor closed is on, by the signs of its exponents and what was read out of
    it, x (T, N).

    Where all exponents are negative it will stop or close, after more samples than were looked at: whether it still
    swings as far as before tells a loop from a fixed point that is approached slowly.
    """
    if not np.isfinite(exponents.values).all():
        return DIVERGENT
    signs, vague = exponents.signs, exponents.errors > VAGUE
    if signs[0] > 0:
        return CHAOS
    if signs[0] < 0:
        before, after = (part.std(axis=0).max() for part in np.array_split(x[len(x) // 2 :], 2))
        return LOOP if after > before * np.exp(exponents.largest * len(x) / 8) else UNKNOWN
    zeros = (signs == 0) & (np.cumsum(signs != 0) == 0)
    return UNKNOWN if vague[zeros].any() else TORUS if zeros.sum() > 1 else LOOP


def runs_away(system: Map, states: np.ndarray) -> bool:
    """Whether rollouts (..., T, n) have run away, at once or slowly."""
    return not np.isfinite(states).all() or bool(np.abs(states[..., -1, system.readout]).max() > FAR)


def limit_set(system: Map, states: np.ndarray, exponents: Exponents | None = None) -> LimitSet:
    """What a rollout (T, n) ends on. Without exponents, one that goes on for ever is undecided."""
    if runs_away(system, states):
        return LimitSet(DIVERGENT)
    about = _about(states[-LOOKED_AT:, system.readout])
    if (orbit := closed(system, states, min(LONGEST, len(states) - 1))) is not None:
        return LimitSet(FIXED if orbit.order == 1 else CYCLE, orbit, about)
    return LimitSet(UNKNOWN if exponents is None else kind_of(exponents, states[:, system.readout]), None, about)


def basins(system: Map, z0: np.ndarray, main: LimitSet) -> tuple[Basin, ...]:
    """The limit sets that rollouts from z0 (batch, n) reach, the most frequent first; `main` is that of the recording's
    own starts, which is named by it where another start reaches it too."""
    found: list[tuple[LimitSet, int]] = []
    parts = np.array_split(z0, max(1, len(z0) * system.size * LOOKED_AT // TOGETHER))
    for part in parts:
        with np.errstate(over="ignore", invalid="ignore"):
            rollouts = system.run(part, STEPS + LOOKED_AT, skip=STEPS - 1)
        for states in rollouts:
            one = limit_set(system, states)
            one = main if one.kind == UNKNOWN and _alike(one, main) else one
            same = next((i for i, (other, _) in enumerate(found) if _same(one, other)), None)
            if same is not None:
                found[same] = found[same][0], found[same][1] + 1
            elif one.kind == UNKNOWN:
                exponents = spectrum(system, states[-1:], steps=SHORT, count=4)
                found.append((replace(one, kind=kind_of(exponents, states[:, system.readout])), 1))
            else:
                found.append((one, 1))
    ordered = sorted(found, key=lambda pair: -pair[1])
    return tuple(Basin(limit, count / len(z0)) for limit, count in ordered)


def _about(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and spreads of x (T, N), and their standard errors."""
    parts = np.array_split(x, PARTS)
    of_parts = np.stack([np.concatenate([part.mean(axis=0), part.std(axis=0)]) for part in parts])
    return np.concatenate([x.mean(axis=0), x.std(axis=0)]), of_parts.std(axis=0, ddof=1) / np.sqrt(PARTS)


def _alike(one: LimitSet, other: LimitSet) -> bool:
    if one.about is None or other.about is None:
        return False
    (values, errors), (others, their_errors) = one.about, other.about
    return bool((np.abs(values - others) < ALIKE + ERRORS * np.hypot(errors, their_errors)).all())


def _same(one: LimitSet, other: LimitSet) -> bool:
    if one is other or (one.kind == other.kind == DIVERGENT):
        return True
    if one.orbit is not None and other.orbit is not None:
        same = one.orbit.order == other.orbit.order
        return same and bool(np.abs(one.orbit.states - other.orbit.states).max() < 100 * APART)
    return one.orbit is other.orbit is None and _alike(one, other)
