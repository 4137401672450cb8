"""What a model tells of itself: the book that its page is made of."""

from __future__ import annotations

from crug.model.uses import Uses
from crug.page import Book, Chapter, Material, chapter


def book_of_model(model: Uses, title: str = "A model of crug") -> Book:
    """A chapter for every recording."""
    count = len(model.tasks)
    known = f"{count} recording{'' if count == 1 else 's'}"
    about = f"{known} in one network; {model.units_free} of {model.units} units are free."
    return Book(title, about, [_chapter(model, name) for name in model.tasks], model.network)


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
