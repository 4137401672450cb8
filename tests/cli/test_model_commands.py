"""The command line of a model file."""

import json
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.cli.run import _verified
from crug.errors import CrugError
from crug.tasks import dysts
from crug.tasks.recordings import held_out
from waves import START, nudged, wave


@pytest.fixture(scope="module")
def learned() -> crug.Model:
    model = crug.Model(units=48, seed=3, settings=START)
    model.learn(wave(offset=7.0), "first", 0.1, epochs=2, progress=False)
    return model.learn(wave(3, 1.7), "second", 0.1, epochs=2, progress=False)


def test_the_command_line_of_a_model(tmp_path):
    np.savetxt(tmp_path / "monday.csv", wave(), delimiter=",", header="x,y", comments="")
    np.save(tmp_path / "tuesday.npy", wave(3, 2.0))
    lab = str(tmp_path / "lab.crug")

    def go(*line, code=0):
        done = CliRunner().invoke(app, [str(part) for part in line])
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    crug.Model(units=60, settings=START).save(lab)
    out = go("learn", lab, tmp_path / "monday.csv", tmp_path / "tuesday.npy", "--epochs", 6, "--units", 20)
    assert "2 recordings" in out
    assert not (tmp_path / "lab.crug.progress").exists()
    assert "already learned" in go("learn", lab, tmp_path / "monday.csv", tmp_path / "tuesday.npy")
    about = json.loads(go("info", lab, "--json"))
    assert [task["name"] for task in about["tasks"]] == ["monday", "tuesday"]
    assert about["tasks"][0]["columns"] == ["x", "y"]
    assert "monday" in go("info", lab, "--figures", tmp_path / "pictures")
    assert (tmp_path / "pictures" / "capacity.png").exists()
    go("rollout", lab, "monday", "--steps", 20, "--out", tmp_path / "r.csv", "--start", "0.5,1.0")
    rolled = np.loadtxt(tmp_path / "r.csv", delimiter=",", skiprows=1)
    assert np.array_equal(rolled, crug.load(lab).rollout("monday", 20, np.array([0.5, 1.0])))
    assert set(json.loads(go("score", lab, "--json"))) == {"monday", "tuesday"}
    assert go("verify", lab).count("same bits") == 2
    go("extract", lab, "tuesday", "--out", tmp_path / "small.crug")
    assert crug.load(tmp_path / "small.crug").tasks == ("tuesday",)
    (tmp_path / "link.crug").symlink_to(lab)
    go("grow", tmp_path / "link.crug", 10)
    assert (tmp_path / "link.crug").is_symlink()
    assert crug.load(lab).units == 70
    (tmp_path / "other").mkdir()
    np.save(tmp_path / "other" / "tuesday.npy", wave(2, 4.0))
    np.savetxt(tmp_path / "swapped.csv", wave(), delimiter=",", header="y,x", comments="")
    for line in (
        ("learn", lab, tmp_path / "other" / "tuesday.npy"),
        ("learn", lab, tmp_path / "monday.csv", tmp_path / "swapped.csv", "--together", "--name", "both"),
        ("learn", lab, tmp_path / "monday.csv", "--name", "tuesday"),
        ("rollout", lab, "sunday", "--out", tmp_path / "new.csv"),
        ("rollout", lab, "monday", "--out", tmp_path / "r.xls"),
        ("extract", lab, "monday", "--out", tmp_path / "small.crug"),
        ("rollout", lab, "monday", "--out", tmp_path / "r.csv"),
        ("rollout", lab, "monday", "--out", tmp_path / "new.csv", "--start", "nan,1"),
        ("learn", lab, tmp_path / "other" / "tuesday.npy", "--name", "new", "--fill", "magic"),
        ("remove", lab, "sunday"),
        ("info", tmp_path / "nothing.crug"),
        ("verify", tmp_path / "nothing.crug"),
    ):
        done = CliRunner().invoke(app, [str(part) for part in line])
        assert isinstance(done.exception, CrugError), line
    assert "1 recording," in go("remove", lab, "monday")
    assert "nothing was held out" not in go("info", lab) + go("score", lab)
    go("learn", lab, tmp_path / "monday.csv", "--no-hold-out", "--epochs", 2, "--units", 20)
    assert go("score", lab).count("nothing was held out") == 1
    assert "* nothing was held out" in go("info", lab)
    assert crug.load(lab).verify() == {"tuesday": True, "monday": True}


