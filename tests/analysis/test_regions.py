"""The transition graph of a symbolic sequence that was made by hand, and its entropies."""

import numpy as np
import pytest

from crug.analysis.regions import entropy, entropy_rate, regions, transitions


def test_the_graph_of_a_sequence_made_by_hand():
    graph = transitions(np.array([7, 7, 3, 9, 7, 3, 3, 9, 7]))
    assert graph.labels.tolist() == [3, 7, 9]
    assert graph.counts.tolist() == [[1, 0, 2], [2, 1, 0], [0, 2, 0]]
    assert graph.edges == [(0, 2, 2), (1, 0, 2), (2, 1, 2)]


def test_regions_are_ordered_by_how_often_they_are_visited():
    on, off = [True, True], [False, True]
    found = regions(np.array([off, on, on, off, on, on, off, on]))
    assert found.patterns.tolist() == [on, off]
    assert found.shares == pytest.approx([5 / 8, 3 / 8])
    assert found.sequence.tolist() == [1, 0, 0, 1, 0, 0, 1, 0]
    assert found.graph.counts.tolist() == [[2, 2], [3, 0]]
    assert (found.count, found.possible, found.most) == (2, 4, 2)
    assert found.entropy == pytest.approx(entropy(np.array([5, 3])))
    assert found.rate == pytest.approx(4 / 7)  # one bit in region 0, where four of seven steps begin; none in region 1


def test_a_fair_coin_has_a_bit_and_a_clock_none():
    coin = np.random.default_rng(0).integers(0, 2, 20_000)
    assert entropy_rate(transitions(coin)) == pytest.approx(1, abs=0.01)
    assert entropy_rate(transitions(np.tile([0, 1, 2], 100))) == 0


def test_the_regions_of_very_many_units_are_too_many_for_a_number():
    assert regions(np.ones((3, 1_100), bool)).possible == np.inf
