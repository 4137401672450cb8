"""Bits that must not change: the networks and scores of one small run for every method and family, and of one model.

`pins.json` has them for some kinds of machines, as each computed them. There they have to agree to the bit. Any other
machine rounds differently, and training carries that far: there only the sizes of arrays are held against those of a
machine that is known. On a new machine, or after a change that is meant to change bits and is named in CHANGELOG.md:

    python tests/test_pins.py

After such a change, the method or the family has another edition too, so that stored results of the old one are marked.
"""

import hashlib
import json
import platform
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.runs import Result

PINS = Path(__file__).with_name("pins.json")
ELSEWHERE = 0.25
"""How far the sizes of arrays may be from those of another kind of machine."""
RECORDINGS = "--tasks van-der-pol,chua --epochs 4 network.M=24 network.P=10 training.window=400"
TRIALS = (
    "--tasks reaction-time-pro,category-anti,go-nogo --epochs 3 network.M=40 network.P=20 trials.train=130 "
    "trials.test=40"
)
CLOSING = "--method crug allocation=price training.gate_lr=0.5 prices.linear=0.02 prices.relu=0.02"
RIVALS = ("interleaved", "naive", "ewc", "si", "er", "gr", "xdg", "clnp")
CASES = {
    **{f"recordings, {name}": f"{RECORDINGS} --method {name}" for name in RIVALS},
    "recordings, path": f"{RECORDINGS} --method crug path.start=8",
    "recordings, path, l2": f"{RECORDINGS} --method crug path.start=8 transfer.kind=l2",
    "recordings, price": f"{RECORDINGS} {CLOSING}",
    "recordings, price, l0": f"{RECORDINGS} {CLOSING} settle=0.5 transfer.kind=l0 transfer.strength=0.5",
    **{f"trials, {name}": f"{TRIALS} --method {name}" for name in RIVALS if name != "clnp"},
    "trials, clnp": f"{TRIALS} --method clnp margin=5.0",
    "trials, path": f"{TRIALS} --method crug path.start=8 path.most=10",
    "trials, price": f"{TRIALS} {CLOSING}",
}


def machine() -> str:
    """What rounding depends on: the processor with all that it can do, and the compiler."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else [platform.processor()]
    about = sorted({line for line in lines if line.startswith(("model name", "flags"))})
    return f"{hashlib.sha256(''.join(about).encode()).hexdigest()[:16]}, jax {jax.__version__}"


def pin(arrays, scores):
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    sizes = {n: float(np.abs(v.astype(np.float64)).sum()) for n, v in sorted(arrays.items()) if v.dtype == np.float32}
    return {"digest": digest.hexdigest(), "sizes": sizes, "scores": scores}


def of_run(line: str, folder: Path):
    """One run through the command line; what is no option is a setting."""
    words = line.split()
    options = [w for i, w in enumerate(words) if w.startswith("--") or words[i - 1].startswith("--")]
    sets = [part for w in words if w not in options for part in ("--set", w)]
    done = CliRunner().invoke(app, ["run", *options, *sets, "--out", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = json.loads((folder / "result.json").read_text())["tasks"]
    names = ("d_stsp", "d_h", "accuracy")
    scores = [{n: row[when][n] for n in names if n in row[when]} for row in rows for when in ("own", "final")]
    editions = list(Result.read(folder).plan.edition)
    return {**pin(load_file(folder / "network.safetensors"), scores), "edition": editions}


def wave(dim, frequency, samples=1_500):
    t = 0.1 * np.arange(samples)[:, None]
    return (1 + np.arange(dim)) * np.sin(frequency * t * (1 + 0.3 * np.arange(dim)) + np.arange(dim))


def learned() -> crug.Model:
    """Three recordings: two dimensions, five (mixtures instead of bins), and several noisy trajectories."""
    model = crug.Model(units=64, seed=3, settings={"path.start": 8})
    noisy = [wave(3, 0.7, 800) + 0.02 * np.random.default_rng(i).standard_normal((800, 3)) for i in range(2)]
    for name, x in (("two", wave(2, 1.0)), ("five", wave(5, 1.7)), ("noisy", noisy)):
        model.learn(x, name, 0.1, epochs=12, progress=False)
    return model


def of_model(folder: Path):
    learned().save(folder / "lab.crug")
    model = crug.load(folder / "lab.crug")
    records = [one.record for one in model.kept]
    arrays = {f"{r.name}.{name}": value for r in records for name, value in r.units.arrays().items()}
    arrays |= {f"{r.name}.{name}": value for r in records for name, value in r.known.arrays().items()}
    return pin(arrays, [model.rollout(name, 50)[-1].tolist() for name in model.tasks])


def agree(found, kind: str, name: str):
    pins = json.loads(PINS.read_text())
    if name in pins.get(machine(), {}).get(kind, {}):
        pinned = pins[machine()][kind][name]
        if found != pinned:
            assert found.get("edition") != pinned.get("edition"), "other bits: raise the edition of method or family"
        assert found == pinned
    else:
        known = next(each for each in pins.values() if name in each[kind])
        assert found["sizes"] == pytest.approx(known[kind][name]["sizes"], rel=ELSEWHERE, abs=0.1)


@pytest.mark.parametrize("name", CASES)
def test_a_run_has_its_bits(name, tmp_path):
    agree(of_run(CASES[name], tmp_path / "run"), "runs", name)


def test_a_model_has_its_bits(tmp_path):
    agree(of_model(tmp_path), "models", "three")


if __name__ == "__main__":
    from crug.runtime import one_thread

    one_thread()
    only = sys.argv[1:]
    pins = json.loads(PINS.read_text()) if PINS.exists() else {}
    mine = pins.setdefault(machine(), {"runs": {}, "models": {}})
    with tempfile.TemporaryDirectory() as place:
        for number, (name, line) in enumerate(CASES.items()):
            if not only or any(word in name for word in only):
                mine["runs"][name] = of_run(line, Path(place) / str(number))
        if not only or "model" in only:
            mine["models"]["three"] = of_model(Path(place))
    PINS.write_text(json.dumps(pins, indent=1) + "\n")
