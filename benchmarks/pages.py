"""Tables that scripts write into pages, between two marks."""

from pathlib import Path

END = "<!-- end of table -->"


def renew(page: Path, begin: str, table: str) -> None:
    """Replace what stands after the mark `begin`, up to the next `END`."""
    before, mark, rest = page.read_text().partition(begin)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise SystemExit(f"{page}: has no table between {begin} and {END}")
    page.write_text(f"{before}{mark}\n{table.strip()}\n{end}{after}")
