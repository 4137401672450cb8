"""Sections of settings: the numbers of the network and of gradient steps, checked. Every run and model has them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    """A group of settings: unknown names are refused, values are checked and never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NetworkSettings(Section):
    """The size of the network, before any task is learned."""

    M: Annotated[int, Field(ge=4, description="units in all")] = 160
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
    starts: Annotated[int, Field(ge=2, description="free rollouts by which a checkpoint is scored")] = 5
    range_weight: Annotated[NonNegative, Field(description="price of leaving the observed range; 0 is the paper")] = 0.0
