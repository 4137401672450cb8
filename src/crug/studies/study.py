"""Studies: which runs stand behind a table or a figure of the paper. Each is a small file, `plans/LABEL.toml`.

A part of a study is one block of a table: its rows name a method, what the row sets other than by default, and which
row of the paper it is held against. Where a part says `sweep`, there is a row for every row of the paper's table, by
the settings that stand in its columns.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from crug.errors import CrugError
from crug.sections import Section
from crug.studies import published
from crug.studies.wanted import Wanted

FOLDER = Path(__file__).with_name("plans")


class Budget(NamedTuple):
    """How much of a study is run: such a part of the epochs that a run has by default, or so many epochs a task.

    With `toy`, the first row of every part is run for a few epochs: to see that it works.
    """

    share: float = 1.0
    toy: bool = False
    epochs: int | None = None

    def given(self, row: Row) -> dict[str, Any]:
        """The settings of a row's runs."""
        if self.toy:
            return {**row.settings, **TOY}
        if self.epochs is not None:
            return {**row.settings, "epochs": self.epochs}
        if self.share == 1:
            return dict(row.settings)
        return {**row.settings, "epochs": max(1, round(self.share * row.usual.settings.epochs))}


FULL = Budget()
TOY: dict[str, Any] = {
    "epochs": 2,
    "noise": False,
    "select": "last",
    "network": {"M": 96, "P": 48},
    "trials": {"train": 130, "test": 40},
}
TOY_ROWS = 1


class Row(Section):
    """A row of a table: seeds of one kind of run.

    `paper` is what its row is called in the first column of the paper's table; none where the paper has no such row.
    `networks` says that a figure draws its networks, which records do not have.
    """

    label: str
    method: str = "crug"
    sequence: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    paper: str | None = None
    networks: bool = False
    selected: bool = False
    tried: bool = False
    """Whether it is one of the paper's searches, by its number in the paper's table."""
    said: str = ""
    """What the paper calls its settings, where several come to the same here."""

    @property
    def usual(self) -> Wanted:
        """The run of the first seed, as it is by default."""
        return Wanted(sequence=self.sequence, method=self.method, seed=0, given=self.settings)

    def runs(self, seeds: Sequence[int], budget: Budget = FULL) -> list[Wanted]:
        """The runs of these seeds."""
        given = budget.given(self)
        return [Wanted(sequence=self.sequence, method=self.method, seed=seed, given=given) for seed in seeds]


class Part(Section):
    """One block of a table, or what a figure needs.

    `name` is the part of the paper's table, where it has several; `seeds` how many the paper has; `layout` which
    columns there are; `sweep` the method whose settings stand in the columns of the paper's table.
    """

    name: str = ""
    title: str
    sequence: str
    seeds: Annotated[int, Field(ge=1)]
    layout: Literal["systems", "gait", "versus", "trials", "ranges"] = "systems"
    rows: tuple[Row, ...] = ()
    sweep: str | None = None

    def all_rows(self, label: str) -> list[Row]:
        """The rows that are written down, then those of the paper's table."""
        rows = [row if row.sequence else row.model_copy(update={"sequence": self.sequence}) for row in self.rows]
        if self.sweep is None:
            return rows
        return rows + [swept(line, self, number) for number, line in enumerate(published.table(label, self.name))]


class Study(Section):
    """A table or a figure of the paper, by its label."""

    label: str
    title: str
    kind: Literal["table", "figure"] = "table"
    parts: tuple[Part, ...] = ()

    def rows(self) -> Iterator[tuple[Part, Row]]:
        for part in self.parts:
            for row in part.all_rows(self.label):
                yield part, row

    def runs(self, budget: Budget = FULL, seeds: Sequence[int] | None = None, drawn: bool = False) -> list[Wanted]:
        """Every run that it wants, by seed first: the first seeds of all rows come before the second. With `drawn`
        only those whose networks it draws."""
        rows = list(self.rows())
        if budget.toy:
            seeds = [0] if seeds is None else seeds
            rows = [(part, row) for part in self.parts for row in self._few(part)]
        if drawn:
            rows = [(part, row) for part, row in rows if row.networks]
        most = range(max((part.seeds for part, _ in rows), default=0)) if seeds is None else seeds
        found: dict[str, Wanted] = {}
        for seed in most:
            for part, row in rows:
                if seeds is not None or seed < part.seeds:
                    for wanted in row.runs([seed], budget):
                        found.setdefault(wanted.key, wanted)
        return list(found.values())

    def _few(self, part: Part) -> list[Row]:
        """The first rows of a part; all where they belong together."""
        rows = part.all_rows(self.label)
        return rows if part.layout == "versus" else rows[:TOY_ROWS]


def swept(line: dict[str, str], part: Part, number: int) -> Row:
    """The row for one of the paper's searches: the settings are what its columns say."""
    settings: dict[str, Any] = {}
    theirs = f"ratio = {line['ratio']}" if "ratio" in line else ""
    if part.sweep == "crug":
        settings = {"allocation": "price", "transfer.kind": "l2"}
    method, sequence, said = part.sweep or "crug", part.sequence, []
    for column, text in line.items():
        if column == "method":
            method = text
        elif column == "group":
            sequence = f"gait-{text}"
        elif found := setting_of(column, text, line):
            settings |= found
            said.append(f"every = {found['every']}" if column == "ratio" else f"{column} = {text}")
    if "method" in line:
        said.insert(0, line["method"])
    label = ", ".join(said) if "group" not in line else f"{line['group']}: {', '.join(said)}"
    chosen = bool(line.get("selected"))
    where = {"method": method, "sequence": sequence, "settings": settings, "paper": str(number), "said": theirs}
    return Row(label=label, selected=chosen, tried=True, **where)


def setting_of(column: str, text: str, line: dict[str, str]) -> dict[str, Any]:
    """What a column of the paper's searches sets; nothing where it holds a result."""
    if column in ("strength", "masked", "margin", "prices.relu", "prices.linear", "l1.relu", "l1.linear"):
        return {column: float(text)}
    if column == "every":
        return {"every": int(text)}
    if column == "ratio":  # a step of replay so often, for each step on the task
        return {"every": max(1, round(1 / float(text)))}
    if column == "linear/relu":
        price = "prices" if "prices.relu" in line else "l1"
        return {f"{price}.linear": float(f"{float(text) * float(line[f'{price}.relu']):.4g}")}
    if column.startswith("transfer.strength"):
        return {"transfer.strength": float(f"{float(text) * (1e-3 if '1e-3' in column else 1):.4g}")}
    return {}


def labels() -> list[str]:
    """The labels of all studies, in the paper's order."""
    order = [line.strip() for line in (FOLDER / "order.txt").read_text().splitlines()]
    return [label for label in order if label]


def load(label: str) -> Study:
    """The study of that label."""
    file = FOLDER / f"{label}.toml"
    if label not in labels() or not file.exists():
        raise CrugError(f"the paper has no table or figure called {label!r}; there are: {', '.join(labels())}")
    return parse(label, file)


def parse(label: str, file: Path) -> Study:
    """The study that a file describes. Rows that it names before any part are those of every part without its own."""
    try:
        said = tomllib.loads(file.read_text())
        rows = said.pop("rows", [])
        parts = [{"rows": rows, **part} for part in said.pop("parts", [])]
        return Study.model_validate({"label": label, "parts": parts, **said})
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise CrugError(f"{file}: not a study ({error})") from None


def settings_known(row: Row) -> bool:
    """Whether all that a row sets is a setting of its method."""
    try:
        _ = row.usual.settings
    except CrugError:
        return False
    return True
