"""Sections of settings: the numbers of the network and of gradient steps, checked. Every run and model has them.
`Stored` is what everything has in common that is kept as JSON."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from crug.errors import CrugError, brief

LARGEST, FARTHEST = 2**31 - 1, 3e38
"""Whole numbers and others that the compiled code can hold: it computes in 32 bits."""


MOST_UNITS = 10_000
"""Of a new network. Their weights are one dense matrix."""


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers of numpy become Python's, sequences lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array, or a number of numpy's
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _index(value: Any) -> Any:
    try:
        return value if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return value


Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]


Seed = Annotated[int, BeforeValidator(_index), Field(strict=True, ge=0, le=2**63 - 1)]
"""What random draws follow from."""


def checked_seed(seed: Any) -> int:
    """A seed as it is stored; or the error that says what one is."""
    try:
        return TypeAdapter(Seed).validate_python(seed)
    except ValidationError:
        raise CrugError(f"seed = {brief(seed)}; give a whole number from 0 to {2**63 - 1}") from None


def positive(name: str, value: Any, most: int = LARGEST) -> int:
    """A whole number from 1; or the error that says what is possible."""
    try:
        found = operator.index(value)
    except TypeError:
        raise CrugError(f"{name} = {brief(value)}; give a positive number, a whole one") from None
    if not 1 <= found <= most:
        most_of_it = f", at most {most:,}" if found > most else ""
        raise CrugError(f"{name} = {brief(found)}; give a positive number{most_of_it}")
    return found


class Stored(BaseModel):
    """What is kept as JSON: unknown names are refused, values are checked and never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Section(Stored):
    """A group of settings: beside what holds for all that is stored, every number is finite, and one that the compiled
    code can hold."""

    model_config = ConfigDict(allow_inf_nan=False)

    at_most: ClassVar[int] = LARGEST

    @model_validator(mode="after")
    def _representable(self):
        for name in type(self).model_fields:
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,):
                most = self.at_most if isinstance(one, int) else FARTHEST
                if isinstance(one, int | float) and abs(one) > most:
                    raise ValueError(f"{name} = {brief(one)} is too large; at most {most:g} can be computed with")
        return self


class NetworkSettings(Section):
    """The size of the network, before any task is learned."""

    M: Annotated[int, Field(ge=4, le=MOST_UNITS, description="units in all")] = 160
    P: Annotated[int, Field(ge=0, description="ReLU units among them")] = 80

    @model_validator(mode="after")
    def _kinds(self):
        if self.P >= self.M:
            raise ValueError(f"P = {self.P} leaves no linear units of M = {self.M} to read out; choose P below M")
        return self


class TrainingSettings(Section):
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
    starts: Annotated[int, Field(ge=2, le=1_000, description="free rollouts by which a checkpoint is scored")] = 5
    range_weight: Annotated[NonNegative, Field(description="price of leaving the observed range; 0 is the paper")] = 0.0
    foresight: Annotated[bool, Field(description="path: of equal networks, the one that forecasts longest is kept")] = (
        False
    )
