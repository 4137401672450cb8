"""Files that foreign code parses: whatever it does, this process goes on, and says which file it was."""

import io
import json
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from crug import Model
from crug.errors import CrugError
from crug.readers import foreign, read

X = np.random.default_rng(0).normal(size=(60, 2))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import ctypes; ctypes.string_at(0)", "its parser ended without an answer"),
        ("import os; os.abort()", "its parser ended without an answer"),
        ("x = bytearray(10**10)", "cannot be read"),
        ("while True: pass", "cannot be read"),
        ("import time; time.sleep(60)", "not done after"),
        ("raise RecursionError", "RecursionError"),
        ("import sys; sys.exit(3)", "its parser ended without an answer"),
    ],
)
def test_a_parser_that_crashes_hangs_or_swells_ends_in_a_line(tmp_path, monkeypatch, code, message):
    """As on the file that ends scipy's own with a segmentation fault."""
    parsers = tmp_path / "parsers.py"
    own = foreign.PARSERS.read_text()
    parsers.write_text(own.replace("    import numpy as np\n    from scipy.io import loadmat\n", f"    {code}\n"))
    assert code in parsers.read_text()
    monkeypatch.setattr(foreign, "PARSERS", parsers)
    monkeypatch.setattr(foreign, "SECONDS", 3)
    file = tmp_path / "r.mat"
    file.write_bytes(b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + bytes(64))
    began = time.monotonic()
    with pytest.raises(CrugError, match=message) as refused:
        read(file)
    assert str(refused.value).startswith(f"{file}: cannot be read")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".parquet"])
def test_a_small_file_that_unfolds_into_gigabytes_is_refused(tmp_path, suffix):
    zeros = np.zeros((200_000_000, 1), np.int8)
    file = tmp_path / f"bomb{suffix}"
    if suffix == ".npz":
        np.savez_compressed(file, x=zeros)
    elif suffix == ".mat":
        from scipy.io import savemat

        savemat(file, {"x": zeros}, do_compression=True)
    else:
        import pyarrow as pa
        from pyarrow.parquet import write_table

        write_table(pa.table({"x": zeros[:, 0]}), file, compression="zstd")
    assert file.stat().st_size < 1_000_000
    with pytest.raises(CrugError, match=f"bomb{suffix}: cannot be read"):
        read(file)


def test_an_array_that_promises_more_than_the_file_holds_is_refused(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 2)})
    (tmp_path / "r.npy").write_bytes(head.getvalue() + bytes(64))
    with pytest.raises(CrugError, match=r"r\.npy: cannot be read"):
        read(tmp_path / "r.npy")


def test_other_members_of_an_archive_are_left_alone(tmp_path):
    file = tmp_path / "r.npz"
    np.savez(file, x=X, thing=np.array([{}], dtype=object))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("notes.txt", "hello")
        archive.writestr("folder/readme.md", "more")
    assert np.array_equal(read(file).values, X)


def test_signals_without_a_name_are_called_by_their_numbers(tmp_path):
    import wfdb

    digital = np.random.default_rng(0).integers(-2000, 2000, size=(200, 2))
    how = {"fs": 100, "units": ["mV", "mV"], "sig_name": ["a", "b"], "fmt": ["16", "16"]}
    wfdb.wrsamp("rec", d_signal=digital, adc_gain=[1, 1], baseline=[0, 0], write_dir=str(tmp_path), **how)
    header = (tmp_path / "rec.hea").read_text()
    (tmp_path / "rec.hea").write_text(
        "\n".join(line.removesuffix(" a").removesuffix(" b") for line in header.split("\n"))
    )
    found = read(tmp_path / "rec.hea")
    assert found.columns == ("1", "2")
    np.testing.assert_allclose(found.values, digital)


@pytest.mark.parametrize("columns", ["²", "٣", "9" * 5_000, "", "-1", "1.5", [[]], [None], 3.5, "x" * 10_000])
def test_columns_that_there_are_not_are_said_in_a_line(tmp_path, columns):
    np.savetxt(tmp_path / "r.csv", X, delimiter=",")
    try:
        found = read(tmp_path / "r.csv", columns=columns)
    except CrugError as error:
        said = str(error)
    else:
        said = "" if columns == "" and found.columns == ("1", "2") else "taken"
    assert said != "taken"
    assert "\n" not in said
    assert len(said) < 300


@pytest.mark.parametrize("columns", [np.array(["2"]), ("2",), iter(["2"]), "2", 2, [np.int64(2)], {"2": 0}])
def test_columns_come_in_any_sequence(tmp_path, columns):
    np.savetxt(tmp_path / "r.csv", X, delimiter=",")
    assert np.array_equal(read(tmp_path / "r.csv", columns=columns).values, X[:, 1:])


def test_many_columns_take_no_time(tmp_path):
    """Cheap checks come first, and none compares every column with every other."""
    rng, file = np.random.default_rng(0), tmp_path / "r.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in rng.integers(0, 9, (4, 100_000))))
    began = time.monotonic()
    with pytest.raises(CrugError, match="has 4 rows and 100000 columns; time runs down the rows"):
        read(file)
    assert time.monotonic() - began < 20
    file.write_text("\n".join(",".join(f"{v:.3f}" for v in row) for row in rng.normal(size=(60, 20_000))))
    began = time.monotonic()
    found = read(file)
    assert found.values.shape == (60, 20_000)
    assert time.monotonic() - began < 30
    model, wide = Model(), np.tile(found.values, (6, 1))
    with pytest.raises(CrugError, match="has 20000 columns, the model 512 units"):
        model.learn(wide, "wide")


def _safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    "header",
    [
        {"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}},
        {"x": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}},
        {"__metadata__": None, "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
        {"__metadata__": {}, "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
    ],
)
def test_foreign_tensors_are_no_model(tmp_path, header):
    import crug

    file: Path = tmp_path / "other.crug"
    file.write_bytes(_safetensors(header, bytes(4)))
    with pytest.raises(CrugError, match=r"other\.crug: not a model of crug"):
        crug.load(file)
