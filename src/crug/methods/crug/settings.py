"""CRUG's settings, and what both allocations take where nothing else is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from crug.sections import NonNegative, Positive, Section, Share
from crug.training.settings import Given, RunSettings

PATH_USUAL: Given = {"epochs": 4000, "training": {"optimiser": "radam", "lr": 3e-2, "lr_end": 1e-4, "clip": 0.1}}
"""What the path trains with where nothing else is asked for; the price allocation has the paper's values."""
PATH_PRESETS: Mapping[str, Given] = {
    "cognitive": {"epochs": 600, "training": {"lr": 1e-2}, "path": {"start": 24, "every": 16, "tolerance": 0.1}},
    "gait": {
        "training": {"batches": 31, "interval": 8},
        "path": {"again": 0, "gently": (0.2, 0.35), "tolerance": 0.15, "far": 1.0},
    },
    "model": {"path": {"again": 1, "gently": (0.2, 0.35)}},
}
"""What it trains with on the cognitive tasks, on gait and in a user's model. On gait four steps, a pass over a subject,
are too few for a rung, and 16 steps of a stride cannot be foreseen from six columns that show so little of it. Strides
vary, so blocks are opened gently rather than anew, and their scores are large; a user's recording may be of either
kind."""
PRECISE: Given = {"path": {"start": 64}, "training": {"foresight": True}}
"""What the path takes for precision="high": a larger block, and of equal networks not the smallest."""
BOTH: Given = {"select": "surest", "training": {"range_weight": 100.0}}


class GateSettings(Section):
    threshold: Annotated[float, Field(gt=0, lt=1, description="a unit whose gate is above it is kept")] = 0.5
    warmup: Annotated[Share, Field(description="part of a task over which the price rises to its full value")] = 0.1


class PriceSettings(Section):
    linear: Annotated[NonNegative, Field(description="L0 price of a linear unit")] = 1.53e-3
    relu: Annotated[NonNegative, Field(description="L0 price of a ReLU unit")] = 2.33e-3


class TransferSettings(Section):
    kind: Annotated[
        Literal["none", "free", "l0", "l1", "l2"],
        Field(description="what new units may hear from committed ones, and what it costs"),
    ] = "none"
    strength: Annotated[NonNegative, Field(description="price of transfer")] = 1.4e-2

    @property
    def price(self) -> float:
        """Of transfer, where it has one."""
        return self.strength if self.kind in ("l0", "l1", "l2") else 0.0


class PathSettings(Section):
    start: Annotated[int, Field(ge=4, description="units of the block that is opened first")] = 32
    tolerance: Annotated[NonNegative, Field(description="how much worse than the best a smaller network may score")] = (
        0.05
    )
    far: Annotated[
        NonNegative,
        Field(description="how much worse than a perfect model all networks must score for other blocks to be opened"),
    ] = 0.6
    open: Annotated[float, Field(gt=0, lt=1, description="part of the epochs for opening a block")] = 0.08
    rung: Annotated[float, Field(gt=0, lt=1, description="part of the epochs for one rung")] = 0.07
    final: Annotated[float, Field(gt=0, lt=1, description="part of the epochs for the last settling")] = 0.15
    settle_lr: Annotated[float, Field(gt=0, description="learning rate at the start of a rung")] = 1e-2
    every: Annotated[int, Field(ge=1, description="epochs between two checkpoints that are scored")] = 4
    tries: Annotated[int, Field(ge=1, description="attempts at one size")] = 2
    again: Annotated[int, Field(ge=0, description="times that the first block is opened anew if all is far off")] = 2
    gently: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1)], ...],
        Field(description="strengths of forcing at every step with which blocks are opened if all is still far off"),
    ] = ()
    most: Annotated[int | None, Field(ge=4, description="no task gets more units than that; none: no limit")] = None


class CrugSettings(RunSettings):
    allocation: Annotated[Literal["path", "price"], Field(description="how many units a task keeps")] = "path"
    precision: Annotated[
        Literal["usual", "high"],
        Field(description="path: high spends units and time on it, which helps most where forecasts are wanted"),
    ] = "usual"
    settle: Annotated[Share, Field(description="price: part of the epochs after the cut; 0 is the paper")] = 0.3
    settle_lr: Annotated[Positive, Field(description="price: learning rate at the start of settling")] = 1e-2
    gates: GateSettings = GateSettings()
    prices: PriceSettings = PriceSettings()
    transfer: TransferSettings = TransferSettings()
    path: PathSettings = PathSettings()

    presets: ClassVar[Mapping[str, Given]] = {
        "blgf": {"prices": {"linear": 2.94e-3, "relu": 3.36e-3}, "transfer": {"strength": 1.44e-1}},
        "cognitive": {
            "prices": {"linear": 0.06, "relu": 0.133},
            "transfer": {"strength": 3.94e-3},
            "training": {"gate_lr": 0.1},
        },
        "gait": {"prices": {"linear": 0.36 * 2.52e-3, "relu": 2.52e-3}, "transfer": {"strength": 5.84e-4}},
    }
    search: ClassVar[Mapping[str, tuple[float, float]]] = {
        "prices.linear": (1.5e-4, 3e-3),
        "prices.relu": (5e-4, 3.4e-3),
        "transfer.strength": (3e-5, 3e-1),
    }
    strengths: ClassVar[Mapping[str, tuple[float, float]]] = {
        "l0": (1e-6, 1e-3),
        "l1": (1e-6, 1e-2),
        "l2": (3e-5, 3e-1),
    }
    """By kind of transfer, the range of its strength that the paper searched."""
    remedy: ClassVar[str] = "set allocation=price to search its prices, transfer.kind=l2 to search that of transfer"

    def searched(self) -> Mapping[str, tuple[float, float]]:
        found = super().searched()
        span = self.strengths.get(self.transfer.kind)
        return {key: span if span and key == "transfer.strength" else usual for key, usual in found.items()}

    def idle(self) -> tuple[str, ...]:
        """The settings of the other allocation, and the strength of transfer where it has no price."""
        other = ("prices.", "gates.", "settle") if self.allocation == "path" else ("path.", "precision")
        return other if self.transfer.kind in self.strengths else (*other, "transfer.strength")

    @classmethod
    def favourites(cls, case: str, given: Given) -> list[Given]:
        if given.get("allocation", "path") != "path":
            return [BOTH]
        precise = [PRECISE] if given.get("precision") == "high" else []
        return [*precise, PATH_PRESETS.get(case, {}), PATH_USUAL, BOTH]
