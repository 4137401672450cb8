"""How networks are scored while they train."""

import pytest

import crug
from crug import sequence
from crug.evaluation import TrainingScore
from crug.tasks import Task, load_recording


def test_what_is_true_scores_well_on_a_short_recording_because_rollouts_are_long():
    x = load_recording("lorenz", 0).train
    score = TrainingScore(Task("short", "Short", x[:4_000], x[4_000:4_800], 0.01))
    elsewhere = [x[i : i + score.steps - score.skip] for i in (10_000, 30_000, 50_000)]
    assert len(elsewhere[0]) == 30_000
    brief = [g[:1_200] for g in elsewhere]
    assert score._mean(elsewhere).d_stsp < 0.4 * score._mean(brief).d_stsp


def test_recordings_are_scored_by_ten_rollouts_unless_told_otherwise(monkeypatch):
    class Asked(Exception): ...

    def asked(task, starts):
        raise Asked(starts)

    x = load_recording("lorenz", 0).train[:2_000]
    monkeypatch.setattr(sequence, "TrainingScore", asked)
    with pytest.raises(Asked, match="10"):
        crug.Model(units=32).learn(x, name="lorenz", epochs=2, progress=False)
    with pytest.raises(Asked, match="7"):
        crug.Model(units=32, settings={"training": {"starts": 7}}).learn(x, name="lorenz", epochs=2, progress=False)
