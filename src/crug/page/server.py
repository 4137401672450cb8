"""The page of a run or a model that is under way, served to a browser on the same machine, and to no other.

It has two addresses: the page, and its version, by which the page finds out that there is a newer one. Nothing else is
served, whatever is asked for: no address is ever turned into the name of a file. It reads the folder and writes
nothing, so that the run may be killed and go on while it is watched.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from crug.errors import CrugError
from crug.page.book import Book, Chapter
from crug.page.html import page
from crug.page.run import book_of_run, chapter_of_run
from crug.runs import store
from crug.runs.opened import open_run

HOST = "127.0.0.1"
HOSTS = ("127.0.0.1", "localhost")
"""By which names a browser may ask: another name that leads here is a trick of another page."""


class Source(NamedTuple):
    """What is watched: a label of its present state, and the book that it makes."""

    state: Callable[[], str]
    book: Callable[[], Book]


class Watched:
    """The page of a source, made anew when its state has changed; two browsers do not make it twice."""

    def __init__(self, source: Source):
        self.source, self.lock = source, threading.Lock()
        self.made: tuple[str, bytes] | None = None

    def version(self) -> str:
        """Of the present state."""
        return hashlib.sha256(self.source.state().encode()).hexdigest()[:16]

    def page(self) -> bytes:
        """As it is now."""
        with self.lock:
            version = self.version()
            if self.made is None or self.made[0] != version:
                self.made = version, page(self._book(), version).encode()
            return self.made[1]

    def _book(self) -> Book:
        """Of the source, or of what is wrong with it: the page asks on, and it may be mended."""
        try:
            return self.source.book()
        except CrugError as error:
            return Book("This cannot be shown", error.on_the_command_line)


def server(source: Source, port: int = 0) -> ThreadingHTTPServer:
    """A server of the page, on a free port if none is given; `serve_forever` starts it."""
    watched = Watched(source)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = self.headers.get("Host", "").rpartition(":")[0]
            if host not in HOSTS:
                return self._answer(HTTPStatus.FORBIDDEN, b"only from this machine")
            if self.path == "/":
                return self._answer(HTTPStatus.OK, watched.page(), "text/html; charset=utf-8")
            if self.path == "/version":
                return self._answer(HTTPStatus.OK, watched.version().encode())
            return self._answer(HTTPStatus.NOT_FOUND, b"there is only the page")

        def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
            for name, value in {**headers, "X-Content-Type-Options": "nosniff"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise CrugError(f"port {port}: {error.strerror}", "choose another one", "choose another --port") from None


class Run:
    """A run that may be under way. Chapters of tasks that are learned are made once."""

    def __init__(self, folder: Path):
        if not (folder / "config.json").exists():
            raise CrugError(f"{folder}: not the folder of a run; give one, or a model's file")
        self.folder = folder
        self.chapters: dict[tuple[int, str], Chapter] = {}

    def state(self) -> str:
        """What of the folder the page depends on: which files there are, and when they were written."""
        files = [*self.folder.glob("tasks/*/task.json"), *self.folder.glob("progress/*"), self.folder / "result.json"]
        return " ".join(f"{file.name}{_written(file)}" for file in sorted(files))

    def book(self) -> Book:
        """As far as the run has come."""
        note = self._note()
        try:
            opened = open_run(self.folder)
        except CrugError as error:
            if "has been learned yet" not in error.what:
                raise
            plan = store.read_json(self.folder / "config.json")["plan"]
            about = f"{plan['method']} on {plan['sequence']}, seed {plan['seed']}: no task has been learned yet."
            return Book(f"{plan['sequence']} by {plan['method']}", about, note=note)
        when = str(_written(self.folder / "result.json"))
        for number in range(len(opened.tasks)):
            if (number, when) not in self.chapters:
                self.chapters[number, when] = chapter_of_run(opened, number)
        chapters = [self.chapters[number, when] for number in range(len(opened.tasks))]
        return book_of_run(opened, chapters, note)

    def _note(self) -> str:
        """What is going on."""
        if (self.folder / "result.json").exists():
            return "The run is complete."
        return under_way(self.folder / "progress")


def under_way(folder: Path) -> str:
    """What is known of a task that is being learned, from the folder of its journal."""
    try:
        journal = store.read_json(folder / "history.json")
    except (CrugError, OSError):
        return "Nothing is being learned yet, or the run has stopped."
    name = journal["task"].partition("-")[2] or "a recording"  # a model's journals have no names
    over = len(journal["outcomes"])
    said = f"Learning {name}: {over} phase{' is' if over == 1 else 's are'} over"
    try:
        about = store.read_described(folder / "running.safetensors")[1]
        numbers = json.loads(about["numbers"])
    except (CrugError, OSError):  # between two phases
        return f"{said}."
    return f"{said}, epoch {numbers['epoch']} of the next, loss {numbers['loss']:.2g}."


def _written(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def source_of_run(folder: Path) -> Source:
    """A run's folder to be watched."""
    run = Run(folder)
    return Source(run.state, run.book)


def source_of_files(files: Callable[[], Sequence[Path]], book: Callable[[], Book]) -> Source:
    """Files to be watched, as many as there are at the time, and the book that they make."""
    return Source(lambda: " ".join(f"{file}{_written(file)}" for file in files()), book)
