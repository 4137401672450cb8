"""Errors that a user can do something about: their text names what was wrong, where, and the remedy."""


class CrugError(Exception):
    """Printed as one line, without a traceback."""


class Exhausted(CrugError):
    """The free pool cannot hold the next task: an outcome of a run, not a crash."""


STOPPED = 130
"""The exit status of a command that was stopped with Ctrl-C."""
