"""The walk of the capacity path, on outcomes made by hand: it is a pure function of what happened so far."""

import numpy as np
import pytest

from crug.evaluation import Score
from crug.methods import find
from crug.methods.base import Hints, Opening
from crug.methods.path import below
from crug.phases import Outcome
from crug.tasks import SEQUENCES


def crug(**settings):
    method = find("crug")
    base = {"sequence": "vlrc", "tasks": SEQUENCES["vlrc"], "method": "crug"}
    return method(method.Config.model_validate({**base, **settings}))


def walk(quality, available=160, dim=3, floor=0.3, **settings):
    """Take the path where a network of n units scores quality(n, attempt); returns the phases and the choice."""
    method, history, attempts = crug(**settings), [], {}
    hints = Hints(0, available, dim, floor, 5.0, 31)
    while phase := method.next_phase(history, hints):
        size = phase.size if phase.size is not None else available
        attempts[size] = attempts.get(size, -1) + 1
        history.append(Outcome(phase, size // 2, size - size // 2, 1e-4, Score(quality(size, attempts[size]), 0.0)))
        assert len(history) < 40
    return history, method.choose(history, hints)


def test_finds_the_knee_and_spends_no_more_than_its_epochs():
    history, chosen = walk(lambda n, _: 0.3 if n >= 11 else 3.0)
    assert history[chosen].units == 11
    assert history[-1].phase.kind == "final"
    assert sum(o.phase.epochs for o in history) <= crug().config.epochs


def test_one_unlucky_rung_does_not_end_the_walk():
    history, chosen = walk(lambda n, attempt: 5.0 if (n == 16 and attempt == 0) or n < 9 else 0.3, epochs=10_000)
    assert history[chosen].units < 16


def test_a_rung_starts_from_a_good_network():
    history, _ = walk(lambda n, _: 0.3 if n >= 11 else 3.0)
    for outcome in history:
        if outcome.phase.kind == "rung":
            assert history[outcome.phase.begin].score.d_stsp == 0.3
            assert outcome.phase.size < history[outcome.phase.begin].units


def test_opens_a_larger_block_where_the_knee_is_above():
    history, chosen = walk(lambda n, _: 0.3 if n >= 50 else 8.0)
    assert [o.phase.size for o in history if o.phase.kind == "open"] == [32, 64]
    assert 50 <= history[chosen].units <= 56


def test_opens_the_first_size_anew_where_a_larger_block_does_not_help():
    history, chosen = walk(lambda n, attempt: 0.3 if n < 40 and n >= 11 and attempt else 8.0)
    assert [o.phase.size for o in history if o.phase.kind == "open"] == [32, 64, 32]
    assert history[chosen].score.d_stsp == 0.3
    history, _ = walk(lambda n, _: 8.0)
    assert [o.phase.size for o in history if o.phase.kind == "open"] == [32, 64, 32, 32]
    assert sum(o.phase.epochs for o in history) <= crug().config.epochs
    history, _ = walk(lambda n, _: 8.0, path={"again": 0})
    assert [o.phase.size for o in history if o.phase.kind == "open"] == [32, 64]


def test_stays_within_the_pool():
    history, chosen = walk(lambda n, _: 0.3, available=20)
    assert max(o.units for o in history) == 20
    assert history[chosen].units > 3


def test_a_last_settling_that_is_worse_is_not_kept():
    history, chosen = walk(lambda n, attempt: 0.3 if attempt == 0 and n >= 16 else 3.0)
    assert history[-1].phase.kind == "final"
    assert chosen == history[-1].phase.begin


def test_divergent_everywhere_still_ends_with_a_choice():
    history, chosen = walk(lambda n, _: np.inf)
    assert history[chosen].units


@pytest.mark.parametrize("size", range(5, 400))
def test_rungs_go_down(size):
    assert 3 < below(size, 3) < size


def test_price_allocation_is_the_papers_and_settles_if_asked():
    hints = Hints(0, 160, 3, 0.3, 5.0, 31)
    paper = crug(allocation="price", settle=0)
    phase = paper.next_phase([], hints)
    assert (phase.epochs, phase.lr, phase.lr_end, phase.gates) == (2000, 1e-3, 1e-3, True)
    assert (phase.price_relu, phase.price_linear, phase.warm) == (2.33e-3, 1.53e-3, 0.1)
    outcome = Outcome(phase, 4, 4, 1e-4, Score(1.0, 0.1))
    assert paper.next_phase([outcome], hints) is None
    settled = crug(allocation="price", settle=0.3)
    first = settled.next_phase([], hints)
    second = settled.next_phase([outcome], hints)
    assert (first.epochs, second.epochs, second.gates, second.begin) == (1400, 600, False, 0)
    assert (second.lr, second.lr_end) == (1e-2, 1e-5)
    assert settled.next_phase([outcome, outcome], hints) is None


def test_gates_are_the_slower_the_more_steps_there_are():
    def rate(steps, **settings):
        return crug(allocation="price", **settings).next_phase([], Hints(0, 160, 3, 0.3, 5.0, steps)).gate_lr

    assert rate(31, epochs=500) == 5e-3
    assert rate(31) == rate(124, epochs=500) == 5e-3 / 16
    assert rate(31, epochs=20) == rate(3, epochs=20) == 1e-2
    assert rate(31, settle=0) == pytest.approx(5e-3 / 16 * 0.7**2)
    assert rate(31, training={"gate_lr": 0.3}) == 0.3


def test_nearly_all_of_the_epochs_may_settle():
    phase = crug(allocation="price", settle=0.99, epochs=20).next_phase([], Hints(0, 160, 3, 0.3, 5.0, 31))
    assert phase.epochs == 1


@pytest.mark.parametrize(("select", "expected"), [("best", 0), ("last", 1)])
def test_a_settling_that_spoils_the_cut_network_is_not_kept(select, expected):
    hints, method = Hints(0, 160, 3, 0.3, 5.0, 31), crug(allocation="price", select=select)
    cut = Outcome(method.next_phase([], hints), 4, 4, 1e-4, Score(0.7, 0.02))
    phase = method.next_phase([cut], hints)
    assert method.choose([cut, Outcome(phase, 4, 4, 1e-4, Score(0.4, 0.02))], hints) == 1
    assert method.choose([cut, Outcome(phase, 4, 4, 1e-4, Score(17.7, 1.0))], hints) == expected


def test_opening_takes_both_kinds_and_what_there_is():
    opening = Opening(np.arange(3), np.arange(3, 10), np.arange(20, 22), np.array([]))
    assert len(opening.units(None)) == 12
    assert opening.units(7).tolist() == [0, 1, 2, 3, 4, 20, 21]
    assert len(opening.units(11)) == 11
