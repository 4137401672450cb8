"""How a user's samples become a task, and the time scale that training takes from them."""

import numpy as np
import pytest

from crug.errors import CrugError
from crug.tasks import Prepared, as_recordings, load, prepare
from crug.tasks.recordings import RecordingTask
from crug.tasks.timescale import parting_time, time_scale


def make_task(name: str, pieces, dt: float = 0.1, smooth: bool = True) -> Prepared:
    return prepare(as_recordings(pieces, name, dt), name, smooth)


def test_a_task_holds_out_the_end_of_every_trajectory_and_remembers_its_scale():
    rng = np.random.default_rng(0)
    pieces = [5 + 3 * rng.normal(size=(1_200, 2)), 5 + 3 * rng.normal(size=(600, 2))]
    made = make_task("two", pieces)
    task = made.task
    assert task.breaks == (1_000,)
    assert (len(task.train), len(task.test)) == (1_500, 300)
    np.testing.assert_allclose(task.train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(task.train.std(axis=0), 1)
    np.testing.assert_allclose(made.scale.restore(task.test[200:]), pieces[1][500:], atol=1e-5)


def late():
    x = np.random.default_rng(0).normal(size=(3_000, 2))
    x[:2_600, 1] = 0
    return x


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones((2_000, 2)), "is constant"),
        (late(), "column 2 is constant in the part to learn from"),
        (np.ones((2_000, 2), complex), "holds complex128, not real numbers"),
        (np.ma.masked_values(late(), late()[5, 0]), "missing values, first at sample 6"),
        (late()[2_650:2_900], "has 250 samples; at least 300 are needed"),
        (np.zeros((20, 20, 20, 2)), "has 3 dimensions"),
        ([], "there are no samples"),
    ],
)
def test_what_cannot_be_learned_is_refused(x, message):
    with pytest.raises(CrugError, match=message):
        make_task("bad", x)


def test_the_time_scale_follows_the_sampling():
    t = np.arange(20_000)[:, None]

    def wave(period):
        return np.sin(2 * np.pi * t / period)

    assert time_scale(wave(100)) == (16, 200)
    coarse, fine = time_scale(wave(6)), time_scale(wave(1_500))
    assert coarse[0] < 16
    assert coarse[1] == 200
    assert fine[0] > 16
    assert fine[1] > 200
    assert parting_time(wave(100)) == np.inf


def test_chaos_is_forced_more_often_however_it_is_observed():
    """Lorenz' exponent is 0.9: neighbours part by a factor e in 111 samples of 0.01, at first faster than that."""
    task = load("lorenz", 0)
    assert isinstance(task, RecordingTask)
    x = task.train
    full = parting_time(x)
    assert 40 < full < 120
    assert parting_time(x[::4]) == pytest.approx(full / 4, rel=0.4)
    assert parting_time(x[:, :1]) == pytest.approx(full, rel=0.4)
    assert parting_time(x[:10_000], range(500, 10_000, 500)) == pytest.approx(full, rel=0.4)
    noisy = x + 0.05 * np.random.default_rng(0).normal(size=x.shape)
    assert parting_time(noisy) >= full
    assert time_scale(x)[0] == 16
    assert time_scale(x[::8])[0] < 6
    assert parting_time(x[:200], (50, 100, 150)) == np.inf  # nothing can be said


def rough(samples: int, period: float, phase: float = 0.0) -> np.ndarray:
    t = np.arange(samples) / period
    return np.sin(2 * np.pi * t + phase) + 0.5 * np.sin(2 * np.pi * 2.3 * t)


def test_every_column_of_the_part_to_learn_from_is_smoothed_by_what_it_needs():
    rng = np.random.default_rng(1)
    pieces = [np.stack([rough(2_000, 100, p), rough(2_000, 80, p)], axis=1) for p in (0.0, 1.0)]
    noisy = [x + [0.05, 0] * rng.standard_normal(x.shape) for x in pieces]
    made = make_task("w", noisy, 1.0)
    task, scale = made.task, made.scale
    assert make_task("w", noisy, 1.0, smooth=False).task.smoothed == ()
    first, second = task.smoothed
    assert first > 5
    assert second == 0
    true = np.concatenate([x[: task.breaks[0]] for x in pieces])
    error = np.abs(scale.restore(task.train) - true)
    assert error[:, 0].mean() < 0.6 * 0.05 * np.sqrt(2 / np.pi)
    assert error[:, 1].max() < 1e-9
    held_out = np.concatenate([x[task.breaks[0] :] for x in noisy])
    np.testing.assert_allclose(scale.restore(task.test), held_out, atol=1e-6)
