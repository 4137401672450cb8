"""The command line: parse, call, print. What a command does is done by the library."""

from __future__ import annotations

from typing import Any


def main() -> None:
    """The entry point `crug`: one thread, then whatever was asked for."""
    from crug.cli.stopping import at_once

    at_once()
    from crug.runtime import one_thread

    one_thread()  # before numpy is imported, which reads how many threads it may have
    from crug.cli.commands import start

    start()


def __getattr__(name: str) -> Any:
    if name == "app":
        from crug.cli.commands import app

        return app
    raise AttributeError(f"module 'crug.cli' has no attribute {name!r}")
