"""Networks beside a recording: after a context they know their hidden state, and go on as the recording does."""

import numpy as np
import pytest

from crug.core.dynamics import System, driven, floors, rollout
from crug.core.following import forecast, foreseen, synchronised
from crug.metrics.valid_time import valid_time
from crug.tasks.forecasts import GAINS, Forecasts


def oscillator(inputs: int = 0) -> System:
    """Two coupled rotations, of which only one coordinate is read out; rectified units follow them."""
    rng = np.random.default_rng(0)
    n, W = 6, np.zeros((6, 6), np.float32)
    for i, angle in ((0, 0.11), (2, 0.07)):
        c, s = np.cos(angle), np.sin(angle)
        W[i : i + 2, i : i + 2] = [[c, -s], [s, c]]
    W[0, 2], W[2, 1], W[4:, :4] = 0.02, -0.01, rng.normal(size=(2, 4))
    C = 0.05 * rng.normal(size=(n, inputs)).astype(np.float32)
    nothing = np.zeros(n, np.float32)
    encoder = rng.normal(size=(n, 1)).astype(np.float32)
    return System(nothing, 0.999 * W, C, nothing, floors(np.arange(n) >= 4), encoder, np.array([0]))


def recorded(steps: int, inputs: np.ndarray | None = None) -> np.ndarray:
    """What the oscillator does from a state that its encoder does not know, (steps, 1)."""
    z0 = np.array([[1.0, 0.0, 0.3, 0.8, 0.0, 0.0]], np.float32)
    system = oscillator(0 if inputs is None else inputs.shape[1])
    if inputs is None:
        return np.asarray(rollout(system, z0, system.readout, steps))[0]
    return np.asarray(driven(system, z0, inputs[:, None].astype(np.float32)))[:, 0, :1]


def test_a_context_tells_what_cannot_be_seen():
    x = recorded(600)
    ahead, last = (forecast(oscillator(), x[None, :400], 200, gain)[0] for gain in (0.2, 0.0))
    assert ahead.shape == (200, 1)
    assert np.abs(ahead - x[400:]).max() < 0.3 < 1 < np.abs(last - x[400:]).max()


def test_without_a_gain_only_the_last_sample_counts():
    s, x = oscillator(), recorded(300)
    alone = np.asarray(rollout(s, s.start(x[299:]), s.readout, 50))
    assert np.array_equal(forecast(s, x[None], 50, 0.0), alone)
    assert np.array_equal(forecast(s, x[None, -1:], 50, 0.5), alone)


def test_a_full_correction_reads_out_the_last_sample():
    x = recorded(100)
    z = synchronised(oscillator(), np.stack([x[:50], x[50:]]), 1.0)
    np.testing.assert_array_equal(z[:, 0], x[[49, 99], 0])


def test_inputs_go_on_where_those_of_the_context_end():
    inputs = np.random.default_rng(1).normal(size=(500, 2))
    x = recorded(501, inputs)[:-1]  # row t is what inputs 0 to t made
    s, known = oscillator(2), inputs[1:]
    ahead = forecast(s, x[None, :300], 150, 0.2, known[None])[0]
    assert np.abs(ahead - x[300:450]).max() < 0.4
    other = known.copy()
    other[320:] *= -1
    assert np.abs(forecast(s, x[None, :300], 150, 0.2, other[None])[0] - x[300:450]).max() > 0.8


def test_what_is_foreseen_is_one_step_of_a_forecast():
    x = recorded(200)
    np.testing.assert_allclose(foreseen(oscillator(), x)[-1], forecast(oscillator(), x[None], 1, 1.0)[0, 0], atol=1e-6)


@pytest.mark.parametrize(("off", "valid"), [(0.39, 10), (0.41, 4), (np.nan, 4)])
def test_a_forecast_is_valid_until_it_is_too_far_off(off, valid):
    truth = np.zeros((10, 2))
    made = np.where(np.arange(10)[:, None] >= 4, off, 0.1) * np.ones(2)
    assert valid_time(truth, made, np.ones(2)) == valid
    assert valid_time(7 * truth, 7 * made, np.full(2, 7.0)) == valid


def test_forecasts_span_no_break_and_the_gain_is_the_best_of_all():
    x = np.concatenate([recorded(1_000), 5 + recorded(1_500)])
    some = Forecasts.of(x, (1_000,), count=50)
    assert some.contexts.shape == (50, 100, 1)
    assert some.futures.shape == (50, 750, 1)
    together = np.concatenate([some.contexts, some.futures], axis=1)
    assert np.abs(np.diff(together, axis=1)).max() < 2
    real = Forecasts.of(recorded(3_000), ())
    times = {gain: real.valid(oscillator(), gain) for gain in GAINS}
    assert times[real.best_gain(oscillator())] == max(times.values()) > times[0.0]
