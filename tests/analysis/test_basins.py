"""Limit sets that are known, and which starts reach them."""

import numpy as np
import pytest

from analysis.by_hand import made, tent, turning
from crug.analysis.basins import CHAOS, CYCLE, DIVERGENT, FIXED, LOOP, TORUS, UNKNOWN, basins, kind_of, limit_set
from crug.analysis.lyapunov import Exponents, spectrum
from crug.analysis.maps import Map


def two_wells() -> Map:
    """x' = 2 x, cut at -2 and 2; two more units are x - 1 and -x - 1, which rectify."""
    x = np.array([2.0, -2.0, 2.0])
    return made(np.zeros(3), [x, x, -x], [0, -1, -1], [False, True, True])


def started(x: np.ndarray) -> np.ndarray:
    return np.stack([x, x - 1, -x - 1], axis=1)


@pytest.mark.parametrize(
    ("system", "z0", "kind", "words"),
    [
        (made([0.5], [[0.0]], [1.0], [False]), [0.0], FIXED, "a fixed point"),
        (made([0.3], [[-2.3]], [1.0], [True]), [0.1], CYCLE, "a cycle of 2 samples"),
        (tent(1.9), [0.1, -0.1], CHAOS, "a chaotic attractor"),
        (made([1.5], [[0.0]], [1.0], [False]), [0.1], DIVERGENT, "divergent: rollouts run away"),
    ],
)
def test_what_rollouts_end_on(system, z0, kind, words):
    states = system.run(np.array([z0]), 9_000)[0]
    found = limit_set(system, states, spectrum(system, np.array([z0]), steps=(5_000, 100)))
    assert (found.kind, found.words) == (kind, words)
    assert (found.orbit is not None) == (kind in (FIXED, CYCLE))


def test_loops_and_tori_are_told_by_the_zeros_among_their_exponents():
    errors, x = np.full(3, 1e-4), np.sin(0.1 * np.arange(20_000))[:, None]
    assert kind_of(Exponents(np.array([1e-5, -0.1, -0.2]), errors), x) == LOOP
    assert kind_of(Exponents(np.array([2e-5, -1e-5, -0.2]), errors), x) == TORUS
    assert kind_of(Exponents(np.array([1e-2, -1e-5, -0.2]), errors), x) == CHAOS
    assert kind_of(Exponents(np.array([-1e-3, -0.1, -0.2]), errors), x) == LOOP  # it closes after very many samples


def test_exponents_that_allow_no_answer_give_none():
    x = np.sin(0.1 * np.arange(20_000))[:, None]
    assert kind_of(Exponents(np.array([0.02, -0.1]), np.array([0.0075, 0.001])), x) == UNKNOWN
    for growth in (0.9998, 0.99999):  # so slowly that it is still turning when it is looked at
        system, z0 = turning(growth), np.array([[1.0, 0.0]])
        found = limit_set(system, system.run(z0, 25_000)[0], spectrum(system, z0))
        assert found.kind == UNKNOWN
        assert found.words.startswith("undecided")


def test_starts_on_either_side_reach_a_well_of_their_own():
    system = two_wells()
    main = limit_set(system, system.run(started(np.array([0.1])), 100)[0])
    found = basins(system, started(np.array([0.3, 1.0, 2.5, 0.2, -0.4])), main)
    assert [(basin.limit.kind, basin.share) for basin in found] == [(FIXED, 0.8), (FIXED, 0.2)]
    assert [basin.limit.orbit.states[0, 0] for basin in found if basin.limit.orbit] == pytest.approx([2, -2])


def test_all_chaotic_rollouts_are_on_the_same_attractor():
    system = tent(1.9)
    z0 = np.array([[0.1, -0.1], [0.4, -0.4], [-0.3, 0.3]])
    main = limit_set(system, system.run(z0[:1], 16_000)[0], spectrum(system, z0[:1], steps=(2_000, 0)))
    found = basins(system, np.concatenate([z0, [[9.0, -9.0]]]), main)
    assert [(basin.limit.kind, basin.share) for basin in found] == [(CHAOS, 0.75), (DIVERGENT, 0.25)]
    assert found[0].limit is main
