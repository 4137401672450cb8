"""Recordings from files: what is right is read, what is wrong is said with its place, never with a traceback."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crug.errors import CrugError
from crug.readers import read

X = np.random.default_rng(0).normal(size=(50, 3))
LONG = np.random.default_rng(1).normal(size=(1_200, 2))


def write(path, x: Any = X, header=None, delimiter=","):
    lines = [delimiter.join(header)] if header else []
    lines += [delimiter.join(repr(float(v)) for v in row) for row in x]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".csv", ";"), (".tsv", "\t"), (".txt", " ")])
@pytest.mark.parametrize("header", [None, ["x", "y", "z"]])
def test_delimited_text(tmp_path, suffix, delimiter, header):
    found = read(write(tmp_path / f"r{suffix}", header=header, delimiter=delimiter))
    assert np.array_equal(found.values, X)
    assert found.columns == (tuple(header) if header else ("1", "2", "3"))
    assert found.dt is None


def test_arrays_matlab_and_parquet(tmp_path):
    import pyarrow as pa
    from pyarrow.parquet import write_table
    from scipy.io import savemat

    np.save(tmp_path / "r.npy", X.astype(np.float32))
    np.savez(tmp_path / "r.npz", x=X, fs=np.array(100.0))
    savemat(tmp_path / "r.mat", {"x": X, "note": "hello"})
    write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "r.parquet")
    np.testing.assert_allclose(read(tmp_path / "r.npy").values, X, rtol=1e-6)
    assert np.array_equal(read(tmp_path / "r.npz").values, X)
    assert np.array_equal(read(tmp_path / "r.mat").values, X)
    found = read(tmp_path / "r.parquet", columns=["b"])
    assert np.array_equal(found.values, X[:, 1:2])
    assert found.columns == ("b",)


def test_a_wfdb_record_in_its_units_with_invalid_samples_missing(tmp_path):
    import wfdb

    rng = np.random.default_rng(0)
    digital = rng.integers(-2048, 2047, size=(200, 2))
    digital[digital == -2048] = 0
    digital[7, 1] = -2048  # the code of an invalid sample
    wfdb.wrsamp(
        "rec",
        fs=300,
        units=["mV", "mV"],
        sig_name=["left", "right"],
        d_signal=digital,
        fmt=["212", "212"],
        adc_gain=[3000, 3000],
        baseline=[0, 0],
        write_dir=str(tmp_path),
    )
    for path in (tmp_path / "rec", tmp_path / "rec.hea"):
        found = read(path, fill="linear")
        digital[7, 1] = (digital[6, 1] + digital[8, 1]) / 2
        np.testing.assert_allclose(found.values, digital / 3000, atol=2e-4)
        assert found.columns == ("left", "right")
        assert found.dt == 1 / 300
    with pytest.raises(CrugError, match="column 'right' has 1 missing values, first at sample 8"):
        read(tmp_path / "rec")


def test_a_time_column_is_the_clock(tmp_path):
    t = 0.02 * np.arange(50)[:, None]
    found = read(write(tmp_path / "r.csv", np.concatenate([t, X], axis=1), ["Time", "x", "y", "z"]))
    assert found.columns == ("x", "y", "z")
    assert found.dt == pytest.approx(0.02)
    rounded = np.round(np.arange(50)[:, None] / 300, 3)
    found = read(write(tmp_path / "r.csv", np.concatenate([rounded, X], axis=1), ["Time (s)", "x", "y", "z"]))
    assert found.dt == pytest.approx(1 / 300, rel=1e-2)
    t[30:] += 0.02
    with pytest.raises(CrugError, match=r"r\.csv: column 'time': the interval between samples is 0\.02 but 0\.04 at"):
        read(write(tmp_path / "r.csv", np.concatenate([t, X], axis=1), ["time", "x", "y", "z"]))


def test_columns_are_chosen_by_place_or_name_before_anything_else_is_looked_at(tmp_path):
    (tmp_path / "r.csv").write_text("time,x,note,y\n0,1,a,5\n2,2,b,6\n4,2,b,6\n9,4,c,3\n")
    with pytest.warns(UserWarning, match="taken as evenly sampled, but column 'time': the interval between samples is"):
        found = read(tmp_path / "r.csv", columns=["2", "y"])
    assert found.values.tolist() == [[1, 5], [2, 6], [2, 6], [4, 3]]
    assert (found.columns, found.dt) == (("x", "y"), 2)
    (tmp_path / "r.csv").write_text("time,x,note,y\n0,1,a,5\n2,2,b,6\n4,4,c,3\n")
    found = read(tmp_path / "r.csv", columns=["y", "x"])
    assert found.values.tolist() == [[5, 1], [6, 2], [3, 4]]
    assert (found.columns, found.dt) == (("y", "x"), 2)
    assert read(tmp_path / "r.csv", columns=["time", "x"]).columns == ("time", "x")
    (tmp_path / "r.csv").write_text("time,x,y\n2024-01-01,1,5\n2024-01-02,2,6\n2024-01-03,4,3\n")
    found = read(tmp_path / "r.csv", columns=["x", "y"])
    assert (found.values.tolist(), found.columns, found.dt) == ([[1, 5], [2, 6], [4, 3]], ("x", "y"), None)


@pytest.mark.parametrize(
    ("header", "times", "decimals"),
    [
        (["Time_ms", "x", "y"], np.arange(50) / 0.3, 0),
        (None, np.arange(50) / 300, 4),
        (["# time", "x", "y"], np.arange(50) / 300, 4),
        (["moment", "x", "y"], 1.7e9 + np.arange(50) / 1000, 3),
    ],
)
def test_a_clock_is_never_data(tmp_path, header, times, decimals):
    """By its name it says the interval; without one it is refused, however coarsely it was rounded."""
    table = np.concatenate([np.round(times, decimals)[:, None], X[:, :2]], axis=1)
    file = write(tmp_path / "r.csv", table, header)
    if header and "ime" in header[0]:
        found = read(file)
        assert found.columns == ("x", "y")
        assert found.dt == pytest.approx(times[1] - times[0], rel=1e-2)
    else:
        with pytest.raises(CrugError, match="rises evenly, like a clock or an index; call it time"):
            read(file)


def test_an_array_called_time_is_the_clock_and_a_second_recording_is_refused(tmp_path):
    from scipy.io import savemat

    t = 0.5 * np.arange(50)
    savemat(tmp_path / "r.mat", {"t": t, "x": X, "rate": 2.0, "note": "abc"})
    np.savez(tmp_path / "r.npz", t=t, x=X[:, 0], note=np.array(["a"] * 99))
    for file, dim in (("r.mat", 3), ("r.npz", 1)):
        found = read(tmp_path / file)
        assert (found.values.shape, found.dt) == ((50, dim), 0.5)
    np.savez(tmp_path / "r.npz", x=X, y=X[:, :2])
    savemat(tmp_path / "r.mat", {"z": X + 1j, "w": X[:20]})
    with pytest.raises(CrugError, match=r"several arrays of 50 samples \(x, y\)"):
        read(tmp_path / "r.npz")
    with pytest.raises(CrugError, match="holds complex128, not numbers"):
        read(tmp_path / "r.mat")


def test_parquet_columns_that_are_no_numbers_are_named(tmp_path):
    import pyarrow as pa
    from pyarrow.parquet import write_table

    words = pa.array(["a", "b"] * 25)
    for odd in (words.dictionary_encode(), pa.array([[1.0]] * 50), pa.array([{"a": 1}] * 50), words):
        write_table(pa.table({"x": X[:, 0], "odd": odd, "time": words}), tmp_path / "r.parquet")
        with pytest.raises(CrugError, match=r"column 'odd' is .*, not numbers; leave it out with columns"):
            read(tmp_path / "r.parquet")
        assert read(tmp_path / "r.parquet", columns=["x"]).values.shape == (50, 1)


def test_a_lost_row_is_a_missing_value_and_not_a_shorter_recording(tmp_path):
    (tmp_path / "r.csv").write_text("1,2\n3,5\n,\n\n7,4\n\n")
    with pytest.raises(CrugError, match="column '1' has 2 missing values, first at sample 3"):
        read(tmp_path / "r.csv")
    assert read(tmp_path / "r.csv", fill="previous").values.tolist() == [[1, 2], [3, 5], [3, 5], [3, 5], [7, 4]]


def bad(tmp_path, text, name="r.csv"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("x,y\n", "no rows of numbers"),
        ("1,2\n3,x\n", r"row 2, column 2 is 'x', not a number"),
        ("a,b\n1,2\n3\n", r"row 3 has 1 columns, the first row has 2"),
        ("1,2\n3,ERR\n", "row 2, column 2 is 'ERR'"),
        ("1.0,ERR\n3,4\n", "row 1, column 2 is 'ERR'"),
        ("0,1\n3,4\n2,9\n", "a header of numbers"),
        (",x\n0,1\n1,5\n2,2\n3,4\n", "rises evenly, like a clock or an index"),
        ("a,b\n1,2\n3,\n5,NA\n", r"column 'b' has 2 missing values, first at sample 2; pass fill=\"linear\""),
        ("a,b\n1,2\n3,2\n5,2\n", "column 'b' is constant"),
        ("a,b\n1,1\n3,3\n5,5\n", "columns 'a' and 'b' are equal"),
        ("a,b\n1,2\n3,inf\n5,2\n", "column 'b' is infinite at sample 2"),
        ("x,y\n1,2\n3,5\n4,1,9,9\n7,3\n", "row 4 has 4 columns, the first row has 2"),
        ("x,y\n1,0.5,2.5\n2,0.1,2.9\n3,0.7,2.2\n", "row 2 has 3 columns, the first row has 2"),
        ("0,5;1,25\n0,7;1,5\n", r"row 2, column 1 is '0,7', not a number; write decimals with a point"),
        ("x,time\n3,2\n1,1\n2,0\n", "column 'time': time does not go on at sample 2"),
        ('1,2\n3,"\n', "cannot be split into columns .*; is a quote missing?"),
        (b"\xff\xfe\x00\x01", "not text in UTF-8"),
        ("x (\u00b5V),y\n1,2\n".encode("latin-1"), "save it as UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, message):
    with pytest.raises(CrugError, match=message) as caught:
        read(bad(tmp_path, text))
    assert "--" not in str(caught.value)  # which is for the command line
    assert caught.value.on_the_command_line.startswith(caught.value.what)


def test_other_files_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "wide.npy", X.T)
    np.savez(tmp_path / "two.npz", a=X, b=X)
    for name, message in {
        "o.npy": "cannot be read",
        "wide.npy": "3 rows and 50 columns; time runs down the rows",
        "two.npz": "several arrays of 50 samples",
        "missing.csv": "there is no such file",
    }.items():
        with pytest.raises(CrugError, match=message):
            read(tmp_path / name)
    with pytest.raises(CrugError, match="this kind of file is not read"):
        read(bad(tmp_path, "1,2", "r.docx"))
    with pytest.raises(CrugError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(CrugError, match="no column 'w'; there are: 1, 2, 3"):
        read(write(tmp_path / "r.csv"), columns=["w"])


ODD = ["", "NaN", "x", "-", "1e999", '"', "1,2"]
cell = st.one_of(st.floats(width=32).map(str), st.integers(-9, 9).map(str), st.sampled_from(ODD))
SUFFIXES = [".csv", ".tsv", ".txt", ".npy", ".npz", ".mat", ".parquet", ".hea"]


def attempt(file):
    """A malformed file is read as finite numbers, or refused by one line that names it."""
    said = ""
    try:
        assert np.isfinite(read(file).values).all()
    except CrugError as error:
        said = str(error)
    assert not said or file.stem in said
    assert "\n" not in said


relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@relaxed
@given(
    rows=st.lists(st.lists(cell, min_size=2, max_size=3), min_size=3, max_size=8),
    columns=st.sampled_from([None, ["2"], ["2", "1"]]),
)
def test_a_table_is_read_as_it_stands_or_refused(tmp_path, rows, columns):
    file = tmp_path / "table.csv"
    file.write_text("a,b\n" + "\n".join(",".join(row) for row in rows) + "\n")
    try:
        found = read(file, columns, fill="linear")
    except CrugError:
        return
    order = [int(c) - 1 for c in columns or ["1", "2"]]
    lines = [line.split(",") for line in file.read_text().splitlines()[1:]]
    assert {len(line) for line in lines} == {2}
    for line, values in zip(lines, found.values, strict=False):
        for place, value in zip(order, values, strict=True):
            text = line[place].lower()
            assert text in ("", "-", "nan") or float(text) == value


@relaxed
@given(content=st.binary(max_size=400), suffix=st.sampled_from(SUFFIXES))
def test_any_bytes_are_read_or_refused_without_a_traceback(tmp_path, content, suffix):
    file = tmp_path / f"noise{suffix}"
    file.write_bytes(content)
    attempt(file)


@relaxed
@given(rows=st.lists(st.lists(cell, min_size=1, max_size=4), max_size=12), named=st.booleans())
def test_any_short_table_is_read_or_refused_without_a_traceback(tmp_path, rows, named):
    file = tmp_path / "table.csv"
    file.write_text("\n".join([*(["a,b,c"] if named else []), *(",".join(row) for row in rows)]))
    attempt(file)


@relaxed
@given(kind=st.sampled_from([".npy", ".npz", ".mat", ".parquet"]), keep=st.floats(0, 0.999))
def test_any_truncated_file_is_refused(tmp_path, kind, keep):
    import pyarrow as pa
    from pyarrow.parquet import write_table
    from scipy.io import savemat

    file = tmp_path / f"cut{kind}"
    if kind == ".npy":
        np.save(file, LONG)
    elif kind == ".npz":
        np.savez(file, x=LONG)
    elif kind == ".mat":
        savemat(file, {"x": LONG})
    else:
        write_table(pa.table({"a": LONG[:, 0], "b": LONG[:, 1]}), file)
    content = file.read_bytes()
    file.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(CrugError, match=r"cannot be read|is empty"):
        read(file)
