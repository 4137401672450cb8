"""All commands in one application, and what happens to an error."""

from __future__ import annotations

import os
import sys
import warnings

import typer

from crug.cli import ahead, benchmark, lists, look, model, run
from crug.cli.options import STOPPED
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
    model.grow,
    look.analyse,
    look.recognise,
    look.report,
    look.watch,
    benchmark.benchmark,
):
    app.command()(command)


def start() -> None:
    """Run the command; an error that the user can mend is one line."""
    warnings.showwarning = lambda message, *_, **__: typer.echo(f"crug: {message}", err=True)
    try:
        app()
    except CrugError as error:
        typer.echo(f"crug: {error.on_the_command_line}", err=True)
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
