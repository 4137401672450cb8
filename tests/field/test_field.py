"""The field's public files: what is learned of each, how it is judged, and what the real ones say of themselves."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import crug
from crug.cli import app
from crug.errors import CrugError
from crug.field import BENCHMARKS, Benchmark, Measured, benchmarks, judged, scores
from crug.field.protocols import PIECE, WAYS, spectra
from crug.metrics.variants import VARIANTS
from crug.report import field as tables
from crug.tasks import Scale

PUBLIC = Path(os.environ.get("CRUG_PUBLIC", Path(__file__).parents[3] / "shared" / "public"))
real = pytest.mark.skipif(not PUBLIC.is_dir(), reason=f"needs the field's public files in {PUBLIC} (CRUG_PUBLIC)")
ANGLE = 0.0731


def circle(start: np.ndarray, steps: int) -> np.ndarray:
    """What follows on points of a circle, (batch, steps, 2)."""
    turn = ANGLE * np.arange(1, steps + 1)[:, None]
    x, y = np.asarray(start, np.float64).T[:, None, :]
    return np.stack([x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)], axis=2).swapaxes(0, 1)


def perfect(x: np.ndarray, places: np.ndarray, steps: int) -> np.ndarray:
    return circle(x[places], steps)


def slower(x: np.ndarray, places: np.ndarray, steps: int) -> np.ndarray:
    return 0.6 * circle(x[places], 2 * steps)[:, ::2]


RECORDED = circle(np.array([[1.4, 0.0]]), 24_000)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", ["python", "legacy", "julia"])
def test_a_perfect_model_is_perfect_and_another_is_not(way, variant):
    one = Benchmark("circle", "a circle", "a.npy", "a.npy", way, variant)
    learned, test = RECORDED[:12_000], RECORDED[12_000:]
    best, other = judged(one, learned, test, perfect), judged(one, learned, test, slower)
    assert best.d_stsp < 0.1 < 1 < other.d_stsp
    assert best.d_h < 0.03 < 0.1 < other.d_h


def test_each_way_starts_where_it_should():
    learned, test = RECORDED[:12_000], RECORDED[12_000:]
    for way, first, count in (("continued", learned[-1], 1), ("free", test[0], 1), ("restarted", test[PIECE], 12)):
        asked = []

        def roll(x, places, steps, asked=asked):
            asked.append(x[places])
            return circle(x[places], steps)

        judged(Benchmark("c", "c", "", "", way, "python"), learned, test, roll)
        assert len(asked[0]) == count
        np.testing.assert_array_equal(asked[0][min(1, count - 1)], first)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A public file of our own making."""
    np.save(tmp_path / "a.npy", RECORDED[:3_000].astype(np.float32))
    digest = hashlib.sha256((tmp_path / "a.npy").read_bytes()).hexdigest()
    (tmp_path / "sums").write_text(f"{digest} a.npy\n")
    monkeypatch.setattr(benchmarks, "SUMS", tmp_path / "sums")
    one = Benchmark("circle", "a circle", "a.npy", "a.npy", "continued", "julia", 1_000, published={"they": (2.5, 0.1)})
    monkeypatch.setitem(BENCHMARKS, "circle", one)
    return tmp_path


def test_files_are_found_cut_and_checked(made):
    one = BENCHMARKS["circle"]
    learned, test = one.load(made)
    assert (len(learned), len(test)) == (1_000, 2_000)
    whole = replace(one, way="free", learned=None, dropped=10)
    assert [len(x) for x in whole.load(made)] == [2_990, 2_990]
    with pytest.raises(CrugError, match=r"nowhere.*is not there"):
        one.load(made / "nowhere")
    np.save(made / "a.npy", RECORDED[:2_000])
    with pytest.raises(CrugError, match="checksum"):
        one.load(made)


