"""Model files that an earlier crug wrote."""

from pathlib import Path

import numpy as np
import pytest

import crug
from crug.errors import CrugError
from crug.model import old
from crug.runs import store
from crug.tasks.recordings import Rolling

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
    assert (tmp_path / "lab.crug").read_bytes().startswith(b"crug model 3")
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


# format 2


NEWER = OLD.with_name("model-format-2.crug")
"""By crug before records: a dense network of four recordings, of which each hears all before it. One has two inputs,
one carries noise, and the units of the last lie between those that it hears."""


def dense_rollout(network, number, known, how):
    """As the code that wrote the file did it."""
    return known.scale.restore(known.task.roll(network, number, how))


def test_a_dense_network_becomes_records_without_a_changed_bit(tmp_path):
    network, said, _ = old.dense(NEWER.read_bytes(), NEWER)
    assert [entry.about.name for entry in said.tasks] == ["two", "driven", "three", "noisy"]
    assert (np.diff(network.owner[network.runs[3]]) < 0).any()
    model = crug.load(NEWER)
    model.save(tmp_path / "lab.crug")
    rng = np.random.default_rng(0)
    for again in (model, crug.load(tmp_path / "lab.crug")):
        assert all(again.verify().values())
        assert again.units_free == len(network.free())
        assert [one.listed.heard for one in again.kept] == [again.tasks[:k] for k in range(4)]
        for k, known in enumerate(again.recordings):
            inputs = rng.standard_normal((60, 2)) if known.about.inputs else None
            x0 = known.scale.restore(rng.standard_normal((3, known.task.dim)))
            starts = known.scale.standardise(x0)
            for noise in (None, 5) if network.noises[k] else (None,):
                how = Rolling(starts, 60, inputs, noise)
                rolled = again.rollout(known.name, 60, x0, inputs, noise is not None, noise or 0)
                assert rolled.tobytes() == dense_rollout(network, k, known, how).tobytes()
            ahead = Rolling(starts, 40, None if inputs is None else inputs[:42])
            forecast = again.forecast(known.name, x0, 40, ahead.inputs)
            assert forecast.tobytes() == known.scale.restore(known.task.foresee(network, k, ahead)).tobytes()
            assert again.score(known.name) == known.task.evaluate(network, k)


def test_it_can_be_taken_apart_and_goes_on(tmp_path):
    model = crug.load(NEWER)
    rolled = {name: model.rollout(name, 50).tobytes() for name in model.tasks}
    for name in model.tasks:
        small = model.extract(name)
        small.save(tmp_path / "small.crug")
        small = crug.load(tmp_path / "small.crug")
        assert (small.tasks, small.units_free) == ((name,), 0)
        assert all(small.verify().values())
        assert small.rollout(name, 50).tobytes() == rolled[name]
    with pytest.raises(CrugError, match="'driven' draws on 'two'"):
        model.remove("two")
    model.remove("noisy").save(tmp_path / "lab.crug")
    again = crug.load(tmp_path / "lab.crug")
    assert again.units_free == 23
    assert {name: again.rollout(name, 50).tobytes() for name in again.tasks} == {
        name: rolled[name] for name in ("two", "driven", "three")
    }
