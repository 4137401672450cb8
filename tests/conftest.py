"""Tests run as the package's entry points do: one thread, compiled code kept in the user's cache folder."""

from crug.runtime import one_thread

one_thread()
