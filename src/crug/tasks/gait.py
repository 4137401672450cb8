"""The gait recordings of section 4.1: PhysioNet's 'Gait in Neurodegenerative Disease Database' (gaitndd, ODC-BY 1.0).

Each subject is a task: two foot sensors at 300 Hz, 20 s cut from both ends, decimated to 75 Hz, with four delay
features (two lags of both feet): six dimensions, 14,000 samples to train and 5,000 to test. The paper does not give the
lags. With 1 and 2 steps, one stride repeated for ever scores what the paper's networks score, in every group; with long
lags it cannot.

The files are checked against the checksums in gaitndd.sha256 and kept in the user's cache folder. `adopt` takes them
from a folder; otherwise they are downloaded through wfdb when a subject is first asked for.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from crug.core.network import Network
from crug.errors import CrugError
from crug.readers import read, shaped
from crug.runtime import cache_folder
from crug.sections import Section, TrainingSettings
from crug.tasks.attractor import AttractorScorer
from crug.tasks.base import Family, Picture, RolloutScorer
from crug.tasks.recordings import RecordingTask
from crug.tasks.scale import Scale

GROUPS = {"control": 16, "park": 15, "hunt": 20, "als": 13}
TITLES = {"control": "Control", "park": "Parkinson", "hunt": "Huntington", "als": "ALS"}
SUBJECTS = tuple(f"{group}{i + 1}" for group, count in GROUPS.items() for i in range(count))
POOR = ("als4", "als5", "als12", "park11", "park14", "hunt13", "hunt14")
"""Records with dropouts or other defects."""
RATE, CUT, DECIMATE = 300, 20, 4
TRAIN, TEST = 14_000, 5_000
ROLLOUT = 12_500, 5_000
TRANSIENT = 1_000
"""Steps that are not drawn."""

SEQUENCES: dict[str, tuple[str, ...]] = {"gait": tuple(f"{group}{i}" for i in (1, 2, 3) for group in GROUPS)} | {
    f"gait-{group}": tuple(f"{group}{i}" for i in (1, 2, 3)) for group in GROUPS
}


class GaitSettings(Section):
    """How gait recordings are prepared."""

    lags: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="delays of the delay features, in steps of 1/75 s"),
    ] = (1, 2)


class GaitScorer(AttractorScorer):
    """Compares with pieces as long as the test part; shorter ones do not show whether strides keep their time. Scores
    of mixtures in six dimensions are large, and a network that loses its rhythm gains more there than the usual weight
    of D_H takes away."""

    weight = 20.0
    piece = TEST


@dataclass(frozen=True)
class GaitTask(RecordingTask):
    """A subject: a recording that is looked at stride by stride."""

    def scorer(self, network: Network, feeders: np.ndarray, settings: TrainingSettings) -> RolloutScorer:
        return GaitScorer(self.train, self.rollout, settings.starts)

    def picture(self, network: Network, number: int) -> Picture:
        """The test part, and as much of rollouts."""
        rollouts = self.rolled(network, number, (TRANSIENT + len(self.test), TRANSIENT))
        parts = {"truth": self.test, **rollouts, "dt": np.array(self.dt)}
        return Picture("stride", self.title, parts, self.columns)


def load(subject: str, seed: int = 0, settings: Section | None = None) -> GaitTask:
    """A subject as a task; its data do not depend on a seed."""
    lags = settings.lags if isinstance(settings, GaitSettings) else GaitSettings().lags
    if subject in POOR:
        warnings.warn(f"{subject} is a poor record, with dropouts or other defects", stacklevel=2)
    recording = shaped(read(_file(subject), fill="linear"), CUT * RATE, DECIMATE, lags)
    x = recording.values[: TRAIN + TEST]
    if len(x) < TRAIN + TEST:
        raise CrugError(f"{subject}: has {len(x)} samples after preparation, {TRAIN + TEST} are needed")
    scale = Scale.of(x[:TRAIN])
    train, test = scale.standardise(x[:TRAIN]), scale.standardise(x[TRAIN:])
    dt, columns = DECIMATE / RATE, recording.columns
    return GaitTask(subject, _title(subject), train, test, dt, rollout=ROLLOUT, columns=columns)


def _title(subject: str) -> str:
    group = subject.rstrip("0123456789")
    return f"{TITLES[group]} {subject.removeprefix(group)}"


def folder() -> Path:
    return cache_folder() / "gaitndd"


def adopt(source: Path) -> None:
    """Take the database from a folder, checked, into the cache."""
    missing = [name for name in _sums() if not (source / name).is_file()]
    if missing:
        raise CrugError(f"{source}: {len(missing)} files of gaitndd are missing, e.g. {missing[0]}")
    for name in _sums():
        _check(source / name)
    folder().mkdir(parents=True, exist_ok=True)
    for name in _sums():
        if not (folder() / name).exists():
            shutil.copyfile(source / name, folder() / name)


def _file(subject: str) -> Path:
    """The header of a subject's record, downloaded if it is not there."""
    names = [f"{subject}.{part}" for part in ("hea", "let", "rit")]
    if not all((folder() / name).exists() for name in names):
        _download(names)
    for name in names:
        _check(folder() / name)
    return folder() / names[0]


def _download(names: list[str]) -> None:
    try:
        import wfdb  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise CrugError('the gait recordings need wfdb: pip install "crug[physionet]"') from None
    with tempfile.TemporaryDirectory() as place:
        try:
            wfdb.dl_files("gaitndd", place, names)
        except Exception as error:  # whatever the network does
            raise CrugError(
                f"gaitndd cannot be downloaded ({type(error).__name__})",
                "get it from PhysioNet and call crug.tasks.gait.adopt(FOLDER)",
                "get it from PhysioNet and pass --data FOLDER",
            ) from None
        folder().mkdir(parents=True, exist_ok=True)
        for name in names:
            _check(Path(place) / name)
            shutil.copyfile(Path(place) / name, folder() / name)


def _check(file: Path) -> None:
    if hashlib.sha256(file.read_bytes()).hexdigest() != _sums()[file.name]:
        raise CrugError(f"{file}: its checksum is not that of gaitndd 1.0.0; delete it and get it again")


def _sums() -> dict[str, str]:
    lines = Path(__file__).with_name("gaitndd.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


FAMILY = Family(
    "gait",
    {subject: _title(subject) for subject in SUBJECTS},
    load,
    sequences=SEQUENCES,
    presets={"network": {"M": 1024, "P": 512}, "noise": True},
    section="gait",
    listing="gait recordings: " + ", ".join(f"{g}1 ... {g}{n}" for g, n in GROUPS.items()),
)
"""The presets are the paper's network, and noise measured beside it, under every method."""
