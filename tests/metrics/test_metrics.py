"""The measures meet their oracles: the ceilings and floors that were measured for all eight systems."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from crug.metrics import BinnedReference, power_spectrum, quartiles, spectral_distance
from crug.metrics.mixture import MixtureReference, log_density
from crug.tasks import load

CEILING = {
    "van-der-pol": 17.70,
    "lorenz": 15.04,
    "rossler": 15.37,
    "chua": 14.61,
    "blasius": 15.37,
    "laser": 15.26,
    "genesio-tesi": 14.62,
    "finance": 15.15,
}
FLOOR = {
    "van-der-pol": 0.01,
    "lorenz": 0.20,
    "rossler": 0.48,
    "chua": 0.54,
    "blasius": 0.10,
    "laser": 0.22,
    "genesio-tesi": 0.24,
    "finance": 0.20,
}
SEEDS = range(4)


@pytest.fixture(scope="module")
def tasks():
    return {name: [load(name, seed) for seed in SEEDS] for name in CEILING}


@pytest.mark.parametrize("name", CEILING)
def test_ceiling_of_a_rollout_stuck_on_one_point(tasks, name):
    stuck = [BinnedReference(t.test).divergence(np.zeros((30_000, t.dim))) for t in tasks[name]]
    assert abs(np.mean(stuck) - CEILING[name]) < 0.12


@pytest.mark.parametrize("name", FLOOR)
def test_floor_of_the_true_system(tasks, name):
    """The true system long before the test part, five stretches of 30,000 samples; it varies from seed to seed."""
    floors = []
    for task in tasks[name]:
        reference = BinnedReference(task.test)
        floors.append(np.median([reference.divergence(task.train[i : i + 30_000]) for i in range(0, 70_001, 17_500)]))
    assert abs(np.mean(floors) - FLOOR[name]) < max(0.02, 0.45 * FLOOR[name])


def test_a_distribution_has_no_divergence_from_itself(tasks):
    x = tasks["lorenz"][0].test
    assert BinnedReference(x).divergence(x) == 0.0
    assert spectral_distance(power_spectrum(x), power_spectrum(x)) < 1e-7


def test_kl_against_two_dimensional_arithmetic():
    """Two bins of 2 x 2 by hand: three quarters and a quarter against a half and a half."""
    x = np.array([[0.0, 0.0]] * 3 + [[1.0, 1.0]])
    y = np.array([[0.0, 0.0]] * 2 + [[1.0, 1.0]] * 2 + [[5.0, 5.0]] * 7)
    expected = 0.75 * np.log(0.75 / 0.5) + 0.25 * np.log(0.25 / 0.5)
    assert abs(BinnedReference(x, bins=2).divergence(y) - expected) < 1e-4


def test_the_first_bin_counts():
    x = np.linspace(0, 1, 1000)[:, None] ** 3
    assert BinnedReference(x).divergence(x[x[:, 0] > 0.05]) > 5.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_is_divergent_and_never_shortened(tasks, bad):
    x = tasks["lorenz"][0].test.copy()
    reference = BinnedReference(x)
    x[17] = bad
    assert reference.divergence(x) == np.inf
    assert power_spectrum(x) is None
    assert spectral_distance(power_spectrum(x), None) == np.inf


def test_outside_and_constant_rollouts_are_divergent(tasks):
    x = tasks["lorenz"][0].test
    assert BinnedReference(x).divergence(x + 100) == np.inf
    corner = np.repeat(x.min(axis=0)[None], 100, axis=0)
    assert np.isfinite(BinnedReference(x).divergence(corner))
    assert power_spectrum(np.ones((500, 3))) is None


def test_hellinger_floor_and_ceiling(tasks):
    floors = []
    for task in tasks["lorenz"]:
        floors.append(spectral_distance(power_spectrum(task.test), power_spectrum(task.train[:20_000])))
    assert 0.02 < np.mean(floors) < 0.06
    t = np.arange(20_000)[:, None]
    slow, fast = np.sin(0.01 * t), np.sin(1.0 * t)
    assert spectral_distance(power_spectrum(slow), power_spectrum(fast)) > 0.99


def test_divergent_runs_count_as_the_worst():
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    assert quartiles([1.0, 2.0, 3.0, np.inf, np.inf]) == (2.0, 3.0, np.inf)
    assert str(quartiles([1.0, 2.0, 3.0, np.inf, np.inf])) == "3.00†-1.00"
    assert str(quartiles([1.0, np.inf, np.inf])) == "div."
    assert quartiles([1.0, 2.0]) == (1.25, 1.5, 1.75)


def test_mixture_divergence_of_gaussians_and_far_away():
    """Two clouds, d apart, both wider than the kernel: the divergence of two Gaussians is d^2 / (2 s^2)."""
    rng = np.random.default_rng(0)
    reference = MixtureReference(rng.normal(size=(20_000, 1)))
    assert abs(reference.divergence(rng.normal(size=(20_000, 1)))) < 0.02
    shifted = reference.divergence(rng.normal(size=(20_000, 1)) + 1)
    assert shifted == pytest.approx(1 / (2 * 1.01), abs=0.08)
    far = reference.divergence(np.full((100, 1), 50.0))
    assert np.isfinite(far)
    assert far > 1e4
    assert reference.divergence(np.full((100, 1), np.nan)) == np.inf
    assert reference.divergence(np.full((100, 1), 1e200)) == np.inf


def test_mixture_log_density_is_the_plain_sum_where_that_does_not_underflow():
    rng = np.random.default_rng(1)
    points, centres = 0.2 * rng.normal(size=(5, 3)), 0.2 * rng.normal(size=(40, 3))
    squares = ((points[:, None] - centres) ** 2).sum(axis=2)
    plain = np.log(np.mean(np.exp(-squares / 0.02), axis=1) / (2 * np.pi * 0.01) ** 1.5)
    np.testing.assert_allclose(log_density(points, centres), plain, rtol=1e-9)


@pytest.mark.parametrize("samples", [150, 2_000, 20_001])
def test_spectra_are_smoothed_by_a_gaussian(samples):
    x = np.cumsum(np.random.default_rng(0).standard_normal((samples, 2)), axis=0)
    centred = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(centred, axis=0)) ** 2 / centred.var(axis=0)
    plain = gaussian_filter1d(power, 20, axis=0)
    np.testing.assert_allclose(np.asarray(power_spectrum(x, 20)), plain / plain.sum(axis=0), rtol=1e-8, atol=1e-14)
