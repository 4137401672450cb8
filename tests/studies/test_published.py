"""The paper's numbers are all there, can be read, and agree with each other where its tables say the same twice."""

import numpy as np
import pytest

from crug.errors import CrugError
from crug.studies.published import Cell, Value, table, tables

SIZES = {
    "CLNP_DSR-blgf": (10, 11),
    "CLNP_DSR-vlrc": (10, 11),
    "CRUG_L2_DSR-blgf": (11, 11),
    "CRUG_L2_DSR-vlrc": (11, 11),
    "DSR_additional_tasks": (9, 7),
    "DSR_canonical_tasks": (9, 7),
    "EWC_DSR_optuna-blgf": (6, 7),
    "EWC_DSR_optuna-vlrc": (6, 7),
    "SI_DSR_optuna-blgf": (8, 7),
    "SI_DSR_optuna-vlrc": (8, 7),
    "XdG_DSR-blgf": (8, 7),
    "XdG_DSR-vlrc": (8, 7),
    "cognitive_tasks": (8, 4),
    "gait_groups_hyperparameters": (35, 8),
    "gait_joint_optuna": (9, 12),
    "gait_joint_vs_group": (5, 7),
    "hyperparameter_cognitive-clnp": (10, 6),
    "hyperparameter_cognitive-crug": (11, 6),
    "hyperparameter_cognitive-er": (10, 3),
    "hyperparameter_cognitive-ewc": (10, 3),
    "hyperparameter_cognitive-gr": (10, 3),
    "hyperparameter_cognitive-si": (10, 3),
    "hyperparameter_cognitive-xdg": (10, 3),
    "replay_DSR-blgf": (12, 8),
    "replay_DSR-vlrc": (12, 8),
    "task_order": (4, 8),
    "transfer-hyperparameters": (4, 2),
}
"""Rows and columns as counted in the paper; searches have one more, which row was selected."""
WORDS = ("method", "order", "group", "transfer", "range", "completed", "selected")


def test_every_table_is_there():
    assert tables() == sorted(SIZES)
    with pytest.raises(CrugError, match="no table called 'nothing'"):
        table("nothing")


@pytest.mark.parametrize("name", SIZES)
def test_no_cell_is_missing_and_all_can_be_read(name):
    rows = table(name)
    assert (len(rows), len(rows[0])) == SIZES[name]
    for row in rows:
        assert all(text or column == "selected" for column, text in row.items())
        for column, text in row.items():
            if column not in WORDS:
                cell = Cell.of(text)
                assert (cell.final is None) == (text == "--")
                assert (cell.own is None) == ("->" not in text)


def test_values_as_the_paper_prints_them():
    assert Value.of("0.40+0.13-0.12") == Value(0.40, 0.13, 0.12)
    assert Value.of("15.35†-0.07") == Value(15.35, np.inf, 0.07)
    assert Value.of("12.25*") == Value(12.25)
    assert Value.of("98.11 ± 0.98") == Value(98.11, spread=0.98)
    assert Value.of("+0.3+0.1-1.5") == Value(0.3, 0.1, 1.5)
    assert Value.of("1.12e-3") == Value(0.00112)
    assert Value.of("div.").middle == np.inf
    assert Cell.of("0.02+0.01-0.01 -> div.") == Cell("0.02+0.01-0.01 -> div.", Value(0.02, 0.01, 0.01), Value(np.inf))
    for text in ("", "about 3", "0.1+-0.2", "1 -> "):
        with pytest.raises(CrugError, match="not a value"):
            Cell.of(text)


def selected(name: str) -> dict[str, str]:
    (row,) = (row for row in table(name) if row["selected"])
    return row


@pytest.mark.parametrize(("compared", "part"), [("DSR_canonical_tasks", "vlrc"), ("DSR_additional_tasks", "blgf")])
def test_a_configuration_that_was_selected_is_the_one_compared(compared, part):
    methods = {row["method"]: row for row in table(compared)}
    for method, name in (("crug", "CRUG_L2_DSR"), ("clnp", "CLNP_DSR")):
        row = selected(f"{name}-{part}")
        assert Cell.of(row["D_stsp"]).final == Cell.of(methods[method]["D_stsp"]).final
        tasks = [column for column in methods[method] if column in row and column != "method"]
        assert len(tasks) >= 5
        for task in tasks:
            assert Cell.of(row[task]).final == Cell.of(methods[method][task]).final


def test_accuracies_that_were_selected_are_those_compared():
    methods = {row["method"]: row for row in table("cognitive_tasks")}
    for method in ("ewc", "si", "xdg", "er", "gr", "clnp", "crug"):
        assert selected(f"hyperparameter_cognitive-{method}")["accuracy (%)"] == methods[method]["accuracy (%)"]


def test_the_joint_gait_model_is_the_one_compared_with_the_groups():
    joint, compared = selected("gait_joint_optuna"), {row["group"]: row for row in table("gait_joint_vs_group")}
    assert Value.of(joint["units"]).middle == Value.of(compared["all"]["units joint"]).middle
    best = {row["group"]: row for row in table("gait_groups_hyperparameters") if row["selected"]}
    for group in ("control", "park", "hunt", "als"):
        assert Value.of(best[group]["units"]) == Value.of(compared[group]["units groups"])
