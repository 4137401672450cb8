"""The folder of a task under way: what was decided by is there again, to the bit."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from crug.runs.journal import Journal
from crug.tasks.base import Score
from crug.training.phases import Outcome, Phase


def test_scores_of_networks_that_ran_away_come_back_as_they_were(tmp_path):
    """Their standard errors are no numbers, which is something else than infinite where scores are compared."""
    course: Any = SimpleNamespace(scorer=SimpleNamespace(names=()))
    block: Any = SimpleNamespace(members=np.arange(2))
    progress: Any = SimpleNamespace(kept=(block, {}), account={}, curves=[])
    score = Score({"d_stsp": np.inf, "d_h": 1 / 3}, np.inf, np.float64(0.1), {"rank": np.nan, "d_h": -np.inf})
    done = Outcome(Phase("open", 4, 1e-3, 1e-3, controls={"floor": -np.inf}), 2, 1, np.nan, score)
    Journal(tmp_path, "w", course).finish(0, progress, [done])
    (found,) = Journal(tmp_path, "w", course).history()
    assert repr(found) == repr(done).replace("np.float64(0.1)", "0.1")
