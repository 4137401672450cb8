"""The padded measure: what it has in common with D_stsp, and where they part."""

import numpy as np
import pytest
from rich.console import Console

import crug
from crug.metrics import d_stsp, d_stsp_padded
from crug.report.terminal import said, table
from crug.tasks.systems import load


def test_a_bias_at_the_edge_of_the_range_is_forgiven():
    """The true system against itself, and the same with z lower by half a percent of a standard deviation."""
    found = []
    for seed in range(3):
        task = load("rossler", seed)
        for begin in (0, 35_000, 70_000):
            truth, rollout = task.test, task.train[begin : begin + 30_000]
            low = rollout - [0, 0, 0.005]
            found.append([measure(truth, x) for x in (rollout, low) for measure in (d_stsp, d_stsp_padded)])
    plain, padded, plain_low, padded_low = np.median(found, axis=0)
    assert padded == pytest.approx(plain, abs=0.15)
    assert plain_low > 4
    assert padded_low == pytest.approx(padded, abs=0.15)


def test_what_is_farther_out_is_still_divergent_and_many_dimensions_have_no_bins():
    x = np.random.default_rng(0).standard_normal((1_000, 2))
    assert d_stsp_padded(x, x) == 0
    assert d_stsp_padded(x, x + 100) == np.inf
    assert d_stsp_padded(x, np.full_like(x, np.nan)) == np.inf
    with pytest.raises(ValueError, match="the truth has 5 dimensions"):
        d_stsp_padded(np.zeros((10, 5)), np.zeros((10, 5)))


def test_every_measure_stands_in_results_tables_and_scores(tmp_path):
    names = {"d_stsp", "d_h", "d_stsp_padded", "wasserstein", "d_stsp_30", "valid"}
    result = crug.run(["chua"], "naive", out=tmp_path, epochs=2, network={"M": 16, "P": 8}, training={"window": 400})
    assert set(result.tasks[0].final) == set(result.overall) == names
    assert set(crug.Result.read(tmp_path).tasks[0].own) == names
    console = Console(width=120)
    with console.capture() as captured:
        console.print(table(result))
    for label in ("D_stsp", "D_H", "padded", "30 starts", "valid", "±"):
        assert label in captured.get()
    task = load("chua", 0)
    assert set(task.worst().measures()) == names
    assert "padded div., W1 div., 30 starts div., valid 0" in said(task.worst())
