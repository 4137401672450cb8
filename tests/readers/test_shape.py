"""Cutting, decimating and embedding a recording, and how long its memory is."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crug.errors import CrugError
from crug.readers import Recording, shaped
from crug.readers.shape import automatic_lags, first_zero, lags_in, memory_length

T = np.arange(40_000)
SLOW, FAST = np.sin(2 * np.pi * T / 400), np.sin(2 * np.pi * T / 5)
RECORDING = Recording("r.csv", np.stack([SLOW + FAST, T], axis=1), ("x", "n"), 0.5)


def test_cutting_and_decimating():
    out = shaped(RECORDING, cut=100, decimate=4)
    assert len(out) == (40_000 - 200) / 4
    assert out.dt == 2
    x = out.values[200:-200, 0]
    np.testing.assert_allclose(x, SLOW[100:-100:4][200:-200], atol=0.02)  # the fast wave would alias
    lifted = shaped(replace(RECORDING, values=1_000 + np.stack([SLOW, SLOW[::-1]], axis=1)), decimate=4)
    np.testing.assert_allclose(lifted.values[:, 0], 1_000 + SLOW[::4], atol=0.05)  # and the ends stay where they are


def test_embedding():
    one = shaped(RECORDING, lags=[3, 10])
    assert one.columns == ("x", "n", "x-3", "n-3", "x-10", "n-10")
    assert one.values[0, [1, 3, 5]].tolist() == [10, 7, 0]
    assert one.inputs is None


def test_inputs_stay_aligned_with_the_samples():
    u = np.stack([SLOW + FAST, T], axis=1)
    driven = replace(RECORDING, inputs=u, input_columns=("u", "v"))
    out = shaped(driven, cut=100, decimate=4, lags=[3, 10])
    assert out.inputs is not None
    assert out.inputs.shape == (len(out), 2)
    assert out.input_columns == ("u", "v")
    np.testing.assert_array_equal(out.inputs, out.values[:, :2])  # the same signals went in: filtered alike, not lagged
    assert u.shape == (40_000, 2)


def test_what_does_not_fit_is_refused():
    cases: list[tuple[dict[str, Any], str]] = [
        ({"cut": 20_000}, "cannot be cut from both ends"),
        ({"cut": -1}, "cut is from 0"),
        ({"decimate": 0}, "decimate from 1"),
        ({"decimate": 1_000}, "40000 samples decimated by 1000 leave too few; 50 are needed"),
        ({"lags": [0, 3]}, r"lags \[0, 3\] do not fit"),
        ({"lags": [40_000]}, "do not fit 40000 samples; they are in samples, from 1"),
    ]
    for options, message in cases:
        with pytest.raises(CrugError, match=message):
            shaped(RECORDING, **options)


def test_memory():
    assert first_zero(SLOW[:, None]) == pytest.approx(100, abs=2)
    wave = np.sin(2 * np.pi * T[:20_000, None] / 100)
    assert memory_length(wave) == pytest.approx(100 * np.arccos(np.exp(-1)) / (2 * np.pi), abs=1)
    dwelling = (SLOW + 0.9 * np.sin(2 * np.pi * T / 20))[:, None]  # keeps its sign for long, but forgets soon
    assert first_zero(dwelling) > 25
    assert automatic_lags(dwelling) == [7, 14]


def test_delayed_copies_are_known_by_their_names():
    x = Recording("r", np.random.default_rng(0).normal(size=(100, 2)), ("x", "y"), dt=0.5, clock="t", began=3.0)
    later = shaped(x, cut=4, decimate=1, lags=[3, 7])
    assert lags_in(later.columns) == (("x", "y"), (3, 7))
    assert lags_in(shaped(x, lags=[2]).columns) == (("x", "y"), (2,))
    for plain in (("x",), ("x", "y"), ("x", "x-a"), ("x", "y", "x-3"), ("x", "y", "x-3", "y-4")):
        assert lags_in(plain) == (plain, ())


def test_a_recording_knows_when_it_began():
    x = Recording("r", np.random.default_rng(0).normal(size=(200, 1)), ("x",), dt=0.5, clock="t", began=3.0)
    assert x[10:].began == 8.0
    assert x[-20:].began == 3.0 + 180 * 0.5
    assert x[:50].began == 3.0
    assert shaped(x, cut=4).began == 5.0
    assert shaped(x, cut=4, decimate=2, lags=[3]).began == 5.0 + 3 * 1.0
