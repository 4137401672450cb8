"""No overflow is a good score: numbers beyond what is computed with are rescaled, or refused by name."""

import warnings

import numpy as np
import pytest

import crug
from crug.errors import CrugError
from crug.tasks import as_recordings, prepare
from waves import QUICK, START, wave


@pytest.mark.parametrize("size", [1e200, 1e-200, 2.0**990])
def test_a_recording_of_huge_or_tiny_numbers_is_the_same_recording(size):
    """Its task has the same bits as that of ordinary numbers, and so have rollouts, in its own units."""
    one, huge = (prepare(as_recordings(x, "w", 0.1), "w") for x in (wave(), size * wave()))
    assert np.isfinite(huge.scale.std).all()
    np.testing.assert_allclose(huge.scale.std / size, one.scale.std, rtol=1e-12)
    np.testing.assert_allclose(huge.task.train, one.task.train, rtol=1e-6, atol=1e-9)
    assert abs(huge.task.train).max() > 1


def test_a_huge_sine_has_no_perfect_score_for_nothing():
    model = crug.Model(units=16, seed=3, settings=START)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model.learn(1e200 * wave(), "huge", 0.1, **QUICK)
        out = model.rollout("huge", 200)
    plain = crug.Model(units=16, seed=3, settings=START).learn(wave(), "huge", 0.1, **QUICK)
    assert np.isfinite(out).all()
    assert abs(out).max() > 1e198
    assert model.score("huge")["d_stsp"] == pytest.approx(plain.score("huge")["d_stsp"], rel=0.05)


@pytest.mark.parametrize(("place", "value"), [(-1, 1e39), (-100, -1e25), (3, 1e301), (-1, 1e308)])
def test_a_number_that_cannot_be_held_is_refused_by_name(place, value):
    x = wave()
    x[place, 1] = value
    model = crug.Model(units=16, seed=3, settings=START)
    with pytest.raises(CrugError, match=r"recording 'w'.*column '2'"):
        model.learn(x, "w", 0.1, **QUICK)
    assert model.tasks == ()


def test_inputs_and_starts_are_held_to_the_same():
    inputs = wave(1, 0.3)
    inputs[-3] = 1e30
    with pytest.raises(CrugError, match=r"inputs of the held-out part: column '1' is .* standard deviations"):
        prepare(as_recordings(wave(), "w", 0.1, inputs=inputs), "w")
    model = crug.Model(units=16, seed=3, settings=START).learn(wave(), "w", 0.1, **QUICK)
    with pytest.raises(CrugError, match=r"x0: column '1' is 1e.* standard deviations"):
        model.rollout("w", 10, np.array([1e39, 0.0]))
    with pytest.raises(CrugError, match=r"the context: column '2' is"):
        model.forecast("w", np.array([[0.0, 1e200], [0.0, 0.1]]), 10)
