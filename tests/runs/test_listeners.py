"""Who is told how learning goes."""

import sys

import pytest

import crug
from crug.runs import listeners

PLAN = {"epochs": 12, "network": {"M": 24, "P": 10}, "training": {"window": 400}, "method": "naive", "progress": True}


@pytest.fixture
def told(capsys):
    def told(terminal: bool) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys.stderr, "isatty", lambda: terminal)
            crug.run(["van-der-pol"], **PLAN)
        return capsys.readouterr().err

    return told


def test_a_log_gets_a_line_now_and_then_and_a_terminal_keeps_one_line_up_to_date(told, monkeypatch):
    lines = told(False).splitlines()
    assert [line.split(":")[0] for line in lines] == ["van-der-pol"] * 2
    assert lines[0].endswith("starting")
    monkeypatch.setattr(listeners, "LOGGED", 0.0)
    assert any("min left" in line for line in told(False).splitlines())
    said = told(True)
    assert said.count("\n") == 1
    assert "min left" in said
    assert all(len(line) < 80 for line in said.split("\r")[:-1])
