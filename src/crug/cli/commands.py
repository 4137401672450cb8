"""All commands in one application, and what happens to an error."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer

from crug.cli import ahead, benchmark, lists, look, model, reproduce, run, search, stopping
from crug.cli.stopping import STOPPED
from crug.errors import CrugError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"crug {version('crug')}")
        raise typer.Exit


@app.callback()
def _app(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """One recurrent network learns dynamical systems one after another, and forgets none of them.

    Start with [bold]crug demo[/bold]. Then [bold]crug run vlrc[/bold]; look at the result again with
    [bold]crug show[/bold], and prove that nothing was forgotten with [bold]crug verify[/bold].
    """


for command in (run.run, run.demo, run.show, run.verify, lists.sequences):
    app.command()(command)
app.command("methods")(lists.list_methods)
for command in (
    model.learn,
    model.info,
    ahead.rollout,
    ahead.forecast,
    model.score,
    model.extract,
    model.remove,
    model.merge,
    model.grow,
    look.analyse,
    look.recognise,
    look.report,
    look.watch,
    benchmark.benchmark,
    reproduce.reproduce,
    reproduce.record,
    search.search,
):
    app.command()(command)


def start() -> None:
    """Run the command; whatever the user can mend is one line."""
    stopping.in_order()
    warnings.showwarning = lambda message, *_, **__: typer.echo(f"crug: {_one_line(message)}", err=True)
    warnings.filterwarnings("ignore", category=RuntimeWarning)  # of numpy: what is not finite is looked at elsewhere
    warnings.filterwarnings("ignore", message=".*persistent compilation cache")  # it only saves time
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        if stopping.asked() or isinstance(error, KeyboardInterrupt):
            stopping.leave()
        typer.echo(f"crug: {_told(error)}", err=True)
        _let_go_of_output()
        raise SystemExit(2) from None
    if code == STOPPED:
        stopping.leave()
    raise SystemExit(code if isinstance(code, int) else 0)


def _told(error: BaseException) -> str:
    """What is wrong, and what to do about it; an error of our own making goes on."""
    if isinstance(error, CrugError):
        return _one_line(error.on_the_command_line)
    if isinstance(error, OSError):
        where = error.filename or "the output"
        return f"{where}: cannot be read or written ({error.strerror}); choose another place, or make room"
    if isinstance(error, MemoryError):
        return "there is not enough memory for that; take less at a time"
    if not hasattr(error, "format_message"):
        raise error
    told: Any = error  # how the command was called
    message = told.format_message()
    context = getattr(told, "ctx", None)
    return message if "\n" in message else f"{message}; {context.command_path if context else 'crug'} --help says more"


def _one_line(message: object) -> str:
    return " ".join(str(message).split("\n"))


def _let_go_of_output() -> None:
    """Where nothing can be printed any more, Python need not try again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
