"""Generated data: pinned, and plain IEEE arithmetic."""

import hashlib
from typing import Any

import numpy as np
import pytest

from crug.tasks import SEQUENCES, TASKS
from crug.tasks.strict import integrate, rk4
from crug.tasks.systems import SYSTEMS, load, lorenz

HASHES = {
    "van-der-pol": "97595fe264baf6ffe28fc07fe1a11d5ffb2bdacf801fce75207f567acf697a13",
    "lorenz": "c3665a6ce4413b959d6e9335a6877556509e5b261dee64ef881a3941fb6d8348",
    "rossler": "bf96c61e87b88a01e27d4832dd8970a9285b794f9887581c16fb7726ec88ec20",
    "chua": "2fd656e27e7e1796f077065eda6030c1252cd2ef8a0b90f1d5d6474330e9bdf0",
    "blasius": "6410dae58a00c0325f9a067d8dbe51caad5ec9a84fe7295f9434338664a6ee7a",
    "laser": "acdad0774c101382425fa75310f9d2ce0d4d99b2449515930e09fcc4a5750ddf",
    "genesio-tesi": "788e81bf3aef232251a02936bb875903e6f66319df0c4cf7c01e40039e26528e",
    "finance": "e284e2335e3282e71be7059ec275e17646a3727e697ed370f51d6ed4fe8328f3",
    "lorenz-313": "62f6b11a724d74a66e199c290b03846774cf36c6941f617f649041dc57738609",
    "lorenz-200": "e7cf001463b9e1618d22b3c64dd826b72deedb13c59c49712f15d18cfc2d527d",
    "lorenz-160": "141150a0ae4ea08298278e7631732b8a83bf58e4df7941a4de18cd6426f730d7",
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_data_match_their_pinned_hash(name):
    task = load(name, 0)
    assert task.train.shape[0] == 100_000
    assert task.test.shape[0] == 20_000
    assert task.train.dtype == np.float64
    assert hashlib.sha256(task.train.tobytes() + task.test.tobytes()).hexdigest() == HASHES[name]


def test_compiled_integration_is_plain_ieee_arithmetic():
    """The same equations in Python floats, where nothing can be contracted: chaos would show any difference."""
    state: Any = (1.0, 2.0, 20.0)
    expected = [state]
    for _ in range(4_999):
        state = rk4(lorenz, state, 0.01)
        expected.append(state)
    assert np.array_equal(integrate(lorenz, np.array([1.0, 2.0, 20.0]), 0.01, 5_000, 1), np.array(expected))


def test_seeds_differ_and_sequences_name_tasks_that_exist():
    assert not np.array_equal(load("chua", 0).train[:10], load("chua", 1).train[:10])
    assert all(name in TASKS for names in SEQUENCES.values() for name in names)


def test_lorenz_family_regimes():
    """rho = 313 and 160 are periodic, 28 and 200 chaotic: nearby points of the attractor stay close or do not."""

    def spread(name):
        x = load(name, 0).train[:30_000]
        near = np.linalg.norm(x[1_000:-2_000] - x[0], axis=1).argmin() + 1_000
        return np.linalg.norm(x[near : near + 2_000] - x[:2_000], axis=1).max()

    assert spread("lorenz-160") < 0.5
    assert spread("lorenz-200") > 1.0
