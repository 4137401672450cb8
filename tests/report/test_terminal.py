"""What the terminal prints of runs."""

import pytest
from rich.console import Console

from crug.report.terminal import comparison, summary
from crug.runs import Plan, Result, TaskResult


def finished(seed: int, *scores: float) -> Result:
    """A run of two recordings of which a perfect model would get 0.1."""
    names, measured = ("lorenz", "chua"), [{"d_stsp": score, "d_h": 0.01} for score in scores]
    kinds = {"linear": 2, "relu": 3}
    rows = [
        TaskResult(name=name, own=own, final=own, units=kinds, floor={"d_stsp": 0.1, "d_h": 0.01})
        for name, own in zip(names, measured, strict=True)
    ]
    return Result(
        plan=Plan(sequence="both", tasks=names, method="crug", seed=seed),
        settings={"network": {"M": 20, "P": 10}},
        tasks=rows,
        overall=measured[-1],
        units=10,
        shared=False,
        memory_bytes=0,
        completed=True,
        seconds=60.0,
    )


def printed(table) -> list[list[str]]:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table)
    rows = [line.strip("│┃ ").replace("┃", "│").split("│") for line in captured.get().splitlines()]
    return [[cell.strip() for cell in row] for row in rows if len(row) > 1]


@pytest.fixture
def runs():
    return [finished(0, 0.1, 9.0), finished(1, 0.12, 0.4)]


def test_several_seeds_stand_beside_a_perfect_model_with_verdicts(runs):
    heading, one, two, *_ = printed(summary(runs, "crug"))
    assert heading == ["task", "D_stsp own", "final", "perfect", "D_H", "units", "verdict"]
    assert (one[3], one[-1]) == ("0.10", "indistinguishable from the recording")
    assert (two[3], two[-1]) == ("0.10", "1 recognisable, 1 not what was recorded")


def test_several_methods_stand_beside_a_perfect_model(runs):
    rows = printed(comparison({"crug": runs, "er": runs[:1]}))
    assert rows[0][-1] == "verdicts"
    assert rows[1][-1] == "2 indistinguishable from the recording, 1 recognisable, 1 not what was recorded"
    assert rows[-1][:3] == ["a perfect model", "0.10", "0.10"]
