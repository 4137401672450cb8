"""The commands that look at what was learned."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.errors import CrugError
from crug.readers import Recording, shaped
from crug.tasks.systems import SYSTEMS, generate
from waves import QUICK, START

THREE = Path(__file__).parents[1] / "data" / "three.crug"


def said(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def stretch(tmp_path):
    """500 samples of Chua's circuit that nothing was learned from."""
    file = tmp_path / "new.csv"
    np.savetxt(file, generate(SYSTEMS["chua"], 0).test[:500], delimiter=",", header="x,y,z", comments="")
    return file


def test_analyse_says_it_in_words_and_as_json():
    assert said("analyse", THREE, "chua").startswith("chua: a chaotic attractor\nlargest exponent 0.")
    found = json.loads(said("analyse", THREE, "chua", "--json"))
    assert found["chua"]["kind"] == "chaos"
    assert len(found["chua"]["exponents"]["per_time"]) == len(found["chua"]["exponents"]["per_sample"])


def test_recognise(stretch):
    assert said("recognise", THREE, stretch).startswith("chua: its forecasts are ")
    found = json.loads(said("recognise", THREE, stretch, "--json"))
    assert (found["name"], found["ranking"][0]["same"], found["ranking"][1]["same"]) == ("chua", True, False)


def test_recognise_prepares_the_data_as_the_recordings_were(tmp_path):
    """Delayed copies are made again, and there may be no second best."""
    t = 0.1 * np.arange(3_000)
    x = np.sin(t)[:, None] + 0.3 * np.sin(2 * t)[:, None]
    model = crug.Model(units=24, seed=0, settings=START)
    model.learn(shaped(Recording("x", x[:2_400], ("x",), 0.1), lags=[8, 16]), name="wave", **QUICK)
    model.save(tmp_path / "lab.crug")
    new = tmp_path / "new.csv"
    np.savetxt(new, np.column_stack([t, x])[2_400:], delimiter=",", header="t,x", comments="")
    found = json.loads(said("recognise", tmp_path / "lab.crug", new, "--json"))
    assert [one["name"] for one in found["ranking"]] == ["wave"]
    assert (found["margin"], found["left_out"]) == (None, {})
    apart = json.loads(said("recognise", tmp_path / "lab.crug", new, "--decimate", 2, "--json"))
    assert apart["left_out"] == {"wave": "its samples are 0.1 apart, these 0.2"}
    assert said("recognise", tmp_path / "lab.crug", new, "--decimate", 2).startswith("new: wave cannot be compared: ")


def test_a_score_is_printed_beside_its_floor_with_a_verdict(stretch):
    printed = said("score", THREE, "lorenz")
    floor = crug.load(THREE).judged("lorenz").floor["d_stsp"]
    assert f"indistinguishable from the recording (a perfect model: {floor:.2f})" in printed
    assert "forecasts of persistence: " in printed
    found = json.loads(said("score", THREE, "chua", stretch, "--json"))["chua"]
    assert set(found["forecasts"]) == {"network", "persistence", "VAR"}
    assert f"({floor:.2f})" in said("info", THREE)


def test_report_writes_a_page_and_refuses_what_it_cannot(tmp_path):
    with pytest.raises(CrugError, match=r"write \.html"):
        said("report", THREE, "--out", tmp_path / "page.pdf")
    with pytest.raises(CrugError, match="one model's file, or folders of runs"):
        said("report", THREE, THREE, "--out", tmp_path / "page.html")
    model = crug.load(THREE).extract("van-der-pol")
    model.save(tmp_path / "one.crug")
    assert "1 chapter, " in said("report", tmp_path / "one.crug", "--out", tmp_path / "page.html")
    assert model.report(tmp_path / "same.html").stat().st_size > 1e6


def test_watch_refuses_what_is_no_run(tmp_path):
    with pytest.raises(CrugError, match="not the folder of a run"):
        said("watch", tmp_path)
    with pytest.raises(CrugError, match=r"nothing\.crug"):
        said("watch", tmp_path / "nothing.crug")


def test_only_short_cycles_are_looked_for():
    with pytest.raises(CrugError, match="cycles = 51; give a number from 1, for fixed points only, to 50"):
        said("analyse", THREE, "chua", "--cycles", 51)
