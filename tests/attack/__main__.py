"""`make attack`: everything that is promised, against malformed files, tampered ones, kills, full disks and bad luck.

    python tests/attack [--part 0.1] [--only bits,lives] [--bits] [--kills 100] [--write]

It prints a table of what was tried and what happened, and ends with status 1 if a promise was broken. `--write` puts
the table into docs/promises.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "promises.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> None:
    options = argparse.ArgumentParser(prog="make attack", description="Attack every promise.")
    options.add_argument("--part", type=float, default=1.0, help="of the usual numbers")
    options.add_argument("--only", default="", help="attacks by name, with commas; all if not given")
    options.add_argument("--kills", type=int, help="how many, of a run and of a model each")
    options.add_argument("--bits", action="store_true", help="flip every bit, not only some")
    options.add_argument("--write", action="store_true", help="put the figures into the page of promises")
    asked = options.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from crug.runtime import one_thread

    one_thread()
    from attack.everything import ATTACKS, Plan, attacks
    from attack.tally import SWOLLEN, swollen, table

    plan = Plan().part(asked.part) if asked.part != 1 else Plan()
    plan = plan._replace(step=1) if asked.bits else plan
    plan = plan._replace(kills=asked.kills or plan.kills)
    names = asked.only.split(",") if asked.only else list(ATTACKS)
    if unknown := set(names) - set(ATTACKS):
        options.error(f"there is no attack called {sorted(unknown)[0]!r}; there are {', '.join(ATTACKS)}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        found = attacks(plan, Path(place), names)
    broken = sum(len(tally.broken) for tally in found)
    minutes, tried = (time.monotonic() - began) / 60, sum(tally.tried for tally in found)
    text = (
        f"crug {version('crug')}, Python {platform.python_version()}, {os.cpu_count()} cores: {tried:,} attempts in "
        f"{minutes:.0f} minutes, {broken} promises broken. No process had more than {swollen() / 1e6:.1f} GB of "
        f"memory.\n\n{table(found)}"
    )
    print(text)
    if asked.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")
    sys.exit(bool(broken or swollen() > SWOLLEN))


if __name__ == "__main__":
    main()
