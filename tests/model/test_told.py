"""The page of a model's file while recordings are learned into it."""

import shutil

import pytest

import crug
from crug.cli.model import SEVERAL, scratch
from crug.errors import CrugError
from crug.model import told
from crug.model.job import PROGRESS
from crug.model.told import source_of_model
from crug.runs import store
from waves import START, wave


@pytest.fixture
def file(tmp_path):
    return tmp_path / "lab.crug"


def begun(folder, name: str, phases: int) -> None:
    """What the journal of a recording under way has at least."""
    folder.mkdir(parents=True)
    store.write_json(folder / "history.json", {"task": f"0-{name}", "outcomes": [{}] * phases})


def test_a_model_is_watched_from_its_first_recording_on(file):
    with pytest.raises(CrugError, match=r"lab\.crug"):
        source_of_model(file, scratch(file))
    begun(scratch(file) / PROGRESS, "monday", 2)
    source = source_of_model(file, scratch(file))
    book, first = source.book(), source.state()
    assert book.about == "No recording has been learned yet."
    assert book.note == "Learning monday: 2 phases are over."
    model = crug.Model(units=32, seed=0, settings=START)
    model.learn(wave(), "monday", 0.1, epochs=1, progress=False).save(file)
    shutil.rmtree(scratch(file))
    assert source.state() != first
    book = source.book()
    assert ([chapter.name for chapter in book.chapters], book.note) == (["monday"], "")


def test_all_that_several_workers_learn_is_told(file):
    model = crug.Model(units=32, seed=0, settings=START)
    model.learn(wave(), "monday", 0.1, epochs=1, progress=False).save(file)
    source = source_of_model(file, scratch(file))
    first = source.state()
    for name, phases in (("tuesday", 1), ("wednesday", 3)):
        begun(scratch(file) / SEVERAL / f"of-{name}" / PROGRESS, name, phases)
    assert source.state() != first
    note = source.book().note
    assert note == "Learning tuesday: 1 phase is over. Learning wednesday: 3 phases are over."


def test_recordings_that_have_not_changed_are_not_analysed_again(file, monkeypatch):
    made, real = [], told.chapter
    monkeypatch.setattr(told, "chapter", lambda *given: made.append(given[1].title) or real(*given))
    model = crug.Model(units=64, seed=0, settings=START)
    model.learn(wave(), "monday", 0.1, epochs=1, progress=False).save(file)
    source = source_of_model(file, scratch(file))
    source.book()
    model.learn(wave(3), "tuesday", 0.1, epochs=1, progress=False).save(file)
    assert [chapter.name for chapter in source.book().chapters] == ["monday", "tuesday"]
    assert made == ["monday", "tuesday"]
    again = crug.Model(units=64, seed=0, settings=START)
    again.learn(wave(2, 1.7), "monday", 0.1, epochs=1, progress=False)
    file.unlink()
    again.save(file)
    source.book()
    assert made == ["monday", "tuesday", "monday"]
