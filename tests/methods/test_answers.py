"""What a user's own method returns is looked at: an answer of the wrong kind is named with its question."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import pytest

from crug.errors import CrugError
from crug.methods.base import Rehearsal
from crug.runs import Silent
from crug.runs.sequence import carry_out
from crug.training import Objective
from crug.training.phases import Phase
from lessons import make


@dataclass(frozen=True)
class Adding(Objective):
    """Adds something to the loss that need not be a number."""

    what: Any = 0

    def penalty(self, params, effective, fixed, controls):
        return {"vector": jnp.ones(3), "text": "much", "nothing": None, "pair": (jnp.float32(1), 2)}[self.what]


@pytest.mark.parametrize(
    ("question", "answer", "message"),
    [
        ("recall", None, "recall returned NoneType, not a dict of numbers and arrays by name"),
        ("recall", [1], "recall returned list, not a dict"),
        ("recall", {"x": "text"}, "recall returned str, not numbers or arrays as 'x'"),
        ("recall", {3: 1.0}, "recall returned dict, not a dict of numbers and arrays by name"),
        ("remember", None, "remember returned NoneType, not a dict of arrays"),
        ("remember", [1, 2], "remember returned list, not a dict of arrays"),
        ("remember", {"x": "text"}, "remember returned str, not an array as 'x'"),
        ("remember", {"x": None}, "remember returned NoneType, not an array as 'x'"),
        ("rehearse", None, "rehearse returned NoneType, not a list of Rehearsal"),
        ("rehearse", [3], "rehearse returned list, not a list of Rehearsal"),
        ("rehearse", [Rehearsal(3, 4, [5])], "rehearse returned int and list, not a Rehearsal of a task"),  # pyright: ignore
        ("next_phase", 3, "next_phase returned int, not a Phase or None"),
        ("next_phase", Phase("x", 0, 1e-3, 1e-3), "next_phase returned a Phase of 0 epochs"),
        ("next_phase", Phase("x", 1, 1e-3, 1e-3, begin=5), "next_phase begins with phase 5; there are 0 so far"),
        ("choose", None, "choose returned NoneType, not the number of one of 1 phases"),
        ("choose", 7, "choose returned int, not the number of one of 1 phases"),
        ("choose", "0", "choose returned str, not the number of one of 1 phases"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_named(tmp_path, monkeypatch, question, answer, message):
    plan, method = make("naive", epochs=1, tasks=("van-der-pol",))
    monkeypatch.setattr(method, question, lambda *_: answer)
    with pytest.raises(CrugError, match=f"^naive: {message}"):
        carry_out(plan, method, tmp_path / "run", Silent())


@pytest.mark.parametrize("what", ["vector", "text", "nothing", "pair"])
def test_a_penalty_is_one_number(tmp_path, monkeypatch, what):
    plan, method = make("naive", epochs=1, tasks=("van-der-pol",))
    monkeypatch.setattr(method, "objective", Adding(what=what))
    with pytest.raises(CrugError, match=r"^naive: penalty returned .*, not one number"):
        carry_out(plan, method, tmp_path / "run", Silent())
