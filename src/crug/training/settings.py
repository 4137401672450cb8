"""The settings of a run: how something is learned, as against what (`runs.Plan`). A method adds its own by inheritance.

Where a setting comes from is the list in `RunSettings.layers`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, ValidationError

from crug.errors import CrugError, brief
from crug.sections import NetworkSettings, Section, TrainingSettings, plain
from crug.tasks import FAMILIES, family_of
from crug.tasks.cognitive import TrialSettings
from crug.tasks.gait import GaitSettings

Given = Mapping[str, Any]
"""Settings as they are given: by name, those of a section as a mapping of their own."""
Select = Annotated[
    Literal["surest", "best", "last"],
    Field(
        description="which checkpoint is kept: the last, the best by a few rollouts on the training data, or, among "
        "those that may be the best, the best by many more"
    ),
]

Noisy = Annotated[
    bool,
    Field(description="whether tasks carry noise for their rollouts, where that helps; measured beside those without"),
]


class RunSettings(Section):
    """What every method is given."""

    epochs: Annotated[int, Field(ge=1, description="epochs a task")] = 2000
    select: Select = "best"
    noise: Noisy = False
    network: NetworkSettings = NetworkSettings()
    training: TrainingSettings = TrainingSettings()
    trials: TrialSettings = TrialSettings()
    gait: GaitSettings = GaitSettings()

    presets: ClassVar[Mapping[str, Given]] = {}
    """By case, the settings that the paper found best for it, where they are not the defaults. For cognitive tasks it
    names neither the learning rate nor the scale of the loss: there they are our own where ours do better."""
    usual: ClassVar[Given] = {}
    """What the method trains with other than the rest, where its presets and those of the tasks say nothing."""
    search: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """By setting, the range over which the paper searched; where it names none, the span of its tables."""
    remedy: ClassVar[str] = "name them in `search` of its Settings"
    """What to do where there is nothing to search."""

    def searched(self) -> Mapping[str, tuple[float, float]]:
        """Of `search` what makes a difference by these settings."""
        return {key: span for key, span in self.search.items() if not key.startswith(self.idle())}

    def idle(self) -> tuple[str, ...]:
        """How the names begin of settings that make no difference by these."""
        return ()

    @classmethod
    def layers(cls, case: str, given: Given) -> list[Given]:
        """Where a setting comes from: the first of these that names it."""
        return [
            given,
            *cls.favourites(case, given),
            cls.presets.get(case, {}),
            FAMILIES[case].presets if case in FAMILIES else {},
            cls.usual,
            # and last, the defaults of the fields
        ]

    @classmethod
    def favourites(cls, case: str, given: Given) -> list[Given]:
        """What the method insists on before the presets, in the light of what is given."""
        return []

    @classmethod
    def resolve(cls, case: str, given: Given) -> Self:
        """The settings for a case: what is given, and for the rest, where `layers` finds it."""
        try:
            return cls.model_validate(merged(cls.layers(case, plain(nested(given)))))
        except ValidationError as error:
            raise CrugError(explain(error, cls)) from None


def case_of(sequence: str, tasks: Sequence[str]) -> str:
    """Whose presets a run takes: those of the tasks' family where it has any, otherwise the sequence's."""
    family = family_of(tasks)
    return family.name if family and family.presets else sequence


def merged(layers: Sequence[Given]) -> dict[str, Any]:
    """One of several layers of settings: the first that names one wins, section by section."""
    found: dict[str, Any] = {}
    for layer in reversed(layers):
        for name, value in layer.items():
            section = isinstance(value, Mapping) and isinstance(found.get(name), Mapping)
            found[name] = {**found[name], **value} if section else value
    return found


def flat(values: Given, prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


def nested(values: Given) -> dict[str, Any]:
    """Settings by section, from dotted names; what is nested already stays so."""
    found: dict[str, Any] = {}
    if not isinstance(values, Mapping):
        raise CrugError(f"settings = {brief(values)}: give them by name, as in {{'path.tolerance': 0.2}}")
    for dotted, value in values.items():
        *path, last = str(dotted).split(".")
        place = found
        for name in path:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise CrugError(f"{dotted} = {brief(value)}: {name} is a value, not a section")
        place[last] = {**place.get(last, {}), **nested(value)} if isinstance(value, Mapping) else value
    return found


def keys(settings: type[BaseModel], prefix: str = "") -> dict[str, Any]:
    """Every setting by its dotted name, with its field."""
    found: dict[str, Any] = {}
    for name, info in settings.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            found |= keys(kind, f"{prefix}{name}.")
        else:
            found[prefix + name] = info
    return found


MISSING = object()


def departures(settings: type[RunSettings], case: str, stored: Given) -> str:
    """What stored settings are other than by default, as `key=value` pairs: the name of a group of runs.

    Some defaults follow from other settings, so a setting counts only where leaving it out would change it. Where the
    method no longer has the settings of the run, all count that are not those of every method.
    """
    given = flat(stored)

    def resolved(settings: type[RunSettings], values: Given) -> dict[str, Any]:
        return flat(settings.resolve(case, values).model_dump(mode="json"))

    def default(key: str) -> Any:
        try:
            return resolved(settings, {name: value for name, value in given.items() if name != key})[key]
        except CrugError:  # it cannot be left out
            return MISSING

    try:
        resolved(settings, given)
    except CrugError:
        usual = resolved(RunSettings, {})
        given = {key: value for key, value in given.items() if usual.get(key, MISSING) != value}
    else:
        for key in list(given):
            if default(key) == given[key]:
                del given[key]
    return " ".join(f"{key}={value}" for key, value in given.items())


def explain(error: ValidationError, settings: type[RunSettings]) -> str:
    """What is wrong with the first setting that is."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"]) or "settings"
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, keys(settings), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`crug methods` lists the settings"
        return f"{key}: there is no such setting; {hint}"
    if first["type"] == "value_error":  # our own words, which name what they are about
        return f"{key}: {first['msg'].removeprefix('Value error, ')}"
    return f"{key} = {brief(first['input'])}: {first['msg'][0].lower()}{first['msg'][1:]}"
