"""What a model remembers of a recording beside the units that it owns, and how that is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crug import store
from crug.evaluation import TrainingScore
from crug.sequence import Learned
from crug.tasks import Task
from crug.tasks.recordings import Scale


@dataclass(frozen=True)
class Known:
    """One recording."""

    name: str
    dt: float
    samples: int
    columns: tuple[str, ...]
    smoothed: tuple[int, ...]  # over how many samples each column was smoothed; empty: not at all
    scale: Scale
    test: np.ndarray  # (T', N) float32, standardised: the held-out part
    learned: Learned
    interval: int
    window: int
    data: str  # digest of the samples
    parameters: str  # digest of the task's own network
    rollout: str  # digest of its rollout, and the machine that it was made on
    machine: str

    ARRAYS: ClassVar[tuple[str, ...]] = ("mean", "std", "test")

    @property
    def task(self) -> Task:
        nothing = np.empty((0, self.test.shape[1]))
        return Task(self.name, self.name, nothing, np.asarray(self.test, np.float64), self.dt)

    @property
    def failed(self) -> str:
        """What to say where the network that was committed plainly has another attractor than the recording."""
        learned = self.learned
        total = learned.history[learned.chosen or 0].score.total(TrainingScore.weight)
        if total < learned.floor + FAR:
            return ""
        measure = f"on the training part, D_stsp and {TrainingScore.weight:g} D_H come to {total:.1f} together"
        return f"{self.name}: not what was recorded; {measure}, a perfect model would have about {learned.floor:.1f}"

    def arrays(self) -> dict[str, np.ndarray]:
        return {"mean": self.scale.mean, "std": self.scale.std, "test": self.test}

    def to_json(self) -> dict[str, Any]:
        lists = {"columns": list(self.columns), "smoothed": list(self.smoothed)}
        return {**{n: getattr(self, n) for n in PLAIN}, **lists, "learned": self.learned.to_json()}

    @classmethod
    def restored(cls, stored: dict[str, Any], arrays: dict[str, np.ndarray]) -> Known:
        return cls(
            **{n: stored[n] for n in PLAIN},
            columns=tuple(stored["columns"]),
            smoothed=tuple(stored.get("smoothed", ())),  # older files have none
            scale=Scale(arrays["mean"], arrays["std"]),
            test=arrays["test"],
            learned=Learned.from_json(store.decode(stored["learned"])),
        )


FAR = 3.0
"""Above the floor: networks that kept some of the attractor's shape score less, those that lost it 5 to 20."""
PLAIN = ("name", "dt", "samples", "interval", "window", "data", "parameters", "rollout", "machine")
