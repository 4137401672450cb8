"""The file of a model, byte by byte: what is appended counts when all of it is there, and nothing else is believed."""

import json
import os
import random

import pytest

import crug
from crug.errors import CrugError
from crug.model import container
from crug.model.container import HEAD, SECTOR, Place, Source


def said_of(name):
    return lambda places: {"name": name, "pieces": [list(place) for place in places]}


def contents(file):
    """The entries' names and all pieces, read with their checksums."""
    source = Source(file)
    entries = source.entries(source.tip())
    return [(e["name"], [source.piece(Place(*place)) for place in e["pieces"]]) for e in entries]


OLD, NEW = ("one", [b"first piece", b""]), ("two", [b"second piece"])


@pytest.fixture
def file(tmp_path):
    container.write(tmp_path / "file", OLD[1], said_of(OLD[0]))
    return tmp_path / "file"


@pytest.fixture
def both(file):
    """The bytes before and after something was appended."""
    before = file.read_bytes()
    container.append(file, NEW[1], said_of(NEW[0]))
    return before, file.read_bytes()


def test_appending_moves_nothing(file, both):
    before, after = both
    assert contents(file) == [OLD, NEW]
    assert after[HEAD : len(before)] == before[HEAD:]
    assert after[:SECTOR] == before[:SECTOR]


def stages(before, after):
    """The file at all moments of an append: with parts of what is appended, then of each line of the head."""
    for length in range(len(before), len(after) + 1):
        yield before[:HEAD] + after[HEAD:length]
    for start in (SECTOR, 2 * SECTOR):
        for length in range(0, SECTOR + 1, 37):
            end = start + min(length, SECTOR)
            yield after[:end] + before[end:HEAD] + after[HEAD:]


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_content_and_the_next_save_works(file, both, monkeypatch):
    before, after = both
    monkeypatch.setattr(os, "fsync", lambda _: None)  # what is killed here is no disk
    found = []
    for stage in stages(before, after):
        file.write_bytes(stage)
        found.append(contents(file))
        assert found[-1] in ([OLD], [OLD, NEW])
        container.append(file, [b"third"], said_of("three"))
        assert contents(file) == [*found[-1], ("three", [b"third"])]
    assert found[0] == [OLD]
    assert found[-1] == [OLD, NEW]
    assert sorted(found, key=len) == found


def test_every_flipped_bit_is_noticed_or_means_the_same(file, both):
    content = both[1]
    harmless = set()
    for bit in range(0, 8 * len(content), 5):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(bytes(flipped))
        try:
            assert contents(file) == [OLD, NEW]
            harmless.add(bit // 8 // SECTOR)
        except CrugError:
            pass
    assert harmless == {1, 2}  # the two lines, of which the other one is whole


def test_a_file_of_which_something_is_missing_is_refused(file, both):
    content = both[1]
    for length in range(0, len(content), 13):
        file.write_bytes(content[:length])
        with pytest.raises(CrugError, match="not a model of crug, or a damaged one"):
            contents(file)


@pytest.mark.parametrize("moment", range(3))
def test_a_full_disk_leaves_the_file_as_it_was(file, monkeypatch, moment):
    before, usual, left = file.read_bytes(), os.fsync, [moment]

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CrugError, match=r"file: cannot be written \(No space left on device\)"):
        container.append(file, NEW[1], said_of(NEW[0]))
    assert file.read_bytes() == before


@pytest.mark.parametrize("before", [[0, 10, ""], [-5, 3, ""], [10**9, 10**30, ""], [2_000, 5, ""], "x", 3, [1]])
def test_a_chain_of_entries_that_leads_nowhere_is_refused(file, monkeypatch, before):
    dumps = json.dumps
    monkeypatch.setattr("crug.model.container.json.dumps", lambda said, **how: dumps({**said, "before": before}, **how))
    container.write(file, [b"piece"], said_of("x"))
    with pytest.raises(CrugError, match="file: "):
        contents(file)


def test_what_is_open_stays_what_it_was(file):
    source = Source(file)
    tip = source.tip()
    container.append(file, NEW[1], said_of(NEW[0]))
    assert [entry["name"] for entry in source.entries(tip)] == ["one"]
    container.write(file, [b"other"], said_of("other"))
    assert [entry["name"] for entry in source.entries(source.tip())] == ["one", "two"]
    assert contents(file) == [("other", [b"other"])]


def test_any_bytes_are_refused_by_name(tmp_path):
    rng = random.Random(0)
    for start in (b"", container.MAGIC, container.MAGIC.ljust(SECTOR, b"\0")):
        (tmp_path / "odd.crug").write_bytes(start + rng.randbytes(4 * SECTOR))
        with pytest.raises(CrugError, match=r"odd\.crug: "):
            crug.load(tmp_path / "odd.crug")
