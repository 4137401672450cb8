"""Tasks of trials through the engine and the methods."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from crug import store
from crug.block import open_block
from crug.data import Recipe, make_trials
from crug.errors import CrugError
from crug.evaluation import Answers, TrialScore, evaluate, respond, score_of
from crug.listeners import Silent
from crug.methods import METHODS, find
from crug.methods.isolating import Isolating
from crug.network import commit, create_driven, from_arrays, recycle
from crug.sequence import run
from crug.tasks import cognitive
from crug.training import Objective, task_loss
from crug.verify import verify

NAMES = ("reaction-time-pro", "category-anti", "go-nogo")
RECIPE = Recipe(batch=8, batches=4, fixed_windows=True)
NOBODY = np.array([], np.int64)


def driven_network(M=18, P=8, seed=0):
    return create_driven(M, P, cognitive.INPUTS, np.random.default_rng(seed))


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
    return recycle(commit(network, units, NOBODY, own, NOBODY, decoder), rng), units, decoder


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
    block, params = open_block(network, free, NOBODY, units, decoder)
    trials = cognitive.draw(6, 9, rng)
    weight = np.linspace(0.5, 1.5, cognitive.STEPS)
    data = make_trials(network, units, trials.inputs, trials.targets, weight)
    index = jnp.array([1, 4, 8])
    effective = Objective().effective(params, block.fixed, {})
    loss = task_loss(effective, block.fixed, data, index, RECIPE)
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

    ours = jax.grad(lambda e: task_loss(e, block.fixed, data, index, RECIPE))(effective)
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
    block, params = open_block(network, free, NOBODY, feeders, decoder)
    found = TrialScore(network, feeders, task).of(network, block, Objective().effective(params, block.fixed, {}))
    own = {n: np.asarray(params[n])[:12] for n in ("a", "V", "C", "h")} | {"W": np.asarray(params["W"])[:12, :12]}
    after = commit(network, free, NOBODY, own, feeders, decoder)
    outputs = respond(after, 1, task.fresh.inputs)
    right = cognitive.correct(outputs[:, -1], task.fresh)
    assert found.accuracy == pytest.approx(right.mean(), abs=2e-3)
    assert found.error == pytest.approx(((outputs - task.fresh.targets) ** 2).mean(), rel=1e-3)
    assert isinstance(evaluate(after, 1, task), Answers)
    assert score_of(found._asdict()) == found


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_trials(name, tmp_path):
    method = find(name)
    settings = {"sequence": "cognitive", "tasks": NAMES, "method": name, "epochs": 3, "network": {"M": 40, "P": 20}}
    settings |= {"trials": {"train": 130, "test": 40}}
    settings |= {"crug": {"path": {"start": 8, "most": 10}}, "clnp": {"margin": 5.0}}.get(name, {})
    config = method.Config.model_validate(settings)
    result = run(config, method(config), tmp_path / "run", Silent())
    assert result["completed"]
    assert [len(row) for row in result["matrix"]] == ([1, 2, 3])
    assert all(0 <= row["final"]["accuracy"] <= 1 for row in result["tasks"])
    assert result["overall"]["accuracy"] == pytest.approx(np.mean([r["final"]["accuracy"] for r in result["tasks"]]))
    assert result["matrix"][-1] == [row["final"]["accuracy"] for row in result["tasks"]]
    network = from_arrays(store.read_arrays(tmp_path / "run" / "network.safetensors"))
    same = [np.array_equal(network.decoders[0], decoder) for decoder in network.decoders]
    if issubclass(method, Isolating):
        assert all(equal for _, equal in verify(tmp_path / "run"))
        owned = [network.owner == task for task in range(len(NAMES))]
        assert all(not decoder[~own].any() for own, decoder in zip(owned, network.decoders, strict=True))
        assert all(decoder[own].any() for own, decoder in zip(owned, network.decoders, strict=True) if own.any())
    else:
        assert all(same)
        assert name == "interleaved" or not all(equal for _, equal in verify(tmp_path / "run"))


def test_recordings_and_trials_do_not_mix(tmp_path):
    method = find("naive")
    config = method.Config.model_validate({"sequence": "x", "tasks": ("lorenz", "go-nogo"), "method": "naive"})
    with pytest.raises(CrugError, match="cannot be mixed"):
        run(config, method(config), tmp_path / "run", Silent())


def test_pictures_of_trials(tmp_path):
    from crug.report.figures import draw_run

    method = find("naive")
    settings = {"sequence": "cognitive", "tasks": NAMES[:2], "method": "naive", "epochs": 1}
    config = method.Config.model_validate({**settings, "network": {"M": 20, "P": 10}, "trials": {"train": 64}})
    run(config, method(config), tmp_path / "run", Silent())
    draw_run(tmp_path / "run")
    for name in ("trials", "retention", "units", "learning"):
        assert (tmp_path / "run" / "figures" / f"{name}.png").stat().st_size > 5_000


def test_runs_side_by_side_task_by_task():
    from crug.report.figures import task_by_task

    def result(method_units, total, matrix):
        rows = [{"units": {"linear": n, "relu": n}} for n in method_units]
        return {"tasks": rows, "units": total, "matrix": matrix, "config": {"network": {"M": 20}}}

    own = [result([2, 3], 10, [[1.0], [1.0, 0.5]]), result([1, 1], 4, [[0.8], [0.8, 0.7]])]
    early = result([4, 0], 8, [[0.6]])
    shared = result([10, 10], 20, [[1.0], [0.0, 1.0]])
    left, right = task_by_task({"own": [*own, early], "shared": [shared]}).axes
    np.testing.assert_allclose([line.get_ydata() for line in left.lines], [[80, 75], [100, 50]])
    np.testing.assert_allclose([line.get_ydata() for line in right.lines], [[100 * (4 + 2 + 8) / 60, 35]])


def test_a_run_that_ran_out_of_units_does_not_count_in_the_means():
    from rich.console import Console

    from crug.report.terminal import comparison, summary

    def result(seed, accuracies, units, completed=True):
        rows = [
            {"name": n, "own": {"accuracy": a}, "final": {"accuracy": a}, "units": {"linear": u, "relu": 0}}
            for n, a, u in zip(NAMES, accuracies, units, strict=True)
        ]
        overall = {"accuracy": float(np.mean(accuracies))}
        about = {"sequence": "cognitive", "seed": seed, "seconds": 60.0, "config": {"network": {"M": 10}}}
        return {**about, "tasks": rows, "overall": overall, "units": sum(units), "completed": completed}

    group = [result(0, [1.0, 0.9, 0.8], [2, 2, 2]), result(1, [1.0, 0.0, 0.0], [9, 0, 0], completed=False)]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(summary(group, "clnp"))
        console.print(comparison({"clnp": group}))
    text = captured.get()
    assert "90.00 +- 0.00" in text
    assert "60.00 +- 0.00" in text
    assert "1 of 2 complete" in text
