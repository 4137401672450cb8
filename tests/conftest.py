"""Tests run as the package's entry points do: one thread, compiled code kept in the user's cache folder.

Shapes that core and training name in their annotations are checked at every call.
"""

from jaxtyping import install_import_hook

from crug.runtime import one_thread

one_thread()
ROOMS = ["crug.core", "crug.training.epochs", "crug.training.objective", "crug.training.phases"]
install_import_hook(ROOMS, "beartype.beartype")
