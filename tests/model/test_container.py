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


@pytest.fixture
def writes(monkeypatch):
    """What is done to a file, one after another: bytes put somewhere, or the file cut off."""
    done, pwrite, ftruncate = [], os.pwrite, os.ftruncate

    def put(descriptor, content, start):
        done.append((bytes(content), start))
        return pwrite(descriptor, content, start)

    def cut(descriptor, length):
        done.append((b"", length))
        ftruncate(descriptor, length)

    monkeypatch.setattr(os, "pwrite", put)
    monkeypatch.setattr(os, "ftruncate", cut)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # what is killed here is no disk
    return done


def stages(content, writes):
    """The bytes of a file at all moments of what is done to it, with parts of what is put there among them."""
    for put, start in writes:
        if not put:
            content = content[:start]
        for length in range(0, len(put) + 1, 23):
            yield content[:start] + put[:length] + content[start + length :]
        content = content[:start] + put + content[start + len(put) :]
        yield content


def lines(content):
    """The two lines of the head."""
    return content[SECTOR : 2 * SECTOR], content[2 * SECTOR : HEAD]


def headed(content, first, second):
    """The file with other lines in its head."""
    return content[:SECTOR] + first + second + content[HEAD:]


def begun(before, after):
    """Files in which the second entry counts, by what an earlier kill left of their head."""
    (old, _), (new, _) = lines(before), lines(after)
    torn = new[:60] + old[60:]
    return {
        "both lines": after,
        "the second line is the one before": headed(after, new, old),
        "the second line is half written": headed(after, new, torn),
        "the first line is half written": headed(after, torn, new),
    }


@pytest.mark.parametrize("left", [None, *begun(bytes(HEAD), bytes(HEAD))])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_content_and_the_next_save_works(file, both, writes, left):
    """Whatever an earlier kill has left of the head; and what has counted once is never lost."""
    start, known = (both[0], [OLD]) if left is None else (begun(*both)[left], [OLD, NEW])
    file.write_bytes(start)
    assert contents(file) == known
    container.append(file, [b"third"], said_of("three"))
    done, found = list(writes), []
    for stage in stages(start, done):
        file.write_bytes(stage)
        found.append(contents(file))
        assert found[-1] in (known, [*known, ("three", [b"third"])])
        container.append(file, [b"fourth"], said_of("four"))
        assert contents(file) == [*found[-1], ("four", [b"fourth"])]
    assert found[0] == known
    assert found[-1] == [*known, ("three", [b"third"])]
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
@pytest.mark.parametrize("lasts", [False, True])
def test_a_full_disk_leaves_the_file_as_it_was(file, monkeypatch, moment, lasts):
    before, usual, left, order = file.read_bytes(), os.fsync, [moment], []

    def full(descriptor):
        left[0] -= 1
        order.append("sync")
        if left[0] < 0 and (lasts or left[0] == -1):
            raise OSError(28, "No space left on device")
        usual(descriptor)

    def cut(descriptor, length, usual=os.ftruncate):
        order.append("cut")
        usual(descriptor, length)

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(os, "ftruncate", cut)
    with pytest.raises(CrugError, match=r"file: cannot be written \(No space left on device\)"):
        container.append(file, NEW[1], said_of(NEW[0]))
    assert contents(file) == [OLD]
    if lasts and moment:  # nobody knows what is on the disk: nothing is cut off that a line there may speak of
        assert order[-2:] == ["sync", "sync"]
    else:
        assert order[-2:] == ["sync", "cut"]
        assert file.read_bytes() == before


@pytest.mark.parametrize(
    "before", [[0, 10, ""], [-5, 3, ""], [10**9, 10**30, ""], [2_000, 5, ""], "x", 3, [1], [1536.0, 5, "x"], [0, 10, 3]]
)
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
