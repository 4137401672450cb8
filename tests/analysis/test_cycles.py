"""Fixed points and cycles that are known in closed form, and two ways to find them."""

import numpy as np
import pytest

from analysis.by_hand import made, tent, turning
from crug.analysis import cycles
from crug.analysis.cycles import closed, enumerated, find_orbits, searched
from crug.analysis.maps import Map


def two_units() -> Map:
    """x' = 1 - 2 x where x > 0 and 1 + 0.3 x elsewhere; the second unit only listens."""
    return made([0.3, 0.5], [[-2.3, 0], [1, 0]], [1, 0], [True, False])


def chua_like() -> Map:
    """x' = 0.5 x - y + h(x), y' = 0.8 x + 0.6 y, where h is 3 x cut at -3 and 3, as in Chua's diode; two more units are
    x - 1 and -x - 1, which rectify."""
    x = np.array([3.5, -1.0, -3.0, 3.0])
    return made(np.zeros(4), [x, [0.8, 0.6, 0, 0], x, -x], [0, 0, -1, -1], [False, False, True, True])


def drawn(seed: int) -> Map:
    """A random network of up to ten ReLU units."""
    rng = np.random.default_rng(seed)
    P, linear = int(rng.integers(1, 11)), int(rng.integers(1, 5))
    n = P + linear
    relu = np.arange(n) >= linear
    return made(rng.uniform(0.3, 0.9, n), rng.normal(0, 1.2 / np.sqrt(n), (n, n)), rng.normal(0, 1, n), relu)


def places(orbits) -> np.ndarray:
    return np.array(sorted(tuple(np.round(orbit.states[0], 6)) for orbit in orbits))


def test_all_fixed_points_and_cycles_of_a_tent_map():
    """2^k points come back after k steps, and none is stable."""
    orbits = find_orbits(tent(), 6)
    assert orbits.complete == (1, 2, 3, 4, 5, 6)
    assert [len(orbits.of(k)) for k in range(1, 7)] == [2, 1, 2, 3, 6, 9]
    assert sorted(float(orbit.states[0, 0]) for orbit in orbits.of(1)) == pytest.approx([-1, 1 / 3])
    assert sorted(orbits.of(2)[0].states[:, 0]) == pytest.approx([-0.2, 0.6])
    for orbit in orbits.found:
        x = orbit.states[:, 0]
        np.testing.assert_allclose(np.roll(x, -1), 1 - 2 * np.abs(x), atol=1e-9)
        assert abs(orbit.multipliers[0]) == pytest.approx(2.0**orbit.order)
        assert not orbit.stable


def test_a_cycle_of_two_units():
    system = two_units()
    fixed, cycle = find_orbits(system, 3).found
    assert fixed.states[0] == pytest.approx([1 / 3, 2 / 3])
    assert (fixed.kind, cycle.kind) == ("saddle", "stable node")
    assert cycle.order == 2
    assert sorted(cycle.states[:, 0]) == pytest.approx([-0.625, 0.8125])
    assert cycle.multipliers[0] == pytest.approx(-0.6)
    rollout = system.run(np.array([[0.1, 0.0]]), 400)[0]
    found = closed(system, rollout, 50)
    assert found is not None
    np.testing.assert_allclose(found.states, cycle.states, atol=1e-9)
    assert closed(tent(), tent().run(np.array([[0.1, -0.1]]), 40)[0], 20) is None


def test_all_fixed_points_of_a_chua_like_map():
    orbits = find_orbits(chua_like(), 1)
    found = {tuple(np.round(orbit.states[0, :2], 9)): orbit for orbit in orbits.found}
    assert set(found) == {(0.0, 0.0), (1.2, 2.4), (-1.2, -2.4)}
    assert found[0.0, 0.0].kind == "saddle"
    assert found[0.0, 0.0].multipliers[:2] == pytest.approx([(4.1 + 5.21**0.5) / 2, (4.1 - 5.21**0.5) / 2])
    for x in (1.2, -1.2):
        outer = found[x, 2 * x]
        assert outer.kind == "unstable focus"
        assert abs(outer.multipliers[0]) == pytest.approx(1.1**0.5)


def test_a_random_search_finds_what_there_is():
    """Fifty random networks, fixed points and cycles of two samples."""
    some = 0
    for seed in range(50):
        system = drawn(seed)
        for order in (1, 2):
            if order * system.rectifying > 12:
                continue
            every = enumerated(system, order)
            np.testing.assert_allclose(places(searched(system, order)), places(every), atol=1e-5)
            some += len(every)
    assert some > 40


def test_a_larger_network_is_searched_and_every_result_is_what_it_says():
    rng = np.random.default_rng(5)
    n, P = 40, 30
    system = made(rng.uniform(0.3, 0.9, n), rng.normal(0, 0.4, (n, n)), rng.normal(0, 1, n), np.arange(n) >= n - P)
    orbits = find_orbits(system, 2)
    assert orbits.complete == ()
    assert orbits.of(1)
    for orbit in orbits.found:
        np.testing.assert_allclose(system.step(orbit.states), np.roll(orbit.states, -1, axis=0), atol=1e-6)


def test_a_map_without_a_fixed_point_has_none():
    assert find_orbits(made([1.0], [[0.0]], [1.0], [False]), 2).found == ()


def test_words_say_what_states_nearby_do():
    fixed, cycle = find_orbits(two_units(), 2).found
    assert fixed.leading == "distances times 2 a sample, changing sides"
    assert cycle.leading == "distances times 0.6 a turn, changing sides"
    (focus,) = find_orbits(turning(1.1), 1).found
    assert (focus.kind, focus.leading) == ("unstable focus", "distances times 1.1 a sample, turning")


def test_many_units_and_long_cycles_are_searched_in_parts(monkeypatch):
    """A large network has few tries, and their matrices are not held at a time. 2^1040 sequences are a number too."""
    held = []
    real = cycles.solved
    monkeypatch.setattr(cycles, "solved", lambda *given: held.append(given[1].shape) or real(*given))
    rng = np.random.default_rng(0)
    n = 300
    large = made(rng.uniform(0.3, 0.9, n), rng.normal(0, 0.5 / n**0.5, (n, n)), rng.normal(0, 1, n), np.ones(n, bool))
    seen = rng.random((5_000, n)) < 0.5
    find_orbits(large, 1, seen)
    assert max(count for count, *_ in held) * n**2 <= cycles.TOGETHER
    assert held[0][0] < 64
    many = made(np.full(80, 0.5), np.zeros((80, 80)), np.ones(80), np.ones(80, bool))
    found = find_orbits(many, 13)
    assert (len(found.of(1)), found.complete) == (1, ())
