"""A recording, its inputs, and the remedies that its errors name."""

import ast
import doctest
import time
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from crug import readers
from crug.errors import CrugError
from crug.readers import FILLS, Recording, columns, read
from crug.readers.columns import checked, filled
from crug.readers.table import Table, places

ROOM = Path(readers.__file__).parent
RNG = np.random.default_rng(0)
X, U = RNG.normal(size=(50, 2)), RNG.normal(size=(50, 1))
TIME = 0.5 * np.arange(50)[:, None]


def driven(**changes):
    made = {
        "source": "monday.csv",
        "values": X,
        "columns": ("x", "y"),
        "dt": 0.02,
        "inputs": U,
        "input_columns": ("u",),
    }
    return Recording(**(made | changes))


# the recording itself


def test_a_recording_is_cut_like_an_array_and_its_inputs_with_it():
    recording = driven()
    part = recording[10:40]
    assert (len(recording), len(part)) == (50, 30)
    np.testing.assert_array_equal(part.values, X[10:40])
    np.testing.assert_array_equal(part.inputs, U[10:40])
    assert (part.source, part.columns, part.dt, part.input_columns) == ("monday.csv", ("x", "y"), 0.02, ("u",))
    assert driven(inputs=None, input_columns=())[10:].inputs is None
    thinned = recording[::5]
    assert (len(thinned), thinned.dt) == (10, 0.1)
    with pytest.raises(TypeError, match=r"cut by a slice, like recording\[1000:\], not by 7"):
        recording[7]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="runs forward in time"):
        recording[::-1]


def test_a_recording_is_an_array_where_one_is_wanted():
    recording = driven()
    assert np.asarray(recording) is recording.values
    assert np.array(recording) is not recording.values
    assert np.asarray(recording, np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.mean(recording, axis=0), X.mean(axis=0))


def test_samples_lie_in_memory_one_after_another_wherever_they_come_from():
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(60, 2)))
    whole = driven(values=x, inputs=x)
    for one in (whole.values, whole.inputs, whole[::3].values, whole[::3].inputs):
        assert one is not None
        assert one.flags.c_contiguous


def test_a_recording_is_frozen_and_says_what_it_is_in_a_line():
    recording = driven()
    with pytest.raises(FrozenInstanceError):
        recording.dt = 1.0  # pyright: ignore[reportAttributeAccessIssue]
    assert repr(recording) == "Recording 'monday.csv': 50 samples of x, y, 0.02 apart, driven by u"
    long = Recording("monday.csv", np.zeros((4_000, 2)), ("x", "y"))
    assert repr(long) == "Recording 'monday.csv': 4,000 samples of x, y"
    wide = Recording("eeg", np.zeros((10, 20)), tuple(str(i) for i in range(20)))
    assert repr(wide).endswith("of 0, 1, 2, 3, 4, 5, 6, 7 and 12 more")


def test_the_example_in_the_docstring():
    assert doctest.testmod(columns) == (0, 5)


# inputs


@pytest.fixture(params=["csv", "tsv", "mat", "npz", "npy", "parquet"])
def file(request, tmp_path):
    """x, y, u and a clock, in every format that has room for them; without names where there are none."""
    path = tmp_path / f"r.{request.param}"
    table = np.concatenate([X, U], axis=1)
    if request.param in ("csv", "tsv"):
        delimiter = "," if request.param == "csv" else "\t"
        rows = np.concatenate([table, TIME], axis=1)
        np.savetxt(path, rows, fmt="%.17g", delimiter=delimiter, header=delimiter.join("xyut"), comments="")
    elif request.param == "mat":
        from scipy.io import savemat

        savemat(path, {"x": table, "t": TIME})
    elif request.param == "npz":
        np.savez(path, x=table, t=TIME)
    elif request.param == "npy":
        np.save(path, table)
    else:
        import pyarrow as pa
        from pyarrow.parquet import write_table

        write_table(pa.table(dict(zip("xyut", (*table.T, TIME[:, 0]), strict=True))), path)
    return path


def test_inputs_are_apart_from_the_data_in_every_format(file):
    for found in (read(file, inputs=["3"]), read(file, inputs=[3]), read(file, columns=["1", "2"], inputs=["3"])):
        np.testing.assert_array_equal(found.values, X)
        np.testing.assert_array_equal(found.inputs, U)
        assert found.dt == (None if file.suffix == ".npy" else 0.5)
    names = ("x", "y", "u") if file.suffix in (".csv", ".tsv", ".parquet") else ("1", "2", "3")
    found = read(file, columns=[names[1]], inputs=[names[2], names[0]])
    np.testing.assert_array_equal(found.values, X[:, 1:])
    np.testing.assert_array_equal(found.inputs, np.concatenate([U, X[:, :1]], axis=1))
    assert (found.columns, found.input_columns) == ((names[1],), (names[2], names[0]))
    assert read(file).inputs is None
    assert read(file, inputs=[]).input_columns == ()
    with pytest.raises(CrugError, match=f"column '{names[2]}' is asked for both as data and as an input"):
        read(file, columns=[1, 3], inputs=[3])
    with pytest.raises(CrugError, match="no column 'force'; there are: "):
        read(file, inputs=["force"])
    with pytest.raises(CrugError, match="no column is left as data"):
        read(file, inputs=[1, 2, 3])


