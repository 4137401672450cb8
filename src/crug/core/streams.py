"""Streams of randomness. Every draw names its stream, so that none depends on how much another has drawn."""

import hashlib
import zlib
from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Who draws. The numbers are part of every seed: a new stream gets a new number, none is ever used again."""

    NETWORK = 0
    WINDOWS = 1
    RECYCLING = 2
    ENCODER = 3
    GROWTH = 4
    DECODER = 5
    REMOVAL = 6
    MASKS = 7
    TRIALS = 8
    PROOF = 9


def generator(seed: int, stream: Stream, *numbers: int) -> np.random.Generator:
    """The generator of one stream; `numbers` tell its draws apart, e.g. by the task."""
    return np.random.default_rng([seed, int(stream), *numbers])


def named(seed: int, name: str) -> np.random.Generator:
    """The generator of what has a name, such as a system: no stream has so large a number."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def seed_of(seed: int, content: bytes) -> int:
    """The seed of what follows from some content, wherever and whenever it is come across."""
    found = hashlib.sha256(f"{seed} ".encode() + content).digest()
    return int.from_bytes(found[:8], "big") >> 1  # as large as a seed may be