def test_forecasts_on_the_command_line(tmp_path):
    """Columns by name, delayed copies, time stamps that go on, and what cannot be."""
    t = 0.1 * np.arange(1_600)
    table = np.column_stack([t, wave(2, samples=1_600), t**2])

    def write(name, rows, header="time,x,y,other", columns=(0, 1, 2, 3)):
        np.savetxt(tmp_path / name, rows[:, list(columns)], delimiter=",", header=header, comments="")
        return str(tmp_path / name)

    def go(*line, code=0):
        done = CliRunner().invoke(app, [str(part) for part in line])
        assert done.exit_code == code, (done.output, done.exception)
        return done

    lab = str(tmp_path / "lab.crug")
    past, now = write("past.csv", table[:1_500]), write("now.csv", table[1_500:])
    go("learn", lab, past, "--columns", "x", "--lags", "5,9", "--epochs", 6, "--units", 20, "--size", 60)
    out = tmp_path / "next.csv"
    assert "30 samples of past after 91" in go("forecast", lab, "past", now, "--steps", 30, "--out", out).output
    assert out.read_text().splitlines()[0] == "time,x,x-5,x-9"
    rows = np.loadtxt(out, delimiter=",", skiprows=1)
    np.testing.assert_allclose(rows[:, 0], 160 + 0.1 * np.arange(30), atol=1e-6)
    model, x = crug.load(lab), table[1_500:, 1]
    context = np.column_stack([x[9:], x[4:-5], x[:-9]])
    np.testing.assert_allclose(rows[:, 1:], model.forecast("past", context, 30), rtol=1e-6)
    untimed = write("untimed.csv", table[1_500:], "x", (1,))
    go("forecast", lab, "past", untimed, "--steps", 30, "--out", tmp_path / "plain.csv")
    assert np.loadtxt(tmp_path / "plain.csv", delimiter=",", skiprows=1).shape == (30, 3)
    coarse = write("coarse.csv", table[::2])
    for line, message in (
        (("past", coarse, "--out", tmp_path / "a.csv"), "0.2 apart, those of past 0.1"),
        (("past", now, "--out", out), "is there already"),
        (("today", now, "--out", tmp_path / "a.csv"), "no recording called"),
        (("past", now, "--columns", "x,y", "--out", tmp_path / "a.csv"), "3 dimensions"),
    ):
        failed = go("forecast", lab, *line, code=1).exception
        assert isinstance(failed, CrugError)
        assert message in str(failed)
    assert not (tmp_path / "a.csv").exists()


def test_intervals_on_the_command_line(tmp_path):
    """By a clock that was not chosen, by --dt, or in samples as recorded; and alike in recordings of one system."""

    def learn(*line):
        few = ("--epochs", 2, "--units", 8, "--size", 60)
        return CliRunner().invoke(app, ["learn", *(str(part) for part in (*line, *few))])

    def timed(start):
        t = start + 0.02 * np.arange(1_500)
        return np.concatenate([t[:, None], wave()], axis=1)

    lab = tmp_path / "lab.crug"
    for name, start in (("a", 0), ("b", 137)):
        np.savetxt(tmp_path / f"{name}.csv", timed(start), "%.6f", ",", header="time,x,y", comments="")
    np.save(tmp_path / "c.npy", wave(samples=4_000))
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    for line in (
        (*files, "--together", "--columns", "x,y", "--name", "clock"),
        (*files, "--together", "--columns", "y,x", "--dt", 0.5, "--name", "told"),
        (tmp_path / "c.npy", "--decimate", 2, "--name", "decimated"),
        (*files, "--together", "--columns", "x,y", "--decimate", 2, "--name", "both"),
    ):
        done = learn(lab, *line)
        assert done.exit_code == 0, (done.output, done.exception)
    model = crug.load(lab)
    assert model.about("clock").dt == pytest.approx(0.02)
    assert model.about("told").columns == ("y", "x")
    assert [model.about(name).dt for name in ("told", "decimated")] == [0.5, 2.0]
    before = lab.read_bytes()
    np.save(tmp_path / "few.npy", wave(samples=200))
    for line, message in (
        ((tmp_path / "c.npy", "--dt", 0), "dt = 0; the interval between samples is a positive number"),
        ((tmp_path / "c.npy", tmp_path / "few.npy"), "has 200 samples; at least 300"),
    ):
        done = learn(lab, *line)
        assert message in str(done.exception)
        assert lab.read_bytes() == before


def test_verify_sees_one_nudged_weight(learned, tmp_path):
    nudged(learned, "first").save(tmp_path / "nudged.crug")
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "nudged.crug")])
    assert done.exit_code == 1
    assert "first: CHANGED" in done.output
    assert "second: parameters and rollout are the same bits" in done.output


