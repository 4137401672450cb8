"""What the engine promises to methods: what their objective is given, and arrays of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug.core.block import Block, Fixed, Params, masked
from crug.core.network import from_arrays
from crug.errors import CrugError
from crug.methods.base import Hints, Memory
from crug.methods.naive import Naive
from crug.runs import store
from crug.runs.learning import prepare
from crug.runs.listeners import Silent
from crug.runs.sequence import carry_out
from crug.training.epochs import Recipe, Rules
from crug.training.objective import Controls, Objective
from crug.training.phases import Course, Outcome, Phase, Progress, run_phase
from lessons import NOBODY, TRAINING, assigned, make, shared, two_tasks, windows_of

# what an objective is given


class Recalling(Naive):
    """Recalls one thing, and has a number of its own in its phase."""

    def __init__(self, name: str):
        super().__init__(make("naive", epochs=1)[1].settings)
        self.recalled = name

    def recall(self, memory: Memory, block: Block) -> Controls:
        return {self.recalled: jnp.float32(1)}

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        return None if history else Phase("train", 1, 1e-3, 1e-3, controls={"mine": 2.0})


@pytest.mark.parametrize("name", ["lr", "lr_end", "epochs", "progress", "mine"])
def test_what_is_recalled_may_not_be_named_as_something_the_phase_has(name, tmp_path):
    plan, _ = make("naive")
    with pytest.raises(CrugError, match=f"the method names '{name}' twice .*; rename one"):
        carry_out(plan, Recalling(name), tmp_path / "run", Silent())


def test_nor_may_a_number_of_the_phase():
    course, _ = prepare(Recalling("yours"), assigned(*two_tasks()[:2], 0))
    with pytest.raises(CrugError, match="the method names 'lr' twice"):
        course.controls(Phase("train", 1, 1e-3, 1e-3, controls={"lr": 1.0}))


def test_an_objective_is_given_the_phases_numbers_and_what_is_recalled():
    course, _ = prepare(Recalling("yours"), assigned(*two_tasks()[:2], 0))
    controls = course.controls(Phase("train", 4, 1e-2, 1e-3, controls={"mine": 2.0}))
    expected = {"epochs": 4, "lr": 1e-2, "lr_end": 1e-3, "progress": 1, "mine": 2, "yours": 1}
    assert {name: float(value) for name, value in controls.items()} == pytest.approx(expected)


# an array of a method's own

SILENT = np.array([3, 9])
"""Places in the block of units that are closed from the start."""


@dataclass(frozen=True)
class Gains(Objective):
    """Every unit but the readouts has a gain, which learns at `gain_lr`; where it is not positive, it is closed."""

    drops: bool = True

    def effective(self, params: Params, fixed: Fixed, controls: Controls) -> Params:
        return masked(params, fixed.alive * (fixed.hidden * params["gain"] + (1 - fixed.hidden)))

    def freeze(self, updates: Params, params: Params, controls: Controls) -> Params:
        return {**updates, "gain": updates["gain"] * (params["gain"] > 0)}

    @property
    def axes(self) -> Mapping[str, tuple[int, ...]]:
        return {"gain": (0,)}

    def arrays(self, units: int, feeders: int) -> dict[str, np.ndarray]:
        gain = np.full(units, 0.5, np.float32)
        gain[SILENT] = 0
        return {"gain": gain}

    def rates(self, controls: Controls) -> dict[str, jax.Array]:
        return {"gain": controls["gain_lr"]}

    def closed(self, params: Params, fixed: Fixed, controls: Controls) -> np.ndarray | None:
        return np.asarray(params["gain"] <= 0) if self.drops else None

    def absorb(self, params: Params, block: Block, controls: Controls) -> Params:
        plain = {**params, **self.effective(params, block.fixed, controls)}
        return {**plain, "gain": jnp.ones_like(params["gain"])}


class Gained(Naive):
    name: ClassVar[str] = "gained"
    objective = Gains()

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        return None if history else phase(4)


def phase(epochs: int) -> Phase:
    return Phase("train", epochs, 1e-3, 1e-3, controls={"gain_lr": 0.02}, score_every=1, select="last")


def course_of(objective: Objective) -> Course:
    """One step an epoch."""
    network, tasks, *_ = two_tasks()
    W = 0.1 * np.random.default_rng(1).normal(size=network.W.shape)
    network = replace(network, W=W.astype(np.float32))
    scorer = tasks[0].scorer(network, NOBODY, TRAINING)
    rules = Rules(objective, Recipe(batch=4, batches=1))
    opening = shared().open(assigned(network, tasks, 0))
    return Course(network, opening, windows_of(network, tasks[0]), rules, scorer)


def trained(objective: Objective, epochs: int) -> tuple[Progress, Progress]:
    """A phase as it began and as it ended."""
    course = course_of(objective)
    first, last = course.open(None), course.open(None)
    run_phase(course, phase(epochs), 0, last, jax.random.key(0), lambda *_: None)
    return first, last


def test_a_unit_array_of_a_methods_own_is_trained_at_its_own_rate():
    """The first step of Adam has the length of the rate wherever there is a gradient."""
    first, last = trained(Gains(drops=False), 1)
    assert first.state.params["gain"].shape == first.block.units.shape == (24,)
    assert not np.asarray(first.state.params["gain"][20:]).any()  # padding
    change = {n: np.abs(np.asarray(last.state.params[n] - first.state.params[n])) for n in ("gain", "W")}
    assert change["gain"].max() == pytest.approx(0.02, rel=1e-3)
    assert change["W"].max() == pytest.approx(1e-3, rel=1e-3)
    learning = np.setdiff1d(np.arange(2, 20), SILENT)
    np.testing.assert_allclose(change["gain"][learning], 0.02, rtol=1e-2)
    still = np.setdiff1d(np.arange(24), learning)  # the readouts have no use for one, closed ones are held
    assert not change["gain"][still].any()


def test_closed_units_are_dropped_with_their_part_of_the_array_and_of_the_optimiser():
    first, last = trained(Gains(), 3)
    _, whole = trained(Gains(drops=False), 3)
    kept = np.setdiff1d(np.arange(20), SILENT)
    assert last.block.members.tolist() == first.block.members[kept].tolist()
    assert whole.block.members.tolist() == first.block.members.tolist()
    for tree in ("params", "optimiser"):
        pairs = zip(*(jax.tree.leaves(getattr(p.state, tree)) for p in (last, whole)), strict=True)
        for small, large in ((np.asarray(a), np.asarray(b)) for a, b in pairs):
            for axis in range(small.ndim):
                if large.shape[axis] == 24:
                    large = np.take(large, kept, axis=axis)
                    small = np.take(small, np.arange(18), axis=axis)
            np.testing.assert_allclose(small, large, rtol=1e-4, atol=1e-9)


def test_the_array_is_absorbed_into_plain_parameters():
    _, last = trained(Gains(), 2)
    assert last.kept is not None
    block, plain = last.kept
    raw, fixed = last.state.params, block.fixed
    assert (np.asarray(plain["gain"]) == 1).all()
    gain = np.where(np.asarray(fixed.hidden) > 0, np.asarray(raw["gain"]), 1.0) * np.asarray(fixed.alive)
    np.testing.assert_allclose(plain["W"], gain[:, None] * np.asarray(raw["W"]) * gain, rtol=1e-6)
    for name in ("a", "h"):
        np.testing.assert_allclose(plain[name], gain * np.asarray(raw[name]), rtol=1e-6)


def test_a_method_with_such_an_array_runs_from_task_to_task(tmp_path):
    plan, method = make("naive")
    result = carry_out(plan, Gained(method.settings), tmp_path / "run", Silent())
    assert result.completed
    assert [row.size for row in result.tasks] == [22, 22]
    network = from_arrays(store.read_arrays(tmp_path / "run" / "network.safetensors"))
    dropped = [np.setdiff1d(np.arange(24), run) for run in network.runs]
    # the readouts stand first, those of the second task are units 2 to 4: unit 0 has the place behind them
    assert [units.tolist() for units in dropped] == [[3, 9], [0, 9]]
