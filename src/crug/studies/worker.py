"""One run in a process of its own: `python -m crug.studies.worker FOLDER`, with the run as JSON on the standard input.

What is done of a run stays in its folder, and the next worker goes on from there.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from crug.runs.hands import serve

FOR_EVER = -1


def work(told: str, folder: Path) -> None:
    """The run that the process was told."""
    from crug.studies.wanted import Wanted

    carry_out(Wanted.model_validate_json(told), folder)


def carry_out(wanted, folder: Path):
    """The run, in its folder; what is finished is only read, and what an earlier edition made is made anew. Whoever
    works on it already is waited for: a coordinator that was killed leaves runs behind on the workers of a cluster."""
    from crug.runs import run, store
    from crug.runs.folder import CONFIG, read_config

    sequence = wanted.sequence if isinstance(wanted.sequence, str) else list(wanted.sequence)
    folder.mkdir(parents=True, exist_ok=True)
    with store.alone(folder, patience=FOR_EVER):
        if (folder / CONFIG).exists() and read_config(folder).outdated:
            for path in folder.iterdir():
                if not store.leftover(path):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        return run(sequence, wanted.method, wanted.seed, folder, **wanted.given)


if __name__ == "__main__":
    serve(work)
