"""A number that can be judged, and what numbers do not see."""

import numpy as np
import pytest

from crug.analysis.baselines import fitted
from crug.analysis.rhythm import Levels, differing, steadiest
from crug.analysis.verdict import WORDS, Judged


@pytest.mark.parametrize(
    ("value", "floor", "level"),
    [(2.4, 2.4, 0), (3.2, 2.4, 1), (0.8, 0.2, 2), (0.06, 0.01, 0), (0.21, 0.01, 1), (4.0, 0.2, 3), (15.0, 0.2, 3)],
)
def test_the_same_number_is_good_or_bad_by_what_a_perfect_model_gets(value, floor, level):
    assert Judged({"d_stsp": floor, "d_h": 0.05}).word({"d_stsp": value, "d_h": 0.05}) == WORDS[level]


def test_the_worse_of_two_measures_counts_and_a_remark_too():
    floor = {"d_stsp": 0.2, "d_h": 0.02}
    assert Judged(floor).word({"d_stsp": 0.2, "d_h": 0.5}) == WORDS[3]
    assert Judged(floor).word({"d_stsp": np.inf, "d_h": 0.5}) == "divergent"
    # nothing moves: there is no spectrum, but nothing runs away
    assert Judged(floor).word({"d_stsp": 9.0, "d_h": np.inf}) == WORDS[3]
    assert Judged(floor, ("its period is too regular",)).says({"d_stsp": 0.2, "d_h": 0.02}) == (
        "recognisable: its period is too regular"
    )
    assert Judged().says({"d_stsp": 0.2}) == ""
    assert Judged(floor).beside({"d_stsp": 0.3}) == "a perfect model: 0.20"


def beats(spread: float, seed: int, count: int = 60, height: float = 1.0) -> np.ndarray:
    """Turns of 100 samples, give or take."""
    lengths = np.round(100 + spread * np.random.default_rng(seed).standard_normal(count)).astype(int)
    turns = [height * np.sin(2 * np.pi * np.arange(n) / n) for n in lengths]
    return np.concatenate(turns)[:, None]


def compared(rollout: np.ndarray, spread: float = 4.0) -> list[str]:
    truth = beats(spread, 0)
    own = steadiest([truth])
    assert own is not None
    return differing(*own, [truth], [rollout])


def test_a_rhythm_that_varies_as_the_recording_does_is_not_remarked():
    assert compared(beats(4.0, 1, 200)) == []
    assert compared(beats(5.5, 2, 200)) == []


@pytest.mark.parametrize(
    ("rollout", "said"),
    [
        (beats(0.3, 1, 200), "its period is too regular: 100.0 ± 0."),
        (beats(20.0, 1, 200), "its period is too irregular: "),
        (beats(4.0, 1, 200)[::2], "its period is off: 50."),
        (beats(4.0, 1, 200, 1.3), "its swing is off: "),
        (np.zeros((20_000, 1)), "it does not keep the recording's rhythm"),
    ],
)
def test_a_rhythm_that_differs_is_remarked(rollout, said):
    found = compared(rollout)
    assert found
    assert found[0].startswith(said), found


def test_short_trajectories_together_have_a_rhythm_too():
    """Ten of three turns each: no piece shows four periods, all of them show twenty."""
    recorded = [beats(4.0, seed, 3) for seed in range(10)]
    own = steadiest(recorded)
    assert own is not None
    assert differing(*own, recorded, [beats(4.0, 20 + seed, 300) for seed in range(5)]) == []
    fast = [beats(4.0, 20 + seed, 300)[::2] for seed in range(5)]
    assert differing(*own, recorded, fast)[0].startswith("its period is off: 50.")
    still = [np.zeros((30_000, 1)) for _ in range(5)]
    assert differing(*own, recorded, still) == ["it does not keep the recording's rhythm: hardly a turn is completed"]


def test_noise_has_no_rhythm_and_turns_begin_where_a_column_rises():
    assert steadiest([np.random.default_rng(0).standard_normal((3_000, 2))]) is None
    assert Levels(-0.5, 0.5).turns(np.array([0, 1, -1, 0, 1, 0, 1, -1, 1])).tolist() == [4, 8]


def test_an_autoregression_is_found_again():
    rng, x = np.random.default_rng(0), np.zeros((5_000, 2))
    A = np.array([[0.9, 0.2], [-0.3, 0.8]])
    for t in range(1, len(x)):
        x[t] = A @ x[t - 1] + [0.5, 0.0] + 0.1 * rng.standard_normal(2)
    coefficients = fitted(x)
    assert coefficients.shape == (3, 2)
    np.testing.assert_allclose(coefficients[1:].T, A, atol=0.03)
    np.testing.assert_allclose(coefficients[0], [0.5, 0.0], atol=0.1)
