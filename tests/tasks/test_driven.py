"""Recordings with inputs: the loss, oracles under inputs never seen, and the way from a file to a rollout."""

import csv
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.core.block import masked
from crug.core.network import commit, create, open_inputs, recycle
from crug.errors import CrugError
from crug.methods.replay import GenerativeReplay
from crug.report.figures import drawn
from crug.sections import TrainingSettings
from crug.tasks import as_recordings, prepare
from crug.tasks.driven import DrivenTask, Stretches
from lessons import assigned, block_of, make, opened
from waves import START, wave

SMALL = TrainingSettings(window=30, batch=4, batches=3, interval=5)
QUICK: dict[str, Any] = {"epochs": 12, "progress": False}


def drive(samples: int, seed: int, tau: float = 10.0) -> np.ndarray:
    """Noise that is smooth over about tau samples, of unit variance."""
    rng, a, s = np.random.default_rng(seed), np.exp(-1 / tau), np.zeros((2, samples))
    for t in range(1, samples):
        s[0, t] = a * s[0, t - 1] + rng.standard_normal()
        s[1, t] = a * s[1, t - 1] + s[0, t]
    return s[1] / s[1].std()


def linear(s: np.ndarray) -> np.ndarray:
    A, B = np.array([[0.95, 0.2], [-0.2, 0.9]]), np.array([0.1, 0.3])
    x = np.zeros((len(s), 2))
    for t in range(len(s) - 1):
        x[t + 1] = A @ x[t] + B * s[t]
    return x


def oscillator(force, s: np.ndarray, dt: float = 0.05, start=(0.5, 0.0)) -> np.ndarray:
    """x'' = force(x) - 0.3 x' + s, with s held between two samples."""

    def slope(v, u):
        return np.array([v[1], force(v[0]) - 0.3 * v[1] + u])

    x, h = np.zeros((len(s), 2)), dt / 4
    x[0] = start
    for t in range(len(s) - 1):
        v = x[t]
        for _ in range(4):
            k1 = slope(v, s[t])
            k2 = slope(v + h / 2 * k1, s[t])
            k3 = slope(v + h / 2 * k2, s[t])
            v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(v + h * k3, s[t]))
        x[t + 1] = v
    return x


def duffing(s: np.ndarray) -> np.ndarray:
    return oscillator(lambda x: -x - x**3, s)


def pendulum(s: np.ndarray) -> np.ndarray:
    return oscillator(lambda x: -4 * np.sin(x), s)


def off(truth: np.ndarray, rollout: np.ndarray) -> float:
    return float(np.sqrt(((rollout - truth) ** 2).mean() / truth.var(axis=0).mean()))


def made(samples: int = 1_500, pieces: int = 1) -> DrivenTask:
    inputs = [drive(samples, seed) for seed in range(pieces)]
    task = prepare(as_recordings([linear(s) for s in inputs], "d", 0.1, inputs=inputs), "d").task
    assert isinstance(task, DrivenTask)
    return task


