"""The commands that list what there is: sequences, methods."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin

import typer

from crug.cli.options import Json
from crug.methods import METHODS, Method
from crug.report.terminal import console, say
from crug.tasks import FAMILIES, SEQUENCES, TASKS
from crug.training.settings import case_of, flat, keys

OTHERS = ("blgf", "gait", "cognitive")
"""Sequences on which some settings have other defaults."""


def sequences(as_json: Json = False) -> None:
    """The named sequences, and the tasks that --tasks takes."""
    if as_json:
        typer.echo(json.dumps({"sequences": SEQUENCES, "tasks": list(TASKS)}, indent=1))
        return
    for name, tasks in SEQUENCES.items():
        console.print(f"[bold]{name:14s}[/bold] {', '.join(TASKS[task] for task in tasks)}")
    say("tasks for --tasks:")
    for family in FAMILIES.values():
        say(f"  {family.listing or ', '.join(family.titles)}")


def list_methods(as_json: Json = False) -> None:
    """The methods with their settings, as --set takes them, and their defaults."""
    listed = [described(method) for method in METHODS.values()]
    if as_json:
        typer.echo(json.dumps(listed, indent=1))
        return
    common = {s["key"]: s for s in next(m for m in listed if m["name"] == "naive")["settings"]}
    console.print("[bold]every method[/bold] (where not said otherwise below)")
    for setting in common.values():
        _print_setting(setting)
    for method in listed:
        console.print(f"[bold]{method['name']}[/bold]: {method['description']}")
        for setting in method["settings"]:
            if setting != common.get(setting["key"]):
                _print_setting(setting)


def described(method: type[Method]) -> dict[str, Any]:
    """A method with its settings: their defaults, the cases in which others hold, and what the paper searched."""
    fields = keys(method.Settings)
    choices = {key: get_args(f.annotation) for key, f in fields.items() if get_origin(f.annotation) is Literal}
    usual = _defaults(method, "vlrc")
    cases = {sequence: _defaults(method, sequence) for sequence in OTHERS}
    cases |= {f"{key}={c}": _defaults(method, "vlrc", {key: c}) for key, listed in choices.items() for c in listed}
    settings = []
    for key, field in fields.items():
        setting: dict[str, Any] = {"key": key, "default": usual[key], "description": field.description or ""}
        if key in choices:
            setting["choices"] = list(choices[key])
        others = {case: values[key] for case, values in cases.items() if not case.startswith(f"{key}=")}
        if others := {case: value for case, value in others.items() if value != usual[key]}:
            setting["on"] = others
        if key in method.Settings.search:
            setting["search"] = list(method.Settings.search[key])
        settings.append(setting)
    return {"name": method.name, "description": method.summary, "settings": settings}


def _defaults(method: type[Method], sequence: str, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The defaults of all settings on a sequence, by key."""
    case = case_of(sequence, SEQUENCES[sequence])
    return flat(method.Settings.resolve(case, given or {}).model_dump(mode="json"))


def _print_setting(setting: dict[str, Any]) -> None:
    text = setting["description"]
    if "choices" in setting:
        text += f" ({', '.join(setting['choices'])})"
    for case, value in setting.get("on", {}).items():
        text += f"; {value} {'with' if '=' in case else 'on'} {case}"
    if "search" in setting:
        text += "; on vlrc and blgf the paper searched from {:g} to {:g}".format(*setting["search"])
    say(f"  {setting['key']:24s} {setting['default']!s:8s} {text}")
