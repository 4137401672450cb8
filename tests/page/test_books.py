"""Pages of what can be learned: runs, several of them, and tasks of every kind."""

import re
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.core.network import with_noise
from crug.core.noise import Noise
from crug.errors import CrugError
from crug.model.told import book_of_model
from crug.page import page
from crug.page import run as page_run
from crug.page.figures import attractors, of_chapter
from crug.page.run import book_of_runs, chapter_of_run
from crug.page.words import failed, lost
from crug.runs.opened import open_run
from crug.runs.result import NOISE_SEED, Noisy
from waves import START, wave

TINY: dict[str, Any] = {"epochs": 2, "network": {"M": 12, "P": 4}, "training": {"window": 400}, "path": {"start": 6}}


def body(book) -> str:
    """The page up to its scripts."""
    made = page(book)
    return made[: made.rindex("</main>")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two runs of one task."""
    places = [tmp_path_factory.mktemp("runs") / str(seed) for seed in range(2)]
    for seed, place in enumerate(places):
        crug.run(["van-der-pol"], seed=seed, out=place, **TINY)
    return places


@pytest.fixture(scope="module")
def model():
    """A recording of one column, and a driven one."""
    found = crug.Model(units=40, seed=0, settings=START)
    found.learn(wave(1), "one", 0.1, epochs=2, progress=False)
    rng, x = np.random.default_rng(0), np.zeros((1_200, 2))
    u = np.sin(0.05 * np.arange(1_200))[:, None] + 0.1 * rng.standard_normal((1_200, 1))
    for t in range(len(x) - 1):
        x[t + 1] = [[0.9, 0.2], [-0.2, 0.9]] @ x[t] + u[t]
    found.learn(x, "driven", 0.1, inputs=u, epochs=2, progress=False)
    return found


def test_a_run_has_a_page_and_an_analysis(folders):
    made = body(book_of_runs(folders[:1]))
    assert "Learning curves were not kept." not in made
    assert "1 of 1 tasks" in made
    assert 'class="learning"' in made
    done = CliRunner().invoke(app, ["analyse", str(folders[0])], catch_exceptions=False)
    assert done.output.startswith("van-der-pol: ")
    with pytest.raises(CrugError, match="has no task called 'chua'; it has: van-der-pol"):
        CliRunner().invoke(app, ["analyse", str(folders[0]), "chua"], catch_exceptions=False)


def test_runs_side_by_side_have_verdicts_and_a_perfect_model(folders):
    made = body(book_of_runs(folders))
    table = made[made.index("of every task at the end") :]
    table = table[: table.index("</table>")]
    assert re.findall(r'<th scope="row">(.*?)</th>', table) == ["crug, seed 0", "crug, seed 1", "a perfect model"]
    words = re.findall(r'<span class="floor">(.*?)</span>', table)
    assert len(words) == 2
    assert all(words)


def test_a_run_that_is_not_finished_is_refused_before_any_work(folders, tmp_path, monkeypatch):
    half = tmp_path / "half"
    shutil.copytree(folders[1], half)
    (half / "result.json").unlink()
    monkeypatch.setattr(page_run, "chapter_of_run", lambda *_: pytest.fail("something was analysed"))
    with pytest.raises(CrugError, match="half: this run is not finished"):
        book_of_runs([folders[0], half])


def test_a_run_under_way_is_judged_under_the_noise_that_its_tasks_carry(folders, monkeypatch):
    opened = open_run(folders[0])
    ones = np.ones((1, 2), np.float32)
    noise = Noise(0 * ones, 0.01 * ones[None], -9 * ones[0], 9 * ones[0], np.zeros((), np.float32))
    noisy = Noisy(1.0, 2.0, 1.0, opened.learned[0].own)
    way = replace(
        opened,
        network=with_noise(opened.network, 0, noise),
        learned=(replace(opened.learned[0], noisy=noisy),),
        result=None,
    )
    seeds = []
    real = page_run.judged
    monkeypatch.setattr(page_run, "judged", lambda *given: seeds.append(given[3]) or real(*given))
    found = chapter_of_run(way, 0)
    assert seeds == [NOISE_SEED]
    assert found.material.noisy == opened.learned[0].own.measures()
    assert '<th scope="row">with noise</th>' in body(replace(book_of_runs(folders[:1]), chapters=[found]))


def test_one_column_is_drawn_against_itself_by_as_many_samples_as_it_says(model):
    chapter = book_of_model(model).chapters[0]
    assert chapter.drawn
    for step in (1, 3, 4):
        drawn = replace(chapter.drawn, step=step)
        recorded, *_ = attractors(chapter, drawn)
        said = re.search(r", (\d+) samples later", recorded.layout["yaxis"]["title"]["text"])
        assert said
        points = len(chapter.drawn.truth) - len(recorded.data[0]["x"])
        assert points * step == int(said[1])
        assert 8 <= int(said[1]) <= 12


def test_recordings_of_every_kind_have_a_page(model):
    made = body(book_of_model(model))
    assert 'id="task-2"' in made
    assert "a response that forgets where it began" in made or "divergent" in made or "a chaotic response" in made
    assert 'class="learning"' not in made
    assert made.count("Learning curves were not kept.") == 2


def test_cognitive_tasks_have_a_page_without_attractors(tmp_path):
    small = {"epochs": 2, "network": {"M": 24, "P": 12}, "trials": {"train": 64, "test": 40}}
    crug.run(["delayed-response-pro"], out=tmp_path / "run", **small)
    book = book_of_runs([tmp_path / "run"])
    assert book.chapters[0].drawn is None
    made = body(book)
    assert "accuracy" in made
    axes = {figure.kind: figure.layout["yaxis"]["title"]["text"] for figure in of_chapter(book.chapters[0])}
    assert axes.get("capacity", "1 / accuracy, fresh trials") == "1 / accuracy, fresh trials"
    assert not failed(book.chapters[0].material.learned)
    with pytest.raises(CrugError, match="only recordings can be analysed"):
        CliRunner().invoke(app, ["analyse", str(tmp_path / "run")], catch_exceptions=False)


def test_spectra_are_of_as_many_samples_as_d_h_is():
    """The recording has more samples than are drawn of its attractor."""
    model = crug.Model(units=40, seed=0, settings=START)
    model.learn(wave(2, samples=54_000), "long", 0.1, epochs=1, progress=False)
    drawn = book_of_model(model).chapters[0].drawn
    assert drawn
    assert drawn.spectra[0][0] == pytest.approx(1 / (0.1 * 9_000), rel=1e-3)  # of all that was held out


def test_what_cannot_be_seen_is_said():
    t = np.linspace(0, 60, 2_000)
    truth = np.stack([np.sin(t), np.cos(t)], axis=1)
    assert lost(truth, truth) == ""
    assert lost(np.full_like(truth, np.nan), truth) == "runs away"
    assert lost(truth * np.exp(0.1 * t)[:, None], truth) == "runs away"
    assert lost(0 * truth, truth) == "stands still"
