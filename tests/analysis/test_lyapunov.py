"""Exponents and dimensions that are known."""

import numpy as np
import pytest

from analysis.by_hand import made, tent
from crug.analysis.lyapunov import kaplan_yorke, spectrum
from crug.analysis.maps import Map
from crug.core.dynamics import System, floors, run_freely


def test_a_linear_map_has_the_logarithms_of_its_eigenvalues():
    turn = 0.9 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    W = np.block([[turn, np.zeros((2, 1))], [np.zeros((1, 2)), 0.5 * np.ones((1, 1))]])
    found = spectrum(made(np.zeros(3), W, np.ones(3), [False] * 3), np.ones((2, 3)), 0.1, (2_000, 100))
    assert found.values == pytest.approx(np.log([0.9, 0.9, 0.5]), abs=1e-3)
    assert found.per_time == pytest.approx(10 * found.values)
    assert list(found.signs) == [-1, -1, -1]
    assert found.dimension == 0


def test_a_tent_map_has_the_logarithm_of_its_slope():
    slope = 1.9
    system = tent(slope)
    found = spectrum(system, np.array([[0.1, -0.1], [0.3, -0.3]]), steps=(3_000, 100), count=1)
    assert found.largest == pytest.approx(np.log(slope), abs=1e-6)
    assert list(found.signs) == [1]


def test_inputs_push_a_system_from_outside():
    """x' = 0.5 x, above 0 steepened to 1.5 x: an input that holds it there makes it unstable."""
    system = made([0.5], [[1.0]], [0.0], [True])
    quiet = spectrum(system, np.array([[-0.1]]), steps=(500, 0))
    held = spectrum(system, np.array([[0.1]]), steps=(500, 0), pushes=np.full((600, 1), 1e-3))
    assert quiet.largest == pytest.approx(np.log(0.5), abs=1e-9)
    assert held.largest == pytest.approx(np.log(1.5), abs=1e-9)


def test_what_runs_away_has_no_exponents():
    found = spectrum(made([3.0], [[0.0]], [1.0], [False]), np.ones((1, 1)), steps=(2_000, 10))
    assert np.isinf(found.largest)
    assert np.isinf(found.dimension)


@pytest.mark.parametrize(
    ("exponents", "dimension"),
    [([0.906, 0, -14.572], 2.0622), ([-1, -2], 0), ([0, -1], 1), ([0.1, 0.2], 2)],
)
def test_the_kaplan_yorke_dimension(exponents, dimension):
    assert kaplan_yorke(np.array(exponents)) == pytest.approx(dimension, abs=1e-4)


def test_the_map_of_a_system_is_the_system():
    rng = np.random.default_rng(0)
    n, relu = 7, np.arange(7) > 3
    a, W, C, h = (rng.normal(0, 0.3, size).astype(np.float32) for size in ((n,), (n, n), (n, 2), (n,)))
    system = System(a, W, C, h, floors(relu), rng.normal(size=(n, 2)).astype(np.float32), np.array([1, 4]))
    x0 = rng.normal(size=(3, 2))
    ours = Map.of(system).run(system.start(x0), 30, skip=10)[:, :, system.readout]
    np.testing.assert_allclose(ours, run_freely(system, x0, 30, 10), atol=1e-5)
    z = rng.normal(size=(5, n))
    J = Map.of(system).jacobian(Map.of(system).pattern(z))
    np.testing.assert_allclose(Map.of(system).step(z), np.einsum("bij,bj->bi", J, z) + system.h, atol=1e-12)
