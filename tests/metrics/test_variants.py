"""The field's variants of D_stsp, against cases in closed form."""

import numpy as np
import pytest

from crug.metrics import d_stsp_padded
from crug.metrics.variants import BINS, VARIANTS, d_stsp_legacy, d_stsp_mixture, d_stsp_python

RNG = np.random.default_rng(0)
SMOOTH = 1e-5


def spikes(*values: float) -> np.ndarray:
    """Samples in one dimension, of which 0 and 30 make the range."""
    return np.array([[0.0], *([v] for v in values), [30.0]])


@pytest.mark.parametrize("variant", VARIANTS)
def test_is_nothing_for_the_truth_and_infinite_for_what_runs_away(variant):
    x = RNG.normal(size=(2_000, 3))
    assert VARIANTS[variant](x, x) == pytest.approx(0, abs=1e-12)
    assert VARIANTS[variant](x, np.where(np.arange(2_000)[:, None] == 5, np.nan, x)) == np.inf


def test_python_throws_away_the_first_bin_and_the_largest_value():
    """Of samples at 0, 5.5, 5.5, 9.5 and 30, the truth keeps three, the rollout one."""
    total = SMOOTH * BINS
    p = (np.array([2, 1]) + SMOOTH) / (3 + total)
    q = (np.array([0, 1]) + SMOOTH) / (1 + total)
    rest_p, rest_q = SMOOTH / (3 + total), SMOOTH / (1 + total)
    expected = float((p * np.log(p / q)).sum() + 28 * rest_p * np.log(rest_p / rest_q))
    assert d_stsp_python(spikes(5.5, 5.5, 9.5), spikes(0.5, 9.5)) == pytest.approx(expected, rel=1e-12)


def test_python_does_not_see_what_happens_in_the_first_bin():
    truth = np.concatenate([np.full(1_000, 0.5), np.arange(1, 31)])[:, None]
    assert d_stsp_python(truth, np.arange(1.0, 31)[:, None]) == pytest.approx(0, abs=1e-6)
    assert VARIANTS["paper"](truth, np.arange(1.0, 31)[:, None]) > 3


def test_legacy_bins_reach_two_standard_deviations():
    """Of a uniform distribution on 0 to 1, a rollout that lies beyond two standard deviations is as none at all."""
    x = np.linspace(-1, 1, 3_001)[:, None]
    beyond = np.full((500, 1), 1.2)
    uniform = np.zeros((0, 1)).reshape(0, 1)
    assert 2 * x.std() < 1.2
    assert d_stsp_legacy(x, beyond) == pytest.approx(d_stsp_legacy(x, uniform), rel=1e-9)


def test_julia_still_counts_a_sheet_that_lies_at_the_edge():
    x = np.stack([RNG.normal(size=4_000), np.zeros(4_000)], axis=1)
    x[:100, 1] = 1.0
    lower = x - [0, 0.002]
    assert VARIANTS["paper"](x, lower) > 10 * VARIANTS["julia"](x, lower)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_julia_is_the_padded_measure(dim):
    x, y = RNG.normal(size=(3_000, dim)), 1.3 * RNG.normal(size=(2_000, dim))
    assert VARIANTS["julia"](x, y) == pytest.approx(d_stsp_padded(x, y), rel=1e-9)


def test_wide_mixtures_of_shifted_normals():
    """Between normal distributions of variance 1 + 1 whose means are 1 apart: a quarter, in either direction."""
    x, shift = RNG.normal(size=(10_000, 4)), np.array([1, 0, 0, 0])
    y = RNG.normal(size=(10_000, 4)) + shift
    assert d_stsp_mixture(x, y) == pytest.approx(0.25, abs=0.05)
