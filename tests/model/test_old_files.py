"""Model files that an earlier crug wrote."""

from pathlib import Path

import numpy as np
import pytest

import crug
from crug.errors import CrugError
from crug.runs import store

OLD = Path(__file__).parents[1] / "data" / "model-0.1.0.crug"
"""By crug 0.1.0: two recordings of 2 and 3 columns, the second of which may draw on the first."""


@pytest.fixture
def model() -> crug.Model:
    return crug.load(OLD)


def test_a_model_of_0_1_0_opens_and_stays_as_it_is():
    before = OLD.read_bytes(), OLD.stat().st_mtime_ns, sorted(p.name for p in OLD.parent.iterdir())
    assert store.read_described(OLD)[1]["format"] == "crug model 1"
    model = crug.load(OLD)
    assert model.tasks == ("two", "three")
    assert (model.seed, model.settings) == (3, {"path": {"start": 8}, "transfer": {"kind": "free"}})
    assert (OLD.read_bytes(), OLD.stat().st_mtime_ns, sorted(p.name for p in OLD.parent.iterdir())) == before


def test_it_is_what_was_learned(model):
    """By its parameters alone: crug 0.1 noted too little of its machine to tell whether it rounds as this one does."""
    assert model.verify() == {"two": True, "three": True}


def test_it_rolls_out(model):
    for name, dim in (("two", 2), ("three", 3)):
        out = model.rollout(name, 200)
        assert out.shape == (200, dim)
        assert np.isfinite(out).all()
        assert model.held_out(name).shape[1] == dim
    assert model.rollout("three", 50, np.zeros((4, 3))).shape == (4, 50, 3)
    assert {name: out.shape for name, out in model.rollout_all(None, 30).items()} == {"two": (30, 2), "three": (30, 3)}


def test_saved_again_it_is_the_same_model(model, tmp_path):
    model.save(tmp_path / "lab.crug")
    assert store.read_described(tmp_path / "lab.crug")[1]["format"] == "crug model 2"
    again = crug.load(tmp_path / "lab.crug")
    assert again.verify() == {"two": True, "three": True}
    for name in model.tasks:
        assert again.rollout(name, 300).tobytes() == model.rollout(name, 300).tobytes()
        assert again.score(name) == model.score(name)
        assert (again.about(name), again.learned(name)) == (model.about(name), model.learned(name))
    assert {k: v.tobytes() for k, v in again.arrays().items()} == {k: v.tobytes() for k, v in model.arrays().items()}


def test_what_is_said_of_its_recordings(model):
    for name, columns in (("two", ("1", "2")), ("three", ("1", "2", "3"))):
        about, learned = model.about(name), model.learned(name)
        assert (about.name, about.dt, about.samples, about.columns) == (name, 0.1, 1_100, columns)
        assert (about.kind, about.inputs, about.smoothed) == ("recording", (), ())
        assert (about.interval, about.machine) == (16, "AMD EPYC, jax 0.10.2")
        assert learned.earlier == []
        assert learned.seconds > 0
        assert learned.floor > 0
        assert learned.own.main == learned.own["d_stsp"]
        assert learned.own.rank >= learned.own.main
        assert {outcome.phase.kind for outcome in learned.history} <= {"open", "rung", "final"}
        assert all(outcome.phase.controls.keys() >= {"gates", "gate_lr"} for outcome in learned.history)
        committed = [size for size in model.capacity_curve(name) if size.committed]
        assert [size.units for size in committed] == [sum(model.ledger[name].values())]
        assert np.isfinite(committed[0].score.rank)
    own = model.learned("two").own
    assert own["d_stsp"] == pytest.approx(16.787493000470516)
    assert own["d_h"] == np.inf


def test_it_goes_on_learning(model):
    with pytest.raises(CrugError, match="'three' draws on 'two'"):
        model.remove("two")
    before = {name: model.rollout(name, 200).tobytes() for name in model.tasks}
    t = 0.1 * np.arange(1_100)
    model.grow(40).learn(np.stack([np.sin(t), np.cos(t)], axis=1), "circle", 0.1, epochs=2, progress=False)
    assert model.verify() == {"two": True, "three": True, "circle": True}
    assert {name: model.rollout(name, 200).tobytes() for name in model.tasks[:2]} == before
