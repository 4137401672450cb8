"""Malformed recordings: any bytes, odd tables, good files that were cut, flipped or spliced, arrays of odd kinds and
numbers. A file is refused in a line, or read as finite numbers that a model could learn."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from attack.tally import Tally
from crug.errors import CrugError
from crug.readers import read
from crug.tasks import as_recordings, prepare

X = np.random.default_rng(1).normal(size=(400, 2))
ODD = [
    "",
    "NaN",
    "x",
    "-",
    "1e999",
    "1e308",
    "-1e308",
    "5e-324",
    '"',
    "1,2",
    "²",
    "\x00",
    "9" * 400,
    "0x1p3",
    "1_0",
    "١",
]
SUFFIXES = [".csv", ".tsv", ".txt", ".npy", ".npz", ".mat", ".parquet", ".hea"]
cell = st.one_of(st.floats().map(str), st.integers(-9, 9).map(str), st.sampled_from(ODD), st.text(max_size=3))
numbers = st.sampled_from([0.0, 1e300, 1e301, -1e308, 1e154, 1e39, 1e-300, 5e-324, np.inf, -np.inf, np.nan])
KINDS = ["f8", "f4", "f2", "i8", "u1", "b1", "c16", "M8[s]", "U3", "S2", ">f8", "V4"]


def quiet(count: int) -> Any:
    """So many examples, the same ones every time, and none searched for twice."""
    health: Any = list(HealthCheck)
    phases = [Phase.generate]
    return settings(max_examples=count, deadline=None, database=None, suppress_health_check=health, phases=phases)


def good(place: Path) -> dict[str, bytes]:
    """A good file of every kind, by its ending."""
    import pyarrow as pa
    from pyarrow.parquet import write_table
    from scipy.io import savemat

    files = {name: place / f"good{name}" for name in (".csv", ".npy", ".npz", ".mat", ".parquet")}
    np.savetxt(files[".csv"], X, delimiter=",", header="a,b", comments="")
    np.save(files[".npy"], X)
    np.savez(files[".npz"], x=X)
    savemat(files[".mat"], {"x": X})
    write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), files[".parquet"])
    return {name: file.read_bytes() for name, file in files.items()}


def judged(file: Path) -> str:
    """What a model would learn of a file that was read: finite, and of the size that a network has."""
    found = read(file)
    assert np.isfinite(found.values).all()
    try:
        prepared = prepare(as_recordings(found, "w"), "w")
    except CrugError:
        return "refused in a line"
    task = prepared.task
    assert np.isfinite(prepared.scale.std).all()
    assert np.isfinite(task.test.astype(np.float32)).all()
    assert np.isfinite(task.train).all()
    np.testing.assert_allclose(task.train.std(axis=0), 1, rtol=1e-3)
    return "read as finite numbers"


def attack(place: Path, count: int) -> Tally:
    """So many files in all."""
    tally = Tally(
        "malformed recordings", "a line that names the file, or finite numbers; no crash, no hang, no swelling"
    )
    files, number = good(place), iter(range(10**9))

    def attempt(suffix: str, content: bytes) -> None:
        file = place / f"r{next(number)}{suffix}"
        file.write_bytes(content)
        tally.attempt(f"{suffix} {content[:60]!r}", lambda: judged(file), str)
        file.unlink()

    @seed(1)
    @quiet(count // 4)
    @given(content=st.binary(max_size=400), suffix=st.sampled_from(SUFFIXES))
    def bytes_(content: bytes, suffix: str) -> None:
        attempt(suffix, content)

    @seed(2)
    @quiet(count // 4)
    @given(st.lists(st.lists(cell, min_size=1, max_size=4), max_size=12), st.booleans(), st.sampled_from(",;\t "))
    def tables(rows: list[list[str]], named: bool, delimiter: str) -> None:
        lines = [*(["a,b,c"] if named else []), *(delimiter.join(row) for row in rows)]
        attempt(".csv", "\n".join(lines).encode("utf-8", "surrogatepass"))

    @seed(3)
    @quiet(count // 4)
    @given(
        st.sampled_from(sorted(files)), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 7)), max_size=6), st.data()
    )
    def damaged(suffix: str, flips: list[tuple[float, int]], data: Any) -> None:
        content = bytearray(files[suffix])
        for where, bit in flips:
            content[min(len(content) - 1, int(where * len(content)))] ^= 1 << bit
        if not flips or data.draw(st.booleans()):
            del content[int(data.draw(st.floats(0, 1)) * len(content)) :]
        attempt(suffix, bytes(content))

    @seed(4)
    @quiet(count - 3 * (count // 4))
    @given(
        numbers,
        st.floats(0, 1),
        st.sampled_from(KINDS),
        st.sampled_from([(400, 2), (400,), (2, 400), (3, 4, 5), (0, 2)]),
    )
    def arrays(number: float, where: float, kind: str, shape: tuple[int, ...]) -> None:
        x = np.resize(X, shape)
        if x.size:
            x.flat[int(where * (x.size - 1))] = number
        x = x * number if where > 0.8 else x
        with np.errstate(all="ignore"):
            x = (
                np.zeros(shape, "V4")
                if kind == "V4"
                else x.astype("i8").astype(kind)
                if kind[0] in "Mu"
                else x.astype(kind)
            )
        out = io.BytesIO()
        np.save(out, x)
        attempt(".npy", out.getvalue())

    with np.errstate(all="ignore"):
        for some in (bytes_, tables, damaged, arrays):
            some()
    return tally
