"""Noise is seen where there is some, and only there."""

import numpy as np
import pytest

import crug
from crug.tasks.noise import noise, smoothed
from crug.tasks.recordings import make_task


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


def test_every_column_of_the_part_to_learn_from_is_smoothed_by_what_it_needs():
    rng = np.random.default_rng(1)
    pieces = [np.stack([wave(100, 2_000, p), wave(80, 2_000, p)], axis=1) for p in (0.0, 1.0)]
    noisy = [x + [0.05, 0] * rng.standard_normal(x.shape) for x in pieces]
    task, scale = make_task("w", noisy, 1.0)
    raw, _ = make_task("w", noisy, 1.0, smooth=False)
    assert raw.smoothed == ()
    first, second = task.smoothed
    assert first > 5
    assert second == 0
    true = np.concatenate([x[: task.breaks[0]] for x in pieces])
    error = np.abs(scale.restore(task.train) - true)
    assert error[:, 0].mean() < 0.6 * 0.05 * np.sqrt(2 / np.pi)
    assert error[:, 1].max() < 1e-9
    held_out = np.concatenate([x[task.breaks[0] :] for x in noisy])
    np.testing.assert_allclose(scale.restore(task.test), held_out, atol=1e-9)


def test_a_model_remembers_what_was_smoothed(tmp_path):
    rng = np.random.default_rng(2)
    x = np.stack([wave(100, 3_000), wave(100, 3_000, 1.5)], axis=1)
    model = crug.Model(units=24, seed=0, settings={"path": {"start": 8}})
    quick = {"epochs": 20, "progress": False}
    model.learn(x + 0.05 * rng.standard_normal(x.shape), "noisy", **quick)
    model.learn(x + 0.05 * rng.standard_normal(x.shape), "raw", smooth=False, **quick)
    model.save(tmp_path / "lab.crug")
    again = crug.load(tmp_path / "lab.crug")
    assert min(again.about("noisy").smoothed) > 5
    assert again.about("raw").smoothed == ()
