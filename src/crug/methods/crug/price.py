"""The paper's allocation: gates under a fixed price, cut at the threshold when the task ends.

`settle` is the last part of the epochs, trained after the cut without gates. The paper exactly is `settle = 0`, with
`select = "last"`, `training.range_weight = 0` and `transfer.kind = "l2"`.
"""

from __future__ import annotations

from collections.abc import Sequence

from crug.methods.base import Hints
from crug.methods.crug.settings import CrugSettings
from crug.training.phases import Outcome, Phase


def next_phase(settings: CrugSettings, history: Sequence[Outcome], hints: Hints) -> Phase | None:
    """Gates under the price, then, if asked for, the kept units without it.

    The cut leaves a small network that has to find its dynamics again. Small ones need a higher rate, and one that
    falls: at 1e-3 to the end, Lorenz with 12 units came out at 0.56 on the training data and at 15 on the test.
    """
    s, t = settings, settings.training
    settling = round(s.settle * s.epochs)
    gated = max(1, s.epochs - settling)
    if not history:
        controls = {
            "gates": 1.0,
            "gate_lr": t.gate_lr or gate_rate(hints.steps * gated),
            "price_linear": s.prices.linear,
            "price_relu": s.prices.relu,
            "price_transfer": s.transfer.price,
            "warm": s.gates.warmup * s.epochs / gated,
        }
        return Phase(
            "price",
            gated,
            t.lr,
            t.lr * (t.lr_end / t.lr) ** (gated / s.epochs),
            controls=controls,
            score_from=0.0 if settling else 0.9,
            score_every=max(16, s.epochs // 50),
            select="last" if settling else s.select,
        )
    if len(history) == 1 and settling:
        price = 0.0 if s.transfer.kind == "l0" else s.transfer.price
        rates = s.settle_lr, t.lr_end if t.lr_end < t.lr else s.settle_lr / 1000
        return Phase("settle", settling, *rates, begin=0, controls=ungated(price), select=s.select)
    return None


def choose(settings: CrugSettings, history: Sequence[Outcome]) -> int:
    """The last phase; where the best checkpoint is kept, settling has to beat what it began from."""
    last = len(history) - 1
    if last > 0 and settings.select != "last":
        return min(last, 0, key=lambda i: history[i].score.rank)
    return last


def ungated(price_transfer: float, gate_lr: float = 0.0) -> dict[str, float]:
    """The controls of a phase without gates on its units. `gate_lr` is for those of L0 transfer."""
    nothing = dict.fromkeys(("gates", "price_linear", "price_relu", "warm"), 0.0)
    return {**nothing, "gate_lr": gate_lr, "price_transfer": price_transfer}


def gate_rate(steps: int) -> float:
    """The gates' rate under a fixed price where none is given, by the gradient steps that they have.

    While gates close, the weights come to lean on fewer units. With four times the steps they lean on few enough that
    gates as fast would close on units the task needs. On vlrc, seed 0: at 500 epochs (10,850 of their steps) 5e-3
    keeps 84 units and 1.2e-3 all 160; at 2,000 epochs 1e-3 keeps 30, too few for Lorenz and Chua, and 3e-4 holds both.
    """
    return min(5e-3 * (10_850 / steps) ** 2, 1e-2)
