"""Exponents of recordings of systems whose exponents are known."""

import numpy as np
import pytest

from crug.analysis.recorded import recorded_exponents
from crug.readers import Recording, shaped
from crug.readers.shape import automatic_lags
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


@pytest.mark.parametrize("begin", range(0, 16_000, 1_300))
def test_a_few_turns_of_a_cycle_are_not_chaotic(begin):
    x = generate(SYSTEMS["van-der-pol"], 0).test[begin : begin + 4_000]
    found = recorded_exponents(x)
    assert found is not None
    assert found.signs[0] == 0


@pytest.mark.parametrize("name", ["van-der-pol", "lorenz", "rossler", "chua", "laser"])
@pytest.mark.parametrize("samples", [4_000, 20_000])
def test_one_variable_of_several_tells_nothing(name, samples):
    """Where another variable decides, states that look alike have different futures."""
    x = generate(SYSTEMS[name], 0).test[:samples, :1]
    assert recorded_exponents(x) is None
    assert recorded_exponents(x + 0.02 * np.random.default_rng(0).standard_normal(x.shape)) is None


def test_noise_and_exact_repetition_tell_nothing():
    assert recorded_exponents(np.random.default_rng(0).standard_normal((4_000, 3))) is None
    t = 2 * np.pi * np.arange(4_000) / 50
    circle = np.stack([np.sin(t), np.cos(t)], axis=1)
    assert recorded_exponents(np.tile(circle[:50], (80, 1)).astype(np.float32)) is None
    drifting = recorded_exponents(np.stack([np.sin(1.001 * t), np.cos(1.001 * t)], axis=1).astype(np.float32))
    assert drifting is not None
    assert drifting.signs[0] == 0


def test_delayed_copies_make_up_for_the_other_variables():
    x = generate(SYSTEMS["lorenz"], 0).test[:8_000, :1]
    lagged = shaped(Recording("x", x, ("x",)), lags=automatic_lags(x)).values
    found = recorded_exponents(lagged, 0.01)
    assert found is not None
    assert found.signs[0] == 1


def test_a_short_recording_tells_nothing_and_of_several_the_longest_counts():
    x = generate(SYSTEMS["lorenz"], 0).test
    assert recorded_exponents(x[:900], 0.01) is None
    several = recorded_exponents(np.concatenate([x[:900], x[:5_000]]), 0.01, (900,))
    alone = recorded_exponents(x[:5_000], 0.01)
    assert several is not None
    assert alone is not None
    np.testing.assert_array_equal(several.values, alone.values)
