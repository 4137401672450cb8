"""The nine cognitive tasks: who sees what when, and what counts as right."""

import numpy as np
import pytest

from crug.tasks.cognitive import INPUTS, PROTOCOLS, STEPS, TrialSettings, correct, draw

NAMES = [p.name for p in PROTOCOLS]


def trials(name, count=400, seed=0, **settings):
    return draw(NAMES.index(name), count, np.random.default_rng(seed), TrialSettings(**settings))


def test_there_are_nine_and_each_says_which_it_is():
    assert len(PROTOCOLS) == 9
    assert INPUTS == 18
    for number in range(9):
        t = draw(number, 5, np.random.default_rng(0))
        assert t.inputs.shape == (5, STEPS, 18)
        assert t.targets.shape == (5, STEPS, 3)
        assert t.inputs[:, :, 9:].sum() == 5 * STEPS
        assert (t.inputs[:, :, 9 + number] == 1).all()


@pytest.mark.parametrize(
    ("name", "stimulus", "fixation", "response"),
    [
        ("delayed-response-pro", (10, 20), 30, 30),
        ("reaction-time-anti", (20, 40), 40, 20),
        ("category-pro", (10, 30), 30, 30),
        ("context-anti", (10, 30), 30, 30),
        ("go-nogo", (10, 30), 30, 30),
    ],
)
def test_timing(name, stimulus, fixation, response):
    t = trials(name)
    on = np.abs(t.inputs[:, :, 1:5]).max(axis=(0, 2)) > 0
    assert np.flatnonzero(on).tolist() == list(range(*stimulus))
    assert t.inputs[0, :, 0].tolist() == [1.0] * fixation + [0.0] * (STEPS - fixation)
    assert (t.targets[:, :response] == (1, 0, 0)).all()
    due = t.targets[:, response:]
    assert (due == due[:, :1]).all()
    assert (due[t.go][:, :, 0] == 0).all()
    np.testing.assert_allclose((due[t.go][:, :, 1:] ** 2).sum(axis=2), 1, rtol=1e-5)


def test_the_rules():
    pro, anti = trials("delayed-response-pro", noise=0), trials("delayed-response-anti", noise=0)
    seen = np.arctan2(pro.inputs[:, 15, 1], pro.inputs[:, 15, 2])
    np.testing.assert_allclose(np.cos(pro.angle - seen), 1, atol=1e-5)
    np.testing.assert_allclose(np.cos(anti.angle - pro.angle), -1, atol=1e-5)
    assert (anti.inputs[:, :, 7] == 1).all()
    assert not pro.inputs[:, :, 7].any()

    category = trials("category-pro", noise=0)
    assert set(np.round(category.angle, 6)) == {np.round(np.pi / 2, 6), np.round(3 * np.pi / 2, 6)}
    upper = category.inputs[:, 15, 1] > 0
    assert (np.sin(category.angle[upper]) > 0).all()
    assert (category.inputs[:, :, 8] == 1).all()

    context = trials("context-pro", context_noise=0)
    cue = context.inputs[:, 0, 5:7].argmax(axis=1)
    assert 0.4 < cue.mean() < 0.6
    rows = np.arange(len(cue))
    seen = np.arctan2(context.inputs[rows, 15, 1 + 2 * cue], context.inputs[rows, 15, 2 + 2 * cue])
    np.testing.assert_allclose(np.cos(context.angle - seen), 1, atol=1e-5)

    go = trials("go-nogo", noise=0)
    np.testing.assert_allclose(go.inputs[:, 15, 2] > 0.5, go.go)
    assert not go.inputs[:, 15, 1].any()
    assert (go.targets[~go.go][:, -1] == (1, 0, 0)).all()


@pytest.mark.parametrize(("name", "sigma"), [("reaction-time-pro", 0.1), ("context-pro", 0.3)])
def test_noise(name, sigma):
    noisy, clean = trials(name), trials(name, noise=0, context_noise=0)
    off = (noisy.inputs - clean.inputs)[:, slice(*noisy.protocol.stimulus), 1:3]
    assert off.std() == pytest.approx(sigma, rel=0.03)
    assert np.corrcoef(off[:, 0].ravel(), off[:, 1].ravel())[0, 1] == pytest.approx(0, abs=0.1)
    assert np.array_equal(noisy.targets, clean.targets)


def test_what_counts_as_right():
    t = trials("delayed-response-pro", 4)
    by = np.deg2rad([0, 29, 31, 180])
    outputs = np.stack([np.zeros(4), np.sin(t.angle + by), np.cos(t.angle + by)], axis=1)
    assert correct(5 * outputs, t).tolist() == [True, True, False, False]
    outputs[0, 1] = np.nan
    assert not correct(outputs, t)[0]
    go = trials("go-nogo", 50)
    perfect = go.targets[:, -1]
    assert correct(perfect, go).all()
    assert correct(perfect, go, strict=True).all()
    turned = perfect * (1, -1, -1)
    assert correct(turned, go).all()
    assert correct(turned, go, strict=True).tolist() == (~go.go).tolist()
    assert not correct(1 - perfect, go).any()


def test_an_ideal_observer_is_nearly_always_right():
    """Averages what it saw and answers by the rule: the ceiling of every network."""
    scores = []
    for number, protocol in enumerate(PROTOCOLS):
        t = draw(number, 2_000, np.random.default_rng(number))
        seen = t.inputs[:, slice(*protocol.stimulus), 1:5].mean(axis=1)
        pick = 2 * t.inputs[:, 0, 5:7].argmax(axis=1) if protocol.context else np.zeros(2_000, int)
        rows = np.arange(2_000)
        angle = np.arctan2(seen[rows, pick], seen[rows, pick + 1]) % (2 * np.pi)
        if protocol.category:
            angle = np.where(angle < np.pi, np.pi / 2, 3 * np.pi / 2)
        angle = angle + np.pi * protocol.anti
        stop = seen[:, 1] <= 0.5 if protocol.go else np.zeros(2_000, bool)
        outputs = np.stack([stop, np.sin(angle), np.cos(angle)], axis=1)
        scores.append(correct(outputs, t).mean())
    assert np.mean(scores) == pytest.approx(0.997, abs=0.002)


def test_the_same_seed_gives_the_same_trials():
    assert np.array_equal(trials("context-pro").inputs, trials("context-pro").inputs)
    assert not np.array_equal(trials("context-pro").inputs, trials("context-pro", seed=1).inputs)
