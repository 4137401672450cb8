"""The network as data: initialisation, ledger, protection, recycling, saving."""

import numpy as np
import pytest

from crug.core.network import FREE, commit, create, from_arrays, recycle, to_arrays


@pytest.fixture
def network():
    return create(20, 8, 3, np.random.default_rng(0))


def parameters(rng, n, feeders=0):
    shapes = {"a": (n,), "W": (n, n), "V": (n, feeders), "h": (n,), "C": (n, 0)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def test_initialisation_of_the_paper(network):
    assert np.all((network.a > 0) & (network.a <= 1))
    assert not network.W.any()
    assert not network.h.any()
    assert network.relu.tolist() == [False] * 12 + [True] * 8
    assert np.abs(network.B).max() <= 1 / np.sqrt(3)
    assert np.all(network.owner == FREE)


def test_commitment_freezes_and_recycling_leaves_the_committed_alone(network):
    rng = np.random.default_rng(1)
    first, second = np.array([0, 1, 12]), np.array([2, 3, 13, 14])
    one = commit(network, first, first[:2], parameters(rng, 3), np.array([], int))
    one = recycle(one, rng)
    two = recycle(commit(one, second, second[:2], parameters(rng, 4, 3), first), rng)
    for name in ("a", "W", "h", "C"):
        assert np.array_equal(getattr(one, name)[first], getattr(two, name)[first])
    assert not two.W[np.ix_(first, np.setdiff1d(np.arange(20), first))].any()
    assert two.owner[first].tolist() == [0, 0, 0]
    assert two.units_of(1) == {"linear": 2, "relu": 2}
    free = two.free()
    assert np.all((two.a[free] >= 0.3) & (two.a[free] <= 0.9))
    assert not two.W[free].any()
    assert not two.W[:, free].any()


def test_a_task_runs_with_those_it_draws_on_and_no_others(network):
    rng = np.random.default_rng(2)
    none = np.array([], int)
    a = commit(network, np.array([0, 12]), np.array([0]), parameters(rng, 2), none)
    b = commit(a, np.array([1, 13]), np.array([1]), parameters(rng, 2), none)
    weights = parameters(rng, 2, 4)
    weights["V"][:, [0, 2]] = 0
    c = commit(b, np.array([2, 14]), np.array([2]), weights, np.array([0, 1, 12, 13]))
    assert c.runs[1].tolist() == [1, 13]
    assert c.runs[2].tolist() == [1, 2, 13, 14]


def test_encoder_pads_with_zeros_and_sets_the_readout(network):
    units, readout = np.arange(20), np.array([4, 2])
    x0 = np.array([[0.5, -2.0]])
    z0 = network.system(units, readout).start(x0)
    assert z0[0, [4, 2]].tolist() == [0.5, -2.0]
    others = np.setdiff1d(units, readout)
    np.testing.assert_allclose(z0[:, others], x0 @ network.B[others, :2].T, rtol=1e-5)


def test_saving_keeps_every_bit(network):
    rng = np.random.default_rng(3)
    one = commit(network, np.array([0, 12]), np.array([0]), parameters(rng, 2), np.array([], int))
    again = from_arrays(to_arrays(one))
    for name, value in to_arrays(one).items():
        assert np.array_equal(value, to_arrays(again)[name])