def test_verify_says_what_it_compared(learned, tmp_path, monkeypatch):
    learned.save(tmp_path / "lab.crug")
    assert all("parameters and rollout" in line and equal for line, equal in _verified(tmp_path / "lab.crug"))
    monkeypatch.setattr("crug.runs.proof.machine", lambda: "another; avx; ")
    assert all("rollout not compared" in line and equal for line, equal in _verified(tmp_path / "lab.crug"))


@pytest.mark.parametrize("command", ["learn", "rollout"])
def test_help_mentions_inputs(command):
    done = CliRunner().invoke(app, [command, "--help"], env={"NO_COLOR": "1", "COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    assert "inputs" in done.output


def test_several_at_once_and_merging_on_the_command_line(tmp_path):
    """Two workers make the same records as one; what is learned already is left alone."""
    names = []
    for k in range(3):
        names.append(tmp_path / f"r{k}.npy")
        np.save(names[-1], wave(2, 1 + 0.3 * k, 400))
    few = ("--epochs", 2, "--units", 6)
    for name in ("one", "two", "three"):
        crug.Model(units=60, settings=START).save(tmp_path / f"{name}.crug")

    def go(*line):
        done = CliRunner().invoke(app, [str(part) for part in line])
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    def bits(file):
        return {one.name: one.content() for one in crug.load(tmp_path / file).kept}

    one, two, three = (tmp_path / f"{name}.crug" for name in ("one", "two", "three"))
    go("learn", one, *names, *few)
    said = go("learn", two, *names, *few, "--workers", 2)
    assert "3 of 3: r2, " in said
    assert bits("two.crug") == bits("one.crug")
    assert not (tmp_path / "two.crug.progress").exists()
    assert go("learn", two, *names, *few, "--workers", 2).count("already learned") == 3
    go("remove", two, "r1")
    go("learn", three, names[1], *few)
    assert "3 recordings" in go("merge", two, three, "--out", tmp_path / "all.crug")
    assert bits("all.crug") == bits("one.crug")
    refused = CliRunner().invoke(app, ["merge", str(two), "--out", str(one)])
    assert "is there already" in str(refused.exception)
    model = crug.Model(units=60, settings={**START, "transfer.kind": "free"})
    model.save(tmp_path / "listening.crug")
    assert "by one worker" in go("learn", tmp_path / "listening.crug", *names[:2], *few, "--workers", 2)


def test_systems_of_the_database_are_learned_like_files(tmp_path, monkeypatch):
    monkeypatch.setattr(dysts, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(dysts, "recording", partial(dysts.recording, count=400))
    monkeypatch.chdir(tmp_path)
    crug.Model(units=60, settings=START).save("lab.crug")

    def go(*line, code=0):
        few = ("--epochs", 2, "--units", 8)
        done = CliRunner().invoke(app, ["learn", *(str(part) for part in (*line, *few))])
        assert done.exit_code == code, (done.output, done.exception)
        return done

    go("lab.crug", "dysts:SprottA", "dysts:1")
    model, found = crug.load("lab.crug"), dysts.recording("SprottA")
    assert model.tasks == ("SprottA", dysts.listed()[0])
    assert (model.about("SprottA").dt, model.about("SprottA").columns) == (found.dt, found.columns)
    np.testing.assert_allclose(model.held_out("SprottA"), found.values[-67:], rtol=1e-5, atol=1e-6)
    assert go("lab.crug", "dysts:SprottA", "dysts:1").output.count("already learned") == 2
    for wrong, said in (
        (("dysts:Lorentz",), "no system of dysts is called 'Lorentz'; did you mean Lorenz?"),
        (("dysts:0",), "write the first so many systems as dysts:2, up to dysts:1"),
        (("dysts:1000",), "write the first so many systems as dysts:2, up to dysts:1"),
        (
            ("dysts:SprottA", "--columns", "x1"),
            "dysts:SprottA: a system of dysts is taken as it is; leave --columns out",
        ),
        (("dysts:2", "--name", "both"), "--name: names one recording"),
    ):
        failed = go("lab.crug", *wrong, code=1).exception
        assert isinstance(failed, CrugError)
        assert said in str(failed)
    np.save(tmp_path / "x.npy", wave(2, 2.0, 400))
    (tmp_path / "x.npy").rename(tmp_path / "dysts:Lorenz.npy")
    go("lab.crug", "dysts:Lorenz.npy")
    assert crug.load("lab.crug").tasks[2] == "dysts:Lorenz"


def test_a_system_is_held_out_as_a_run_holds_it_out():
    assert list(held_out([np.zeros((dysts.TRAIN + dysts.TEST, 1))])) == [dysts.TRAIN]
