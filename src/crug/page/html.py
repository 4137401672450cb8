"""A book as one HTML file: its text here, its pictures as data that the page's own script draws when they come into
view. Script, style and plotly are in the file, so that nothing is asked of any other place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from crug.errors import CrugError
from crug.metrics import MEASURES
from crug.page.book import Book, Chapter
from crug.page.figures import of_chapter
from crug.page.overall import called, of_book
from crug.page.picture import Figure
from crug.page.words import floor_of, shown, verdicts
from crug.runs import store
from crug.runs.result import TaskResult

POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; style-src 'unsafe-inline'; "
POLICY += "img-src data: blob:; worker-src blob:; connect-src {}"
"""What the browser may do for the page: nothing beyond the file, but to ask whether there is something new where a run
is watched."""
Number = Callable[[], int]


def write_page(book: Book, path: Path | str) -> Path:
    """The page of a book as a file, written whole or not at all."""
    path = Path(path)
    store.write_bytes(path, page(book).encode())
    return path


def page(book: Book, version: str = "") -> str:
    """The page as text. One that is watched has a version, and asks now and then whether there is a newer one."""
    policy = escape(POLICY.format("'self'" if version else "'none'"), quote=True)
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return "\n".join(
        (
            "<!doctype html>",
            f'<html lang="en" data-version="{escape(version, quote=True)}"><head><meta charset="utf-8">{head}',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(book.title)}</title><style>{_part('page.css')}</style></head><body>",
            *_body(book),
            f"<script>{_plotly()}</script><script>{_part('page.js')}</script></body></html>",
        )
    )


def _part(name: str) -> str:
    return (resources.files("crug.page") / name).read_text()


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise CrugError('a page needs plotly, which is not there; install it with: pip install "crug[page]"') from None
    return get_plotlyjs()


def _body(book: Book) -> list[str]:
    links = "".join(f'<a href="#{_anchor(i)}">{escape(c.name)}</a>' for i, c in enumerate(book.chapters))
    note = f'<p class="note" role="status">{escape(book.note)}</p>' if book.note else ""
    return [
        '<a class="skip" href="#content">To the content</a>',
        f"<header><h1>{escape(book.title)}</h1><p>{escape(book.about)}</p>{note}",
        f'<nav aria-label="Recordings">{links}</nav>',
        '<button id="theme" type="button" aria-pressed="false">dark</button></header><main id="content">',
        *(_results(book) if len(book.results) > 1 else []),
        *(_summary(book.chapters) if book.chapters else []),
        *_figures(of_book(book), "book"),
        *(line for i, chapter in enumerate(book.chapters) for line in _chapter(i, chapter)),
        "</main><footer><p>Made by crug. D_stsp: how differently states are visited (0 is perfect). D_H: how different "
        "the power spectra are (0 to 1). Beside each score stands what a perfect model would get, because a recording "
        "is finite. A rollout is what the network does by itself.</p></footer>",
    ]


def _anchor(number: int) -> str:
    return f"task-{number + 1}"


def _table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML already; the first of each row is its heading. A table of the kind `words` has words in its second
    column and its last two."""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>" for row in rows
    )
    table = (
        f'<table class="{kind}">'
        + f"<caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">{table}</div>'


def _shown(values: Mapping[str, float], name: str, errors: Mapping[str, float] | None = None) -> str:
    return escape(shown(values, name, errors))


def _summary(chapters: Sequence[Chapter]) -> list[str]:
    """All tasks in one table, the first measures beside what a perfect model would get."""
    names = [n for n, m in MEASURES.items() if m.brief and any(n in c.material.values for c in chapters)][:2]
    rows = []
    for i, chapter in enumerate(chapters):
        m = chapter.material
        cells = []
        for name in names:
            floor = f' <span class="floor">({_shown(m.judged.floor, name)})</span>' if name in m.judged.floor else ""
            cells.append(_shown(m.values, name, m.errors) + floor)
        what = escape(chapter.analysis.verdict) if chapter.analysis else ""
        units = f"{m.units['linear']} + {m.units['relu']}"
        word = f'<span class="word">{escape(m.verdict.partition(":")[0])}</span>'
        rows.append([f'<a href="#{_anchor(i)}">{escape(chapter.name)}</a>', word, *cells, what, units])
    labels = [f"{MEASURES[name].label} (perfect)" for name in names]
    headings = ["", "verdict", *map(escape, labels), "what the network is", "linear + ReLU units"]
    return [_table("What was learned", headings, rows, "words")]


def _results(book: Book) -> list[str]:
    """Several runs in one table: the first measure of every task at the end with its verdict, and what a perfect model
    would get."""
    first = book.results[0]
    main = next(iter(first.overall))
    names = list(dict.fromkeys(row.name for result in book.results for row in result.tasks))
    rows = []
    for name, result in zip(called(book), book.results, strict=True):
        by_name = {row.name: row for row in result.tasks}
        cells = [_judged(by_name[task], main) if task in by_name else "" for task in names]
        rows.append([escape(name), *cells, _shown(result.overall, main), str(result.units)])
    all_rows = [row for result in book.results for row in result.tasks]
    floors = [floor_of((row for row in all_rows if row.name == name), main) for name in names]
    if any(floors):
        rows.append(["a perfect model", *map(escape, floors), "", ""])
    label = escape(MEASURES[main].label)
    return [_table(f"{label} of every task at the end", ["run", *map(escape, names), "overall", "units"], rows)]


def _judged(row: TaskResult, name: str) -> str:
    word = verdicts([row])
    return _shown(row.final, name) + (f'<br><span class="floor">{escape(word)}</span>' if word else "")


def _chapter(number: int, chapter: Chapter) -> list[str]:
    m = chapter.material
    found = [f'<section id="{_anchor(number)}"><h2>{escape(m.title)}</h2>']
    if m.verdict:
        beside = m.judged.beside(m.values)
        found.append(f'<p class="verdict">{escape(m.verdict)}{f" ({escape(beside)})" if beside else ""}</p>')
    names = [name for name in MEASURES if name in m.values]
    rows = [["network", *(_shown(m.values, name, m.errors) for name in names)]]
    if m.noisy:
        rows.append(["with noise", *(_shown(m.noisy, name) for name in names)])
    if m.judged.floor:
        rows.append(["a perfect model", *(_shown(m.judged.floor, name) for name in names)])
    found.append(_table("Scores", ["", *(escape(MEASURES[name].label) for name in names)], rows))
    found += _figures(of_chapter(chapter), _anchor(number))
    if m.learned.history and "loss" not in m.curves:
        found.append('<p class="floor">Learning curves were not kept.</p>')
    if chapter.analysis is not None:
        first, *lines = chapter.analysis.sentences()
        items = "".join(f"<li>{'<br>'.join(map(escape, line.splitlines()))}</li>" for line in lines)
        found.append(f"<h3>In words</h3><p>{escape(first)}</p><ul>{items}</ul>")
    if chapter.forecasts:
        horizons = list(next(iter(chapter.forecasts.values())))
        errors = [[escape(name), *(f"{row[h]:.2g}" for h in horizons)] for name, row in chapter.forecasts.items()]
        caption = "Error of forecasts, in standard deviations"
        found.append(_table(caption, ["", *(f"after {h} samples" for h in horizons)], errors))
    return [*found, "</section>"]


def _figures(figures: Sequence[Figure], place: str) -> list[str]:
    """Attractors side by side in a row of their own, all others as they fit."""
    found = ['<div class="figures">']
    for i, figure in enumerate(figures):
        data = json.dumps({"data": figure.data, "layout": figure.layout}, allow_nan=False)
        data = data.replace("<", "\\u003c")  # so that no name can end the script, or begin a comment or another one
        twin = f' data-twin="{escape(figure.twin, quote=True)}"' if figure.twin else ""
        label = f'role="img" aria-label="{escape(figure.alt, quote=True)}"'
        turning = ' aria-description="Arrow keys turn the picture."' if figure.twin else ""
        found.append(
            f'<figure class="{figure.kind}"><h3>{escape(figure.title)}</h3>'
            f'<div class="plot" id="{place}-{i}" tabindex="0" {label}{turning}{twin} style="height:{figure.height}px">'
            f'</div><script type="application/json">{data}</script>'
            f"<figcaption>{escape(figure.says)}</figcaption></figure>"
        )
    return [*found, "</div>"]
