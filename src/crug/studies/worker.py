"""One run in a process of its own: `python -m crug.studies.worker FOLDER`, with the run as JSON on the standard input.

What is done of a run stays in its folder, and the next worker goes on from there.
"""

from __future__ import annotations

from pathlib import Path

from crug.runs.hands import serve


def work(told: str, folder: Path) -> None:
    """The run that the process was told."""
    from crug.studies.wanted import Wanted

    carry_out(Wanted.model_validate_json(told), folder)


def carry_out(wanted, folder: Path):
    """The run, in its folder; what is finished is only read."""
    from crug.runs import run

    sequence = wanted.sequence if isinstance(wanted.sequence, str) else list(wanted.sequence)
    return run(sequence, wanted.method, wanted.seed, folder, **wanted.given)


if __name__ == "__main__":
    serve(work)
