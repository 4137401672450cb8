"""Studies name runs that exist, their tables have the paper's rows, and stored results are found again."""

import csv
import io
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.errors import CrugError
from crug.report.paper import FIGURES
from crug.runs import Result, store
from crug.runs.plan import Plan
from crug.runs.proof import machine
from crug.studies import layouts, pages, published, worker
from crug.studies import study as studies
from crug.studies.grid import Grid, Line
from crug.studies.records import Record, Shelf, collect
from crug.studies.reproduce import Desk, budget_of, expected, seeds_of, stock, there
from crug.studies.study import FULL, Budget, labels, load, settings_known
from crug.studies.tables import grids
from crug.studies.wanted import Wanted
from pretended import SMALL, pretended, small

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def result() -> Result:
    return crug.run(["van-der-pol"], "naive", 0, **SMALL)


# what there is


def test_every_table_and_figure_of_the_paper_is_there():
    assert len(labels()) == 22
    assert {label for label in labels() if load(label).kind == "figure"} == set(FIGURES)
    tables = {name.split("-vlrc")[0].split("-blgf")[0] for name in published.tables()}
    tables = {name.rpartition("-")[0] if name.startswith("hyperparameter_cognitive") else name for name in tables}
    assert tables == {label for label in labels() if load(label).kind == "table"}


@pytest.mark.parametrize("label", labels())
def test_its_rows_can_be_run(label):
    study = load(label)
    assert [row.label for _, row in study.rows() if not settings_known(row)] == []
    wanted = study.runs(Budget(0.25), [0])
    assert len({one.place for one in wanted}) == len(wanted)
    assert all(one.settings.epochs >= 1 for one in wanted)


@pytest.mark.parametrize("label", [label for label in labels() if load(label).kind == "table"])
def test_a_table_has_all_of_the_papers_rows(label, tmp_path):
    study = load(label)
    for part, grid in zip(study.parts, grids(study, Shelf(tmp_path)), strict=True):
        expected = published.table(label, part.name)
        if part.layout == "ranges":
            assert [line.cells[0] for line in grid.lines] == [row["transfer"] for row in expected]
        else:
            assert sum(line.paper for line in grid.lines) == len(expected)


def test_searches_set_what_the_papers_columns_say():
    (part,) = load("gait_joint_optuna").parts
    row = part.all_rows("gait_joint_optuna")[2]
    assert row.settings["prices.relu"] == 1.12e-3
    assert row.settings["prices.linear"] == pytest.approx(0.2 * 1.12e-3)
    replay = load("hyperparameter_cognitive").parts[3].all_rows("hyperparameter_cognitive")[0]
    assert replay.settings == {"every": 2}  # a ratio of 0.4434


def test_a_label_that_does_not_exist_is_refused():
    with pytest.raises(CrugError, match="no table or figure called 'nothing'"):
        load("nothing")


def test_a_file_that_is_no_study_is_named(tmp_path):
    (tmp_path / "x.toml").write_text("title = 3")
    with pytest.raises(CrugError, match=r"x\.toml: not a study"):
        studies.parse("x", tmp_path / "x.toml")


def test_budgets_and_seeds():
    assert budget_of("paper") == FULL
    assert budget_of("25%") == Budget(0.25)
    assert budget_of("500") == Budget(epochs=500)
    assert budget_of("toy").toy
    assert seeds_of("0,2,5-7") == [0, 2, 5, 6, 7]
    for wrong in ("", "a lot", "-5%", "0", "1e9"):
        with pytest.raises(CrugError, match="budget"):
            budget_of(wrong)
    for wrong in ("", "a", "3-1"):
        with pytest.raises(CrugError, match="seeds"):
            seeds_of(wrong)
    row = next(row for _, row in load("EWC_DSR_optuna").rows())
    assert row.runs([3], Budget(0.25))[0].settings.epochs == 500
    assert "epochs" not in row.runs([3])[0].given
    for label in ("DSR_canonical_tasks", "cognitive_tasks"):  # whose rows have other epochs by default
        assert {one.settings.epochs for one in load(label).runs(budget_of("500"))} == {500}


# records