def test_inputs_of_a_wfdb_record(tmp_path):
    import wfdb

    signals = dict(fs=10, units=["mV"] * 2, sig_name=["x", "u"], fmt=["16"] * 2)
    wfdb.wrsamp("rec", p_signal=X, write_dir=str(tmp_path), **signals)
    found = read(tmp_path / "rec", inputs=["u"])
    assert (found.columns, found.input_columns, found.dt) == (("x",), ("u",), 0.1)
    assert found.inputs is not None
    np.testing.assert_allclose(found.inputs, X[:, 1:], atol=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,u\n1,2\n4,\n3,5\n", "column 'u' has 1 missing values, first at sample 2; pass fill"),
        ("x,u\n1,2\n4,2\n3,2\n", r'column \'u\' is constant; leave it out with columns=\["x"\] and no inputs'),
        ("x,u\n1,2\n4,inf\n3,2\n", "column 'u' is infinite at sample 2"),
        ("x,u\n1,1\n4,4\n3,3\n", "columns 'x' and 'u' are equal"),
        ("x,u\n1,a\n4,4\n3,3\n", "row 2, column 2 is 'a', not a number"),
        ("t,u\n1,5\n2,4\n3,7\n", "with u as inputs, no column is left as data"),
    ],
)
def test_inputs_are_checked_like_data(tmp_path, text, message):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(CrugError, match=message):
        read(tmp_path / "r.csv", inputs=["u"])


def test_gaps_in_inputs_are_filled_and_only_chosen_columns_need_to_be_numbers(tmp_path):
    (tmp_path / "r.csv").write_text("time,x,note,u\nmon,1,a,5\ntue,2,b,\nwed,4,c,3\n")
    found = read(tmp_path / "r.csv", columns="x", fill="linear", inputs="u")
    assert found.inputs is not None
    assert (found.values.tolist(), found.inputs.tolist(), found.dt) == ([[1], [2], [4]], [[5], [4], [3]], None)
    with pytest.raises(CrugError, match="row 2, column 3 is 'a', not a number"):
        read(tmp_path / "r.csv", inputs=["u", "time"])


def test_an_input_may_be_the_time_or_rise_evenly(tmp_path):
    rows = np.concatenate([X[:, :1], TIME, TIME + 3], axis=1)
    np.savetxt(tmp_path / "r.csv", rows, delimiter=",", header="x,t,ramp", comments="")
    found = read(tmp_path / "r.csv", inputs=["ramp"])
    assert (found.columns, found.dt) == (("x",), 0.5)
    found = read(tmp_path / "r.csv", columns=["x"], inputs=["t"])
    assert (found.input_columns, found.dt) == (("t",), None)


def test_inputs_that_do_not_fit_the_samples_are_refused():
    assert checked(driven()).inputs is not None
    for changes in ({"inputs": U[1:]}, {"inputs": U[:, 0]}, {"input_columns": ()}):
        with pytest.raises(CrugError, match="give one row for each sample and one name for each column"):
            checked(driven(**changes))


# filling


def test_filling(tmp_path):
    x = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, np.nan], [4.0, 7.0]])
    assert FILLS == ("linear", "previous")
    assert filled(x, "linear").tolist() == [[2, 1], [2, 3], [3, 5], [4, 7]]
    assert filled(x, "previous").tolist() == [[2, 1], [2, 1], [2, 1], [4, 7]]
    with pytest.raises(CrugError, match="there are linear and previous"):
        filled(x, "magic")
    with pytest.raises(CrugError, match="fill = 'magic': there are linear and previous"):
        read(tmp_path / "any.csv", fill="magic")
    empty = np.array([[1.0, np.nan], [2.0, np.nan], [4.0, np.nan]])
    with pytest.raises(CrugError, match=r"column 'y' has no values at all; leave it out with columns=\[\"x\"\]"):
        checked(driven(values=empty, inputs=None, input_columns=()), fill="linear")


# remedies


def test_python_and_the_command_line_have_remedies_of_their_own():
    constant = driven(values=np.concatenate([X, np.ones((50, 1))], axis=1), columns=("x", "left foot", "c"))
    with pytest.raises(CrugError) as caught:
        checked(constant)
    assert str(caught.value) == 'monday.csv: column \'c\' is constant; leave it out with columns=["x", "left foot"]'
    assert caught.value.flags == "leave it out with --columns 'x,left foot'"
    with pytest.raises(CrugError) as caught:
        checked(driven(values=np.where(np.arange(50)[:, None] == 7, np.nan, X)))
    assert caught.value.remedy == 'pass fill="linear", or clean the file'
    assert caught.value.on_the_command_line == (
        "monday.csv: column 'x' has 1 missing values, first at sample 8; pass --fill linear, or clean the file"
    )


def texts(node):
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def test_no_remedy_for_python_mentions_a_flag():
    found = 0
    for path in sorted(ROOM.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "CrugError":
                found += 1
                python = [*node.args[:2], *(word.value for word in node.keywords if word.arg != "flags")]
                for text in (text for part in python for text in texts(part)):
                    assert "--" not in text, (path.name, node.lineno, text)
                if len(node.args) > 2:
                    assert any("--" in text for text in texts(node.args[2])) or "flags" in ast.unparse(node.args[2])
    assert found > 25


def test_many_columns_are_told_apart_in_no_time():
    names = tuple(f"c{i}" for i in range(60_000))
    table = Table("wide.csv", names, lambda _: np.zeros((0, 0)))
    began = time.perf_counter()
    found = places(table, names[::2], names[1::2])
    assert (len(found.data), len(found.inputs)) == (30_000, 30_000)
    assert time.perf_counter() - began < 3
