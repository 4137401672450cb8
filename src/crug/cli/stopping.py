"""Ctrl-C: one line and the exit status 130, at any moment.

While the program is only being loaded, nothing has to be put in order, and it ends at once. Later, a
`KeyboardInterrupt` lets go of locks and half-written files. It may be a while until Python can raise it, for compiled
code does not listen, and a library may swallow it. So a thread watches, and ends the program where it has not ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

STOPPED = 130
"""The exit status of a command that was stopped with Ctrl-C."""
GRACE = 3.0
"""Seconds in which a command may put things in order."""
_asked, _said = threading.Event(), threading.Event()


def at_once() -> None:
    """From now on Ctrl-C ends the program as it is."""
    signal.signal(signal.SIGINT, _leave)


def in_order() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt`, and ends the program where that does not within a few seconds."""
    if os.name == "posix":
        listening, told = os.pipe()
        os.set_blocking(told, False)
        signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(listening,), daemon=True).start()
    usual = sys.unraisablehook
    sys.unraisablehook = lambda what: None if what.exc_type is KeyboardInterrupt else usual(what)
    signal.signal(signal.SIGINT, _interrupt)


def asked() -> bool:
    """Whether somebody has pressed Ctrl-C."""
    return _asked.is_set()


def say(text: str = "stopped") -> None:
    """The line that says so: the first one counts."""
    if not _said.is_set():
        _said.set()
        os.write(2, f"crug: {text}\n".encode())


def leave() -> None:
    """End the program. Compiled code may still run in its own thread, and would outlive what it works on."""
    say()
    try:
        sys.stdout.flush()
    finally:
        os._exit(STOPPED)


def _leave(*_: Any) -> None:
    say()
    os._exit(STOPPED)


def _interrupt(*_: Any) -> None:
    if asked():  # a second time: at once
        _leave()
    _asked.set()
    raise KeyboardInterrupt


def _watch(listening: int) -> None:
    while signal.SIGINT not in os.read(listening, 64):
        pass
    time.sleep(GRACE)
    _leave()
