"""A table as text in cells: what a study found, with the paper's row below each of ours."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field

MARKDOWN = str.maketrans({"|": "\\|"})
LATEX = str.maketrans(
    {"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "±": r"$\pm$", "†": r"$^\dagger$", "≥": r"$\ge$"}
)


@dataclass(frozen=True)
class Line:
    """A row: its cells, and whether it is the paper's."""

    cells: tuple[str, ...]
    paper: bool = False
    bold: bool = False


@dataclass(frozen=True)
class Grid:
    """A table.

    Parameters
    ----------
    title : above it.
    headings : of the columns.
    lines : the rows.
    caption : below it: how to read it, and what it rests on.
    """

    title: str
    headings: tuple[str, ...]
    lines: tuple[Line, ...] = field(default=())
    caption: str = ""

    def markdown(self) -> str:
        """As Markdown; the paper's rows are in italics."""
        rows = [
            "| " + " | ".join(h.translate(MARKDOWN) for h in self.headings) + " |",
            "|" + "---|" * len(self.headings),
        ]
        for line in self.lines:
            mark = "*" if line.paper else "**" if line.bold else ""
            cells = (f"{mark}{cell.translate(MARKDOWN)}{mark}" if cell else "" for cell in line.cells)
            rows.append("| " + " | ".join(cells) + " |")
        return f"**{self.title}**\n\n" + "\n".join(rows) + f"\n\n{self.caption}\n"

    def latex(self) -> str:
        """As a LaTeX table, for booktabs."""
        rows = [" & ".join(_latex(h) for h in self.headings) + r" \\ \midrule"]
        for line in self.lines:
            command = r"\textit{%s}" if line.paper else r"\textbf{%s}" if line.bold else "%s"
            rows.append(" & ".join(command % _latex(cell) if cell else "" for cell in line.cells) + r" \\")
        columns = "l" + "r" * (len(self.headings) - 1)
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{\textbf{{{_latex(self.title)}.}} {_latex(self.caption)}}}",
                r"\centering",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def csv(self) -> str:
        """As comma-separated values; the first column says whose row it is."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["whose", *self.headings])
        for line in self.lines:
            writer.writerow(["paper" if line.paper else "crug", *line.cells])
        return out.getvalue()


def _latex(text: str) -> str:
    return text.translate(LATEX).replace("->", r"$\to$").replace("+-", r"$\pm$")
