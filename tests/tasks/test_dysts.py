"""The systems of the database dysts."""

from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

import crug
from crug.errors import CrugError
from crug.runs import Plan
from crug.tasks import FAMILIES, TASKS, dysts


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(dysts, "cache_folder", lambda: tmp_path)


def test_all_systems_without_delay_are_tasks():
    assert len(FAMILIES["dysts"].titles) > 120
    assert TASKS["dysts.Lorenz"] == "Lorenz"
    assert "dysts.MackeyGlass" not in TASKS


def test_a_system_is_sampled_a_hundred_times_in_its_dominant_period():
    x = dysts.samples("Lorenz", 8_000)
    assert x.dtype == np.float64
    np.testing.assert_allclose(x[0], [-9.7869288, -15.03852, 20.533978])  # the state that dysts gives
    spectrum = np.abs(np.fft.rfft(x[:, 2] - x[:, 2].mean())) ** 2
    assert 40 <= 8_000 / np.argmax(spectrum) <= 120  # z turns once or twice in what counts as the period


def test_samples_solve_the_equations():
    x, dt = dysts.samples("Rossler", 4_000), dysts.interval("Rossler")
    speed = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / (12 * dt)
    a, b, c = 0.2, 0.2, 5.7
    y = x[2:-2]
    expected = np.stack([-y[:, 1] - y[:, 2], y[:, 0] + a * y[:, 1], b + y[:, 2] * (y[:, 0] - c)], axis=1)
    assert np.abs(speed - expected).max() < 1e-2 * np.abs(expected).max()


def test_a_forced_system_shows_its_phase_as_a_bounded_column():
    x = dysts.samples("ForcedBrusselator", 2_000)
    assert np.abs(x[:, 2]).max() <= 1


def test_a_task_is_standardised_by_its_training_part(monkeypatch):
    monkeypatch.setattr(dysts, "TRAIN", 1_500)
    task = dysts.load("dysts.SprottA", seed=3)
    assert task.name == "dysts.SprottA"
    np.testing.assert_allclose(task.train.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(task.train.std(axis=0), 1)
    assert len(task.train) == 1_500


def test_samples_are_kept_and_a_damaged_file_is_made_anew(tmp_path, monkeypatch):
    first = dysts.samples("SprottA", 400)
    monkeypatch.setattr(dysts, "_integrated", lambda name, count: pytest.fail("was integrated again"))
    np.testing.assert_array_equal(dysts.samples("SprottA", 400), first)
    monkeypatch.undo()
    monkeypatch.setattr(dysts, "cache_folder", lambda: tmp_path)
    (file,) = tmp_path.rglob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    np.testing.assert_array_equal(dysts.samples("SprottA", 400), first)


def test_a_system_that_cannot_be_integrated_says_so(monkeypatch):
    from dysts import flows

    def explodes(self, x, t):
        return np.asarray(x) ** 2 + 1

    monkeypatch.setattr(flows.SprottA, "rhs", explodes)
    with pytest.raises(CrugError, match="SprottA: could not be integrated for 400 samples"):
        dysts.samples("SprottA", 400)


def test_unknown_systems_are_named():
    with pytest.raises(CrugError, match="no system of dysts is called 'Lorentz'"):
        dysts.samples("Lorentz")
    with pytest.raises(CrugError, match=r"did you mean dysts\.Lorenz\?"):
        crug.run(["dysts.Lorentz"])


def test_without_the_package_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(dysts, "_database", dict)
    with pytest.raises(CrugError, match=r"pip install \"crug\[dysts\]\""):
        dysts.samples("Lorenz")


def test_a_run_takes_the_first_systems_and_a_network_that_holds_them():
    plan = Plan.make("dysts:3")
    assert plan.tasks == ("dysts.Aizawa", "dysts.AnishchenkoAstakhov", "dysts.Arneodo")
    assert plan.settled({})["network"] == {"M": 96, "P": 48}
    assert plan.settled({"network.M": 40, "network.P": 8})["network"] == {"M": 40, "P": 8}
    for wrong in ("dysts:0", "dysts:1000", "dysts:x"):
        with pytest.raises(CrugError, match="up to dysts:"):
            Plan.make(wrong)


def test_a_full_disk_is_a_line_that_names_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    def full(tensors, filename, metadata):
        Path(filename).write_bytes(b"half")
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    with monkeypatch.context() as patched:
        patched.setattr(dysts, "save_file", full)
        with pytest.raises(CrugError, match=r"SprottA-400\.safetensors: cannot be written \(.*No space left on device"):
            dysts.samples("SprottA", 400)
    assert not list(tmp_path.rglob("*.part"))
    assert len(dysts.samples("SprottA", 400)) == 400
