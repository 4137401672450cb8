"""The command line: what it prints, and that every mistake gets one helpful line."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from crug.runs import store


def crug(*arguments):
    return subprocess.run([sys.executable, "-m", "crug", *map(str, arguments)], capture_output=True, text=True)


MISTAKES = {
    "a threshold that cannot be": (["run", "vlrc", "--set", "gates.threshold=2"], "gates.threshold"),
    "an unknown key": (["run", "vlrc", "--set", "gates.treshold=0.5"], "did you mean gates.threshold"),
    "an unknown sequence": (["run", "vlcr"], "no sequence is called 'vlcr'"),
    "an unknown task": (["run", "--tasks", "lorenz,chau"], "no task is called 'chau'"),
    "no sequence": (["run"], "which sequence?"),
    "an unknown method": (["run", "vlrc", "--method", "ewcc"], "no method is called 'ewcc'"),
    "a method's missing file": (["run", "vlrc", "--method", "nowhere.py"], "method nowhere.py: there is no such file"),
    "not a pair": (["run", "vlrc", "--set", "settle"], "key=value"),
    "a missing file": (["run", "vlrc", "--config", "nowhere.toml"], "nowhere.toml"),
    "too many ReLU units": (["run", "vlrc", "--set", "network.P=200"], "choose P below M"),
    "a seed among the settings": (["run", "vlrc", "--set", "seed=3"], "give it on the command line"),
    "no folder": (["show", "README.md"], "is this the folder of a run"),
    "no run there": (["show", "nowhere"], "there is no such file"),
    "no run to verify": (["verify", "nowhere"], "there is no such file"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_line_that_helps(tmp_path, name):
    arguments, text = MISTAKES[name]
    if arguments[0] == "run":
        arguments = [*arguments, "--out", tmp_path / "out"]
    result = crug(*arguments)
    assert result.returncode == 2
    assert text in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_unwritable_folder(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = crug("run", "vlrc", "--out", tmp_path / "file" / "run")
    assert result.returncode == 2
    assert "choose another --out" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    result = crug("run", "vlrc", "--out", tmp_path)
    assert "not a run of crug" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "run"
    small = ["--set", "network.M=24", "--set", "network.P=12", "--set", "path.start=10"]
    result = crug("run", "--tasks", "van-der-pol,chua", "--epochs", 20, *small, "--out", out)
    assert result.returncode == 0, result.stderr
    assert "overall (worst)" in result.stdout
    return out


def test_show_verify_and_figures(folder):
    assert "van-der-pol" in crug("show", folder).stdout
    verified = crug("verify", folder)
    assert verified.returncode == 0
    assert verified.stdout.count("same bits") == 2
    for name in ("portraits", "capacity", "learning"):
        assert (folder / "figures" / f"{name}.png").stat().st_size > 10_000


def test_a_damaged_checkpoint_is_named_and_nothing_is_lost(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "result.json").unlink()
    damaged = copy / "tasks" / "1-van-der-pol" / "network.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-9] ^= 1
    damaged.write_bytes(content)
    command = json.loads((copy / "config.json").read_text())["plan"]
    arguments = ["run", "--tasks", ",".join(command["tasks"]), "--epochs", 20, "--out", copy]
    small = ["--set", "network.M=24", "--set", "network.P=12", "--set", "path.start=10"]
    result = crug(*arguments, *small)
    assert result.returncode == 2
    assert "damaged checkpoint" in result.stderr
    assert str(damaged) in result.stderr
    damaged.unlink()
    assert crug(*arguments, *small).returncode == 0
    again, before = (json.loads((place / "result.json").read_text()) for place in (copy, folder))
    assert again["tasks"] == before["tasks"]


def test_verify_fails_on_a_nudged_weight(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    file = tmp_path / "copy" / "network.safetensors"
    arrays = store.read_arrays(file)
    unit = np.flatnonzero(arrays["owner"] == 0)[0]
    arrays["a"] = arrays["a"].copy()
    arrays["a"][unit] = np.nextafter(arrays["a"][unit], np.float32(2))
    store.write_arrays(file, arrays)
    result = crug("verify", tmp_path / "copy")
    assert result.returncode == 1
    assert "van-der-pol: CHANGED" in result.stdout
    assert "chua: 5 rollouts" in result.stdout


def test_the_version():
    result = crug("--version")
    assert (result.returncode, result.stdout) == (0, f"crug {version('crug')}\n")


def test_lists_as_json():
    listed = json.loads(crug("sequences", "--json").stdout)
    assert listed["sequences"]["vlrc"] == ["van-der-pol", "lorenz", "rossler", "chua"]
    methods = json.loads(crug("methods", "--json").stdout)
    settings = {s["key"]: s["default"] for s in methods[0]["settings"]}
    assert settings["gates.threshold"] == 0.5
    assert settings["training.range_weight"] == 100.0
    ewc = next(m for m in methods if m["name"] == "ewc")
    strength = next(s for s in ewc["settings"] if s["key"] == "strength")
    assert (strength["default"], strength["on"]["blgf"], strength["search"]) == (4214.16, 10.0, [1, 1e5])
    lr, allocation = (
        next(s for s in methods[0]["settings"] if s["key"] == key) for key in ("training.lr", "allocation")
    )
    assert lr["on"] == {"cognitive": 0.01, "allocation=price": 0.001}
    assert (allocation["choices"], "on" in allocation) == (["path", "price"], False)


def test_a_toml_file_is_read_and_set_wins(tmp_path):
    (tmp_path / "c.toml").write_text('allocation = "price"\n[gates]\nthreshold = 7\n')
    result = crug("run", "vlrc", "--config", tmp_path / "c.toml", "--out", tmp_path / "out")
    assert "gates.threshold = 7" in result.stderr


def small(*more):
    return ["--tasks", "van-der-pol,chua", "--epochs", 1, "--set", "network.M=24", "--set", "network.P=12", *more]


def test_runs_are_told_apart_by_what_they_set_and_by_the_version_of_their_file(tmp_path, monkeypatch):
    from crug.methods import _template

    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.py"
    mine.write_text(Path(_template.__file__).read_text())
    for out, more in (("one", []), ("two", ["--set", "strength=5"])):
        assert crug("run", *small("--method", "mine.py", *more, "--out", out)).returncode == 0
    mine.write_text(mine.read_text() + "# changed\n")
    refused = crug("run", *small("--method", "./mine.py", "--out", "one"))
    assert "mine.py has changed since this run began" in refused.stderr
    assert crug("run", *small("--method", mine, "--out", "three")).returncode == 0
    shown = crug("show", "one", "two", "three", "one").stdout
    assert shown.count("1 of 1 complete") == 3
    mine.write_text(mine.read_text().replace("strength", "force"))
    for gone in (False, True):
        if gone:
            mine.unlink()
        shown = crug("show", "one", "two")
        assert shown.returncode == 0, shown.stderr
        assert "strength=5" in shown.stdout


@pytest.mark.parametrize("more", [["--method", "naive"], ["--set", "allocation=price"]], ids=["naive", "price"])
def test_a_run_that_diverges_has_its_table_and_its_pictures(tmp_path, more):
    line = ["--tasks", "lorenz", "--epochs", 4, "--set", "training.lr=1e4", "--set", "training.clip=1e9", *more]
    done = crug("run", *line, "--out", tmp_path / "d")
    assert done.returncode == 0, done.stderr
    assert "div." in done.stdout
    assert (tmp_path / "d" / "figures" / "learning.png").exists()