def test_the_command_learns_measures_and_goes_on(made, monkeypatch):
    def go(*line, code=0):
        done = CliRunner().invoke(app, ["benchmark", *map(str, line)])
        assert done.exit_code == code, (done.output, done.exception)
        return done

    assert "dynamix-lorenz" in go().output
    lab = made / "lab.crug"
    crug.Model(units=40, settings={"path": {"start": 8, "gently": []}, "noise": False, "epochs": 20}).save(lab)
    monkeypatch.setattr("crug.field.protocols.CONTINUED", 2_000)
    first = go("circle", "--data", made, "--out", lab).output
    assert "2.5 / 0.1 (they)" in first
    saved = lab.read_bytes()
    assert crug.load(lab).about("circle").samples == 1_000
    assert "2.5 / 0.1 (they)" in go("circle", "--data", made, "--out", lab).output
    assert lab.read_bytes() == saved
    for line in (("circle", "--out", lab), ("square", "--data", made)):
        assert isinstance(go(*line, code=1).exception, CrugError)
    scored = scores.score(crug.load(lab), "circle", made)
    console = Console(width=200)
    with console.capture() as captured:
        console.print(tables.scores([scored]))
    assert f"{scored.plain.d_stsp:.2f} / {scored.plain.d_h:.3f}" in captured.get()


def test_peers_are_judged_alike(made, monkeypatch):
    """One that continues perfectly, in the recording's own units, stands beside the others in the table."""
    monkeypatch.setattr("crug.field.protocols.CONTINUED", 2_000)
    one = BENCHMARKS["circle"]
    scale = Scale.of(one.load(made)[0])

    def fit(x, seed):
        assert np.abs(x.mean(axis=0)).max() < 1e-9
        return lambda x, places, steps: scale.standardise(circle(scale.restore(x[places]), steps))

    monkeypatch.setattr(scores, "PEERS", {"compass": fit})
    mine = scores.Scored(one, 5, 60.0, Measured(1.5, 0.2), Measured(1.0, 0.1))
    both = scores.against_peers(mine, made)
    assert both.peers["compass"].d_stsp < 0.05
    console = Console(width=200)
    with console.capture() as captured:
        console.print(tables.scores([mine, both]))
    for part in ("compass", "1.50 / 0.200", "1.00 / 0.100", f"{both.peers['compass'].d_stsp:.2f} / "):
        assert part in captured.get()


@real
@pytest.mark.parametrize(
    ("name", "variant", "expected"),
    [
        ("alrnn-lorenz", "python", (0.39, 0.031)),
        ("gtf-ecg", "julia", (0.29, 0.060)),
        ("dend-bursting", "legacy", (1.25, None)),
        ("dend-bursting", "julia", (1.39, None)),
        ("dend-lorenz", "legacy", (0.036, None)),
    ],
)
def test_the_real_files_score_against_themselves_what_is_known(name, variant, expected):
    """The training part in the place of a rollout."""
    train, test = BENCHMARKS[name].load(PUBLIC)
    short = name == "alrnn-lorenz"
    made = train[:10_000] if short else train
    d_stsp, d_h = expected
    assert VARIANTS[variant](test, made) == pytest.approx(d_stsp, abs=0.006)
    if d_h is not None:
        assert spectra(test[:10_000] if short else test, made) == pytest.approx(d_h, abs=0.001)


@real
def test_mixtures_of_the_real_file_score_against_themselves_what_is_known():
    """The program looks at 10,000 samples, by 1,000 random points: which samples they are makes it 0.09 to 0.13."""
    benchmark = BENCHMARKS["dend-lorenz96"]
    train, test = benchmark.load(PUBLIC)
    found = [VARIANTS[benchmark.variant](test, train[i : i + 10_000]) for i in range(0, 100_000, 20_000)]
    assert np.median(found) == pytest.approx(benchmark.truth[0], abs=0.015)
    assert max(found) - min(found) < 0.05


def test_what_is_special_about_published_numbers_stands_beside_them():
    console = Console(width=400)
    scored = [
        scores.Scored(BENCHMARKS[name], 5, 60.0, Measured(1.5, 0.2), None) for name in ("alrnn-lorenz", "gtf-ecg")
    ]
    for table in (tables.offered(), tables.scores(scored)):
        with console.capture() as captured:
            console.print(table)
        for said in ("best of 80 checkpoints", "second-hand"):
            assert said in " ".join(captured.get().split())


def test_the_best_published_number_is_of_a_network_where_there_is_one():
    """SINDy is given the form of the equations; it stands beside the best network."""
    assert tables._best(BENCHMARKS["dend-lorenz"]) == "0.13 (dendPLRNN); SINDy 0.04"
    assert tables._best(BENCHMARKS["dend-bursting"]) == "0.61 (dendPLRNN)"


@real
@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_public_file_is_there_and_unchanged(name):
    learned, test = BENCHMARKS[name].load(PUBLIC)
    assert learned.shape[1] == test.shape[1]
    assert np.isfinite(learned).all()
    assert np.isfinite(test).all()