def test_a_record_is_found_by_what_it_is_of(result, tmp_path):
    shelf = Shelf(tmp_path)
    assert shelf.find(small()) is None
    file = shelf.add(result)
    assert file.relative_to(tmp_path).as_posix().startswith("van-der-pol/naive,epochs=2,network.M=16")
    for known in (shelf, Shelf(tmp_path)):
        assert known.find(small()) is not None
        assert known.find(small(1)) is None
        assert known.find(small().model_copy(update={"given": {**SMALL, "training.lr": 0.5}})) is None
    assert file.stat().st_size < 5_000


def test_a_record_of_an_earlier_edition_is_marked(result, tmp_path, monkeypatch):
    shelf = Shelf(tmp_path)
    shelf.add(result)
    assert not any(record.mark for record in shelf.records)
    monkeypatch.setattr(crug.methods.METHODS["naive"], "edition", 99)
    assert all(record.mark == "outdated" for record in Shelf(tmp_path).records)


def test_a_setting_that_a_record_does_not_name_had_its_default(result, tmp_path):
    usual = Wanted(sequence="vlrc", method="crug", seed=0)
    made = pretended(result, usual)
    early = {key: value for key, value in made.settings.items() if key not in ("precision", "path")}
    shelf = Shelf(tmp_path)
    shelf.add(made.model_copy(update={"settings": early}))
    assert shelf.find(usual) is not None
    for other in ({"precision": "high"}, {"path.tolerance": 0.5}, {"precision": "high", "path.start": 32}):
        assert shelf.find(usual.model_copy(update={"given": other})) is None


def test_a_record_says_what_made_the_run_when_it_began(tmp_path, monkeypatch):
    crug.run(["van-der-pol"], "naive", 0, tmp_path / "run", **SMALL)
    shelf = Shelf(tmp_path / "kept")
    monkeypatch.setattr(crug.methods.METHODS["naive"], "edition", 99)
    monkeypatch.setattr("crug.runs.sequence.machine", lambda: "another")
    collect([tmp_path / "run"], shelf)
    assert shelf.records[0].edition == (1, 1)
    assert shelf.records[0].machine == machine()
    assert shelf.records[0].mark == "outdated"


def test_of_a_folder_that_does_not_say_what_made_it_nothing_is_claimed(tmp_path):
    folder = tmp_path / "run"
    crug.run(["van-der-pol"], "naive", 0, folder, **SMALL)
    for file, names in ((folder / "config.json", ("edition", "machine")), (folder / "result.json", ("origin",))):
        stored = json.loads(file.read_text())
        file.write_text(json.dumps({key: value for key, value in stored.items() if key not in (*names, "sha256")}))
    shelf = Shelf(tmp_path / "kept")
    collect([folder], shelf)
    (record,) = shelf.records
    assert (record.edition, record.machine, record.mark) == (None, None, "edition not recorded")


def test_what_an_earlier_edition_made_is_made_anew(tmp_path, monkeypatch):
    desk, folder = Desk(Shelf(tmp_path / "kept"), tmp_path), tmp_path / small().place
    desk.shelf.add(worker.carry_out(small(), folder))
    assert there(small(), desk, networks=True)
    monkeypatch.setattr(crug.methods.METHODS["naive"], "edition", 99)
    assert not there(small(), desk, networks=False)
    desk.shelf.add(worker.carry_out(small(), folder))
    assert there(small(), desk, networks=True)


def test_a_worker_waits_for_whoever_works_on_its_run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with ThreadPoolExecutor() as threads:
        with store.alone(folder):
            waiting = threads.submit(worker.carry_out, small(), folder)
            time.sleep(0.5)
            assert not waiting.done()
        assert waiting.result(60).completed


def test_a_damaged_record_is_named(result, tmp_path):
    file = Shelf(tmp_path).add(result)
    stored = json.loads(file.read_text())
    del stored["result"]["units"]
    file.write_text(json.dumps(stored))
    with pytest.raises(CrugError, match=r"0\.json: not what crug wrote \(result.units"):
        Shelf(tmp_path)


