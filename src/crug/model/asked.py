"""What `Model.learn` may be told beside the recording itself."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self, TypedDict

from crug.runs.listeners import Listener
from crug.sections import plain


class How(TypedDict, total=False):
    """The keywords of `Model.learn`, which explains them."""

    inputs: Any
    columns: Sequence[str]
    smooth: bool
    hold_out: bool
    epochs: int | None
    units: int | None
    tolerance: float | None
    precision: Literal["usual", "high"] | None
    progress: bool | Listener
    scratch: str | Path | None


@dataclass(frozen=True)
class Asked:
    """What was asked for, with what holds otherwise."""

    inputs: Any = None
    columns: Sequence[str] = ()
    smooth: bool = True
    hold_out: bool = True
    epochs: int | None = None
    units: int | None = None
    tolerance: float | None = None
    precision: Literal["usual", "high"] | None = None
    progress: bool | Listener = True
    scratch: str | Path | None = None

    @classmethod
    def of(cls, how: Mapping[str, Any]) -> Self:
        names = [field.name for field in fields(cls)]
        for name in how:
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
                raise TypeError(f"learn() got an unexpected keyword argument {name!r}; {hint}")
        return cls(**{**how, **{name: plain(how[name]) for name in ("epochs", "units", "tolerance") if name in how}})

    def settings(self) -> dict[str, Any]:
        """As settings of CRUG."""
        path = {"most": self.units, "tolerance": self.tolerance}
        found: dict[str, Any] = {"path": {name: value for name, value in path.items() if value is not None}}
        return found | {name: value for name, value in self._plainly().items() if value is not None}

    def _plainly(self) -> dict[str, Any]:
        """The settings that have the name of what was asked for."""
        return {"epochs": self.epochs, "precision": self.precision}
