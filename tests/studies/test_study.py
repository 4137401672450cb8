"""Studies name runs that exist, their tables have the paper's rows, and stored results are found again."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.errors import CrugError
from crug.report.paper import FIGURES
from crug.runs import Result
from crug.runs.plan import Plan
from crug.studies import layouts, pages, published
from crug.studies import study as studies
from crug.studies.grid import Grid, Line
from crug.studies.records import Record, Shelf
from crug.studies.reproduce import Desk, budget_of, seeds_of, stock
from crug.studies.study import FULL, Budget, labels, load, settings_known
from crug.studies.tables import grids
from crug.studies.wanted import Wanted

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {"epochs": 2, "network.M": 16, "network.P": 8}


def small(seed: int = 0, **more: Any) -> Wanted:
    return Wanted(sequence=("van-der-pol",), method="naive", seed=seed, given={**SMALL, **more})


@pytest.fixture(scope="module")
def result() -> Result:
    return crug.run(["van-der-pol"], "naive", 0, **SMALL)


def pretended(result: Result, wanted: Wanted, number: float = 1.0) -> Result:
    """The result of another run, made up of one that there is."""
    plan, settings = wanted.plan, wanted.settings.model_dump(mode="json")
    row = result.tasks[0]
    values = {"d_stsp": number, "d_stsp_30": number, "d_h": 0.1 * number, "accuracy": 1 / (1 + number), "valid": 10.0}
    row = row.model_copy(update={"own": values, "final": values, "noisy": {}, "errors": {}})
    rows = [row.model_copy(update={"name": name}) for name in plan.tasks]
    overall = {name: values[name] for name in values}
    known = {"plan": plan, "settings": settings, "tasks": rows, "overall": overall, "units": 40, "shared": False}
    return result.model_copy(update=known)


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
    assert budget_of("500") == Budget(0.25)
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
    assert all(record.current for record in shelf.records)
    monkeypatch.setattr(crug.methods.METHODS["naive"], "edition", 99)
    assert not any(record.current for record in Shelf(tmp_path).records)


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
    assert rest.seconds is None or rest.seconds > 0
    assert stock(load("BLGF_DSR_tasks"), desk).missing  # it needs networks


# tables


def test_cells_are_medians_and_quartiles_with_the_worst_for_failures(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("XdG_DSR")
    row = study.parts[0].all_rows(study.label)[0]
    for seed, number in enumerate((1.0, 2.0, 3.0, np.inf)):
        shelf.add(pretended(result, row.runs([seed])[0], number))
    grid = grids(study, shelf)[0]
    ours, paper = grid.lines[:2]
    assert ours.cells[1] == "4 (1 divergent)"
    assert ours.cells[grid.headings.index("D_stsp, worst")] == "2.50†-0.75"
    assert paper.paper
    assert paper.cells[grid.headings.index("Lorenz-63")] == "0.37+0.07-0.15 -> 14.54+0.26-0.33"


def test_the_largest_budget_that_is_stored_is_shown(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("XdG_DSR")
    row = study.parts[0].all_rows(study.label)[0]
    for share in (0.05, 0.25):
        shelf.add(pretended(result, row.runs([0], Budget(share))[0], share))
    assert grids(study, shelf)[0].lines[0].cells[-1] == "500"
    assert grids(study, shelf, Budget(0.05))[0].lines[0].cells[-1] == "100"


def test_gait_joint_and_by_group(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("gait_joint_vs_group")
    for row in study.parts[0].all_rows(study.label):
        for seed in range(3):
            number = (1.0 if row.label == "joint" else 2.0) + seed / 10
            shelf.add(pretended(result, row.runs([seed])[0], number))
    (grid,) = grids(study, shelf)
    control = grid.lines[0].cells
    assert control[1:3] == ("1.10+0.10-0.10", "2.10+0.10-0.10")
    assert float(control[3]) < 0.01
    assert [line.cells[0] for line in grid.lines if not line.paper][-1] == "all"


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
    assert pages.renewed(text, Shelf(ROOT / "results")) == text, "make results renews them"
