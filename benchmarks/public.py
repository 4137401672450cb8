"""The table of the field's public files in docs/compared.md, from the model that learned them.

crug benchmark all --data FOLDER --out public.crug
python benchmarks/public.py --data FOLDER --model public.crug --peers --page docs/compared.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pages import renew

from crug.field.benchmarks import BENCHMARKS
from crug.field.scores import against_peers, score
from crug.model import load
from crug.report.field import scores
from crug.runtime import one_thread

BEGIN = "<!-- table of public files -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds the public files")
    parser.add_argument("--model", type=Path, required=True, help="the model that learned them")
    parser.add_argument("--page", type=Path, required=True, help="the page whose table is to be renewed")
    parser.add_argument("--peers", action="store_true", help='also fit the other programs; needs "crug[peers]"')
    given = parser.parse_args()
    model = load(given.model)
    scored = [score(model, name, given.data) for name, one in BENCHMARKS.items() if one.recording in model.tasks]
    made = scores([against_peers(one, given.data) for one in scored] if given.peers else scored)
    columns = [(str(column.header), list(column.cells)) for column in made.columns]
    lines = [f"| {' | '.join(name for name, _ in columns)} |", "|---|" + "--:|" * (len(columns) - 1)]
    lines += [f"| {' | '.join(map(str, cells))} |" for cells in zip(*(cells for _, cells in columns), strict=True)]
    renew(given.page, BEGIN, "\n".join(lines))


if __name__ == "__main__":
    one_thread()
    main()
