"""Sliced Wasserstein-1 against closed forms."""

import numpy as np
import pytest
from scipy.special import gamma
from scipy.stats import wasserstein_distance

from crug.metrics import wasserstein
from crug.tasks.systems import load


def test_on_a_line_it_is_the_exact_distance():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(20_000), 1.5 * rng.standard_normal(30_000) + 0.2
    exact = wasserstein_distance(x, y) / x.std()
    assert wasserstein(x[:, None], y[:, None]) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_a_shift_costs_its_mean_over_all_directions(dim):
    """E|theta_1| of a unit vector in N dimensions is Gamma(N/2) / (sqrt(pi) Gamma((N + 1)/2))."""
    x = np.random.default_rng(1).standard_normal((5_000, dim))
    shift = 0.3 * x.std(axis=0)
    mean = gamma(dim / 2) / (np.sqrt(np.pi) * gamma((dim + 1) / 2))
    found = wasserstein(x, x + shift)
    assert found == pytest.approx(0.3 * np.sqrt(dim) * mean, rel=0.15)
    assert wasserstein(7 * x, 7 * (x + shift)) == pytest.approx(found)
    assert wasserstein(x, x) == 0


def test_a_rollout_that_is_not_finite_is_divergent():
    x = np.random.default_rng(2).standard_normal((500, 3))
    assert wasserstein(x, np.where(x > 3, np.nan, x)[:100] * np.inf) == np.inf


def test_the_true_system_is_close_and_one_point_is_far():
    task = load("lorenz", 0)
    floor = wasserstein(task.test, task.train[:30_000])
    assert 0 < floor < 0.1
    assert wasserstein(task.test, np.zeros((30_000, 3))) > 0.5
