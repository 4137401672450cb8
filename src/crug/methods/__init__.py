"""The methods by name, one file each. Registering one here puts it into the command line and the contract test."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from crug.errors import CrugError
from crug.methods.base import Method
from crug.methods.clnp import Clnp
from crug.methods.crug import Crug
from crug.methods.ewc import Ewc
from crug.methods.hat import Hat
from crug.methods.interleaved import Interleaved
from crug.methods.naive import Naive
from crug.methods.replay import ExperienceReplay, GenerativeReplay
from crug.methods.si import Si
from crug.methods.xdg import Xdg

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (Crug, Interleaved, Naive, Ewc, Si, ExperienceReplay, GenerativeReplay, Xdg, Clnp, Hat)
}


def checksum(name: str) -> str | None:
    """Of a user's own file, so that a run knows when it has changed."""
    return None if name in METHODS else hashlib.sha256(_file(name).read_bytes()).hexdigest()


def find(name: str) -> type[Method]:
    """The method of that name, or the one in the Python file of that path."""
    if name in METHODS:
        return METHODS[name]
    file = _file(name)
    spec = importlib.util.spec_from_file_location(f"crug_method_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # annotations are looked up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise CrugError(f"method {name}: cannot be imported ({type(error).__name__}: {error})") from error
    own = [c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__]
    found = [c for c in own if issubclass(c, Method) and not _missing(c)]
    if len(found) != 1:
        raise CrugError(f"method {name}: {_not_one(own, found)}; see crug/methods/_template.py")
    return found[0]


def _file(name: str) -> Path:
    """A user's own file, which has to be there."""
    if not name.endswith(".py"):
        raise CrugError(
            f"no method is called {name!r}; there are: {', '.join(METHODS)}, or the path of your own .py file"
        )
    if not Path(name).is_file():
        raise CrugError(f"method {name}: there is no such file; start from a copy of crug/methods/_template.py")
    return Path(name)


def _missing(method: type) -> list[str]:
    """What a class lacks to be a method."""
    unanswered = sorted(getattr(method, "__abstractmethods__", ()))
    return [part for part in ("name", "summary") if part not in dir(method)] + unanswered


def _not_one(own: list[Any], found: list[type]) -> str:
    if found:
        return f"has {len(found)} methods ({', '.join(c.__name__ for c in found)}), one is needed"
    near = [c for c in own if issubclass(c, Method)]
    if not near:
        return "has no class that is a method: one that inherits from Shared, say, with a name and a summary"
    return f"class {near[-1].__name__} is no method yet: it has no {', no '.join(_missing(near[-1]))}"


__all__ = ["METHODS", "Method", "checksum", "find"]
