"""Tasks of trials through the engine and the methods."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

import crug
from crug.core.block import Opening, open_block
from crug.core.network import commit, create_for_trials, from_arrays, recycle_for_trials
from crug.errors import CrugError
from crug.methods import METHODS, find
from crug.methods.isolating import Isolating
from crug.report.figures import draw_run, task_by_task
from crug.report.terminal import comparison, summary
from crug.runs import store
from crug.runs.plan import Plan
from crug.runs.result import Result, TaskResult
from crug.runs.verify import verify
from crug.tasks import cognitive
from crug.tasks.cognitive import TrialScorer, make_trials, respond
from crug.training import Objective

NAMES = ("reaction-time-pro", "category-anti", "go-nogo")
NOBODY = np.array([], np.int64)


def driven_network(M=18, P=8, seed=0):
    return create_for_trials(M, P, cognitive.INPUTS, np.random.default_rng(seed))


def plain(network, units, decoder, inputs):
    """The network step by step, all units at once."""
    floor = np.where(network.relu[units], 0, -np.inf)
    a, W, C, h = network.a[units], network.W[np.ix_(units, units)], network.C[units], network.h[units]
    out = np.zeros((*inputs.shape[:2], decoder.shape[1]))
    for trial, s in enumerate(inputs.astype(np.float64)):
        z = np.zeros(len(units))
        for t, s_t in enumerate(s):
            z = a * z + W @ np.maximum(z, floor) + C @ s_t + h
            out[trial, t] = z @ decoder[units]
    return out


def committed_network():
    """A network whose first task owns six units, so that a second one can listen to them."""
    network, rng = driven_network(), np.random.default_rng(3)
    units = np.array([0, 1, 2, 10, 11, 12])
    own = {"a": rng.uniform(0, 0.9, 6), "W": 0.2 * rng.normal(size=(6, 6)), "h": 0.1 * rng.normal(size=6)}
    own |= {"V": np.zeros((6, 0)), "C": 0.3 * rng.normal(size=(6, cognitive.INPUTS))}
    decoder = rng.normal(size=(18, 3)).astype(np.float32)
    return recycle_for_trials(commit(network, units, NOBODY, own, NOBODY, decoder), rng), units, decoder


def opening(network, units, feeders, decoder):
    """All of these units learn, none is read out."""
    relu = network.relu[units]
    return Opening(NOBODY, units[~relu], units[relu], feeders, decoder)


def test_initial_and_recycled_units_are_in_the_untrained_state():
    network = driven_network(400, 200)
    assert network.a.mean() == pytest.approx(0.9, abs=0.02)
    assert network.a.std() == pytest.approx(0.1, rel=0.15)
    assert network.W.std() == pytest.approx(0.1 / 20, rel=0.02)
    assert network.C.std() == pytest.approx(0.1, rel=0.05)
    assert not network.h.any()
    later, units, _ = committed_network()
    free = later.free()
    assert later.C[free].std() > 0.05
    assert not later.W[np.ix_(units, free)].any()


def test_answers_are_those_of_the_plain_network():
    network, units, decoder = committed_network()
    trials = cognitive.draw(2, 5, np.random.default_rng(0))
    found = respond(network, 0, trials.inputs)
    np.testing.assert_allclose(found, plain(network, units, decoder, trials.inputs), rtol=1e-3, atol=1e-4)


def test_the_loss_and_its_gradient_with_inputs_and_committed_units():
    network, units, _ = committed_network()
    rng = np.random.default_rng(5)
    decoder = rng.normal(size=(18, 3)).astype(np.float32)
    free = network.free()
    network.W[np.ix_(free, units)] = 0.1 * rng.normal(size=(12, 6))
    block, params = open_block(network, opening(network, free, units, decoder))
    trials = cognitive.draw(6, 9, rng)
    weight = np.linspace(0.5, 1.5, cognitive.STEPS)
    data = make_trials(network, units, [trials.inputs, trials.targets, weight])
    index = jnp.array([1, 4, 8])
    effective = Objective().effective(params, block.fixed, {})
    loss = data.loss(effective, block.fixed, index)
    everyone = np.sort(np.concatenate([units, free]))
    masked = np.where(np.isin(np.arange(18), free)[:, None], decoder, 0)
    outputs = plain(network, everyone, masked, trials.inputs[[1, 4, 8]])
    expected = np.mean(weight[None, :, None] * (outputs - trials.targets[[1, 4, 8]]) ** 2)
    np.testing.assert_allclose(float(loss), expected, rtol=1e-4)

    def automatic(p):
        """The same by automatic differentiation of a plain scan."""
        s = data.inputs[index].swapaxes(0, 1)
        drive = data.drive[index].swapaxes(0, 1)

        def step(z, now):
            s_t, d_t = now
            z = p["a"] * z + jnp.maximum(z, block.fixed.floor) @ p["W"].T + s_t @ p["C"].T + d_t @ p["V"].T + p["h"]
            return z, z @ block.fixed.decoder

        _, y = jax.lax.scan(step, jnp.zeros((3, len(block.units))), (s, drive))
        return jnp.mean(data.weight[:, None, None] * (y - data.targets[index].swapaxes(0, 1)) ** 2)

    ours = jax.grad(lambda e: data.loss(e, block.fixed, index))(effective)
    theirs = jax.grad(automatic)(effective)
    for name in ("a", "W", "C", "V", "h"):
        scale = float(jnp.abs(theirs[name]).max())
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("listening", [False, True])
def test_the_score_on_fresh_trials_is_that_of_the_committed_network(listening):
    network, units, _ = committed_network()
    free, feeders = network.free(), units if listening else NOBODY
    rng = np.random.default_rng(1)
    network.W[np.ix_(free, feeders)] = 0.3 * rng.normal(size=(12, len(feeders)))
    task = cognitive.load(NAMES[0], 0)
    decoder = rng.normal(size=(18, 3)).astype(np.float32)
    block, params = open_block(network, opening(network, free, feeders, decoder))
    found = TrialScorer(network, feeders, task).score(network, block, Objective().effective(params, block.fixed, {}))
    own = {n: np.asarray(params[n])[:12] for n in ("a", "V", "C", "h")} | {"W": np.asarray(params["W"])[:12, :12]}
    after = commit(network, free, NOBODY, own, feeders, decoder)
    outputs = respond(after, 1, task.fresh.inputs)
    right = cognitive.correct(outputs[:, -1], task.fresh)
    assert found["accuracy"] == pytest.approx(right.mean(), abs=2e-3)
    assert found["error"] == pytest.approx(((outputs - task.fresh.targets) ** 2).mean(), rel=1e-3)
    assert set(task.evaluate(after, 1).measures()) == {"accuracy", "error"}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_trials(name, tmp_path):
    own: dict[str, Any] = {"crug": {"path": {"start": 8, "most": 10}}, "clnp": {"margin": 5.0}}.get(name, {})
    settings: dict[str, Any] = {"epochs": 3, "network": {"M": 40, "P": 20}, "trials": {"train": 130, "test": 40}, **own}
    result = crug.run(NAMES, method=name, out=tmp_path / "run", **settings)
    assert result.completed
    assert [len(row) for row in result.matrix] == [1, 2, 3]
    final = [row.final["accuracy"] for row in result.tasks]
    assert all(0 <= accuracy <= 1 for accuracy in final)
    assert result.overall["accuracy"] == pytest.approx(np.mean(final))
    assert [measures["accuracy"] for measures in result.matrix[-1]] == final
    network = from_arrays(store.read_arrays(tmp_path / "run" / "network.safetensors"))
    same = all(equal for _, equal in verify(tmp_path / "run"))
    assert same or not find(name).exact
    if issubclass(find(name), Isolating):
        owned = [network.owner == task for task in range(len(NAMES))]
        assert all(not decoder[~own].any() for own, decoder in zip(owned, network.decoders, strict=True))
        assert all(decoder[own].any() for own, decoder in zip(owned, network.decoders, strict=True) if own.any())
    else:
        assert all(np.array_equal(network.decoders[0], decoder) for decoder in network.decoders)
        assert not same or find(name).exact or name == "interleaved"


def test_recordings_and_trials_do_not_mix():
    for tasks in (["lorenz", "go-nogo"], ["go-nogo", "lorenz"]):
        with pytest.raises(CrugError, match="cannot be mixed"):
            crug.run(tasks, method="naive")


def test_pictures_of_trials(tmp_path):
    settings: dict[str, Any] = {"epochs": 1, "network": {"M": 20, "P": 10}, "trials": {"train": 64}}
    crug.run(NAMES[:2], method="naive", out=tmp_path / "run", **settings)
    draw_run(tmp_path / "run")
    for name in ("trials", "retention", "units", "learning"):
        assert (tmp_path / "run" / "figures" / f"{name}.png").stat().st_size > 5_000


def result(accuracies, units, total, seed=0, matrix=(), completed=True) -> Result:
    rows = [
        TaskResult(name=n, own={"accuracy": a}, final={"accuracy": a}, units={"linear": u, "relu": 0})
        for n, a, u in zip(NAMES, accuracies, units, strict=False)
    ]
    return Result(
        plan=Plan(sequence="cognitive", tasks=tuple(NAMES[: len(rows)]), method="clnp", seed=seed),
        settings={"network": {"M": 20, "P": 10}},
        tasks=rows,
        overall={"accuracy": float(np.mean(accuracies))},
        units=total,
        shared=total > sum(units),
        memory_bytes=0,
        completed=completed,
        stopped=None if completed else "no units are left",
        seconds=60.0,
        matrix=[[{"accuracy": a} for a in row] for row in matrix],
    )


def test_runs_side_by_side_task_by_task():
    own = [
        result([1, 0.5], [4, 6], 10, matrix=[[1.0], [1.0, 0.5]]),
        result([0.8, 0.7], [2, 2], 4, matrix=[[0.8], [0.8, 0.7]]),
    ]
    early = result([0.6, 0], [8, 0], 8, matrix=[[0.6]])
    shared = result([0, 1], [20, 20], 20, matrix=[[1.0], [0.0, 1.0]])
    left, right = task_by_task({"own": [*own, early], "shared": [shared]}).axes
    np.testing.assert_allclose(heights(left), [[80, 75], [100, 50]])
    np.testing.assert_allclose(heights(right), [[100 * (4 + 2 + 8) / 60, 35]])


def heights(ax: Any) -> list[list[float]]:
    return [[float(y) for y in line.get_ydata()] for line in ax.lines]


def test_a_run_that_ran_out_of_units_does_not_count_in_the_means():
    group = [
        result([1.0, 0.9, 0.8], [4, 4, 4], 12),
        result([1.0, 0.0, 0.0], [18, 0, 0], 18, seed=1, completed=False),
    ]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(summary(group, "clnp"))
        console.print(comparison({"clnp": group}))
    text = captured.get()
    assert "90.00 +- 0.00" in text
    assert "60.00 +- 0.00" in text
    assert "1 of 2 complete" in text
