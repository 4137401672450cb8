"""How networks are scored while they train."""

import numpy as np
import pytest

import crug
from crug.tasks import load
from crug.tasks.attractor import AttractorScorer, of_trimmed
from crug.tasks.recordings import RecordingTask


def lorenz() -> RecordingTask:
    task = load("lorenz", 0)
    assert isinstance(task, RecordingTask)
    return task


def test_what_is_true_scores_well_on_a_short_recording_because_rollouts_are_long():
    x = lorenz().train
    scorer = AttractorScorer(x[:4_000], (40_000, 10_000))
    elsewhere = [x[i : i + scorer.steps - scorer.skip] for i in (10_000, 30_000, 50_000)]
    assert len(elsewhere[0]) == 30_000
    whole, brief = (np.mean([scorer.space.divergence(g[:n], [0]) for g in elsewhere]) for n in (30_000, 1_200))
    assert whole < 0.4 * brief


def test_recordings_are_scored_by_ten_rollouts_unless_told_otherwise(monkeypatch):
    class Asked(Exception): ...

    def asked(task, network, feeders, settings):
        raise Asked(settings.starts)

    x = lorenz().train[:2_000]
    monkeypatch.setattr(RecordingTask, "scorer", asked)
    with pytest.raises(Asked, match="10"):
        crug.Model(units=32).learn(x, name="lorenz", epochs=2, progress=False)
    with pytest.raises(Asked, match="7"):
        crug.Model(units=32, settings={"training": {"starts": 7}}).learn(x, name="lorenz", epochs=2, progress=False)


def test_a_mean_that_forgives_the_worst_knows_how_uncertain_it_is():
    drawn = np.sort(np.random.default_rng(0).lognormal(sigma=0.6, size=(4_000, 20)), axis=1)[:, :16]
    stated = np.sqrt(np.mean([of_trimmed(list(kept), 20) ** 2 for kept in drawn]))
    assert stated == pytest.approx(drawn.mean(axis=1).std(), rel=0.05)
