"""One run in a process of its own: `python -m crug.studies.worker FOLDER`, with the run as JSON on the standard input.

The process ends when its standard input does: whoever started it is gone then, and nobody waits for the run. What was
done of it stays in the folder, and the next worker goes on from there.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

FAILED = 2
"""The exit status after an error of the run itself; another try would fail alike."""
LEFT = 3
"""The exit status where whoever asked for the run has gone."""


def main() -> None:
    from crug.runtime import one_thread

    one_thread()
    asked = sys.stdin.readline()
    threading.Thread(target=_watch, daemon=True).start()

    from crug.errors import CrugError
    from crug.studies.wanted import Wanted

    try:
        carry_out(Wanted.model_validate_json(asked), Path(sys.argv[1]))
    except CrugError as error:
        print(error, file=sys.stderr)
        raise SystemExit(FAILED) from None


def carry_out(wanted, folder: Path):
    """The run, in its folder; what is finished is only read."""
    from crug.runs import run

    sequence = wanted.sequence if isinstance(wanted.sequence, str) else list(wanted.sequence)
    return run(sequence, wanted.method, wanted.seed, folder, **wanted.given)


def _watch() -> None:
    while sys.stdin.readline():
        pass
    os._exit(LEFT)


if __name__ == "__main__":
    main()
