"""The book of a run, or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crug.analysis import Judged, Subject
from crug.analysis.verdict import judged
from crug.errors import CrugError
from crug.page.book import Book, Chapter, Material, chapter
from crug.runs.opened import Opened, open_run
from crug.runs.result import FILE, NOISE_SEED, Result, TaskResult


def book_of_runs(folders: Sequence[Path]) -> Book:
    """Of one run all that was learned; of several a comparison, and the chapters of the first."""
    results = [_finished(folder) for folder in folders] if len(folders) > 1 else []
    opened = open_run(folders[0])
    chapters = [chapter_of_run(opened, number) for number in range(len(opened.tasks))]
    if not results:
        return book_of_run(opened, chapters)
    plan, sequences = results[0].plan, dict.fromkeys(result.plan.sequence for result in results)
    about = (
        f"{len(results)} runs side by side. The chapters below are of the first, {plan.method} with seed {plan.seed}."
    )
    return Book(f"Runs of {' and '.join(sequences)}", about, chapters, opened.network, results)


def _finished(folder: Path) -> Result:
    if (folder / "config.json").exists() and not (folder / FILE).exists():
        raise CrugError(f"{folder}: this run is not finished; only finished runs can be compared")
    return Result.read(folder)


def book_of_run(opened: Opened, chapters: Sequence[Chapter], note: str = "") -> Book:
    """Of one run, whose chapters are known."""
    plan, network = opened.plan, opened.network
    used = f"{len(network.used())} of {network.size} units are in use"
    about = (
        f"{plan.method} on {plan.sequence}, seed {plan.seed}: {len(opened.tasks)} of {len(plan.tasks)} tasks; {used}."
    )
    return Book(f"{plan.sequence} by {plan.method}", about, chapters, network, note=note)


def chapter_of_run(opened: Opened, number: int) -> Chapter:
    """One task of a run: its scores at the end, or, while the run is under way, right after its own training; under
    the noise that it carries, where it does."""
    task, learned = opened.tasks[number], opened.learned[number]
    row: TaskResult | None = opened.result.tasks[number] if opened.result else None
    values = row.final if row else learned.own.measures()
    seed = NOISE_SEED if opened.network.noises[number] else None
    beside = row.judged if row and row.floor else judged(opened.network, number, task, seed)
    noisy = learned.noisy.own.measures() if learned.noisy else {}
    material = Material(
        title=task.title,
        values=values,
        judged=Judged(beside.floor, beside.remarks),
        learned=learned,
        units=opened.network.units_of(number),
        errors=row.errors if row else learned.own.errors,
        noisy=row.noisy if row else noisy,
        curves=opened.curves[number],
    )
    return chapter(Subject(opened.network, number, task, opened.names), material)
