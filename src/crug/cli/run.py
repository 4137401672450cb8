"""The commands of runs: run, demo, show, verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from crug import methods
from crug.cli import stopping
from crug.cli.options import Seed, Sets, listed
from crug.cli.options import settings as read_settings
from crug.errors import CrugError
from crug.model import load
from crug.report.gait import by_group, joint_against_groups
from crug.report.terminal import Live, comparison, console, print_wide, say, summary, table
from crug.runs import Plan, Result, store
from crug.runs.proof import other_machine
from crug.runs.sequence import run as run_sequence
from crug.runs.verify import verify as verify_run
from crug.tasks import SEQUENCES, gait
from crug.training.settings import RunSettings, departures


def run(
    sequence: Annotated[str | None, typer.Argument(help="A named sequence; `crug sequences` lists them.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Instead: any tasks in order, e.g. lorenz,chua.")] = None,
    method: Annotated[
        str, typer.Option(help="`crug methods` lists them with their settings; or the path of your own .py file.")
    ] = "crug",
    seed: Seed = 0,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs a task; for the capacity path, the most it may take.")
    ] = None,
    systems: Annotated[
        int | None, typer.Option(min=1, help="Only so many tasks of the sequence, from its first on.")
    ] = None,
    set_: Sets = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file; --set wins over it.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Gait sequences: folder with the gaitndd files.", show_default="downloaded")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the run; made if it is not there.", show_default="runs/SEQUENCE-METHOD-SEED"),
    ] = None,
) -> None:
    """Learn a sequence of tasks into one network.

    Interrupted, the same command goes on where it was. Afterwards the folder holds result.json, the network after
    every task, learning curves, and pictures.
    """
    if data:
        gait.adopt(data)
    chosen = listed(tasks) or sequence
    if tasks and sequence:
        raise CrugError(f"give a sequence ({sequence}) or --tasks, not both")
    if chosen is None:
        raise CrugError(f"which sequence? One of {', '.join(SEQUENCES)}, or your own with --tasks lorenz,chua")
    if systems:
        chosen = f"{sequence}:{systems}" if sequence else chosen[:systems]
    settings = read_settings(config, set_ or [], epochs)
    called = chosen.replace(":", "-") if isinstance(chosen, str) else ",".join(chosen)
    out = out or Path("runs") / f"{called}-{Path(method).stem}-{seed}"
    _print_one(_run(chosen, method, seed, out, settings))
    say(f"Everything is in {out}: result.json, the networks, and pictures in {out / 'figures'}.")


def _run(sequence: str | Sequence[str], method: str, seed: int, out: Path, settings: dict[str, Any]) -> Result:
    from crug.report.figures import draw_run

    plan = Plan.make(sequence, method, seed)
    epochs = methods.find(method).Settings.resolve(plan.case, settings).epochs
    try:
        with Live(epochs, len(plan.tasks)) as live:
            result = run_sequence(sequence, method, seed, out, live, **settings)
    except KeyboardInterrupt:
        stopping.say("stopped; the same command goes on from here")
        raise typer.Exit(stopping.STOPPED) from None
    draw_run(out)
    return result


def demo(
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the run; made if it is not there.")] = Path("demo"),
) -> None:
    """Four systems, one network, nothing forgotten: a first look in about ten minutes."""
    result = _run("vlrc", "crug", seed, out, {})
    console.print(table(result))
    worst = max(result.tasks, key=lambda row: row.final["d_stsp"])
    say(
        f"{out / 'figures' / 'portraits.png'} shows each true attractor beside the network's own: {result.units} "
        f"units hold all four, 'own' and 'final' are equal because nothing is forgotten, and the worst D_stsp is "
        f"{worst.final['d_stsp']:.2f} ({worst.name}; {worst.judged.beside(worst.final)}). "
        f"Next: crug verify {out}, or four other systems: crug run blgf."
    )


def show(
    folders: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    figure: Annotated[
        Path | None, typer.Option(help="Also draw cognitive runs task by task into this PNG (figures 2C and 2D).")
    ] = None,
) -> None:
    """Print the table of a finished run again; of several, medians over the seeds of each kind, side by side."""
    results = [Result.read(folder) for folder in dict.fromkeys(f.resolve() for f in folders)]
    kinds: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(results, key=lambda r: r.plan.seed):
        kinds.setdefault((result.plan.sequence, _label(result, results)), []).append(result)
    if figure:
        _draw_task_by_task(kinds, figure)
    if len(results) == 1:
        _print_one(results[0])
        return
    for sequence in dict.fromkeys(name for name, _ in kinds):
        same = {label: group for (name, label), group in kinds.items() if name == sequence}
        if len(kinds) <= 4 or len(same) == 1:
            for label, group in same.items():
                print_wide(summary(group, label))
        if len(same) > 1:
            print_wide(comparison(same))
        if groups := by_group(same):
            print_wide(groups)
    for label in dict.fromkeys(label for _, label in kinds):
        alike = [result for (_, name), group in kinds.items() if name == label for result in group]
        if gait_table := joint_against_groups(alike):
            print_wide(gait_table)


def _print_one(result: Result) -> None:
    console.print(table(result))
    if groups := by_group({_label(result): [result]}):
        print_wide(groups)


def _draw_task_by_task(kinds: dict[tuple[str, str], list[Result]], figure: Path) -> None:
    from crug.report.figures import task_by_task

    groups = {label: group for (_, label), group in kinds.items() if group[0].matrix}
    if not groups:
        raise CrugError("--figure: none of these runs is of cognitive tasks; leave it out, or name such runs")
    with store.whole(figure) as file:
        task_by_task(groups).savefig(file, dpi=130, format=figure.suffix[1:] or "png")
    say(f"{figure}: accuracy and units in use, task by task")


def _label(result: Result, among: Sequence[Result] = ()) -> str:
    """A run's method and what it sets other than by default; of a user's own file, also which version it was, where
    there are several among the runs."""
    plan, stem = result.plan, Path(result.plan.method).stem
    try:
        settings = methods.find(plan.method).Settings
    except CrugError:  # a file that has gone away
        settings = RunSettings
    versions = {r.plan.source for r in among if Path(r.plan.method).stem == stem}
    version = f"({plan.source[:6]})" if len(versions) > 1 and plan.source else ""
    return " ".join(part for part in (stem, version, departures(settings, plan.case, result.settings)) if part)


def verify(path: Annotated[Path, typer.Argument(help="Folder of a run, or a model's file.")]) -> None:
    """Prove that nothing was forgotten: every task's rollout, then and now, compared bit for bit."""
    if not path.exists():
        raise CrugError(f"{path}: there is no such file or folder; give a run's folder or a model's file")
    same = True
    for line, equal in _verified(path) if path.is_file() else verify_run(path):
        say(line)
        same &= equal
    if not same:
        raise typer.Exit(1)


def _verified(file: Path):
    """For every recording of a model a line and whether it is what was learned."""
    model = load(file)
    for name, change in model.changes():
        if change:
            yield f"{name}: CHANGED, {change}", False
            continue
        same = "parameters and rollout are the same bits"
        if there := other_machine(model.about(name).machine):
            same = f"parameters are the same bits (rollout not compared: it was made on another machine, {there})"
        yield f"{name}: {same}", True
