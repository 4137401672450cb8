"""A file to which pieces are appended, and which a kill at any moment leaves with its old or its new content.

    head     what kind of file it is; twice the same line, which says where the last entry is
    pieces   bytes, one after another
    entry    JSON: whatever is said of the pieces before it, and where the entry before this one is
    pieces, entry, ...

An entry has the checksums of its pieces and of the entry before it, and the lines of the head have that of the last
entry and their own: every byte is vouched for. To append, pieces and entry are written behind the end, where nobody
reads, and brought to the disk; then the one line is written, then the other. A line that is damaged or half written
does not count: the other one has the content before or after, and where both are whole the later one holds. A kill
between the two leaves them different, so the next one to append first makes both say the same: whichever of them is
then half written, the other one knows all that there was. What lies behind the last entry was never finished, and is
cut off.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from crug.errors import CrugError
from crug.runs import store

MAGIC = b"crug model 3\n"
SECTOR = 512
"""Bytes that a disk writes whole or not at all."""
LINES = SECTOR, 2 * SECTOR
"""Where the two lines of the head are."""
HEAD = 3 * SECTOR
FOREIGN = "not a model of crug, or a damaged one"
DAMAGED = "if it was one, restore it from a backup"


class Place(NamedTuple):
    """Where a piece is, and what its checksum is."""

    start: int
    length: int
    digest: str

    @property
    def end(self) -> int:
        return self.start + self.length


BEFORE: TypeAdapter[Place | None] = TypeAdapter(Place | None)
"""Of an entry: the one before it, if there is one."""


class Tip(NamedTuple):
    """The last entry, and how many there have been."""

    number: int
    entry: Place


Said = Callable[[Sequence[Place]], dict[str, Any]]
"""What an entry says of its pieces, given where they are."""


class Source:
    """A file that is open for reading. It stays what it was, whatever takes its place under its name."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise CrugError(f"{path}: cannot be read ({error.strerror})") from None
        weakref.finalize(self, os.close, self.descriptor)

    def bytes(self, start: int, length: int) -> bytes:
        """What is there of so many bytes."""
        if start < 0 or length < 0 or start + length > os.fstat(self.descriptor).st_size:
            return b""
        try:
            return os.pread(self.descriptor, length, start)
        except OSError as error:
            raise CrugError(f"{self.path}: cannot be read ({error.strerror})") from None

    def piece(self, place: Place) -> bytes:
        """A piece, as it was written."""
        content = self.bytes(place.start, place.length)
        if len(content) < place.length:
            raise CrugError(f"{self.path}: {FOREIGN} (its end is missing); {DAMAGED}")
        if digest(content) != place.digest:
            raise CrugError(f"{self.path}: damaged (its checksum differs); {DAMAGED}")
        return content

    def tip(self) -> Tip:
        """Where the last entry is."""
        head = self.bytes(0, HEAD)
        if len(head) < HEAD or head[:SECTOR] != _padded(MAGIC):
            raise CrugError(f"{self.path}: {FOREIGN} (its head is another); {DAMAGED}")
        tips = [tip for start in LINES if (tip := _read(head[start : start + SECTOR]))]
        if not tips:
            raise CrugError(f"{self.path}: damaged (its checksum differs); {DAMAGED}")
        return max(tips)

    def entries(self, tip: Tip) -> list[Any]:
        """What all entries say up to the last one, the first one first."""
        found: list[Any] = []
        place: Place | None = tip.entry
        while place:
            said = store.parsed_json(self.piece(place), self.path, DAMAGED)
            if not isinstance(said, dict) or "before" not in said:
                raise CrugError(f"{self.path}: not what crug wrote (an entry without the one before it); {DAMAGED}")
            previous = store.checked(BEFORE, said.pop("before"), self.path, DAMAGED)
            if previous and not 0 <= previous.start < previous.end <= place.start:
                raise CrugError(
                    f"{self.path}: not what crug wrote (an entry is not behind the one before it); {DAMAGED}"
                )
            found.append(said)
            place = previous
        return found[::-1]


