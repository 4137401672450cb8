"""The two allocations, on outcomes made by hand: what comes next is a pure function of what happened so far."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crug.core.block import Opening
from crug.methods.base import Hints
from crug.methods.crug import Crug, CrugSettings
from crug.methods.crug.path import below, smallest_good
from crug.tasks.attractor import attractor_score
from crug.training.phases import Outcome, Phase

HINTS = Hints(number=0, tasks=4, available=160, dim=3, floor=0.3, steps=31)


def crug(**settings: Any) -> Crug:
    return Crug(CrugSettings.resolve("vlrc", settings))


def ended(phase: Phase, size: int, d_stsp: float, d_h: float = 0.0) -> Outcome:
    """A phase that ended with a network of so many units and these measures."""
    return Outcome(phase, size // 2, size - size // 2, 1e-4, attractor_score({"d_stsp": d_stsp, "d_h": d_h}))


def begins(method: Crug, *history: Outcome, hints: Hints = HINTS) -> Phase:
    """The next phase, where there is one."""
    phase = method.next_phase(history, hints)
    assert phase is not None
    return phase


def walk(quality: Callable[[int, int], float], available: int = 160, **settings: Any) -> tuple[list[Outcome], int]:
    """Take the path where a network of n units scores quality(n, attempt); returns the phases and the choice."""
    method, hints = crug(**settings), HINTS._replace(available=available)
    history: list[Outcome] = []
    attempts: dict[int, int] = {}
    while phase := method.next_phase(history, hints):
        size = phase.size if phase.size is not None else available
        attempts[size] = attempts.get(size, -1) + 1
        history.append(ended(phase, size, quality(size, attempts[size])))
        assert len(history) < 40
    return history, method.choose(history, hints)


# the capacity path


def test_finds_the_knee_and_spends_no_more_than_its_epochs():
    history, chosen = walk(lambda n, _: 0.3 if n >= 11 else 3.0)
    assert history[chosen].units == 11
    assert history[-1].phase.kind == "final"
    assert sum(o.phase.epochs for o in history) <= crug().settings.epochs


def test_what_scores_cannot_tell_apart_counts_as_equal():
    """Two smaller networks are worse, one by less than twice the tolerance and less than the standard error of the
    difference, the other by more: however uncertain that is, it is not taken."""
    method = crug()
    first = begins(method)
    for error, units in ((0.05, 24), (0.2, 16), (5.0, 16)):
        history = [
            replace(outcome, score=replace(outcome.score, errors={"rank": error}))
            for outcome in (
                ended(first, 32, 0.4),
                ended(first, 24, 0.4),
                ended(first, 16, 0.59),
                ended(first, 12, 1.5),
            )
        ]
        path = method.settings.path.model_copy(update={"tolerance": 0.1})
        assert history[smallest_good(path, history)].units == units


def test_one_unlucky_rung_does_not_end_the_walk():
    history, chosen = walk(lambda n, attempt: 5.0 if (n == 16 and attempt == 0) or n < 9 else 0.3, epochs=10_000)
    assert history[chosen].units < 16


def test_a_rung_starts_from_a_good_network():
    history, _ = walk(lambda n, _: 0.3 if n >= 11 else 3.0)
    for outcome in history:
        if outcome.phase.kind == "rung":
            begin, size = outcome.phase.begin, outcome.phase.size
            assert begin is not None
            assert size is not None
            assert history[begin].score["d_stsp"] == 0.3
            assert size < history[begin].units


def test_opens_a_larger_block_where_the_knee_is_above():
    history, chosen = walk(lambda n, _: 0.3 if n >= 50 else 8.0)
    assert [o.phase.size for o in history if o.phase.kind == "open"] == [32, 64]
    assert 50 <= history[chosen].units <= 56


def test_teaches_gently_where_all_else_is_far_off():
    gentle: dict[str, Any] = {"path": {"again": 1, "gently": [0.2, 0.35]}}
    history, _ = walk(lambda n, _: 2.0 if n == 40 else 8.0, epochs=9_000, **gentle)
    opened = [(o.phase.size, o.phase.forcing.get("strength")) for o in history if o.phase.kind == "open"]
    assert opened == [(32, None), (64, None), (32, None), (48, 0.2), (48, 0.35)]
    for outcome in history:
        if outcome.phase.begin is not None:  # what began gently goes on so
            assert outcome.phase.forcing == history[outcome.phase.begin].phase.forcing
    first = next(o.phase.forcing for o in history if o.phase.forcing)
    assert first == {"interval": 1, "strength": 0.2, "window": 400}
    near, _ = walk(lambda n, _: 0.5, **gentle)
    assert not any(o.phase.forcing for o in near)


def test_opens_the_first_size_anew_where_a_larger_block_does_not_help():
    history, chosen = walk(lambda n, attempt: 0.3 if n < 40 and n >= 11 and attempt else 8.0)
    assert [o.phase.size for o in history if o.phase.kind == "open"] == [32, 64, 32]
    assert history[chosen].score["d_stsp"] == 0.3
    history, _ = walk(lambda n, _: 8.0)
    assert [o.phase.size for o in history if o.phase.kind == "open"] == [32, 64, 32, 32]
    assert sum(o.phase.epochs for o in history) <= crug().settings.epochs
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


# the paper's allocation


def test_price_allocation_is_the_papers_and_settles_if_asked():
    paper = crug(allocation="price", settle=0)
    phase = begins(paper)
    controls = phase.controls
    assert (phase.epochs, phase.lr, phase.lr_end, controls["gates"]) == (2000, 1e-3, 1e-3, 1)
    assert (controls["price_relu"], controls["price_linear"], controls["warm"]) == (2.33e-3, 1.53e-3, 0.1)
    outcome = ended(phase, 8, 1.0, 0.1)
    assert paper.next_phase([outcome], HINTS) is None
    settled = crug(allocation="price", settle=0.3)
    first, second = begins(settled), begins(settled, outcome)
    assert (first.epochs, second.epochs, second.controls["gates"], second.begin) == (1400, 600, 0, 0)
    assert (second.lr, second.lr_end) == (1e-2, 1e-5)
    assert settled.next_phase([outcome, outcome], HINTS) is None


def test_gates_are_the_slower_the_more_steps_there_are():
    def rate(steps: int, **settings: Any) -> float:
        return begins(crug(allocation="price", **settings), hints=HINTS._replace(steps=steps)).controls["gate_lr"]

    assert rate(31, epochs=500) == 5e-3
    assert rate(31) == rate(124, epochs=500) == 5e-3 / 16
    assert rate(31, epochs=20) == rate(3, epochs=20) == 1e-2
    assert rate(31, settle=0) == pytest.approx(5e-3 / 16 * 0.7**2)
    assert rate(31, training={"gate_lr": 0.3}) == 0.3


def test_nearly_all_of_the_epochs_may_settle():
    assert begins(crug(allocation="price", settle=0.99, epochs=20)).epochs == 1


@pytest.mark.parametrize(("select", "expected"), [("best", 0), ("last", 1)])
def test_a_settling_that_spoils_the_cut_network_is_not_kept(select, expected):
    method = crug(allocation="price", select=select)
    cut = ended(begins(method), 8, 0.7, 0.02)
    phase = begins(method, cut)
    assert method.choose([cut, ended(phase, 8, 0.4, 0.02)], HINTS) == 1
    assert method.choose([cut, ended(phase, 8, 17.7, 1.0)], HINTS) == expected


# what both draw from


def test_opening_takes_both_kinds_and_what_there_is():
    opening = Opening(np.arange(3), np.arange(3, 10), np.arange(20, 22), np.array([]))
    assert len(opening.units(None)) == 12
    assert opening.units(7).tolist() == [0, 1, 2, 3, 4, 20, 21]
    assert len(opening.units(11)) == 11
