"""Errors that a user can do something about: their text names what was wrong, where, and the remedy."""

from __future__ import annotations


class CrugError(Exception):
    """Something that the user can mend.

    Parameters
    ----------
    what : what is wrong, and where.
    remedy : what to do about it, in Python.
    flags : what to do about it on the command line, where that is something else.
    """

    def __init__(self, what: str, remedy: str = "", flags: str = ""):
        super().__init__(what)
        self.what, self.remedy, self.flags = what, remedy, flags

    def __str__(self) -> str:
        return "; ".join(part for part in (self.what, self.remedy) if part)

    @property
    def on_the_command_line(self) -> str:
        """The same error with the command line's remedy."""
        return "; ".join(part for part in (self.what, self.flags or self.remedy) if part)


def brief(value: object) -> str:
    """A value as a message shows it: in one line, and not too much of it."""
    try:
        text = repr(value)
    except Exception:  # a whole number may have more digits than Python prints
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


class Exhausted(CrugError):
    """The free pool cannot hold the next task: an outcome of a run, not a crash."""
