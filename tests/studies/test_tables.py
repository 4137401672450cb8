"""What tables and figures say of stored results: of which runs, against which, and what counts."""

import shutil

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import crug
from crug.methods import METHODS
from crug.methods.crug import CrugSettings
from crug.report import paper, pareto
from crug.runs import Result
from crug.studies.grid import Grid
from crug.studies.records import Shelf
from crug.studies.reproduce import Desk
from crug.studies.study import Budget, load
from crug.studies.tables import compact, grids
from crug.training.settings import flat
from pretended import SMALL, pretended


@pytest.fixture(scope="module")
def result() -> Result:
    return crug.run(["van-der-pol"], "naive", 0, **SMALL)


def filled(shelf: Shelf, result: Result, label: str, numbers: dict[str, float], seeds: range = range(3)) -> Grid:
    """The table of a study of which the rows with these labels have runs."""
    study = load(label)
    for row in study.parts[0].all_rows(label):
        if row.label in numbers:
            for seed in seeds:
                shelf.add(pretended(result, row.runs([seed])[0], numbers[row.label] + seed / 10))
    return grids(study, shelf)[0]


def line(grid: Grid, label: str) -> dict[str, str]:
    """A row of ours by its headings."""
    (found,) = (one for one in grid.lines if one.cells[0] == label)
    return dict(zip(grid.headings, found.cells, strict=True))


PATH = "CRUG, path (ours)"


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


def test_all_seeds_that_are_stored_are_shown(result, tmp_path):
    grid = filled(Shelf(tmp_path), result, "DSR_canonical_tasks", {"HAT": 1.0}, range(8, 13))
    assert line(grid, "HAT")["runs"] == "5"


def test_a_perfect_model_is_that_of_the_same_seeds(result, tmp_path):
    """Its scores differ from seed to seed; results have kept them."""
    shelf, study = Shelf(tmp_path), load("DSR_canonical_tasks")
    row = study.parts[0].all_rows(study.label)[0]
    for seed, floor in enumerate((0.7, 0.9, 0.2)):
        made = pretended(result, row.runs([seed])[0])
        rows = [task.model_copy(update={"floor": {"d_stsp": floor, "d_h": 0.01}}) for task in made.tasks]
        shelf.add(made.model_copy(update={"tasks": rows}))
    assert line(grids(study, shelf)[0], "truth against truth")["Rössler"] == "0.70"


