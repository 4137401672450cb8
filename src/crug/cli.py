"""The command line: parse, call, print."""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from crug import cli_model, methods, store
from crug.config import IDENTITY, RunConfig, build, departures, keys
from crug.errors import STOPPED, CrugError
from crug.report.gait import by_group, joint_against_groups
from crug.report.terminal import Live, comparison, console, print_wide, say, summary, table
from crug.sequence import run as run_sequence
from crug.tasks import SEQUENCES, SYSTEMS, TASKS, gait
from crug.verify import verify as verify_run
from crug.verify import verify_model

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


@app.callback()
def _app() -> None:
    """One recurrent network learns dynamical systems one after another, and forgets none of them.

    Start with [bold]crug demo[/bold]. Then [bold]crug run vlrc[/bold]; look at the result again with
    [bold]crug show[/bold], and prove that nothing was forgotten with [bold]crug verify[/bold].
    """


Seed = Annotated[int, typer.Option(help="Decides the data, the network and every random draw.")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. transfer.kind=l2; repeatable.")
]


@app.command()
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
    chosen = methods.find(method)
    settings = _settings(chosen.Config, sequence, tasks, method, seed, epochs, config, set_ or [])
    out = out or Path("runs") / f"{settings.sequence}-{Path(method).stem}-{seed}"
    result = _run(chosen, settings, out)
    _print_one(result)
    say(f"Everything is in {out}: result.json, the networks, and pictures in {out / 'figures'}.")


def _settings(model: type[RunConfig], sequence, tasks, method, seed, epochs, file, sets) -> RunConfig:
    if tasks:
        names = tuple(name.strip() for name in tasks.split(","))
        if sequence:
            raise CrugError(f"give a sequence ({sequence}) or --tasks, not both")
        for name in names:
            if name not in TASKS:
                raise CrugError(f"--tasks: no task is called {name!r}; there are: {', '.join(TASKS)}")
        sequence = ",".join(names)
    elif sequence is None:
        raise CrugError(f"which sequence? One of {', '.join(SEQUENCES)}, or your own with --tasks lorenz,chua")
    elif sequence not in SEQUENCES:
        raise CrugError(f"no sequence is called {sequence!r}; there are: {', '.join(SEQUENCES)}; or use --tasks")
    else:
        names = SEQUENCES[sequence]
    base: dict[str, Any] = {"sequence": sequence, "tasks": names, "method": method, "seed": seed}
    if (source := methods.checksum(method)) is not None:
        base |= {"source": source, "method": os.path.relpath(method)}
    if epochs is not None:
        base["epochs"] = epochs
    return build(model, base, file, sets)


def _run(method: type, settings: RunConfig, out: Path) -> dict[str, Any]:
    from crug.report.figures import draw_run

    try:
        with Live(settings.epochs, len(settings.tasks)) as live:
            result = run_sequence(settings, method(settings), out, live)
    except KeyboardInterrupt:
        typer.echo("crug: stopped; the same command goes on from here", err=True)
        raise typer.Exit(STOPPED) from None
    draw_run(out)
    return result


@app.command()
def demo(
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the run; made if it is not there.")] = Path("demo"),
) -> None:
    """Four systems, one network, nothing forgotten: a first look in about eight minutes."""
    chosen = methods.find("crug")
    result = _run(chosen, _settings(chosen.Config, "vlrc", None, "crug", seed, None, None, []), out)
    console.print(table(result))
    worst = max(result["tasks"], key=lambda row: row["final"]["d_stsp"])
    say(
        f"{out / 'figures' / 'portraits.png'} shows each true attractor beside the network's own: {result['units']} "
        f"units hold all four, 'own' and 'final' are equal because nothing is forgotten, and the worst D_stsp is "
        f"{worst['final']['d_stsp']:.2f} ({worst['name']}; 0 is perfect, about 15 is a failure). "
        f"Next: crug verify {out}, or four other systems: crug run blgf."
    )


@app.command()
def show(
    folders: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    figure: Annotated[
        Path | None, typer.Option(help="Also draw cognitive runs task by task into this PNG (figures 2C and 2D).")
    ] = None,
) -> None:
    """Print the table of a finished run again; of several, medians over the seeds of each kind, side by side."""
    results = [store.read_json(folder / "result.json") for folder in dict.fromkeys(f.resolve() for f in folders)]
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in sorted(results, key=lambda r: r["seed"]):
        kinds.setdefault((result["sequence"], _label(result, results)), []).append(result)
    if figure:
        _draw_task_by_task(kinds, figure)
    if len(results) == 1:
        _print_one(results[0])
        return
    sequences = list(dict.fromkeys(name for name, _ in kinds))
    for sequence in sequences:
        same = {label: group for (name, label), group in kinds.items() if name == sequence}
        if len(kinds) <= 4 or len(same) == 1:
            for label, group in same.items():
                console.print(summary(group, label))
        if len(same) > 1:
            print_wide(comparison(same))
        if groups := by_group(same):
            print_wide(groups)
    for label in dict.fromkeys(label for _, label in kinds):
        alike = [result for (_, name), group in kinds.items() if name == label for result in group]
        if gait_table := joint_against_groups(alike):
            print_wide(gait_table)


def _print_one(result: dict[str, Any]) -> None:
    console.print(table(result))
    if groups := by_group({_label(result): [result]}):
        print_wide(groups)


def _draw_task_by_task(kinds: dict[tuple[str, str], list[dict[str, Any]]], figure: Path) -> None:
    from crug.report.figures import task_by_task

    groups = {label: group for (_, label), group in kinds.items() if "matrix" in group[0] and group[0]["matrix"]}
    if not groups:
        raise CrugError("--figure: none of these runs is of cognitive tasks; leave it out, or name such runs")
    task_by_task(groups).savefig(figure, dpi=130)
    say(f"{figure}: accuracy and units in use, task by task")