def test_the_loss_and_its_gradient_are_those_of_the_plain_network():
    """With two inputs more than the task has, and committed units that listen to the inputs too."""
    task, rng = made(), np.random.default_rng(0)
    network = open_inputs(create(20, 8, 2, rng), 3)
    units = np.array([0, 1, 12, 13])
    own = {"a": rng.uniform(0, 0.9, 4), "W": 0.2 * rng.normal(size=(4, 4)), "h": 0.1 * rng.normal(size=4)}
    own |= {"V": np.zeros((4, 0)), "C": 0.3 * rng.normal(size=(4, 3))}
    network = recycle(commit(network, units, units[:2], own, np.array([], np.int64)), rng)
    free = network.free()
    network.W[np.ix_(free, np.arange(20))] = 0.1 * rng.normal(size=(16, 20))
    network.C[free] = 0.3 * rng.normal(size=(16, 3))
    block, params = block_of(network, free, free[:2], units)
    data = task.data(network, units, SMALL, rng)
    index = jnp.array([3, 700, 901])
    floor = jnp.where(jnp.asarray(network.relu), 0, -jnp.inf)

    def plain(p, begin):
        """One window, step by step, all units in the order committed, block."""
        s = np.asarray(task.train_inputs, np.float32)
        x = jnp.asarray(task.train, jnp.float32)
        old, new = jnp.asarray(units), jnp.asarray(block.members)
        zc = network.B[units, :2] @ x[begin]
        z = jnp.asarray(network.B[block.members, :2] @ x[begin]).at[:2].set(x[begin])
        total = 0.0
        for t in range(SMALL.window):
            if t % SMALL.interval == 0:
                z = z.at[:2].set(x[begin + t])
            heard = jnp.maximum(zc, floor[old])
            u = s[begin + t]
            z = p["a"] * z + p["W"] @ jnp.maximum(z, floor[new]) + p["V"] @ heard + p["C"][:, :1] @ u + p["h"]
            W, C = network.W[np.ix_(units, units)], network.C[units, :1]
            zc = network.a[units] * zc + W @ heard + C @ u + network.h[units]
            total += jnp.mean((z[:2] - x[begin + t + 1]) ** 2)
        return total / SMALL.window

    def all_windows(p):
        return jnp.mean(jnp.stack([plain(p, int(data.starts[i])) for i in index]))

    small = {name: value[:16] for name, value in params.items()}
    small["W"] = small["W"][:, :16]
    effective = masked(params, block.fixed.alive)
    loss, gradient = jax.value_and_grad(lambda e: data.loss(e, block.fixed, index))(effective)
    expected, theirs = jax.value_and_grad(all_windows)(small)
    assert float(loss) == pytest.approx(float(expected), rel=1e-4)
    for name in ("a", "W", "V", "C", "h"):
        ours = np.asarray(gradient[name])[:16]
        ours = ours[:, :16] if name == "W" else ours
        np.testing.assert_allclose(ours, theirs[name], rtol=2e-3, atol=1e-4 * float(jnp.abs(theirs[name]).max()))


@pytest.mark.slow
def test_a_driven_linear_system_is_learned_exactly():
    s = np.random.default_rng(0).standard_normal(8_000)
    model = crug.Model(units=48, seed=0, settings={"path.start": 16})
    model.learn(linear(s), "linear", inputs=s, epochs=300, progress=False)
    assert model.score("linear")["error"] < 0.02
    unseen = 2 * np.sin(0.07 * np.arange(3_000))
    truth = linear(unseen)
    assert off(truth[1:], model.rollout("linear", x0=truth[0], inputs=unseen[:-1])) < 0.02
    assert sum(model.ledger["linear"].values()) <= 6


@pytest.mark.slow
def test_a_forced_duffing_oscillator_under_an_input_never_seen():
    s = 2 * drive(12_000, 0)
    model = crug.Model(units=64, seed=0).learn(duffing(s), "duffing", 0.05, inputs=s, epochs=1_200, progress=False)
    assert model.score("duffing")["error"] < 0.12
    t = np.arange(3_000)
    for unseen in (3 * np.sin(0.06 * t), 2 * drive(3_000, 7), np.where(t % 400 < 200, 1.5, -1.5)):
        truth = duffing(unseen)
        assert off(truth[1:], model.rollout("duffing", x0=truth[0], inputs=unseen[:-1])) < 0.15


