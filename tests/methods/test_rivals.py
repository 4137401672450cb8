"""For each rival an oracle that would catch its known mistakes."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from crug.core.block import LEARNED, by_unit, in_block, masked, reordered
from crug.core.dynamics import run_freely
from crug.core.network import create, share
from crug.errors import CrugError
from crug.methods.base import Memory
from crug.methods.ewc import fisher
from crug.methods.shared import readouts
from crug.methods.si import Intelligence
from crug.runs import store
from crug.runs.learning import prepare
from crug.runs.listeners import Silent
from crug.runs.sequence import carry_out
from crug.tasks.recordings import RecordingTask
from crug.tasks.windows import make_windows, window_view
from crug.training.epochs import optimiser, turns
from crug.training.objective import Objective
from lessons import (
    NAMES,
    NOBODY,
    RECIPE,
    TRAINING,
    On,
    assigned,
    begun,
    block_of,
    lesson_of,
    make,
    opened,
    shared,
    task,
    train,
    two_tasks,
    wave,
    windows_of,
)

# what the shared-network methods stand on


def test_a_view_is_the_same_task_as_in_a_block_of_its_own():
    """The loss of another task, seen from this task's block, is the loss that its own block gives."""
    network = create(20, 8, 3, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    network = replace(network, W=(0.1 * rng.normal(size=(20, 20))).astype(np.float32), h=network.a)
    tasks = [task(2, 1.0), task(3, 1.7)]
    block, params = opened(shared(), assigned(network, tasks, 0))
    view = window_view(network, block, readouts(network, tasks)[1], [tasks[1].train], TRAINING)
    own_block, own = opened(shared(), assigned(network, tasks, 1))
    windows = windows_of(network, tasks[1])
    seen = {name: np.asarray(params[name]) for name in ("a", "W", "V", "h")}
    order = np.asarray(view.order)
    rows = {name: jnp.asarray(seen[name][order]) for name in ("a", "V", "h")}
    index = jnp.array([5, 700, 2_000])
    there = view.data.loss({**rows, "W": jnp.asarray(seen["W"][np.ix_(order, order)])}, view.fixed, index)
    here = windows.loss(masked(own, own_block.fixed.alive), own_block.fixed, index)
    np.testing.assert_allclose(float(there), float(here), rtol=1e-6)


def test_no_window_of_a_view_spans_two_pieces():
    network = create(20, 8, 2, np.random.default_rng(0))
    block, _ = block_of(network, np.arange(20), np.arange(2))
    broken = RecordingTask("broken", "Broken", np.zeros((160, 2)), np.zeros((9, 2)), 1.0, breaks=(100,))
    once = TRAINING.model_copy(update={"windows": "fixed"})
    fixed = broken.view(network, block, np.array([3, 2]), broken.examples(), once)
    assert np.asarray(fixed.data.starts).tolist() == [0, 40, 100]
    view = broken.view(network, block, np.array([3, 2]), broken.examples(), TRAINING)
    starts = np.asarray(view.data.starts)
    assert starts.tolist() == [*range(60), *range(100, 120)]
    assert np.asarray(view.order)[:2].tolist() == [3, 2]
    assert sorted(np.asarray(view.order).tolist()) == list(range(24))


# replay and turns


def test_turns_give_everyone_the_same_number_of_steps():
    who = np.asarray(turns(jax.random.key(0), 31, 400, 3, 0))
    assert np.bincount(who).tolist() == [100] * 4
    assert who[0] == 31 % 4


@pytest.mark.parametrize("every", [1, 3, 7])
def test_replay_comes_after_every_r_steps_and_draws_the_tasks_uniformly(every):
    parts = [turns(jax.random.fold_in(jax.random.key(1), i), 31 * i, 31, 3, every) for i in range(400)]
    who = np.concatenate(parts)
    due = np.flatnonzero(who)
    assert due.tolist() == list(range(every - 1, 31 * 400, every))
    counts = np.bincount(who[due], minlength=4)[1:]
    expected = len(due) / 3
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


@pytest.mark.parametrize(
    ("every", "epochs", "steps"), [(1, 1, 12), (2, 1, 9), (5, 1, 7), (100, 1, 6), (7, 14, 14 * 6 + 12)]
)
def test_replay_takes_extra_steps(every, epochs, steps):
    """The count of steps goes on from epoch to epoch: a pause may be longer than one."""
    _, _, block, params, windows, view = two_tasks()
    assert {make(name, every=every)[1].objective.replay for name in ("er", "gr")} == {every}
    state = train(params, On(block, windows, (view,)), Objective(replay=every), epochs)
    taken = next(leaf for leaf in jax.tree.leaves(state.optimiser) if np.asarray(leaf).dtype == np.int32)
    assert int(taken) == steps


@pytest.mark.parametrize("every", [0, 1])
def test_each_of_the_others_is_learned_too(every):
    network = create(20, 8, 3, np.random.default_rng(0))
    tasks = [task(2, 1.0), task(3, 1.7), task(2, 0.4)]
    block, params = opened(shared(), assigned(network, tasks, 0))
    windows = windows_of(network, tasks[0])
    own = readouts(network, tasks)
    views = tuple(window_view(network, block, own[k], [tasks[k].train], TRAINING) for k in (1, 2))

    def losses(state):
        e = Objective().effective(state.params, block.fixed, {})
        index = jnp.arange(0, 2_000, 100)
        return np.array([float(v.data.loss(reordered(e, v.order), v.fixed, index)) for v in views])

    alone = train(params, On(block, windows), Objective(), 30)
    together = train(params, On(block, windows, views), Objective(replay=every), 30)
    assert (losses(together) < 0.3 * losses(alone)).all()


def test_experience_is_the_training_data_and_generated_replay_the_network_itself():
    network, tasks, block, params, windows, _ = two_tasks()
    state = train(params, On(block, windows), Objective(), 20)
    lesson = lesson_of(assigned(network, tasks, 0), block, state, windows)
    for name in ("er", "gr"):
        _, method = make(name)
        after, memory = method.close(lesson, np.random.default_rng(0))
        rehearsed, readout, pieces, scored = method.rehearse(assigned(after, tasks, 1, memory))[0]
        assert (rehearsed, scored) == (tasks[0], False)
        assert readout.tolist() == [0, 1]
        if name == "er":
            assert np.array_equal(pieces[0], tasks[0].train.astype(np.float32))
        else:
            x0 = tasks[0].train[np.linspace(0, 2_999, 5).astype(int)]
            assert np.array_equal(np.stack(pieces), run_freely(after.task_system(0), x0, 600))
    wild = replace(lesson, params={**state.params, "a": 2 + 0 * state.params["a"]})
    _, method = make("gr")
    after, memory = method.close(wild, np.random.default_rng(0))
    assert method.rehearse(assigned(after, tasks, 1, memory)) == []


def test_replay_of_pieces_shorter_than_a_window_is_refused():
    network, tasks, _, _, _, _ = two_tasks()
    _, method = make("gr", training={"window": 700})
    memory = {f"task.0.{i}": wave(2, 1.0, 600).astype(np.float32) for i in range(5)}
    network = replace(network, readouts=(np.arange(2),))
    with pytest.raises(CrugError, match="no window of 700 steps fits into what gr rehearses"):
        prepare(method, assigned(network, tasks, 1, memory))


# EWC


def test_fisher_is_the_mean_of_squared_single_window_gradients():
    _, _, block, params, windows, _ = two_tasks()
    state = train(params, On(block, windows), Objective(), 10)
    index = jnp.arange(0, 2_900, 290)
    found = fisher(state.params, block.fixed, windows, index)

    def loss(params, i):
        return windows.loss(Objective().effective(params, block.fixed, {}), block.fixed, i)

    each = [jax.grad(loss)(state.params, i[None]) for i in index]
    batch = jax.grad(loss)(state.params, index)
    for name in LEARNED:
        expected = np.mean([np.asarray(g[name]) ** 2 for g in each], axis=0)
        np.testing.assert_allclose(found[name], expected, rtol=1e-3, atol=1e-9)
        if name != "C":  # a recording has no inputs
            assert np.asarray(found[name]).sum() > 1.5 * np.sum(np.asarray(batch[name]) ** 2)


def test_a_window_in_which_the_network_runs_away_is_left_out_of_the_fisher_information():
    network, tasks, block, params, _, _ = two_tasks()
    x = tasks[0].train.copy()
    x[1_000] = 1e30
    windows = make_windows(network, NOBODY, x, TRAINING, np.random.default_rng(0))
    sane = fisher(params, block.fixed, windows, jnp.array([0, 500]))
    for index, part in (([0, 980, 500], 1), ([980], 0)):
        found = fisher(params, block.fixed, windows, jnp.array(index))
        for name in LEARNED:
            np.testing.assert_allclose(found[name], part * sane[name], rtol=1e-6)


def test_ewc_holds_all_earlier_tasks_and_not_the_first_one():
    """Its one parabola has the gradient of the paper's sum over tasks, to which the second task adds."""
    network, tasks, block, params, windows, _ = two_tasks()
    _, method = make("ewc", strength=3.0)
    nothing = method.recall({}, block)
    assert float(method.objective.penalty(params, params, block.fixed, nothing)) == 0
    memory: Memory = {}
    terms = []
    for number in range(2):
        assignment = assigned(network, tasks, number, memory)
        block, params = opened(method, assignment)
        windows = windows_of(network, tasks[number])
        on = On(block, windows, recalled=method.recall(memory, block))
        state = train(params, on, method.objective, 5)
        lesson = lesson_of(assignment, block, state, windows)
        index = jnp.asarray(np.linspace(0, windows.count - 1, 24), jnp.int32)
        own = by_unit(block, fisher(state.params, block.fixed, windows, index))
        network, memory = method.close(lesson, np.random.default_rng(0))
        terms.append((own, {n: getattr(network, n).copy() for n in LEARNED}))
    theta = {n: getattr(network, n) + np.float32(0.1) for n in LEARNED}
    here = in_block(block, theta)

    def penalty(learned):
        recalled = method.recall(memory, block)
        return method.objective.penalty({**params, **learned}, params, block.fixed, recalled)

    assert float(penalty(here)) > 0
    found = by_unit(block, jax.grad(penalty)(here))
    for n in LEARNED:
        expected = sum(3.0 * 2 * F[n] * (theta[n] - end[n]) for F, end in terms)
        np.testing.assert_allclose(found[n], expected, rtol=1e-3, atol=1e-8)


# SI


def test_si_accounts_for_every_step_as_a_hand_rolled_loop_does():
    """The gradient of the whole loss, penalty included and clipped, times the change that the optimiser made."""
    _, _, block, params, windows, _ = two_tasks()
    rng = np.random.default_rng(3)
    shapes = {"a": (20,), "W": (20, 20), "C": (20, 0), "h": (20,)}
    memory = {f"weight.{n}": rng.uniform(0, 1, shapes[n]).astype(np.float32) for n in LEARNED}
    memory |= {f"anchor.{n}": 0 * memory[f"weight.{n}"] for n in LEARNED}
    held = make("si", strength=0.1)[1].recall(memory, block)
    recipe = RECIPE._replace(clip=0.05, optimiser="adam")
    state = train(params, On(block, windows, recalled=held), Intelligence(), 2, recipe=recipe)

    def loss(p, index):
        effective = Objective().effective(p, block.fixed, {})
        anchored = sum(jnp.sum(held["weight"][n] * (p[n] - held["anchor"][n]) ** 2) for n in LEARNED)
        return windows.loss(effective, block.fixed, index) + 0.1 * anchored

    p, rule = params, optimiser(recipe)
    updates: Any
    new: Any
    inner = rule.init(p)
    omega = {n: np.zeros_like(np.asarray(p[n])) for n in LEARNED}
    for epoch in range(2):
        key = jax.random.fold_in(jax.random.key(0), epoch)
        for index in jax.random.randint(key, (recipe.batches, recipe.batch), 0, windows.count):
            gradients = jax.grad(loss)(p, index)
            updates, inner = rule.update(gradients, inner)
            new = optax.apply_updates(p, {n: -1e-2 * u for n, u in updates.items()})
            shrink = min(1.0, recipe.clip / float(np.sqrt(sum(np.sum(np.square(g)) for g in gradients.values()))))
            for n in LEARNED:
                omega[n] -= shrink * np.asarray(gradients[n]) * (np.asarray(new[n]) - np.asarray(p[n]))
            p = new
    for n in LEARNED:
        np.testing.assert_allclose(state.params[n], p[n], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(state.account[n], omega[n], rtol=5e-3, atol=1e-7)


def test_si_importance_is_clamped_and_adds_up_and_the_anchor_moves():
    network, tasks, block, params, windows, _ = two_tasks()
    _, method = make("si", xi=0.5, strength=7.0)
    lesson = lesson_of(assigned(network, tasks, 0), block, begun(params, Intelligence()), windows)
    omega = {n: jnp.where(jnp.arange(params[n].size).reshape(params[n].shape) % 2, 3.0, -3.0) for n in LEARNED}
    moved = {**params, **{n: params[n] + 2.0 for n in LEARNED}}
    lesson = replace(lesson, params=moved, account=omega)
    after, memory = method.close(lesson, np.random.default_rng(0))
    assert set(np.unique(memory["weight.W"]).tolist()) == {0.0, np.float32(3 / 4.5)}
    assert np.array_equal(memory["anchor.W"], after.W)
    earlier = {name: value + 1 for name, value in memory.items()}
    second = replace(lesson, assignment=replace(lesson.assignment, memory=earlier))
    _, later = method.close(second, np.random.default_rng(0))
    np.testing.assert_allclose(later["weight.a"], earlier["weight.a"] + memory["weight.a"], rtol=1e-6)
    off = {**moved, "a": moved["a"].at[1].add(0.5)}
    assert float(method.objective.penalty(off, off, block.fixed, method.recall({}, block))) == 0
    held = float(method.objective.penalty(off, off, block.fixed, method.recall(memory, block)))
    assert held == pytest.approx(7.0 * (3 / 4.5) * 0.25)


# XdG


def test_masked_units_have_no_influence_and_do_not_learn():
    network = create(120, 60, 3, np.random.default_rng(0))
    tasks = [task(2, 1.0), task(3, 1.7)]
    _, method = make("xdg", masked=0.8)
    active = method.open(assigned(network, tasks, 0)).units(None)
    assert not set(active.tolist()) & {2, 3, 4}
    assert set(method.open(assigned(network, tasks, 1)).units(None).tolist()) & set(active[2:].tolist())
    block, params = opened(method, assigned(network, tasks, 0))
    windows = windows_of(network, tasks[0])
    state = train(params, On(block, windows), method.objective, 3)
    after, _ = method.close(lesson_of(assigned(network, tasks, 0), block, state, windows), np.random.default_rng(0))
    off = np.setdiff1d(np.arange(120), active)
    assert np.array_equal(after.a[off], network.a[off])
    assert not after.W[off].any()
    assert not after.W[:, off].any()
    W, a = after.W.copy(), after.a.copy()
    W[off], W[:, off], a[off] = 3.0, 3.0, 3.0
    here, there = (run_freely(n.task_system(0), np.ones((2, 2)), 200) for n in (after, replace(after, W=W, a=a)))
    assert np.array_equal(here, there)
    large = create(2_000, 1_000, 3, np.random.default_rng(0))
    draws = [method.open(assigned(large, tasks, k)) for k in range(2)]
    for drawn in draws:
        assert 0.15 < (len(drawn.linear) + len(drawn.relu)) / 2_000 < 0.25
    assert draws[0].relu.tolist() != draws[1].relu.tolist()


def test_a_task_without_units_is_an_outcome(tmp_path):
    plan, method = make("xdg", masked=0.9999, sequence="go", tasks=("go-nogo",), training={})
    result = carry_out(plan, method, tmp_path / "run", Silent())
    assert "none was drawn" in str(result.stopped)
    assert not result.completed
    assert not result.shared


# interleaved


def test_interleaved_learns_everything_in_the_first_turn(tmp_path):
    plan, method = make("interleaved")
    carry_out(plan, method, tmp_path / "run", Silent())
    records = [store.read_json(tmp_path / "run" / "tasks" / f"{i + 1}-{n}" / "task.json") for i, n in enumerate(NAMES)]
    assert [o["phase"]["epochs"] for o in records[0]["history"]] == [8]
    assert records[1]["history"] == []
    networks = [
        (tmp_path / "run" / "tasks" / f"{i + 1}-{n}" / "network.safetensors").read_bytes() for i, n in enumerate(NAMES)
    ]
    assert networks[0] == networks[1]


def test_shared_units_are_written_back_and_owned_by_nobody():
    network = create(8, 3, 2, np.random.default_rng(0))
    units = np.array([0, 1, 6])
    parameters = {"a": np.ones(3), "W": np.full((3, 3), 2.0), "h": np.full(3, 3.0), "C": np.zeros((3, 0))}
    after = share(network, units, [np.array([0]), np.array([1])], parameters)
    assert len(after.readouts) == 2
    assert after.units_of(1) == {"linear": 2, "relu": 1}
    assert after.used().tolist() == [0, 1, 6]
    assert len(after.free()) == 8
    assert after.W.sum() == 18


@pytest.mark.parametrize("order", [1, -1])
def test_interleaved_checkpoints_go_by_their_worst_task(order):
    """Wherever it stands: seen from the first task's block, a task scores as in a block of its own."""
    _, method = make("interleaved")
    network, tasks = create(20, 8, 3, np.random.default_rng(0)), [task(2, 1.0), task(3, 1.7)][::order]
    W = (0.1 * np.random.default_rng(1).normal(size=(20, 20))).astype(np.float32)
    network = replace(network, W=W, h=network.a)
    course, hints = prepare(method, assigned(network, tasks, 0))
    blocks = [opened(method, assigned(network, tasks, k)) for k in range(2)]
    effective = [Objective().effective(params, block.fixed, {}) for block, params in blocks]
    scorers = [task.scorer(network, NOBODY, TRAINING) for task in tasks]
    assert course.scorer.floor == hints.floor == max(scorer.floor for scorer in scorers)
    alone = [scorers[k].score(network, blocks[k][0], effective[k]) for k in range(2)]
    assert abs(alone[0]["d_stsp"] - alone[1]["d_stsp"]) > 0.1
    joint, worst = course.scorer.score(network, blocks[0][0], effective[0]), max(alone, key=lambda score: score.rank)
    assert joint.values.keys() == worst.values.keys()
    for measure, value in worst.values.items():
        assert joint[measure] == pytest.approx(value, rel=1e-4)
    assert (joint.rank, joint.main) == pytest.approx((worst.rank, worst.main), rel=1e-4)