def _label(result: dict[str, Any], among: Sequence[dict[str, Any]] = ()) -> str:
    """A run's method and what it sets other than by default; of a user's own file, also which version it was, where
    there are several among the runs."""
    name, config = result["method"], result["config"]
    try:
        model = methods.find(name).Config
    except CrugError:  # a file that has gone away
        model = RunConfig
    versions = {r["config"].get("source") for r in among if Path(r["method"]).stem == Path(name).stem}
    version = f"({config['source'][:6]})" if len(versions) > 1 and config.get("source") else ""
    return " ".join(part for part in (Path(name).stem, version, departures(model, config)) if part)


@app.command()
def verify(path: Annotated[Path, typer.Argument(help="Folder of a run, or a model's file.")]) -> None:
    """Prove that nothing was forgotten: every task's rollout, then and now, compared bit for bit."""
    if not path.exists():
        raise CrugError(f"{path}: there is no such file or folder")
    same = True
    for line, equal in verify_model(path) if path.is_file() else verify_run(path):
        say(line)
        same &= equal
    if not same:
        raise typer.Exit(1)


@app.command()
def sequences(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """The named sequences, and the tasks that --tasks takes."""
    if as_json:
        typer.echo(json.dumps({"sequences": SEQUENCES, "tasks": list(TASKS)}, indent=1))
        return
    for name, tasks in SEQUENCES.items():
        console.print(f"[bold]{name:14s}[/bold] {', '.join(SYSTEMS[t].title if t in SYSTEMS else t for t in tasks)}")
    say(f"tasks for --tasks: {', '.join(SYSTEMS)}")
    say(f"and gait recordings: {', '.join(f'{g}1 ... {g}{n}' for g, n in gait.GROUPS.items())}")


@app.command("methods")
def list_methods(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """The methods with their settings, as --set takes them, and their defaults."""
    listed = [_described(method) for method in methods.METHODS.values()]
    if as_json:
        typer.echo(json.dumps(listed, indent=1))
        return
    common = {s["key"]: s for s in next(m for m in listed if m["name"] == "naive")["settings"]}
    console.print("[bold]every method[/bold] (where not said otherwise below)")
    for setting in common.values():
        _print_setting(setting)
    for method in listed:
        console.print(f"[bold]{method['name']}[/bold]: {method['description']}")
        for setting in method["settings"]:
            if setting != common.get(setting["key"]):
                _print_setting(setting)


OTHERS = ("blgf", "gait", "cognitive")
"""Sequences on which some settings have other defaults."""


def _described(method: type[methods.Method]) -> dict[str, Any]:
    """A method with its settings: their defaults, the cases in which others hold, and what the paper searched."""
    fields = {key: field for key, field in keys(method.Config).items() if key not in IDENTITY}
    choices = {key: get_args(f.annotation) for key, f in fields.items() if get_origin(f.annotation) is Literal}
    usual = _defaults(method, "vlrc")
    cases = {sequence: _defaults(method, sequence) for sequence in OTHERS}
    cases |= {f"{key}={c}": _defaults(method, "vlrc", f"{key}={c}") for key, listed in choices.items() for c in listed}
    settings = []
    for key, field in fields.items():
        setting: dict[str, Any] = {"key": key, "default": usual[key], "description": field.description or ""}
        if key in choices:
            setting["choices"] = list(choices[key])
        others = {case: values[key] for case, values in cases.items() if not case.startswith(f"{key}=")}
        if others := {case: value for case, value in others.items() if value != usual[key]}:
            setting["on"] = others
        if key in method.Config.search:
            setting["search"] = list(method.Config.search[key])
        settings.append(setting)
    return {"name": method.name, "description": method.summary, "settings": settings}


def _defaults(method: type[methods.Method], sequence: str, *sets: str) -> dict[str, Any]:
    """The defaults of all settings on a sequence, by key."""
    base = {"sequence": sequence, "tasks": SEQUENCES[sequence], "method": method.name}
    plain = build(method.Config, base, None, sets).model_dump(mode="json")
    return {key: functools.reduce(lambda part, name: part[name], key.split("."), plain) for key in keys(method.Config)}


def _print_setting(setting: dict[str, Any]) -> None:
    text = setting["description"]
    if "choices" in setting:
        text += f" ({', '.join(setting['choices'])})"
    for case, value in setting.get("on", {}).items():
        text += f"; {value} {'with' if '=' in case else 'on'} {case}"
    if "search" in setting:
        text += "; on vlrc and blgf the paper searched from {:g} to {:g}".format(*setting["search"])
    say(f"  {setting['key']:24s} {setting['default']!s:8s} {text}")


@app.command()
def bench(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Time this engine against a plain PyTorch loop, and the methods against each other (extra `bench`)."""
    from crug.bench import bench as run_bench

    result = run_bench(lambda text: say(text) if not as_json else None)
    if as_json:
        typer.echo(json.dumps(result, indent=1))


cli_model.register(app)


def main() -> None:
    warnings.showwarning = lambda message, *_, **__: typer.echo(f"crug: {message}", err=True)
    try:
        app()
    except CrugError as error:
        typer.echo(f"crug: {error}", err=True)
        raise SystemExit(2) from None
    except OSError as error:
        typer.echo(
            f"crug: {error.filename or 'a file'}: {error.strerror}; choose another place, or make room", err=True
        )
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        typer.echo("crug: stopped", err=True)
        os._exit(STOPPED)
    except SystemExit as end:
        if end.code == STOPPED:  # compiled code may still run in its own thread, and would outlive what it works on
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(STOPPED)
        raise


if __name__ == "__main__":
    main()
