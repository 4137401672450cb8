"""Transfer in a network made by hand: a task that listens to an oscillator."""

from dataclasses import replace

import numpy as np
import pytest

from crug.analysis.transfer import fed_by, transfer
from crug.core.network import Network, commit, create

ANGLE, HEARD, OWN = 0.1, 0.4, 0.5


def listening(weight: float = HEARD) -> Network:
    """Task 0 turns by ANGLE a step. Task 1 is one ReLU unit that hears it and itself: x' = OWN x+ + weight y+."""
    network = create(6, 3, 2, np.random.default_rng(0))
    network = replace(network, relu=np.array([False, False, True, True, False, False]))
    turn = np.array([[np.cos(ANGLE), -np.sin(ANGLE), 0], [np.sin(ANGLE), np.cos(ANGLE), 0], [0, 1, 0]], np.float32)
    nothing = np.zeros((3, 0), np.float32)
    first = {"a": np.zeros(3, np.float32), "W": turn, "C": nothing, "h": np.zeros(3, np.float32), "V": nothing}
    network = commit(network, np.arange(3), np.array([0, 1]), first, np.array([], np.int64))
    second = {
        "a": np.zeros(1, np.float32),
        "W": np.array([[OWN]], np.float32),
        "C": np.zeros((1, 0), np.float32),
        "h": np.full(1, -0.1, np.float32),
        "V": np.array([[0, 0, weight]], np.float32),
    }
    return commit(network, np.array([3]), np.array([3]), second, np.array([0, 1, 2]))


def test_who_feeds_whom_and_by_how_much():
    network = listening()
    assert fed_by(network, 2) == pytest.approx(np.array([[0, 0], [HEARD / 3**0.5, 0]]))
    found = transfer(network, 1, ("circle", "listener"), np.array([[1.0]]))
    assert found is not None
    assert set(found.by_source) == {"circle"}
    # the same by hand: unit 2 is y one step later, rectified
    system = network.task_system(1)
    z, own, heard, x = system.start(np.array([[1.0]]))[0].astype(float), [], [], []
    for _ in range(10_000):
        own.append(OWN * max(z[3], 0))
        heard.append(HEARD * max(z[2], 0))
        y = np.cos(ANGLE) * z[0] - np.sin(ANGLE) * z[1], np.sin(ANGLE) * z[0] + np.cos(ANGLE) * z[1]
        z = np.array([*y, z[1], own[-1] + heard[-1] - 0.1])
        x.append(z[3])
    rms = [float(np.sqrt(np.mean(np.square(part[1_000:])))) for part in (heard, own)]
    assert found.ratio == pytest.approx(rms[0] / rms[1], rel=0.01)
    assert found.by_source["circle"] == pytest.approx(found.ratio)
    # without its source it falls to -0.1 and stays there
    moved = np.array([-0.1 - np.mean(x[1_000:]), -np.std(x[1_000:])])
    assert found.silenced["circle"] == pytest.approx(np.sqrt((moved**2).mean()), rel=0.01)
    assert 0.3 < found.follows["circle"] <= 1


def test_a_task_with_inputs_draws_on_earlier_ones_too():
    """A constant push takes the place of its own threshold."""
    network = listening()
    quiet = transfer(network, 1, ("circle", "listener"), np.array([[1.0]]))
    raised = replace(network, h=np.where(np.arange(6) == 3, 0.0, network.h).astype(np.float32))
    pushes = np.zeros((20_000, 4))
    pushes[:, 3] = network.h[3]
    pushed = transfer(raised, 1, ("circle", "listener"), np.array([[1.0]]), pushes)
    assert quiet is not None
    assert pushed is not None
    assert pushed.ratio == pytest.approx(quiet.ratio, rel=1e-3)
    assert pushed.silenced == pytest.approx(quiet.silenced, rel=1e-3)


def test_a_task_by_itself_draws_on_nobody():
    assert transfer(listening(), 0, ("circle", "listener"), np.array([[1.0, 0.0]])) is None
    assert transfer(listening(0.0), 1, ("circle", "listener"), np.array([[1.0]])) is None
