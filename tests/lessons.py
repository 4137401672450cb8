"""What tests of the methods share: small tasks, and a method at work on them."""

import jax
import jax.numpy as jnp
import numpy as np

from crug.block import open_block
from crug.data import Recipe, make_view, make_windows
from crug.evaluation import TrainingScore
from crug.methods import find
from crug.methods.base import Lesson
from crug.methods.shared import Shared, readouts
from crug.network import create
from crug.phases import Phase, controls
from crug.tasks import Task
from crug.training import start, train_epochs

NOBODY = np.array([], np.int64)
RECIPE = Recipe(window=40, batch=4, batches=6)
NAMES = ("van-der-pol", "chua")
SMALL = {
    "sequence": "two",
    "tasks": NAMES,
    "epochs": 4,
    "network": {"M": 24, "P": 10},
    "training": {"window": 400, "batch": 16},
}
"""Long windows make short epochs: four of them are a few steps."""


def wave(dim, frequency, samples=3_000):
    t = 0.05 * np.arange(samples)[:, None]
    return np.sin(frequency * t + np.arange(dim))


def task(dim, frequency):
    x = wave(dim, frequency)
    return Task(f"wave-{frequency}", "Wave", x, x, 0.05)


def make(name, **settings):
    method = find(name)
    config = method.Config.model_validate({**SMALL, "method": name, **settings})
    return config, method(config)


def opened(method, network, tasks, number):
    opening = method.open(network, tasks, number)
    return open_block(network, opening.units(None), opening.readout, opening.feeders)


def train(params, block, windows, objective, epochs, others=(), extra=None, lr=1e-2, recipe=RECIPE):
    numbers = controls(Phase("train", 20, lr, lr)) | (extra or {})
    state = start(params, recipe, objective)
    first, count = jnp.int32(0), jnp.int32(epochs)
    return train_epochs(
        state, block.fixed, windows, numbers, jax.random.key(0), first, count, objective, recipe, others
    )


def lesson_of(method, network, tasks, number, state, block, windows):
    scorer = TrainingScore(tasks[number])
    return Lesson(number, tasks, block, state.params, state.running, windows, RECIPE, scorer)


def two_tasks(seed=0):
    network = create(20, 8, 3, np.random.default_rng(seed))
    tasks = [task(2, 1.0), task(3, 1.7)]
    block, params = opened(Shared(make("naive")[0]), network, tasks, 0)
    windows = make_windows(network, NOBODY, tasks[0].train, RECIPE, np.random.default_rng(0))
    view = make_view(network, block, readouts(network, tasks)[1], [tasks[1].train], RECIPE)
    return network, tasks, block, params, windows, view
