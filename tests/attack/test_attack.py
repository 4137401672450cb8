"""A part of `make attack` that takes little time; all of it is a program (`tests/attack/__main__.py`)."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attack import faults, given_settings, malformed, states, tampered
from attack.tally import SWOLLEN, Tally, swollen
from crug.errors import CrugError

BOUNDED: dict[str, Callable[[Path], Tally]] = {
    "recordings": lambda place: malformed.attack(place, 80),
    "settings": lambda place: given_settings.attack(place, 60),
    "models": lambda place: tampered.models(place, 60),
    "runs": lambda place: tampered.runs(place, 12),
    "full disk": lambda place: faults.full_disk(place, 2),
    "lives": lambda place: states.attack(
        tampered.small_model(place / "good.crug"), tampered.other_model(place / "more.crug"), 3
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BOUNDED)
def test_no_promise_is_broken(tmp_path, name):
    tally = BOUNDED[name](tmp_path)
    assert tally.broken == []
    assert tally.tried >= 2
    assert swollen() < SWOLLEN


@pytest.mark.filterwarnings("ignore")
def test_bits_here_and_there_are_noticed(tmp_path):
    for tally in tampered.every_bit(tmp_path, step=1_999):
        assert tally.broken == []
        assert tally.outcomes["noticed"] > 10


@pytest.mark.slow
def test_kills_writers_and_ctrl_c(tmp_path):
    """In a process that has not used JAX, which cannot be forked afterwards."""
    code = (
        "from pathlib import Path; from crug.runtime import one_thread; one_thread(); "
        "from attack import faults, kills; place = Path('.'); "
        "found = [faults.writers(place, 1), kills.of_a_run(place, 1), kills.of_a_model(place, 1)]; "
        "found.append(faults.ctrl_c(place, 1)); "
        "wrong = [line for tally in found for line in tally.broken]; assert not wrong, wrong"
    )
    line = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r}); {code}"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]


def test_what_is_broken_is_counted_as_such():
    tally = Tally("one", "another")

    def refuse(text):
        raise CrugError(text)

    tally.attempt("a line", lambda: refuse("x"))
    tally.attempt("two lines", lambda: refuse("x\ny"))
    tally.attempt("a fault", lambda: [][0])
    tally.attempt("a false score", lambda: 0.0, lambda found: pytest.fail("false") if found else "taken")
    assert (tally.tried, tally.outcomes["broken"], len(tally.broken)) == (4, 2, 2)
    assert "2 broken, 1 refused in a line, 1 taken" in tally.row()
