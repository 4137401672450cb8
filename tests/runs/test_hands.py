"""A crew of processes: whatever happens to a piece of work, whoever asked for it is told."""

import threading

import pytest

from crug.errors import CrugError
from crug.runs.hands import Hands


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "order"), "OSError: .*No space left on device: 'order'"),
        (ValueError("odd"), "ValueError: odd"),
        (CrugError("told", "do this"), "^told; do this$"),
    ],
)
def test_whatever_goes_wrong_is_told_and_the_next_piece_of_work_is_done(error, said):
    def work(piece, _):
        if piece == "bad":
            raise error
        return piece.upper()

    found: list[tuple[str, object]] = []
    with Hands(1, work) as crew:
        crew.give("bad")
        crew.give("good")
        asking = threading.Thread(target=lambda: found.extend([crew.next(), crew.next()]), daemon=True)
        asking.start()
        asking.join(20)
    assert [piece for piece, _ in found] == ["bad", "good"]
    assert found[1][1] == "GOOD"
    with pytest.raises(CrugError, match=said):
        raise found[0][1]  # pyright: ignore[reportGeneralTypeIssues]
