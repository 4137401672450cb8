"""The command line at its limits: numbers out of bounds, a full disk, Ctrl-C. One line each time, and nothing left."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.cli import model as commands
from crug.core import noise
from crug.errors import CrugError
from crug.model.kept import Kept
from crug.runs.hands import Hands
from waves import START, wave

LINE = [sys.executable, "-m", "crug"]


def go(*line, **how):
    return subprocess.run([*LINE, *map(str, line)], capture_output=True, text=True, timeout=120, **how)


@pytest.fixture(scope="module")
def model():
    model = crug.Model(units=32, seed=3, settings=START)
    return model.learn(wave(), "first", 0.1, epochs=2, progress=False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["grow", "lab.crug", "1e30"], "valid integer"),
        (["grow", "lab.crug", 10**30], "give a positive number, at most 2,147,483,647"),
        (["grow", "lab.crug", 10**9], "units in all = 10000000.*; give a positive number, at most 1,000,000,000"),
        (["learn", "new.crug", "w.npy", "--size", 2 * 10**9], "give a positive number, at most 1,000,000,000"),
        (["learn", "new.crug", "w.npy", "--workers", 0], "Invalid value for '--workers'"),
        (["learn", "new.crug", "w.npy", "--seed", "9" * 20], "give a whole number from 0 to 9223372036854775807"),
        (["run", "--tasks", "chua", "--seed", "9" * 20], "give a whole number from 0 to 9223372036854775807"),
        (["run", "--tasks", "chua", "--epochs", 10**12], "epochs = 1000000000000 is too large; at most 2.14748e+09"),
        (
            ["run", "--tasks", "chua", "--set", "training.clip=Infinity"],
            "training.clip = inf: input should",
        ),
        (["run", "--tasks", "chua", "--set", "epochs=" + "9" * 5_000], "epochs = '999"),
        (["run", "vlrc", "--set", "network.P=200"], "network: P = 200 leaves no linear units of M = 160"),
        (["rollout", "lab.crug", "first", "--out", "r.csv", "--steps", 10**13], "steps are possible"),
        (["rollout", "lab.crug", "first", "--out", "r.csv", "--noise", "--seed", "9" * 20], "carries no noise"),
        (["forecast", "lab.crug", "first", "w.npy", "--out", "r.csv", "--steps", 10**12], "GB of memory"),
        (["learn", "lab.crug", "w.npy", "--columns", "²"], "no column '²'"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_a_number_out_of_bounds_gets_a_line_that_says_what_is_possible(model, tmp_path, line, said):
    model.save(tmp_path / "lab.crug")
    np.save(tmp_path / "w.npy", wave())
    before = (tmp_path / "lab.crug").read_bytes()
    done = go(*line, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert re.search(said.replace("(", r"\(").replace("+", r"\+"), done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "lab.crug").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lab.crug", "w.npy"]


# long rollouts


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_a_long_rollout_is_written_in_pieces_and_is_the_same(model, tmp_path, monkeypatch, suffix):
    model.save(tmp_path / "lab.crug")
    for module in ("crug.core.noise", "crug.cli.ahead"):
        monkeypatch.setattr(f"{module}.PIECE", 1_000)
    out = tmp_path / f"r{suffix}"
    line = ["rollout", tmp_path / "lab.crug", "first", "--steps", 3_500, "--out", out]
    done = CliRunner().invoke(app, [str(part) for part in line])
    assert done.exit_code == 0, done.exception
    written = np.load(out) if suffix == ".npy" else np.loadtxt(out, delimiter=",", skiprows=1)
    assert np.array_equal(written, model.rollout("first", 3_500))
    pieces = list(model.rollout_in_pieces("first", 3_500, np.zeros(2)))
    assert [len(piece) for piece in pieces] == [1_000, 1_000, 1_000, 500]
    assert np.array_equal(np.concatenate(pieces), model.rollout("first", 3_500, np.zeros(2)))


def test_noise_in_pieces_is_the_noise_of_the_whole(model, monkeypatch):
    system, rng = model.network.task_system(0), np.random.default_rng(0)
    high = np.full(2, 3, np.float32)
    draws = rng.normal(0, 0.1, (3, 20, 2)).astype(np.float32)
    found = noise.Noise(rng.normal(size=(3, 2)).astype(np.float32), draws, -high, high, np.array(1, np.float32))
    whole = noise.roll_out(system, np.zeros((2, 2)), (2_500, 0), found, 5)
    monkeypatch.setattr(noise, "PIECE", 1_000)
    pieces = list(noise.in_pieces(system, np.zeros((2, 2)), 2_500, found, 5))
    assert np.array_equal(np.concatenate(pieces, axis=1), whole)


# a full disk


def test_a_failed_output_leaves_nothing_in_the_way_of_the_next(model, tmp_path, monkeypatch):
    model.save(tmp_path / "lab.crug")
    line = [str(part) for part in ("rollout", tmp_path / "lab.crug", "first", "--out", tmp_path / "r.csv")]

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        done = CliRunner().invoke(app, line)
    assert isinstance(done.exception, CrugError)
    assert str(done.exception).startswith(f"{tmp_path / 'r.csv'}: cannot be written (No space left on device)")
    assert [path.name for path in tmp_path.iterdir()] == ["lab.crug"]
    assert CliRunner().invoke(app, line).exit_code == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_an_output_that_takes_nothing_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run([*LINE, "sequences"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


# Ctrl-C

READY = "import os, sys; os.write(1, b'.'); from crug.cli import main; main()"
"""The command, which says when its own code begins: Python itself cannot be told anything before."""


def interrupted(delay, *line, cwd=None):
    """Ctrl-C so many seconds after the command began: its exit status, and what it said."""
    command = [sys.executable, "-c", READY, *map(str, line)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process: Any = subprocess.Popen(command, cwd=cwd, **pipes)
    assert process.stdout is not None
    process.stdout.read(1)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    return process.returncode, said.decode()


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.15, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_ctrl_c_is_one_line_at_any_moment(tmp_path, delay):
    small = ["--set", "network.M=24", "--set", "network.P=12", "--set", "path.start=10"]
    code, said = interrupted(delay, "run", "--tasks", "lorenz,chua", *small, "--out", "run", cwd=tmp_path)
    assert code == 130
    assert [line for line in said.splitlines() if line.startswith("crug: stopped")] == said.splitlines()[-1:]
    assert "Traceback" not in said


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    ("saved", "said"),
    [(0.5, "is as it was"), (1, "has the 1 before it"), (1.5, "has the 1 before it"), (2, "has the 2 before it")],
)
def test_ctrl_c_during_a_save_says_what_the_file_has(model, tmp_path, monkeypatch, several, saved, said):
    """It comes after so many saves: in the middle of one, or right behind one that is through."""
    heard: list[str] = []
    file, left, usual = tmp_path / "lab.crug", [saved], crug.Model.save
    new = crug.Model(units=60, seed=3, settings=START)

    def learned(name):
        record = model.kept[0].record
        about = record.known.about.model_copy(update={"name": name})
        return Kept.of(replace(record, known=replace(record.known, about=about)))

    def learning(model, todo, *_):
        for name in todo:
            model.add(learned(name))
            yield model.kept[-1]

    def save(self, path):
        left[0] -= 1
        if left[0] == -0.5:
            raise KeyboardInterrupt
        usual(self, path)
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(crug.Model, "learn", lambda self, x, name, **_: self.add(learned(name)))
    monkeypatch.setattr(crug.Model, "save", save)
    monkeypatch.setattr(commands, "learning", learning)
    monkeypatch.setattr("crug.cli.stopping.say", heard.append)
    todo = [(name, wave()) for name in "abc"]
    crew = [Hands(1, lambda *_: b"")] if several else []
    with pytest.raises(typer.Exit):
        (commands.learn_together if several else commands.learn_all)(file, new, todo, {}, *crew)
    assert heard == [f"stopped; {file} {said}, and the same command goes on from here"]
