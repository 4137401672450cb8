"""What a model remembers of a recording beside the units that it owns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from pydantic import Field, PositiveInt

from crug.analysis.verdict import Judged, judged
from crug.core.network import Network
from crug.metrics import MEASURES
from crug.readers import Recording
from crug.runs.proof import digest, digest_of, machine, other_machine, parameters_digest
from crug.runs.result import NOISE_SEED, Learned
from crug.sections import Stored, TrainingSettings
from crug.tasks import RECORDINGS, Prepared, RecordingTask, Scale, prepare
from crug.tasks.base import FAR

PROOF = 2_000
"""Steps of the rollout whose bits are remembered."""


class About(Stored):
    """What is said of a recording, apart from its arrays: stored as JSON."""

    name: str
    dt: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    samples: PositiveInt
    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    interval: PositiveInt
    window: PositiveInt
    data: str = Field(description="digest of the samples")
    parameters: str = Field(description="digest of the task's own network")
    rollout: str = Field(description="digest of its rollout")
    machine: str = Field(description="that the rollout was made on")
    smoothed: tuple[int, ...] = Field((), description="over how many samples each column was smoothed")
    kind: Annotated[str, Field(pattern=f"^({'|'.join(RECORDINGS)})$")] = "recording"
    inputs: tuple[str, ...] = Field((), description="names of the inputs, where there are any")
    held_out: bool = Field(True, description="whether scores are of samples that it was not learned from")
    floor: dict[str, float] = Field(default_factory=dict, description="by measure, what a perfect model would score")
    remarks: tuple[str, ...] = Field(default=(), description="what is wrong with its rollouts that scores do not see")

    @classmethod
    def of(cls, prepared: Prepared, training: TrainingSettings) -> Self:
        """What is said of a recording before it is learned: all but the digests of the network."""
        task = prepared.task
        return cls(
            name=task.name,
            dt=task.dt,
            samples=sum(map(len, prepared.pieces)),
            columns=task.columns,
            interval=training.interval,
            window=training.window,
            data=digest_of(prepared.pieces),
            parameters="",
            rollout="",
            machine=machine(),
            smoothed=task.smoothed,
            kind=task.kind,
            inputs=task.input_columns,
            held_out=prepared.held_out,
        )

    def contradicts(self, arrays: Mapping[str, np.ndarray], readouts: int, channels: int) -> str:
        """In which way this, the arrays of the recording and a network with so many readouts and channels for inputs
        cannot be of one recording."""
        if readouts != len(self.columns) or len(self.smoothed) not in (0, len(self.columns)):
            return f"{len(self.columns)} columns, {readouts} of them read out"
        if len(self.inputs) > channels:
            return f"{len(self.inputs)} inputs, the network has {channels}"
        return RECORDINGS[self.kind].misfit(arrays, len(self.columns), len(self.inputs))


@dataclass(frozen=True)
class Known:
    """One recording: what is said of it, how it was learned, how it was standardised, and its held-out part."""

    about: About
    learned: Learned
    scale: Scale
    task: RecordingTask

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def judged(self) -> Judged:
        """What its scores on the held-out part are judged by."""
        return Judged(self.about.floor, self.about.remarks)

    @classmethod
    def of(cls, prepared: Prepared, learned: Learned, about: About, network: Network) -> Self:
        """A recording that has just been learned, as the network's last task."""
        task, number = prepared.task, len(network.readouts) - 1
        beside = judged(network, number, task, NOISE_SEED if network.noises[number] else None)
        found = {
            "parameters": parameters_digest(network, number),
            "floor": {measure: value for measure, value in beside.floor.items() if np.isfinite(value)},
            "remarks": tuple(beside.remarks),
        }
        about = about.model_copy(update=found)
        known = cls.restored(about, learned, _arrays(prepared.scale, task))
        return replace(known, about=about.model_copy(update={"rollout": known.rollout_digest(network, number)}))

    @classmethod
    def restored(cls, about: About, learned: Learned, arrays: dict[str, np.ndarray]) -> Self:
        """What `arrays` and `about` hold."""
        task = RECORDINGS[about.kind].restored(about.name, about.dt, about.columns, arrays)
        return cls(about, learned, Scale(arrays["mean"], arrays["std"]), task)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is stored beside `about`."""
        return _arrays(self.scale, self.task)

    def rollout_digest(self, network: Network, number: int) -> str:
        """Of a short rollout from where the held-out part begins, and of one under noise where there is some."""
        seeds = (None, NOISE_SEED) if network.noises[number] else (None,)
        return digest(*(self.task.proof(network, number, PROOF, seed).tobytes() for seed in seeds))

    def is_of(self, pieces: Sequence[Recording]) -> bool:
        """Whether it was learned from these samples and, where something drove them, under these inputs."""
        driven = pieces[0].inputs is not None
        if self.about.data != digest_of(piece.values for piece in pieces) or driven != bool(self.about.inputs):
            return False
        if not driven:
            return True
        there, prepared = self.arrays(), prepare(pieces, self.name, hold_out=self.about.held_out)
        here = _arrays(prepared.scale, prepared.task)
        return there.keys() == here.keys() and all(np.array_equal(there[name], here[name]) for name in there)

    def unchanged(self, network: Network, number: int) -> bool:
        """Whether parameters and rollout are the bits that were learned.

        The rollout is compared on the kind of machine that learned it only: others round differently, and there the
        parameters decide.
        """
        if self.about.parameters != parameters_digest(network, number):
            return False
        return other_machine(self.about.machine) != "" or self.about.rollout == self.rollout_digest(network, number)

    @property
    def undecided(self) -> str:
        """What to say where the recording is too short to show whether it was learned."""
        if self.learned.floor < FAR:
            return ""
        return (
            f"{self.name}: {self.about.samples:,} samples show too little of it to tell a good network from a bad one; "
            f"parts of the recording itself rank {self.learned.floor:.1f} beside the rest, where those of a long one "
            "would rank below 1. Look at its picture, or record for longer"
        )

    @property
    def failed(self) -> str:
        """What to say where the network that was committed plainly has another attractor than the recording. One that
        only lacks the recording's variability carries noise instead."""
        if self.learned.noisy:
            return ""
        score = self.learned.history[self.learned.chosen or 0].score
        verdict = score.verdict(self.learned.floor)
        if verdict == "what was recorded":
            return ""
        measures = ", ".join(f"{MEASURES[name].label} {value:.2f}" for name, value in score.measures().items())
        return (
            f"{self.name}: {verdict}; on the training part it ranks {score.rank:.1f} ({measures}), a perfect model "
            f"would rank about {self.learned.floor:.1f}"
        )


def _arrays(scale: Scale, task: RecordingTask) -> dict[str, np.ndarray]:
    """What is kept of a recording: how it was standardised, and what it takes to score it again."""
    return {"mean": scale.mean, "std": scale.std, **task.remembered()}
