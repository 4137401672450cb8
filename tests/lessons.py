"""What tests of the methods share: small tasks, and a method at work on them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from crug.core.block import Block, Opening, Params, State, View, open_block
from crug.core.network import Network, create
from crug.methods import find
from crug.methods.base import Assignment, Lesson, Memory, Method
from crug.methods.shared import Shared, readouts
from crug.runs.plan import Plan
from crug.sections import TrainingSettings
from crug.tasks.base import Data, Task
from crug.tasks.recordings import RecordingTask
from crug.tasks.windows import Windows, make_windows, window_view
from crug.training.epochs import Given, Recipe, Rules, start, train_epochs
from crug.training.objective import Controls, Objective

NOBODY = np.array([], np.int64)
TRAINING = TrainingSettings(window=40, batch=4, batches=6)
RECIPE = Recipe.of(TRAINING, 0)
NAMES = ("van-der-pol", "chua")
SMALL: Mapping[str, Any] = {
    "epochs": 4,
    "network": {"M": 24, "P": 10},
    "training": {"window": 400, "batch": 16},
}
"""Long windows make short epochs: four of them are a few steps."""


def wave(dim: int, frequency: float, samples: int = 3_000) -> np.ndarray:
    t = 0.05 * np.arange(samples)[:, None]
    return np.sin(frequency * t + np.arange(dim))


def task(dim: int, frequency: float) -> RecordingTask:
    x = wave(dim, frequency)
    return RecordingTask(f"wave-{frequency}", "Wave", x, x, 0.05)


def make(name: str, sequence: str = "two", tasks: tuple[str, ...] = NAMES, **settings: Any) -> tuple[Plan, Method]:
    plan, method = Plan(sequence=sequence, tasks=tasks, method=name), find(name)
    return plan, method(method.Settings.resolve(plan.case, {**SMALL, **settings}))


def assigned(network: Network, tasks: Sequence[Task], number: int, memory: Memory | None = None) -> Assignment:
    return Assignment(tasks[number], number, network, memory or {}, 0, tuple(tasks))


def block_of(
    network: Network, units: np.ndarray, readout: np.ndarray, feeders: np.ndarray = NOBODY
) -> tuple[Block, Params]:
    """A block of these units, the readouts among them."""
    others = np.setdiff1d(units, readout)
    relu = network.relu[others]
    return open_block(network, Opening(readout, others[~relu], others[relu], feeders))


def opened(method: Method, assignment: Assignment) -> tuple[Block, Params]:
    return open_block(assignment.network, method.open(assignment))


class On(NamedTuple):
    """What a block is trained on."""

    block: Block
    data: Data
    others: tuple[View, ...] = ()
    recalled: Controls | None = None


def train(
    params: Params, on: On, objective: Objective, epochs: int, lr: float = 1e-2, recipe: Recipe = RECIPE
) -> State:
    """The first epochs of a phase of twenty."""
    numbers = {"epochs": 20, "lr": lr, "lr_end": lr, "progress": 1.0}
    controls = {name: jnp.float32(value) for name, value in numbers.items()} | (on.recalled or {})
    rules = Rules(objective, recipe)
    given = Given(on.block.fixed, on.data, controls, on.others)
    state, _ = train_epochs(start(params, rules), given, jax.random.key(0), jnp.int32(0), jnp.int32(epochs), rules)
    return state


def begun(params: Params, objective: Objective | None = None) -> State:
    """Training before its first step."""
    return start(params, Rules(objective or Objective(), RECIPE))


def lesson_of(assignment: Assignment, block: Block, state: State, data: Data) -> Lesson:
    scorer = assignment.task.scorer(assignment.network, block.feeders, TRAINING)
    return Lesson(assignment, block, state.params, state.account, data, RECIPE, scorer)


def windows_of(network: Network, task: RecordingTask, feeders: np.ndarray = NOBODY) -> Windows:
    return make_windows(network, feeders, task.train, TRAINING, np.random.default_rng(0))


class Two(NamedTuple):
    """Two tasks, the block of the first with its data, and how it sees the second."""

    network: Network
    tasks: list[RecordingTask]
    block: Block
    params: Params
    windows: Windows
    view: View


def two_tasks(seed: int = 0) -> Two:
    network = create(20, 8, 3, np.random.default_rng(seed))
    tasks = [task(2, 1.0), task(3, 1.7)]
    block, params = opened(shared(), assigned(network, tasks, 0))
    view = window_view(network, block, readouts(network, tasks)[1], [tasks[1].train], TRAINING)
    return Two(network, tasks, block, params, windows_of(network, tasks[0]), view)


def shared() -> Shared:
    """One network for all tasks, without a name of its own."""
    return Shared(make("naive")[1].settings)
