"""Options that several commands have, and settings as the command line gives them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from crug.errors import CrugError
from crug.training.settings import merged, nested

IDENTITY = ("sequence", "tasks", "method", "seed", "source")
"""What a run is of, as against how it is done: given by arguments and options of their own."""

File = Annotated[Path, typer.Argument(help="The model's file, e.g. lab.crug.")]
Name = Annotated[str, typer.Argument(help="A recording of the model.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides the data, the network and every random draw.")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. transfer.kind=l2; repeatable.")
]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def settings(file: Path | None, pairs: Iterable[str], epochs: int | None) -> dict[str, Any]:
    """Settings from a TOML file, from `key=value` pairs, which win over it, and from --epochs."""
    found = {} if file is None else _read_toml(file)
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise CrugError(f"--set {pair}: write it as key=value, for example --set gates.threshold=0.5")
        found = merged([nested({key.strip(): _value(text.strip())}), found])
    if taken := [key for key in IDENTITY if key in found]:
        raise CrugError(f"{taken[0]}: not a setting; give it on the command line (crug run --help)")
    return found if epochs is None else {**found, "epochs": epochs}


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise CrugError(f"--config {file}: {error.strerror}; give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CrugError(
            f"--config {file}: not TOML ({error}); sections look like [training], values like lr = 0.001"
        ) from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # more digits than Python reads are text too
        return text


def listed(text: str | None) -> list[str] | None:
    """What is written with commas between."""
    return [part.strip() for part in text.split(",")] if text else None
