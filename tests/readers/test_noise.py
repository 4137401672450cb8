"""Noise is seen where there is some, and only there."""

import numpy as np
import pytest

from crug.readers.noise import noise, smoothed


def wave(period, samples=6_000, phase=0.0):
    t = np.arange(samples) / period
    return np.sin(2 * np.pi * t + phase) + 0.5 * np.sin(2 * np.pi * 2.3 * t)


@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
def test_the_level_is_the_one_that_was_added_and_most_of_it_goes(level):
    clean = wave(100)
    noisy = clean + level * clean.std() * np.random.default_rng(0).standard_normal(len(clean))
    found = noise([noisy])
    assert found.level == pytest.approx(level, rel=0.1)
    left = smoothed(noisy[:, None], [found.width])[:, 0] - clean
    assert left.std() < 0.6 * level * clean.std()


@pytest.mark.parametrize("period", [6, 15, 100, 2_000])
def test_a_clean_column_is_left_alone(period):
    assert noise([wave(period)]).width == 0


def test_what_is_as_fast_as_the_sampling_is_not_taken_for_noise():
    fast = wave(100) + np.sin(2.9 * np.arange(6_000))
    found = noise([fast])
    assert found.level > 0.3
    assert found.width == 0