def test_what_is_missing_and_how_long_it_takes(result, tmp_path):
    desk = Desk(Shelf(tmp_path), tmp_path / "runs")
    study = load("XdG_DSR")
    found = stock(study, desk, [0])
    assert (len(found.wanted), len(found.missing), found.seconds) == (16, 16, None)
    for wanted in found.wanted[:8]:
        desk.shelf.add(pretended(result, wanted).model_copy(update={"seconds": 60.0}))
    rest = stock(study, desk, [0])
    assert len(rest.missing) == 8
    one = rest.missing[0]
    desk.shelf.add(pretended(result, one.model_copy(update={"seed": 7})).model_copy(update={"seconds": 30.0}))
    assert expected(found.wanted[0], desk.shelf) == 60
    assert expected(one, desk.shelf) in (30, 60)


def test_networks_are_asked_for_only_where_they_are_drawn(result, tmp_path):
    """Records are enough for panels of accuracies and for the points of fronts."""
    desk = Desk(Shelf(tmp_path), tmp_path / "runs")
    for label, drawn in (("CRUG_results", {"vlrc"}), ("DSR_task_pareto_fronts", {"vlrc", "lorenz-family"})):
        study = load(label)
        for wanted in study.runs(FULL, [0]):
            desk.shelf.add(pretended(result, wanted))
        missing = stock(study, desk, [0]).missing
        assert {one.sequence for one in missing} == drawn
        assert {one.given.get("transfer.kind") for one in missing} == ({"l2"} if len(drawn) == 2 else {None})


# pages


def test_a_table_as_markdown_latex_and_csv():
    grid = Grid("T_1", ("", "a | b"), (Line(("x", "1 -> 2")), Line(("paper", "5 %"), paper=True)), "Read it.")
    assert "| a \\| b |" in grid.markdown()
    assert "| *paper* | *5 %* |" in grid.markdown()
    assert r"\textit{5 \%}" in grid.latex()
    assert r"1 $\to$ 2" in grid.latex()
    rows = list(csv.reader(io.StringIO(grid.csv())))
    assert rows[1:] == [["crug", "x", "1 -> 2"], ["paper", "paper", "5 %"]]


def test_p_values_need_two_on_each_side():
    assert layouts.p_value([1], [2, 3]) == ""
    assert float(layouts.p_value([1, 2, 3, 4], [5, 6, 7, 8])) < 0.05


def test_a_page_is_renewed_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- study: XdG_DSR vlrc -->\nold\n<!-- end -->\nafter\n")
    assert pages.renew(page, Shelf(tmp_path))
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "Rössler" in text
    assert "Blasius" not in text
    assert not pages.renew(page, Shelf(tmp_path))


# the command line


def test_what_fails_stops_neither_the_table_nor_the_next_one(result, tmp_path, monkeypatch):
    def one_run(wanted: Wanted, folder: Path, begun: object = None) -> Result:
        if wanted.method == "xdg":
            raise CrugError("broken")
        return pretended(result, wanted)

    monkeypatch.setattr("crug.studies.pool.one_run", one_run)
    words = ["reproduce", "CRUG_results", "XdG_DSR", "task_order", "--budget", "toy", "--out", str(tmp_path)]
    words += ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, CrugError)
    for said in ("CRUG_results: no run of it", "XdG_DSR: 2 of 2 runs failed"):
        assert said in str(done.exception)
    assert {file.stem for file in tmp_path.glob("*.md")} == {"XdG_DSR", "task_order"}


def test_the_list_says_what_there_is(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "--list", "--results", str(tmp_path), "--runs", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for label in labels():
        assert label in done.output


def test_records_are_collected(tmp_path):
    crug.run(["van-der-pol"], "naive", 0, tmp_path / "run", **SMALL)
    done = CliRunner().invoke(app, ["record", str(tmp_path / "run"), "--results", str(tmp_path / "kept")])
    assert done.exit_code == 0, done.output
    assert Shelf(tmp_path / "kept").find(small()) is not None


def test_every_record_in_the_repository_can_be_read():
    for record in Shelf(ROOT / "results").records:
        assert Plan.model_validate(record.result.plan.model_dump()) == record.result.plan
        assert Record.of(record.result).place == record.place


@pytest.mark.parametrize("page", ["docs/results.md", "README.md"])
def test_the_tables_of_pages_are_those_of_the_records(page):
    text = (ROOT / page).read_text()
    assert pages.BLOCK.search(text)
    assert pages.renewed(text, Shelf(ROOT / "results")) == text, "make results renews them"