def is_container(content: bytes) -> bool:
    """Whether the first bytes of a file are those of such a file."""
    return content[: len(MAGIC)] == MAGIC


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write(path: Path, pieces: Iterable[bytes], said: Said) -> Tip:
    """A new file with these pieces in one entry, in place of the one that is there."""
    with store.whole(path) as file:
        file.write(bytes(HEAD))
        places = []
        for piece in pieces:
            places.append(Place(file.tell(), len(piece), digest(piece)))
            file.write(piece)
        entry = _entry(said(places), None)
        tip = Tip(1, Place(file.tell(), len(entry), digest(entry)))
        file.write(entry)
        file.seek(0)
        file.write(_padded(MAGIC) + 2 * _line(tip))
    return tip


def append(path: Path, pieces: Sequence[bytes], said: Said) -> Tip:
    """More pieces in an entry of their own, behind the last one; or the file as it was."""
    old, places = Source(path).tip(), []
    start = old.entry.end
    for piece in pieces:
        places.append(Place(start, len(piece), digest(piece)))
        start += len(piece)
    entry = _entry(said(places), old.entry)
    tip = Tip(old.number + 1, Place(start, len(entry), digest(entry)))
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise CrugError(f"{path}: cannot be written ({error.strerror})", "choose another place") from error
    try:
        _commit(descriptor, old, tip, b"".join([*pieces, entry]))
    except OSError as error:
        what = f"{path}: cannot be written ({error.strerror or error})"
        raise CrugError(what, "make room, or choose another place") from error
    finally:
        os.close(descriptor)
    return tip


def _commit(descriptor: int, old: Tip, tip: Tip, content: bytes) -> None:
    """Content behind the last entry, then the lines that make it count; where that fails, all as it was."""
    _put_lines(descriptor, old)
    told = False
    try:
        os.ftruncate(descriptor, old.entry.end)
        for part in _parts(content):
            _put(descriptor, part[0], old.entry.end + part[1])
        os.fsync(descriptor)
        told = True
        _put_lines(descriptor, tip)
    except BaseException:
        with suppress(OSError):
            if told:  # the lines are right on the disk before that is cut off of which they may have spoken
                _put(descriptor, 2 * _line(old), SECTOR)
                os.fsync(descriptor)
            os.ftruncate(descriptor, old.entry.end)
        raise


def _put_lines(descriptor: int, tip: Tip) -> None:
    """Both lines of the head say where this entry is; each is on the disk before the other is touched."""
    for start in LINES:
        if os.pread(descriptor, SECTOR, start) != _line(tip):
            _put(descriptor, _line(tip), start)
            os.fsync(descriptor)


def _parts(content: bytes, size: int = 2**24) -> Iterator[tuple[bytes, int]]:
    for start in range(0, len(content), size):
        yield content[start : start + size], start


def _put(descriptor: int, content: bytes, start: int) -> None:
    while content:
        done = os.pwrite(descriptor, content, start)
        content, start = content[done:], start + done


def _entry(said: dict[str, Any], before: Place | None) -> bytes:
    return json.dumps({**said, "before": before}, allow_nan=False, separators=(",", ":")).encode()


def _line(tip: Tip) -> bytes:
    text = f"{tip.number} {tip.entry.start} {tip.entry.length} {tip.entry.digest}".encode()
    return _padded(text + b" " + digest(text).encode() + b"\n")


def _read(sector: bytes) -> Tip | None:
    """What a line says, if it is whole."""
    try:
        number, start, length, checksum = sector.split(b"\n")[0].decode("ascii").split(" ")[:4]
        tip = Tip(int(number), Place(int(start), int(length), checksum))
    except ValueError:
        return None
    return tip if _line(tip) == sector else None


def _padded(line: bytes) -> bytes:
    return line.ljust(SECTOR, b"\0")
