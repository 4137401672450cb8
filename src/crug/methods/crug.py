"""Continually-Recyclable Unit-Gating (paper, section 2.2), with two ways of deciding how many units a task keeps.

`allocation = "price"` is the paper's: gates under a fixed price, cut at the threshold when the task ends. `settle` is
the last part of the epochs, trained after the cut without gates. The paper exactly is `settle = 0`, with
`select = "last"`, `training.range_weight = 0` and `transfer.kind = "l2"`.

`allocation = "path"` needs no price. It opens a small block, presses it down rung by rung and lets it settle on each,
scores every rung on the training data, and commits the smallest network that is as good as the best within a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from crug.config import NonNegative, Positive, RunConfig, Section, Share, family_of, with_defaults
from crug.methods.base import Hints
from crug.methods.gating import Gating
from crug.methods.isolating import Isolating
from crug.methods.path import PathConfig, choose, next_rung
from crug.phases import Outcome, Phase

PATH_DEFAULTS = {"epochs": 4000, "training": {"optimiser": "radam", "lr": 3e-2, "lr_end": 1e-4, "clip": 0.1}}
"""What the path trains with where nothing else is asked for; the price allocation has the paper's values."""
PATH_PRESETS: dict[str, dict[str, Any]] = {
    "cognitive": {"epochs": 600, "training": {"lr": 1e-2}, "path": {"start": 24}},
    "gait": {"training": {"batches": 31}},
}
"""The same for the cognitive tasks, and for gait: four steps to a pass over a subject are too few for a rung."""


class GatesConfig(Section):
    threshold: Annotated[float, Field(gt=0, lt=1, description="a unit whose gate is above it is kept")] = 0.5
    warmup: Annotated[Share, Field(description="part of a task over which the price rises to its full value")] = 0.1


class PricesConfig(Section):
    linear: Annotated[NonNegative, Field(description="L0 price of a linear unit")] = 1.53e-3
    relu: Annotated[NonNegative, Field(description="L0 price of a ReLU unit")] = 2.33e-3


class TransferConfig(Section):
    kind: Annotated[
        Literal["none", "free", "l0", "l1", "l2"],
        Field(description="what new units may hear from committed ones, and what it costs"),
    ] = "none"
    strength: Annotated[NonNegative, Field(description="price of transfer")] = 1.4e-2


class CrugConfig(RunConfig):
    allocation: Annotated[Literal["path", "price"], Field(description="how many units a task keeps")] = "path"
    settle: Annotated[Share, Field(description="price: part of the epochs after the cut; 0 is the paper")] = 0.3
    settle_lr: Annotated[Positive, Field(description="price: learning rate at the start of settling")] = 1e-2
    gates: GatesConfig = GatesConfig()
    prices: PricesConfig = PricesConfig()
    transfer: TransferConfig = TransferConfig()
    path: PathConfig = PathConfig()

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "blgf": {"prices": {"linear": 2.94e-3, "relu": 3.36e-3}, "transfer": {"strength": 1.44e-1}},
        "cognitive": {
            "prices": {"linear": 0.06, "relu": 0.133},
            "transfer": {"strength": 3.94e-3},
            "training": {"gate_lr": 0.1},
        },
        "gait": {"prices": {"linear": 0.36 * 2.52e-3, "relu": 2.52e-3}, "transfer": {"strength": 5.84e-4}},
    }
    search: ClassVar[dict[str, tuple[float, float]]] = {
        "prices.linear": (1.5e-4, 3e-3),
        "prices.relu": (5e-4, 3.4e-3),
        "transfer.strength": (3e-5, 3e-1),
    }

    @model_validator(mode="before")
    @classmethod
    def _own_defaults(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        if values.get("allocation", "path") == "path":
            values = with_defaults(values, PATH_PRESETS.get(family_of(values), {}))
            values = with_defaults(values, PATH_DEFAULTS)
        return with_defaults(values, {"select": "best", "training": {"range_weight": 100.0}})


def gate_rate(steps: int) -> float:
    """The gates' rate under a fixed price where none is given, by the gradient steps that they have.

    While gates close, the weights come to lean on fewer units. With four times the steps they lean on few enough that
    gates as fast would close on units the task needs. On vlrc, seed 0: at 500 epochs (10,850 of their steps) 5e-3
    keeps 84 units and 1.2e-3 all 160; at 2,000 epochs 1e-3 keeps 30, too few for Lorenz and Chua, and 3e-4 holds both.
    """
    return min(5e-3 * (10_850 / steps) ** 2, 1e-2)


class Crug(Isolating):
    name: ClassVar[str] = "crug"
    summary: ClassVar[str] = "gates choose a task's own units; committed units are frozen, the others recycled"
    Config: ClassVar[type[RunConfig]] = CrugConfig
    remedy = "use a larger network (network.M) or keep fewer units a task (path.tolerance, prices)"

    def __init__(self, config: RunConfig):
        super().__init__(config)
        self.objective = Gating(self.config.transfer.kind)
        self.threshold = self.config.gates.threshold
        self.transfer = self.config.transfer.kind != "none"

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        if self.config.allocation == "path":
            hints = hints._replace(available=min(hints.available, self.config.path.most or hints.available))
            return next_rung(self.config.path, self.config, self.config.select, self._transfer_price, history, hints)
        return self._price_phase(len(history), hints.steps)

    def choose(self, history: Sequence[Outcome], hints: Hints) -> int:
        if self.config.allocation == "path":
            return choose(self.config.path, history, hints)
        last = len(history) - 1
        if last > 0 and self.config.select == "best":
            return min(last, 0, key=lambda i: hints.total(history[i]))  # settling has to beat what it began from
        return last

    @property
    def _transfer_price(self) -> float:
        return self.config.transfer.strength if self.config.transfer.kind in ("l0", "l1", "l2") else 0.0

    def _price_phase(self, number: int, steps: int) -> Phase | None:
        """Gates under the price, then, if asked for, the kept units without it.

        The cut leaves a small network that has to find its dynamics again. Small ones need a higher rate, and one that
        falls: at 1e-3 to the end, Lorenz with 12 units came out at 0.56 on the training data and at 15 on the test.
        """
        c, t = self.config, self.config.training
        settling = round(c.settle * c.epochs)
        gated = max(1, c.epochs - settling)
        between = t.lr * (t.lr_end / t.lr) ** (gated / c.epochs)
        if number == 0:
            return Phase(
                "price",
                gated,
                t.lr,
                between,
                gates=True,
                gate_lr=t.gate_lr or gate_rate(steps * gated),
                price_linear=c.prices.linear,
                price_relu=c.prices.relu,
                price_transfer=self._transfer_price,
                warm=c.gates.warmup * c.epochs / gated,
                score_from=0.0 if settling else 0.9,
                score_every=max(16, c.epochs // 50),
                select="last" if settling else c.select,
            )
        if number == 1 and settling:
            price = 0.0 if self.objective.lateral else self._transfer_price
            rates = c.settle_lr, t.lr_end if t.lr_end < t.lr else c.settle_lr / 1000
            return Phase("settle", settling, *rates, begin=0, price_transfer=price, select=c.select)
        return None