def write(file, s: np.ndarray, x: np.ndarray) -> None:
    with open(file, "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["time", "angle", "speed", "torque"])
        writer.writerows(np.column_stack([0.05 * np.arange(len(s)), x, s]).tolist())


@pytest.mark.slow
def test_a_pendulum_with_a_recorded_torque_from_a_csv(tmp_path):
    """From the file to a rollout under another torque, on the command line."""
    s = drive(10_000, 3, 20)
    write(tmp_path / "pendulum.csv", s, pendulum(s))
    lab = str(tmp_path / "lab.crug")

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, list(words), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    run("learn", lab, str(tmp_path / "pendulum.csv"), "--inputs", "torque", "--epochs", "600", "--size", "64")
    told = json.loads(run("info", lab, "--json"))["tasks"][0]
    assert (told["columns"], told["inputs"], told["dt"]) == (["angle", "speed"], ["torque"], pytest.approx(0.05))
    assert "error" in run("score", lab)
    other = drive(2_000, 8, 20)
    truth = pendulum(other)
    write(tmp_path / "other.csv", other, truth)
    out = tmp_path / "out.csv"
    start = ",".join(str(v) for v in truth[0])
    run("rollout", lab, "pendulum", "--inputs", str(tmp_path / "other.csv"), "--start", start, "--out", str(out))
    rollout = np.loadtxt(out, delimiter=",", skiprows=1)
    assert rollout.shape == truth.shape
    assert off(truth[1:], rollout[:-1]) < 0.2


@pytest.fixture(scope="module")
def model():
    """An autonomous recording, then a driven one of two trajectories, then an autonomous one again."""
    found = crug.Model(units=48, seed=1, settings=START)
    inputs = [drive(900, seed) for seed in (0, 1)]
    found.learn(wave(), "waves", 0.1, **QUICK)
    found.learn([linear(s) for s in inputs], "driven", 0.1, inputs=inputs, columns=["x", "v"], **QUICK)
    return found.learn(wave(3, 1.7), "more", 0.1, **QUICK)


def test_driven_and_autonomous_recordings_live_in_one_model(model, tmp_path):
    assert all(model.verify().values())
    assert model.about("driven").kind == "driven"
    model.save(tmp_path / "lab.crug")
    again = crug.load(tmp_path / "lab.crug")
    assert all(again.verify().values())
    assert again.score("driven") == model.score("driven") == model.learned("driven").own
    for name in model.tasks:
        assert np.array_equal(again.rollout(name, 100), model.rollout(name, 100))
    alone = again.extract("driven")
    assert np.array_equal(alone.rollout("driven", 100), model.rollout("driven", 100))
    assert drawn([again.picture("driven")]).keys() == {"series"}


def test_a_rollout_runs_under_the_inputs_that_it_is_given(model):
    s = drive(400, 5)
    out = model.rollout("driven", inputs=s)
    assert out.shape == (400, 2)
    assert np.array_equal(model.rollout("driven", 300, inputs=s[:, None]), out[:300])
    assert not np.array_equal(model.rollout("driven", inputs=-s), out)
    two = model.rollout("driven", x0=np.zeros((2, 2)), inputs=s)
    assert np.array_equal(two[0], two[1])
    assert model.rollout("driven").shape == (300, 2)
    assert model.rollout("waves").shape == (10_000, 2)
    for inputs, steps, message in (
        (None, 301, r"301 steps need as many inputs; its held-out part has 300"),
        (s, 401, "401 steps need as many inputs; you gave 400"),
        (np.zeros((9, 2)), 9, r"has 1 inputs; give them as \(T, 1\), not \(9, 2\)"),
        (np.full(9, np.nan), 9, "not finite"),
    ):
        with pytest.raises(CrugError, match=message):
            model.rollout("driven", steps, inputs=inputs)
    with pytest.raises(CrugError, match="was learned without inputs"):
        model.rollout("waves", 10, inputs=s)


def test_what_does_not_fit_is_refused():
    s = drive(1_500, 0)
    x = linear(s)
    flat = np.where(np.arange(1_500) < 1_300, 1.0, s)
    for inputs, message in (
        (s[:-1], "1500 samples but 1499 of its inputs"),
        ([s, s], "1 trajectories but inputs of 2"),
        (flat, "input 1 is constant in the part to learn from"),
        (np.where(np.arange(1_500) == 7, np.nan, s), "missing values, first at sample 8"),
    ):
        with pytest.raises(CrugError, match=message):
            crug.Model(units=32).learn(x, "d", inputs=inputs, progress=False)


def test_stretches_stay_inside_their_trajectories_and_inputs_with_their_samples():
    x, s = np.arange(300.0)[:, None], 1_000 + np.arange(300.0)[:, None]
    found = Stretches.of(x, s, (100,), 6)
    assert found.x.shape == (6, 101, 1)
    assert found.inputs.shape == (6, 100, 1)
    assert np.array_equal(found.x[:, :-1] + 1_000, found.inputs)
    assert all(one.min() >= 100 for one in found.x)  # the first trajectory is too short
    perfect = found.score(found.x[:, 1:])
    assert (perfect["error"], perfect["d_stsp"]) == (0, 0)
    assert found.score(np.full((6, 100, 1), np.nan)).rank == np.inf


def test_another_task_can_rehearse_it():
    """Its examples carry their inputs, and what a network imagines answers to them."""
    task = made(1_200, pieces=2)
    tasks = (task, made())
    network = task.fit(create(20, 8, 2, np.random.default_rng(0)))
    method = make("gr")[1]
    assert isinstance(method, GenerativeReplay)
    block, params = opened(method, assigned(network, tasks, 1))
    examples = task.examples()
    assert [part.shape for part in examples] == [(1_000, 2), (1_000, 1)] * 2
    view = task.view(network, block, np.array([0, 1]), examples, SMALL)
    assert view.data.count == 2 * (1_000 - SMALL.window)
    assert np.isfinite(float(view.data.loss(params, view.fixed, jnp.arange(4))))
