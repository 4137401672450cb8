"""Learning from malformed files on the command line: one line that names the file, and the model stays as it was."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.parquet import write_table
from scipy.io import savemat
from typer.testing import CliRunner

from crug import CrugError, Model
from crug.cli import app

LONG = np.random.default_rng(1).normal(size=(1_200, 2))
ODD = ["", "NaN", "x", "-", "1e999", '"', "1,2"]
SUFFIXES = [".csv", ".tsv", ".txt", ".npy", ".npz", ".mat", ".parquet", ".hea"]
cell = st.one_of(st.floats(width=32).map(str), st.integers(-9, 9).map(str), st.sampled_from(ODD))
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "lab.crug"
    Model(units=16, seed=0).save(file)
    return file


def attempt(model_file, file, match=""):
    before = model_file.read_bytes()
    result = CliRunner().invoke(app, ["learn", str(model_file), str(file)])
    assert isinstance(result.exception, CrugError), (result.exception, result.output)
    assert file.stem in str(result.exception)
    assert re.search(match, str(result.exception))
    assert "\n" not in str(result.exception)
    assert model_file.read_bytes() == before


@relaxed
@given(content=st.binary(max_size=400), suffix=st.sampled_from(SUFFIXES))
def test_any_bytes_are_refused_without_a_traceback(tmp_path, model_file, content, suffix):
    file = tmp_path / f"noise{suffix}"
    file.write_bytes(content)
    attempt(model_file, file)


@relaxed
@given(rows=st.lists(st.lists(cell, min_size=1, max_size=4), max_size=12), named=st.booleans())
def test_any_short_table_is_refused_without_a_traceback(tmp_path, model_file, rows, named):
    file = tmp_path / "table.csv"
    file.write_text("\n".join([*(["a,b,c"] if named else []), *(",".join(row) for row in rows)]))
    attempt(model_file, file)


@relaxed
@given(kind=st.sampled_from([".npy", ".npz", ".mat", ".parquet"]), keep=st.floats(0, 0.999))
def test_any_truncated_file_is_refused_without_a_traceback(tmp_path, model_file, kind, keep):
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
    attempt(model_file, file, match="cannot be read|is empty")
