"""The configuration of a run: one validated object, stored with it. A method adds its own settings by inheritance."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crug.data import Recipe
from crug.errors import CrugError

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Select = Annotated[
    Literal["best", "last"],
    Field(description="which checkpoint is kept: the best by its attractor on the training data, or the last"),
]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NetworkConfig(Section):
    """The size of the network, before any task is learned."""

    M: Annotated[int, Field(ge=4, description="units in all")] = 160
    P: Annotated[int, Field(ge=0, description="ReLU units among them")] = 80

    @model_validator(mode="after")
    def _kinds(self):
        if self.P >= self.M:
            raise ValueError(f"P = {self.P} leaves no linear units of M = {self.M} to read out; choose P below M")
        return self


class TrainingConfig(Section):
    """How gradient steps are taken, the same in every phase.

    The paper names neither optimiser nor rate. Of RAdam and Adam, falling or constant, Adam at a constant 1e-3 comes
    closest to its results of SI.
    """

    window: Annotated[int, Field(ge=1, description="steps of a training window")] = 200
    batch: Annotated[int, Field(ge=1, description="windows in a gradient step")] = 16
    batches: Annotated[int | None, Field(ge=1, description="steps in an epoch; none: one pass over the data")] = None
    windows: Annotated[Literal["random", "fixed"], Field(description="drawn anew, or cut once")] = "random"
    interval: Annotated[int, Field(ge=1, description="steps between two teacher forcings")] = 16
    strength: Annotated[float, Field(gt=0, le=1, description="1 replaces the readouts, less mixes")] = 1.0
    optimiser: Annotated[Literal["radam", "adam"], Field(description="rule of the gradient step")] = "adam"
    lr: Annotated[Positive, Field(description="learning rate at the start of a task")] = 1e-3
    lr_end: Annotated[Positive, Field(description="and at its end")] = 1e-3
    gate_lr: Annotated[
        Positive | None,
        Field(description="constant learning rate of the gates; none: under a price, by the number of steps"),
    ] = None
    clip: Annotated[Positive, Field(description="largest norm of a gradient")] = 10.0
    starts: Annotated[int, Field(ge=2, description="free rollouts by which a checkpoint is scored")] = 5
    range_weight: Annotated[NonNegative, Field(description="price of leaving the observed range; 0 is the paper")] = 0.0


class TrialSettings(Section):
    """How the trials of cognitive tasks are drawn and judged."""

    train: Annotated[int, Field(ge=1, description="training trials a task")] = 1000
    test: Annotated[int, Field(ge=1, description="test trials a task")] = 200
    noise: Annotated[NonNegative, Field(description="white noise on the stimulus, a step")] = 0.1
    context_noise: Annotated[NonNegative, Field(description="the same in context integration")] = 0.3
    go_above: Annotated[float, Field(gt=0, lt=1, description="amplitude above which it is a Go trial")] = 0.5
    masked: Annotated[bool, Field(description="only the response period counts in the loss")] = False
    strict: Annotated[bool, Field(description="a Go also needs the right direction")] = False


GAIT: dict[str, Any] = {"network": {"M": 1024, "P": 512}}
COGNITIVE: dict[str, Any] = {
    "network": {"M": 120, "P": 60},
    "epochs": 50,
    "select": "last",
    "training": {"batch": 64, "window": 1, "windows": "fixed", "optimiser": "radam", "lr": 1e-2, "lr_end": 1e-4},
}
"""The paper's networks and budgets for the gait sequences and the cognitive tasks, under every method."""


