"""Gait: a tiny record made here goes through the same code everywhere; the real database where it is there."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from crug.core.network import create, share, with_noise
from crug.core.noise import Noise
from crug.errors import CrugError
from crug.methods import find
from crug.metrics import MixtureReference, quartiles
from crug.report.figures import drawn
from crug.report.gait import by_group, joint_against_groups
from crug.runs.plan import Plan
from crug.runs.result import Result, TaskResult
from crug.studies.layouts import forgetting
from crug.tasks import SEQUENCES, gait

REAL = Path(__file__).parents[3] / "shared" / "gaitndd"


def write_record(folder, name, samples=90_000):
    import wfdb

    t = np.arange(samples) / 300
    feet = np.stack([np.sin(2 * np.pi * t), np.cos(2 * np.pi * 0.97 * t)], axis=1)
    wfdb.wrsamp(
        name,
        fs=300,
        units=["mV", "mV"],
        sig_name=["left-foot", "right-foot"],
        d_signal=(1_500 * feet).astype(int),
        fmt=["212", "212"],
        adc_gain=[3000, 3000],
        baseline=[0, 0],
        write_dir=str(folder),
    )


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A cache with one made record, which the checksums vouch for."""
    write_record(tmp_path, "control1")
    for part in ("let", "rit"):
        (tmp_path / f"control1.{part}").write_bytes(b"samples")
    sums = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in tmp_path.iterdir()}
    monkeypatch.setattr(gait, "folder", lambda: tmp_path)
    monkeypatch.setattr(gait, "_sums", lambda: sums)
    return tmp_path


