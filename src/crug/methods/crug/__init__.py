"""Continually-Recyclable Unit-Gating (paper, section 2.2), with two ways of deciding how many units a task keeps.

`allocation = "price"` is the paper's: gates under a fixed price, cut at the threshold when the task ends.

`allocation = "path"` needs no price. It opens a small block, presses it down rung by rung and lets it settle on each,
scores every rung on the training data, and commits the smallest network that is as good as the best within a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from crug.methods.base import Hints
from crug.methods.crug import path, price
from crug.methods.crug.gates import Gating
from crug.methods.crug.settings import CrugSettings
from crug.methods.isolating import Isolating
from crug.training.phases import Outcome, Phase
from crug.training.settings import RunSettings


class Crug(Isolating):
    name: ClassVar[str] = "crug"
    summary: ClassVar[str] = "gates choose a task's own units; committed units are frozen, the others recycled"
    Settings: ClassVar[type[RunSettings]] = CrugSettings
    edition: ClassVar[int] = 2
    remedy = "use a larger network (network.M) or keep fewer units a task (path.tolerance, prices)"

    def __init__(self, settings: RunSettings):
        super().__init__(settings)
        s = self.settings
        self.objective = Gating(s.transfer.kind, threshold=s.gates.threshold)
        self.transfer = s.transfer.kind != "none"

    def next_phase(self, history: Sequence[Outcome], hints: Hints) -> Phase | None:
        allocation = path if self.settings.allocation == "path" else price
        return allocation.next_phase(self.settings, history, hints)

    def choose(self, history: Sequence[Outcome], hints: Hints) -> int:
        if self.settings.allocation == "path":
            return path.choose(self.settings.path, history)
        return price.choose(self.settings, history)


__all__ = ["Crug", "CrugSettings"]
