"""Streams of randomness: no two are the same, and each is the same every time."""

import itertools

import numpy as np
import pytest

from crug.core.network import create_for_trials
from crug.core.streams import Stream, generator, named
from crug.tasks import TASKS, cognitive, load
from crug.tasks.cognitive import INPUTS, PROTOCOLS, TrialTask

SEED = 3


def first(rng: np.random.Generator) -> bytes:
    return rng.standard_normal(8).tobytes()


def test_no_two_streams_share_a_number():
    names = list(Stream.__members__)
    assert len(names) == len({int(Stream[name]) for name in names}) == len(Stream)
    assert all(0 <= stream < 1_000 for stream in Stream)


def test_draws_differ_between_streams_tasks_and_seeds():
    """All that is told apart by the same count of numbers, as the draws of one stream are."""
    keys = list(itertools.product((0, 1), Stream, itertools.product(range(3), range(3))))
    assert len({first(generator(seed, stream, *numbers)) for seed, stream, numbers in keys}) == len(keys)


@pytest.mark.parametrize("stream", Stream)
def test_equal_keys_draw_the_same(stream):
    assert first(generator(SEED, stream, 2)) == first(generator(SEED, stream, 2))


def test_trials_and_the_initial_network_are_drawn_apart():
    """They once came from one generator: the stimuli of the first task were the first numbers of the network."""
    network = generator(SEED, Stream.NETWORK, 0)
    trials = [generator(SEED, Stream.TRIALS, number, part) for number in range(len(PROTOCOLS)) for part in range(3)]
    assert first(network) not in {first(rng) for rng in trials}
    task = load(PROTOCOLS[0].name, SEED)
    assert isinstance(task, TrialTask)
    alike = cognitive.draw(0, 1_000, generator(SEED, Stream.NETWORK, 0, 0), task.settings)
    assert not np.array_equal(task.train.inputs, alike.inputs)
    made = create_for_trials(20, 10, INPUTS, generator(SEED, Stream.NETWORK, 0))
    assert not np.array_equal(made.a, create_for_trials(20, 10, INPUTS, generator(SEED, Stream.TRIALS, 0)).a)


def test_what_has_a_name_is_drawn_apart_from_every_stream():
    assert first(named(SEED, "lorenz")) == first(named(SEED, "lorenz"))
    streams = {first(generator(SEED, stream)) for stream in Stream}
    names = {first(named(SEED, name)) for name in TASKS}
    assert len(names) == len(TASKS)
    assert not streams & names
