"""What a model tells of itself: the book that its page is made of, also while recordings are learned into its file."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path

from crug.model.file import load
from crug.model.uses import Uses
from crug.page import Book, Chapter, Material, chapter
from crug.page.server import Source, source_of_files, under_way

Made = MutableMapping[tuple[str, ...], Chapter]
"""Chapters by the name of their recording and the digests of the records that they follow from."""


def book_of_model(model: Uses, title: str = "A model of crug", made: Made | None = None) -> Book:
    """A chapter for every recording; those in `made` are not made again."""
    count, made = len(model.tasks), {} if made is None else made
    known = f"{count} recording{'' if count == 1 else 's'}"
    about = f"{known} in one network; {model.units_free} of {model.units} units are free."
    digests = {one.name: one.listed.digest for one in model.kept}
    chapters = []
    for one in model.kept:
        key = (one.name, *(digests[name] for name in (one.name, *one.listed.heard)))
        if key not in made:
            made[key] = _chapter(model, one.name)
        chapters.append(made[key])
    return Book(title, about, chapters, model.network)


def source_of_model(file: Path, scratch: Path) -> Source:
    """A model's file, which may not be there yet, and the folder beside it in which recordings are being learned."""
    made: Made = {}

    def journals() -> list[Path]:
        return sorted(scratch.rglob("history.json"))

    def book() -> Book:
        note = " ".join(under_way(journal.parent) for journal in journals())
        if not file.exists() and scratch.exists():
            return Book(file.name, "No recording has been learned yet.", note=note)
        return replace(book_of_model(load(file), file.name, made), note=note)

    if file.exists() or not scratch.exists():
        load(file)  # which says what is wrong with it
    return source_of_files(lambda: [file, *journals(), *scratch.rglob("running.safetensors")], book)


def _chapter(model: Uses, name: str) -> Chapter:
    known = model.recordings[model.tasks.index(name)]
    learned = known.learned
    material = Material(
        title=name,
        values=learned.own.measures(),
        judged=known.judged,
        learned=learned,
        units=model.ledger[name],
        errors=learned.own.errors,
        noisy=learned.noisy.own.measures() if learned.noisy else {},
    )
    return chapter(model.subject(name), material)
