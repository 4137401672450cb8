"""One recording in a process of its own: `python -m crug.model.worker FOLDER`. The folder has the order, and what is
done of it; at the end, the record. The standard input says how many units are free."""

from __future__ import annotations

from pathlib import Path

from crug.runs.hands import serve


def work(told: str, folder: Path) -> None:
    """Learn what the order in the folder says."""
    from crug.model.order import carry_out

    carry_out(folder, int(told))


if __name__ == "__main__":
    serve(work)