def test_gait_has_floors_too_where_results_have_kept_them(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("gait_joint_optuna")
    made = pretended(result, study.parts[0].all_rows(study.label)[0].runs([0])[0])
    floors = {"control": 0.1, "park": 0.2, "hunt": 0.5, "als": 0.4}
    rows = [
        task.model_copy(update={"floor": {"d_stsp": floors[task.name.rstrip("123")], "d_h": 0.01}})
        for task in made.tasks
    ]
    shelf.add(made.model_copy(update={"tasks": rows}))
    found = line(grids(study, shelf)[0], "truth against truth")
    assert [found[name] for name in ("Control", "Huntington", "all", "D_H")] == ["0.10", "0.50", "0.30", "0.010"]


def test_rows_are_held_against_rows_of_the_same_tasks(result, tmp_path):
    numbers = {f"{group}: {PATH}": 1.0 for group in ("control", "park")}
    chosen = [row.label for row in load("gait_groups_hyperparameters").parts[0].all_rows("gait_groups_hyperparameters")]
    park = next(label for label in chosen if label.startswith("park: prices"))
    grid = filled(Shelf(tmp_path), result, "gait_groups_hyperparameters", {**numbers, park: 5.0})
    assert line(grid, f"park: {PATH}")["p"] == ""  # the control subjects are others
    held = next(one for one in grid.lines if one.cells[0].startswith(park))
    assert float(dict(zip(grid.headings, held.cells, strict=True))["p"]) < 0.05


def test_captions_say_the_budgets(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("DSR_canonical_tasks")
    path, ewc = (next(r for r in study.parts[0].all_rows(study.label) if r.label == name) for name in (PATH, "EWC"))
    shelf.add(pretended(result, path.runs([0])[0]))
    assert "budget: 4000 epochs a task" in grids(study, shelf)[0].caption
    shelf.add(pretended(result, ewc.runs([0], Budget(epochs=1000))[0]))
    caption = grids(study, shelf)[0].caption
    assert "budget: 1000 to 4000 epochs a task, by row" in caption
    assert "the same tasks, whatever the budgets" in caption
    assert paper.rests_on(study, Desk(shelf, tmp_path)) == "2 runs, 1000 to 4000 epochs a task"


def test_a_run_that_ran_out_of_units_has_used_all(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("CLNP_DSR")
    row = study.parts[0].all_rows(study.label)[0]
    for seed in range(3):
        made = pretended(result, row.runs([seed])[0])
        shelf.add(made if seed == 0 else made.model_copy(update={"completed": False, "stopped": "chua: no more"}))
    found = dict(zip((grid := grids(study, shelf)[0]).headings, grid.lines[0].cells, strict=True))
    assert found["runs"] == "3 (2 exhausted)"
    assert found["units"] == "160+0-60"


def test_one_run_stands_once_beside_all_rows_of_the_paper_that_it_is(tmp_path):
    grid = next(g for g in grids(load("hyperparameter_cognitive"), Shelf(tmp_path)) if g.title.endswith(": ER"))
    ours = [one.cells[0] for one in grid.lines if not one.paper]
    assert ours == [f"every = {n}" + " (selected)" * (n == 2) for n in (2, 5, 4, 6, 3)]
    beside = [one.cells[0] for one in grid.lines[1:5]]
    assert beside == [f"paper, ratio = {ratio}" for ratio in ("0.4434", "0.4052", "0.5180", "0.4475")]


def test_the_compact_table_has_the_papers_numbers_beside_ours(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("DSR_canonical_tasks")
    filled(shelf, result, study.label, {"EWC": 3.0, PATH: 1.0})
    grid = compact(study, shelf)
    rows = {one.cells[0]: one.cells[1:] for one in grid.lines}
    assert rows["EWC"] == ("3", "3.10+0.05-0.05", "div.", "0.31+0.01-0.01", "div.", "40+0-0", "2000")
    assert rows[PATH][:3] == ("3", "1.10+0.05-0.05", "")
    assert rows["ER"][:3] == ("0", "", "10.11+0.66-2.20")


def test_one_model_against_several_says_what_its_runs_are(result, tmp_path, monkeypatch):
    shelf, study = Shelf(tmp_path), load("gait_joint_vs_group")
    for row in study.parts[0].all_rows(study.label)[:3]:
        made = pretended(result, row.runs([0])[0])
        out = {"completed": False, "stopped": "no more"} if row.label == "park" else {}
        shelf.add(made.model_copy(update=out))
    monkeypatch.setattr(METHODS["crug"], "edition", 99)
    grid = grids(study, shelf)[0]
    assert "joint: 1 (outdated), 4000 epochs a task" in grid.caption
    assert "park: 1 (1 exhausted) (outdated)" in grid.caption
    rows = {one.cells[0]: one.cells for one in grid.lines if not one.paper}
    most = str(study.parts[0].all_rows(study.label)[2].usual.settings.network.M)
    assert rows["Parkinson"][5] == most
    assert rows["Huntington"][2] == ""


def test_settings_other_than_the_papers_are_named():
    """The paper's own selected ones are rows of another table."""
    for row in load("cognitive_tasks").parts[0].all_rows("cognitive_tasks"):
        tuned = next((p for p in load("hyperparameter_cognitive").parts if p.name == row.method), None)
        if tuned is None or row.paper is None:
            continue
        (theirs,) = (one for one in tuned.all_rows("hyperparameter_cognitive") if one.selected)
        ours = flat(row.usual.settings.model_dump())
        for key, value in theirs.settings.items():
            if not isinstance(value, str) and ours[key] != pytest.approx(value, rel=1e-3):
                assert key in row.label
                assert f"{ours[key]:g}" in row.label.replace("1e5", "100000")
                assert f"{value:g}"[:4] in row.label


def test_what_is_searched_is_what_the_table_says(tmp_path):
    (grid,) = grids(load("transfer-hyperparameters"), Shelf(tmp_path))
    said = {one.cells[0]: one.cells[1] for one in grid.lines}
    for kind in ("l0", "l1", "l2"):
        settings = CrugSettings.resolve("vlrc", {"transfer.kind": kind})
        assert said[kind] == "[{:g},{:g}]".format(*settings.searched()["transfer.strength"])


# figures


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of two tasks, of which the second ended after one."""
    folder = tmp_path_factory.mktemp("runs")
    crug.run(["van-der-pol", "lorenz"], "clnp", 0, folder / "whole", epochs=2, network={"M": 24, "P": 8})
    shutil.copytree(folder / "whole", folder / "cut")
    shutil.rmtree(folder / "cut" / "tasks" / "2-lorenz")
    return [folder / "whole", folder / "cut"]


def test_learning_curves_go_as_far_as_each_run(runs):
    for order in (runs, runs[::-1]):
        figure = Figure()
        paper._curves(figure, ["van-der-pol", "lorenz"], order)
        assert max(np.max(np.asarray(line.get_xdata())) for line in figure.axes[0].lines) == 2


def test_units_in_learning_curves_are_the_committed_ones(runs):
    figure = Figure()
    paper._curves(figure, ["van-der-pol", "lorenz"], runs[:1])
    owned = [task.units for task in Result.read(runs[0]).tasks]
    shown = [np.asarray(line.get_ydata()).tolist() for line in figure.axes[2].lines]
    committed = [[0, owned[0][kind], owned[0][kind] + owned[1][kind]] for kind in ("linear", "relu")]
    assert [counts for counts in shown if len(counts) == 3] == committed


def test_a_kind_of_transfer_has_the_same_colour_in_both_panels(result, tmp_path):
    shelf, study = Shelf(tmp_path), load("DSR_task_pareto_fronts")
    for part, kinds in zip(study.parts, (("none", "free", "l2"), ("l2",)), strict=True):
        for row in part.all_rows(study.label):
            if row.settings["transfer.kind"] in kinds:
                shelf.add(pretended(result, row.runs([0])[0]))
    figure = pareto.fronts(study, Desk(shelf, tmp_path / "runs"))
    colours = [{str(one.get_label()): to_hex(one.get_color()) for one in ax.lines} for ax in figure.axes[:2]]
    assert colours[0]["L2"] == colours[1]["L2"]
    assert len({colours[0][label] for label in ("no transfer", "transfer without a price", "L2")}) == 3
