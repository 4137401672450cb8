"""Exponents of recordings of systems whose exponents are known."""

import numpy as np
import pytest

from crug.analysis.recorded import recorded_exponents
from crug.tasks.systems import SYSTEMS, generate


@pytest.mark.parametrize(("name", "largest", "within"), [("lorenz", 0.906, 0.15), ("chua", 0.33, 0.1)])
def test_chaotic_recordings(name, largest, within):
    task = generate(SYSTEMS[name], 0)
    found = recorded_exponents(task.test, task.dt)
    assert found is not None
    assert found.per_time[0] == pytest.approx(largest, abs=within)
    assert found.signs[0] == 1
    assert abs(found.per_time[1]) < 0.15


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_periodic_recording_is_not_chaotic_also_with_noise(noise):
    task = generate(SYSTEMS["van-der-pol"], 0)
    x = task.test + noise * np.random.default_rng(0).standard_normal(task.test.shape)
    found = recorded_exponents(x, task.dt)
    assert found is not None
    assert found.signs[0] <= 0


def test_a_short_recording_tells_nothing_and_of_several_the_longest_counts():
    x = generate(SYSTEMS["lorenz"], 0).test
    assert recorded_exponents(x[:900], 0.01) is None
    several = recorded_exponents(np.concatenate([x[:900], x[:5_000]]), 0.01, (900,))
    alone = recorded_exponents(x[:5_000], 0.01)
    assert several is not None
    assert alone is not None
    np.testing.assert_array_equal(several.values, alone.values)
