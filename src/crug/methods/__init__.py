"""The methods by name. Registering one puts it into the command line and the contract test."""

from crug.errors import CrugError
from crug.methods.base import Method
from crug.methods.crug import Crug

METHODS: dict[str, type[Method]] = {method.name: method for method in (Crug,)}


def find(name: str) -> type[Method]:
    if name not in METHODS:
        raise CrugError(f"no method is called {name!r}; there are: {', '.join(METHODS)}")
    return METHODS[name]
