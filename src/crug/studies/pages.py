"""Tables and figures in pages: what stands between two marks is made from the stored results.

<!-- study: DSR_canonical_tasks -->
... replaced ...
<!-- end -->

After the label there may be names of parts, or the word `compact`.
"""

from __future__ import annotations

import re
from pathlib import Path

from crug.errors import CrugError
from crug.studies import study as studies
from crug.studies.records import Shelf
from crug.studies.tables import compact, grids

COMPACT = "compact"
BLOCK = re.compile(r"(<!-- study: (?P<label>[\w-]+)(?P<rest>[^>]*) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)


def renewed(text: str, shelf: Shelf) -> str:
    """The page with all that is between marks made anew."""

    def block(found: re.Match[str]) -> str:
        label, only = found["label"], found["rest"].split()
        study = studies.load(label)
        if only == [COMPACT]:
            return f"{found[1]}\n{compact(study, shelf).markdown()}{found[5]}"
        tables = [
            grid
            for part, grid in zip(study.parts, grids(study, shelf, brief=True), strict=True)
            if part.name in only or not only
        ]
        if not tables:
            raise CrugError(f"study {label}: has no part called {' '.join(only)}")
        return found[1] + "\n" + "\n".join(grid.markdown() for grid in tables) + found[5]

    return BLOCK.sub(block, text)


def renew(page: Path, shelf: Shelf) -> bool:
    """Make what is between the marks of a page anew; whether anything changed."""
    before = page.read_text()
    after = renewed(before, shelf)
    if after != before:
        page.write_text(after)
    return after != before
