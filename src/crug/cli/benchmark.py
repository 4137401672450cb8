"""The command line of the field's public files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crug.cli.model import learn_all
from crug.errors import CrugError
from crug.field.benchmarks import BENCHMARKS
from crug.field.scores import against_peers, score
from crug.model import Model, load
from crug.report.field import offered, scores
from crug.report.terminal import print_wide
from crug.runs import store


def benchmark(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks, or all; none lists them.")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder that holds the public files.")] = None,
    out: Annotated[Path, typer.Option(help="The model that learns them.")] = Path("benchmark.crug"),
    peers: Annotated[
        bool, typer.Option("--peers", help='Also fit an echo-state network and SINDy; needs "crug[peers]".')
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a new model.")] = 0,
) -> None:
    """Learn the field's public files into one model, and measure each as its authors do.

    Without a name, the list of them with the published numbers. What the model has learned before is only measured.
    Interrupted, the same command goes on where it was.
    """
    if not names:
        print_wide(offered())
        return
    if data is None:
        raise CrugError("--data: give the folder that holds the public files")
    wanted = list(BENCHMARKS) if names == ["all"] else names
    for name in wanted:
        if name not in BENCHMARKS:
            raise CrugError(f"no benchmark is called {name!r}; there are: {', '.join(BENCHMARKS)}")
    todo = {BENCHMARKS[name].recording: BENCHMARKS[name].load(data)[0] for name in wanted}
    with store.alone(out):
        model = load(out) if out.exists() else Model(seed=seed)
        learn_all(out, model, [(name, x) for name, x in todo.items() if name not in model.tasks], {"hold_out": False})
    found = [score(model, name, data) for name in wanted]
    print_wide(scores([against_peers(one, data) for one in found] if peers else found))