@pytest.mark.parametrize("lags", [(1, 2), (20, 40)])
def test_a_subject_is_prepared_as_the_paper_says(made, lags):
    settings = None if lags == (1, 2) else gait.GaitSettings(lags=lags)
    task = gait.load("control1", seed=5, settings=settings)
    assert task.train.shape == (14_000, 6)
    assert task.test.shape == (5_000, 6)
    assert task.rollout == (12_500, 5_000)
    assert task.dt == pytest.approx(1 / 75)
    np.testing.assert_allclose(task.train.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(task.train.std(axis=0), 1)
    t = np.arange(lags[1], 19_000 + lags[1]) / 75 + 20  # both feet now, then both at each lag
    x = np.concatenate([task.train, task.test])
    for column, (lag, wave) in enumerate(
        (lag, wave) for lag in (0, *lags) for wave in (np.sin, lambda a: np.cos(0.97 * a))
    ):
        truth = wave(2 * np.pi * (t - lag / 75))
        assert np.corrcoef(truth, x[:, column])[0, 1] > 0.9999


@pytest.mark.parametrize("part", ["hea", "let", "rit"])
def test_a_changed_file_is_refused(made, part):
    file = made / f"control1.{part}"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(CrugError, match=rf"control1\.{part}: its checksum is not that of gaitndd"):
        gait.load("control1", 0)


def test_sequences_and_poor_records(monkeypatch):
    assert SEQUENCES["gait"][:5] == ("control1", "park1", "hunt1", "als1", "control2")
    assert len(SEQUENCES["gait"]) == 12
    assert SEQUENCES["gait-als"] == ("als1", "als2", "als3")
    assert len(gait.SUBJECTS) == 64
    monkeypatch.setattr(gait, "_file", lambda subject: Path("nowhere.hea"))
    with pytest.warns(UserWarning, match="als5 is a poor record"), pytest.raises(CrugError):
        gait.load("als5")


def test_lags_are_a_setting_that_is_checked_and_stored():
    settings: Any = find("crug").Settings.resolve("gait", {"gait.lags": [3, 6]})
    assert settings.gait.lags == (3, 6)
    assert settings.model_dump(mode="json")["gait"] == {"lags": [3, 6]}
    with pytest.raises(CrugError, match=r"gait\.lags"):
        find("crug").Settings.resolve("gait", {"gait.lags": [0, 2]})


def walking(noise: float) -> np.ndarray:
    """Two feet in turns, as a network sees them."""
    t = np.arange(2_000)[:, None]
    steps = np.tanh(3 * np.sin(2 * np.pi * t / 80 + np.pi * np.arange(6)))
    return steps + noise * np.random.default_rng(0).standard_normal(steps.shape)


def test_the_figure_shows_every_subject_stride_by_stride():
    x, units = walking(0.05), np.arange(6)
    tasks = [gait.GaitTask(f"s{i}", f"Subject {i}", x, x, 1 / 75) for i in range(6)]
    still = {"a": np.zeros(6), "W": np.zeros((6, 6)), "C": np.zeros((6, 0)), "h": np.zeros(6)}
    network = share(create(16, 8, 6, np.random.default_rng(0)), units, [units] * 6, still)
    parts = x[:1], 0.3 * x[None, :64], x.min(axis=0), x.max(axis=0), 1.0
    noise = Noise(*(np.asarray(part, np.float32) for part in parts))
    network = with_noise(network, 1, noise)
    pictures = [task.picture(network, i) for i, task in enumerate(tasks)]
    assert ["noisy" in picture.parts for picture in pictures] == [False, True, False, False, False, False]
    figure = drawn(pictures)["strides"]
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert len(titles) == 12
    assert titles[0].startswith("Subject 0: data 1.07 ± 0.0")  # 80 samples at 75 Hz
    assert "network no strides" in titles
    assert sum("with noise" in title for title in titles) == 1


def test_a_folder_without_the_database_is_refused(tmp_path):
    with pytest.raises(CrugError, match=r"192 files of gaitndd are missing, e\.g\. als1"):
        gait.adopt(tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason="the gaitndd database is not beside the project")
def test_the_floors_of_the_mixture_measure(tmp_path, monkeypatch):
    """A subject's own last training samples taken for generated ones: what the measure says of the truth."""
    monkeypatch.setattr(gait, "folder", lambda: tmp_path)
    gait.adopt(REAL)
    for subject, floor in {"control1": 0.14, "control2": 0.84, "hunt1": 0.87, "als1": 0.23, "als3": 0.30}.items():
        task = gait.load(subject)
        found = MixtureReference(task.test).divergence(task.train[-7_500:])
        assert found == pytest.approx(floor, rel=0.15), subject


def fake(sequence, seed, scores, units) -> Result:
    rows = [
        TaskResult(
            name=name,
            own={"d_stsp": score, "d_h": 0.1},
            final={"d_stsp": 1.1 * score, "d_h": 0.1},
            units={"linear": units, "relu": 1},
        )
        for name, score in scores.items()
    ]
    return Result(
        plan=Plan(sequence=sequence, tasks=tuple(scores), method="crug", seed=seed),
        settings={},
        tasks=rows,
        overall={"d_stsp": 1.1 * max(scores.values()), "d_h": 0.1},
        units=sum(row.size for row in rows),
        shared=False,
        memory_bytes=0,
        completed=True,
        seconds=1.0,
    )


def test_joint_against_groups_with_p_values_and_relative_forgetting():
    joint = [fake("gait", s, {"control1": 1.0 + s, "control2": 2.0 + s, "als1": 9.0}, 10) for s in range(3)]
    group = [fake("gait-control", s, {"control1": 3.0 + s, "control2": 4.0 + s}, 20) for s in range(3)]
    assert joint_against_groups(joint) is None
    table = joint_against_groups([*joint, *group])
    assert table is not None
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == ["Control", "all"]
    ours, theirs = ([1.1 * (a + s) for s in range(3) for a in pair] for pair in ((1, 2), (3, 4)))
    assert cells[3][0] == f"{mannwhitneyu(ours, theirs).pvalue:.2g}"
    assert (cells[4], cells[5]) == (["22+0-0"] * 2, ["42+0-0"] * 2)
    assert cells[6] == [f"{mannwhitneyu([22] * 3, [42] * 3).pvalue:.2g}"] * 2
    assert [forgetting(run) for run in joint] == pytest.approx([10] * 3)


def test_medians_over_the_subjects_of_each_group_and_then_over_seeds():
    scores = {"control1": 1.0, "control2": 3.0, "control3": 10.0, "als1": 20.0}
    runs = [fake("gait", s, {name: score + s for name, score in scores.items()}, 10) for s in range(3)]
    table = by_group({"crug": runs})
    assert table is not None
    cells = {str(column.header): next(iter(column.cells)) for column in table.columns}
    assert set(cells) == {"", "Control", "ALS", "all", "D_H", "units", "forgetting %"}
    assert str(cells["Control"]).startswith(f"{1.1 * 4:.2f}+")
    assert str(cells["all"]).startswith(f"{1.1 * (4 + 11) / 2:.2f}+")
    assert (cells["D_H"], cells["units"], cells["forgetting %"]) == ("0.100+0.000-0.000", "44+0-0", "10.0+0.0-0.0")
    assert by_group({"crug": [*runs, fake("vlrc", 0, {"lorenz": 1.0}, 10)]}) is None


def test_kinds_side_by_side_with_p_values_and_what_noise_makes_of_them():
    scores = {"control1": 1.0, "control2": 3.0, "als1": 20.0}
    plain = [fake("gait", s, {name: score + s for name, score in scores.items()}, 10) for s in range(3)]
    other = [fake("gait", s, {name: score + 5 * s for name, score in scores.items()}, 10) for s in range(3)]
    noisy = [row.model_copy(update={"noisy": {"d_stsp": 0.5, "d_h": 0.2}}) for row in other[0].tasks[:2]]
    other[0] = other[0].model_copy(update={"tasks": [*noisy, other[0].tasks[2]]})
    table = by_group({"none": plain, "l2": other})
    assert table is not None
    cells = {str(column.header): list(column.cells) for column in table.columns}
    medians = [0.5, 1.1 * 8, 1.1 * 13]  # of the first run, two of three subjects are under noise
    assert cells["all, noise"][1] == f"{quartiles(medians):.2f}"
    assert cells["all, noise"][0] == cells["all"][0]
    ours, theirs = ([row.final["d_stsp"] for run in runs for row in run.tasks] for runs in (plain, other))
    assert cells["p"] == ["", f"{mannwhitneyu(ours, theirs).pvalue:.2g}"]
