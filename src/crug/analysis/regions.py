"""The linear regions that a rollout visits: how often, in which order, and how much the order leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Graph:
    """Which symbol follows on which: `counts[i, j]` times symbol `labels[j]` came right after `labels[i]`.

    Steps that stay at a symbol are on the diagonal.
    """

    labels: np.ndarray
    counts: np.ndarray

    @property
    def edges(self) -> list[tuple[int, int, int]]:
        """From, to and how often, for every change from one symbol to another, the most frequent first."""
        found = [(int(i), int(j), int(self.counts[i, j])) for i, j in np.argwhere(self.counts) if i != j]
        return sorted(found, key=lambda edge: (-edge[2], edge[:2]))


def transitions(sequence: np.ndarray) -> Graph:
    """The graph of a symbolic sequence (T,).

    Examples
    --------
    >>> import numpy as np
    >>> transitions(np.array([0, 0, 1, 2, 0, 1])).counts.tolist()
    [[1, 2, 0], [0, 0, 1], [1, 0, 0]]
    """
    labels, index = np.unique(sequence, return_inverse=True)
    counts = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(counts, (index[:-1], index[1:]), 1)
    return Graph(labels, counts)


def entropy(counts: np.ndarray) -> float:
    """Of a distribution given by counts, in bits."""
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log2(p)).sum())


def entropy_rate(graph: Graph) -> float:
    """Bits that the next symbol leaves open where the present one is known."""
    leaving = graph.counts.sum(axis=1)
    return float(sum(n * entropy(row) for n, row in zip(leaving, graph.counts, strict=True) if n) / leaving.sum())


@dataclass(frozen=True)
class Regions:
    """The regions that a rollout visits, the most frequent first.

    Parameters
    ----------
    patterns : (R, P) which ReLU units are on in each.
    shares : (R,) the part of the time that is spent there.
    sequence : (T,) the number of the region at every step.
    graph : which region follows on which.
    """

    patterns: np.ndarray
    shares: np.ndarray
    sequence: np.ndarray
    graph: Graph

    @property
    def count(self) -> int:
        """How many are visited."""
        return len(self.shares)

    @property
    def possible(self) -> float:
        """How many there are: 2^P."""
        with np.errstate(over="ignore"):
            return float(np.exp2(self.patterns.shape[1]))

    @property
    def most(self) -> int:
        """How many of the most frequent ones hold 95 % of the time."""
        return int(np.searchsorted(np.cumsum(self.shares), 0.95) + 1)

    @property
    def entropy(self) -> float:
        """Of the visits, in bits."""
        return entropy(np.bincount(self.sequence))

    @property
    def rate(self) -> float:
        """What the sequence leaves open at each step, in bits."""
        return entropy_rate(self.graph)


def regions(patterns: np.ndarray) -> Regions:
    """The regions of a rollout whose states have these patterns (T, P)."""
    found, sequence, counts = np.unique(patterns, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    sequence = rank[sequence.reshape(-1)]
    return Regions(found[order], counts[order] / len(patterns), sequence, transitions(sequence))