class RunConfig(Section):
    """What every method is given."""

    sequence: str
    tasks: tuple[str, ...]
    method: str
    seed: Annotated[int, Field(ge=0)] = 0
    source: Annotated[str | None, Field(description="checksum of the method's file, where it is the user's own")] = None
    epochs: Annotated[int, Field(ge=1, description="epochs a task")] = 2000
    select: Select = "best"
    network: NetworkConfig = NetworkConfig()
    training: TrainingConfig = TrainingConfig()
    trials: TrialSettings = TrialSettings()

    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    """By sequence, the settings that the paper found best for it, where they are not the defaults. For cognitive tasks
    it names neither the learning rate nor the scale of the loss: there they are our own where ours do better."""
    usual: ClassVar[dict[str, Any]] = {}
    """What the method trains with other than the rest, where its presets and those of the sequence say nothing."""
    search: ClassVar[dict[str, tuple[float, float]]] = {}
    """By setting, the range over which the paper searched; where it names none, the span of its tables."""

    @model_validator(mode="before")
    @classmethod
    def _presets(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        family = family_of(values)
        values = with_defaults(values, cls.presets.get(family, {}))
        values = with_defaults(values, {"gait": GAIT, "cognitive": COGNITIVE}.get(family, {}))
        return with_defaults(values, cls.usual)

    def recipe(self, samples: int) -> Recipe:
        """How a recording of so many samples is trained on: as many batches an epoch as one pass over it gives."""
        t = self.training
        return Recipe(
            window=t.window,
            batch=t.batch,
            batches=t.batches or max(1, samples // t.window // t.batch),
            interval=t.interval,
            strength=t.strength,
            optimiser=t.optimiser,
            clip=t.clip,
            range_weight=t.range_weight,
            fixed_windows=t.windows == "fixed",
        )


def family_of(values: dict[str, Any]) -> str:
    """Whose presets a run takes: the sequence's, or for any choice of gait or cognitive tasks, these sequences'."""
    from crug.tasks import cognitive, gait

    tasks = set(values.get("tasks", ()))
    families = {"gait": gait.SUBJECTS, "cognitive": cognitive.NAMES}
    return next((f for f, names in families.items() if tasks and tasks <= set(names)), str(values.get("sequence")))


def with_defaults(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """`values`, and where they say nothing, `defaults`; section by section."""
    merged = {**defaults, **values}
    for key, default in defaults.items():
        if isinstance(default, dict) and isinstance(merged[key], dict):
            merged[key] = {**default, **merged[key]}
    return merged


C = TypeVar("C", bound=RunConfig)


def build(model: type[C], base: dict[str, Any], file: Path | None, sets: Iterable[str]) -> C:
    """A configuration from what the command line gives: `base`, then a TOML file, then `key=value` pairs."""
    values: dict[str, Any] = {}
    if file is not None:
        values = _read_toml(file)
    for pair in sets:
        key, equals, text = pair.partition("=")
        if not equals:
            raise CrugError(f"--set {pair}: write it as key=value, for example --set gates.threshold=0.5")
        _put(values, key.strip().split("."), _value(text.strip()), pair)
    if taken := [key for key in IDENTITY if key in values]:
        raise CrugError(f"{taken[0]}: not a setting; give it on the command line (crug run --help)")
    try:
        return model.model_validate({**values, **base})
    except ValidationError as error:
        raise CrugError(explain(error, model)) from None


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise CrugError(f"--config {file}: {error.strerror}; give the path of a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise CrugError(
            f"--config {file}: not TOML ({error}); sections look like [training], values like lr = 0.001"
        ) from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _put(values: dict[str, Any], path: list[str], value: Any, pair: str) -> None:
    for name in path[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise CrugError(f"--set {pair}: {name} is a value, not a section")
    values[path[-1]] = value


def keys(model: type[BaseModel], prefix: str = "") -> dict[str, Any]:
    """Every setting of a configuration by its dotted name, with its field."""
    found: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            found |= keys(kind, f"{prefix}{name}.")
        else:
            found[prefix + name] = info
    return found


IDENTITY = ("sequence", "tasks", "method", "seed", "source")
"""What a run is of, as against how it is done."""


def departures(model: type[RunConfig], config: dict[str, Any]) -> str:
    """What a stored configuration sets other than by default, as `key=value` pairs: the name of a group of runs.

    Some defaults follow from other settings, so a setting counts only where leaving it out would change it. Where the
    method no longer has the settings of the run, all count that are not those of every method.
    """
    identity = {name: config.get(name) for name in IDENTITY}
    given = {key: value for key, value in flat(config).items() if key not in IDENTITY}

    def values(model: type[RunConfig], settings: dict[str, Any]) -> dict[str, Any]:
        return flat(model.model_validate({**nested(settings), **identity}).model_dump(mode="json"))

    def default(key: str) -> Any:
        try:
            return values(model, {name: value for name, value in given.items() if name != key})[key]
        except ValidationError:  # it cannot be left out
            return MISSING

    try:
        values(model, given)
    except ValidationError:
        usual = values(RunConfig, {})
        given = {key: value for key, value in given.items() if usual.get(key, MISSING) != value}
    else:
        for key in list(given):
            if default(key) == given[key]:
                del given[key]
    return " ".join(f"{key}={value}" for key, value in given.items())


MISSING = object()


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse; what is nested already stays so."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        _put(found, name.split("."), value, name)
    return found


def explain(error: ValidationError, model: type[RunConfig]) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"]) or "configuration"
    if first["type"] == "extra_forbidden":
        import difflib

        near = difflib.get_close_matches(key, keys(model), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`crug methods` lists the settings"
        return f"{key}: there is no such setting; {hint}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{key} = {first['input']!r}: {message[0].lower()}{message[1:]}"
