"""Other programs on the same data, where they are installed."""

import sys

import numpy as np
import pytest

from crug.errors import CrugError
from crug.field import peers
from crug.metrics.valid_time import valid_time
from crug.tasks import RecordingTask, load

NEEDS = {"echo state": "reservoirpy", "SINDy": "pysindy"}


@pytest.mark.slow
@pytest.mark.parametrize("name", peers.PEERS)
@pytest.mark.filterwarnings("ignore")
def test_a_peer_forecasts_what_it_was_fitted_to(name, monkeypatch):
    """A few of its candidates are enough for an oscillation."""
    pytest.importorskip(NEEDS[name], reason=f"needs {NEEDS[name]}, of the extra `peers`")
    for what, value in (("UNITS", 100), ("TRIED", 4), ("TRANSIENT", 200), ("THRESHOLDS", (0.02,))):
        monkeypatch.setattr(peers, what, value)
    task = load("van-der-pol", 0)
    assert isinstance(task, RecordingTask)
    x, places = task.train[:3_000], np.array([0, 250, 1_000])
    roll = peers.PEERS[name](x, 0)
    made = roll(task.test, places, 400)
    assert made.shape == (3, 400, 2)
    valid = [valid_time(task.test[i + 1 : i + 401], one, np.ones(2)) for i, one in zip(places, made, strict=True)]
    assert min(valid[1:]) > 50
    again = roll(np.where(np.arange(len(task.test))[:, None] <= 1_000, task.test, np.nan), places, 400)
    np.testing.assert_array_equal(again, made)  # what comes after a place is not looked at


@pytest.mark.parametrize("name", peers.PEERS)
def test_a_peer_that_is_not_installed_says_how_to_get_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, NEEDS[name], None)
    monkeypatch.setitem(sys.modules, f"{NEEDS[name]}.nodes", None)
    with pytest.raises(CrugError, match=r"crug\[peers\]"):
        peers.PEERS[name](np.zeros((100, 2)), 0)
