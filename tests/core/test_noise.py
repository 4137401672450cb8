"""Rollouts under noise: the same seed is the same bits, the range holds, and what is not foreseen is what was added."""

import numpy as np
import pytest

from crug.core.dynamics import System, floors, run_freely, run_under
from crug.core.following import foreseen
from crug.core.noise import Noise, roll_out

WIDE = np.full(2, 1e3, np.float32)


def system(n=6, inputs=0):
    """A network that turns its two readouts slowly, beside hidden units that follow them."""
    rng = np.random.default_rng(0)
    W = (0.1 * rng.normal(size=(n, n))).astype(np.float32)
    c, s = 0.98 * np.cos(0.2), 0.98 * np.sin(0.2)
    W[:2], W[:2, :2] = 0, [[c, -s], [s, c]]
    a = np.zeros(n, np.float32)
    C = rng.normal(size=(n, inputs)).astype(np.float32)
    encoder = rng.normal(size=(n, 2)).astype(np.float32)
    return System(a, W, C, np.zeros(n, np.float32), floors(np.arange(n) >= 4), encoder, np.array([0, 1]))


def noise(factor=0.1):
    """Stronger where the first readout is positive."""
    draws = factor * np.random.default_rng(3).normal(size=(2, 64, 2)) * np.array([1, 3])[:, None, None]
    centres = np.array([[-1, 0], [1, 0]])
    return Noise(*(np.asarray(part, np.float32) for part in (centres, draws, -WIDE, WIDE, 1.0)))


X0 = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])


def test_same_seed_same_bits_however_many_rows():
    three = roll_out(system(), X0, (500, 100), noise(), seed=4)
    assert three.shape == (3, 400, 2)
    assert np.array_equal(three, roll_out(system(), X0, (500, 100), noise(), seed=4))
    np.testing.assert_allclose(three[:2], roll_out(system(), X0[:2], (500, 100), noise(), seed=4), atol=1e-5)
    assert not np.array_equal(three, roll_out(system(), X0, (500, 100), noise(), seed=5))
    assert not np.array_equal(three[0], three[1])


@pytest.mark.parametrize("inputs", [None, np.random.default_rng(1).normal(size=(3, 80, 2))])
def test_without_noise_or_seed_it_runs_freely(inputs):
    s = system(inputs=2)
    free = run_freely(s, X0, 60, 10) if inputs is None else run_under(s, X0, inputs[:, :60])[:, 10:]
    for given, seed in ((None, None), (None, 3), (noise(), None)):
        assert np.array_equal(roll_out(s, X0, (60, 10), given, seed, inputs), free)
    still = roll_out(s, X0, (60, 10), noise(0.0), 3, inputs)
    np.testing.assert_allclose(still, free, atol=1e-4)
    assert np.abs(roll_out(s, X0, (60, 10), noise(), 3, inputs) - free).max() > 0.1


def test_readouts_stay_in_the_range_however_strong_the_noise():
    low, high = np.array([-0.5, -0.2], np.float32), np.array([0.7, 0.3], np.float32)
    strong = noise(50.0)._replace(low=low, high=high)
    out = roll_out(system(), X0, (2_000, 0), strong, seed=0)
    assert (out >= low).all()
    assert (out <= high).all()


def test_of_what_is_only_measured_the_network_hears_nothing():
    still = run_freely(system(), X0, 300)
    seen = roll_out(system(), X0, (300, 0), noise()._replace(heard=np.float32(0)), seed=0)
    assert np.abs(seen - still).max() < 1.5  # a draw, however long it goes on
    assert (seen - still).std() > 0.1
    heard = roll_out(system(), X0, (300, 0), noise(), seed=0)
    assert np.abs(heard - still).std() > 2 * (seen - still).std()


def test_what_is_not_foreseen_is_the_noise_that_was_added():
    s = system()
    x = roll_out(s, X0[:1], (40_000, 100), noise(), seed=0)[0]
    expected = foreseen(s, x)[:-1]
    missed = x[1:] - expected
    right = expected[:, 0] > 0
    np.testing.assert_allclose(missed[right].std(axis=0), np.std(noise().draws[1], axis=0), rtol=0.03)
    np.testing.assert_allclose(missed[~right].std(axis=0), np.std(noise().draws[0], axis=0), rtol=0.03)


def test_a_network_whose_hidden_units_run_away_is_begun_anew():
    a, W = np.array([0.5, 1.2], np.float32), np.array([[0, 0], [1, 0]], np.float32)
    encoder = np.array([[1.0], [0.25]], np.float32)
    zero = np.zeros(2, np.float32)
    system = System(a, W, np.zeros((2, 0), np.float32), zero, floors(zero > 0), encoder, np.array([0]))
    draws = np.full((1, 4, 1), 0.5)
    noise = Noise(*(np.asarray(part, np.float32) for part in (np.zeros((1, 1)), draws, [-2.0], [2.0], 1.0)))
    out = roll_out(system._replace(readout=np.array([0])), np.ones((2, 1)), (500, 0), noise, 0)
    assert np.isfinite(out).all()
    assert np.abs(out).max() <= 2
    hidden = system._replace(W=np.array([[0, 1], [0, 0]], np.float32))  # what the readout hears grows without end
    again = roll_out(hidden, np.ones((2, 1)), (2_000, 0), noise, 0)
    assert np.isfinite(again).all()
    assert not np.isfinite(roll_out(hidden, np.ones((2, 1)), (2_000, 0))).all()
