"""Strides are found where they begin, whatever their shape."""

import numpy as np
import pytest

from crug.metrics.strides import strides


def steps(times, shape, dt=0.01):
    """Strides of the given lengths, each the same shape in its own time."""
    return np.concatenate([shape(np.arange(round(t / dt)) * dt / t) for t in times])


SHAPES = {
    "sine": lambda phase: np.sin(2 * np.pi * phase),
    "stance and swing": lambda phase: np.where(phase < 0.6, 1 + 0.3 * np.cos(4 * np.pi * phase / 0.6), -1.0),
    "two peaks": lambda phase: np.maximum(np.sin(2 * np.pi * phase), 0) - 0.4 * (np.abs(phase - 0.25) < 0.04),
}


@pytest.mark.parametrize("name", SHAPES)
def test_lengths_and_their_spread(name):
    rng = np.random.default_rng(0)
    lengths = np.round(rng.normal(1.1, 0.05, 200), 2)
    x = steps(lengths, SHAPES[name]) + 0.02 * rng.standard_normal(round(lengths.sum() * 100))
    found = strides(x).times(0.01)
    assert len(found) == pytest.approx(199, abs=2)
    assert found.mean() == pytest.approx(lengths.mean(), rel=0.01)
    assert found.std() == pytest.approx(lengths.std(), rel=0.15)


def test_aligned_strides_have_one_shape():
    x = steps([1.0] * 50, SHAPES["stance and swing"])
    each = strides(x).aligned(x)
    assert each.shape == (49, 100)
    assert np.ptp(each, axis=0).max() < 1e-9


def test_what_stands_still_has_no_strides():
    assert not len(strides(np.ones(500)).starts)
    assert strides(np.ones(500)).aligned(np.ones(500)).size == 0
