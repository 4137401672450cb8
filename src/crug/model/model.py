"""A model for life: recordings are added one after another, over months, and each can be had back.

    model = crug.Model(seed=0)
    model.learn(x, name="monday", dt=0.01)
    model.rollout("monday", 5_000)
    model.save("lab.crug")

Learning is a transaction: whatever goes wrong leaves the model as it was. Nothing that was learned ever changes again,
and `verify` proves it.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
from pydantic import ValidationError

from crug.core.network import Network, alone, create, grow, release, widen
from crug.core.streams import Stream, generator
from crug.errors import CrugError, Exhausted
from crug.methods.base import Assignment
from crug.methods.crug import Crug, CrugSettings
from crug.model.asked import Asked, How
from crug.model.known import About, Known
from crug.model.uses import Uses
from crug.readers import Recording
from crug.runs.learning import Desk, Taught, learn
from crug.runs.listeners import Listener, Silent, Ticker
from crug.runs.proof import digest, network_bytes, parameters_digest
from crug.runtime import affordable
from crug.sections import MOST_UNITS, TrainingSettings, checked_seed, plain, positive
from crug.tasks import Prepared, as_recordings, prepare
from crug.training.settings import Given, merged, nested

UNITS = 512
"""Of a new model: room for some fifteen recordings. Free units cost nothing but their place in the file."""
LEAST = 4
"""Units that a recording needs at the very least."""
CREATING, GROWING = 24.0, 12.0
"""Bytes for each pair of units that it takes to make a network, and to enlarge and save one."""
CASE = "model"
PROGRESS = "crug-progress"


class Model(Uses):
    """One recurrent network that learns recordings one after another and forgets none.

    Parameters
    ----------
    units : units in all, before any `grow`.
    relu : ReLU units among them; half of them if not given.
    seed : decides the network and every random draw.
    settings : settings of the method CRUG other than their defaults, as `crug methods` lists them, e.g.
        {"path.tolerance": 0.2}.

    Examples
    --------
    >>> import numpy as np
    >>> t = 0.1 * np.arange(3_000)
    >>> x = np.stack([np.sin(t), np.cos(t)], axis=1)
    >>> model = Model(units=16, seed=0, settings={"path.start": 8})
    >>> model.learn(x, name="circle", dt=0.1, epochs=20, progress=False).tasks
    ('circle',)
    >>> model.rollout("circle", 100).shape
    (100, 2)
    """

    def __init__(
        self, units: int = UNITS, relu: int | None = None, seed: int = 0, settings: Mapping[str, Any] | None = None
    ):
        seed, given, units = checked_seed(seed), plain(nested(settings or {})), positive("units", units, MOST_UNITS)
        if "network" in given:
            raise CrugError("settings: the network's size is given by units and relu, not as network.M and network.P")
        P = units // 2 if relu is None else plain(relu)
        sizes = CrugSettings.resolve(CASE, {**given, "network": {"M": units, "P": P}}).network
        affordable(CREATING * sizes.M**2, f"a network of {sizes.M:,} units", "take fewer units")
        network = create(sizes.M, sizes.P, 1, generator(seed, Stream.NETWORK, 0))
        self._hold(seed, given, replace(network, B=network.B[:, :0]), ())
        self.files: dict[Path, str] = {}
        """By the files that this model came from or went to, the fingerprints of what was there then."""

    @classmethod
    def restored(cls, seed: int, settings: Given, network: Network, recordings: tuple[Known, ...]) -> Self:
        """A model of what another one or a file held."""
        model = cls(units=LEAST, seed=seed, settings=settings)
        model._hold(model.seed, model.settings, network, recordings)
        return model

    # learning

    def learn(
        self,
        x: np.ndarray | Recording | Sequence[np.ndarray] | Sequence[Recording],
        name: str,
        dt: float | None = None,
        **how: Unpack[How],
    ) -> Self:
        """Add a recording.

        Parameters
        ----------
        x : (T, N) samples in your own units, or what `crug.read` returns; or a list of such: several trajectories of
            one system. The last sixth of each is held out for `score`.
        name : what it is called from now on.
        dt : the interval between samples, 1 if neither you nor the recording says; remembered, not used.
        inputs : (T, Q) what drove the system at each sample, where something did; for several trajectories a list.
        columns : names of the columns, to be remembered. Without them, a column that rises evenly is taken for a clock
            and refused.
        smooth : whether noise, where a column has some, is smoothed away before learning; True if not given. The
            held-out part stays as it was recorded.
        hold_out : whether the last sixth is kept for scores; True if not given. With False all is learned from, and
            scores are of samples that the network has seen.
        epochs : the most epochs that may be spent.
        units : no more units than that for this recording.
        tolerance : how much worse than the best a smaller network may score; a larger one saves units.
        precision : "high" spends units and time, where forecasts are to be valid for long.
        progress : whether to say how far it is (True if not given), or a listener.
        scratch : a folder in which interrupted learning is kept; the same call then goes on from there. Remove
            its part `crug-progress` when the model is saved.
        """
        asked = Asked.of(how)
        prepared = self._prepared(x, name, dt, asked)
        settings = self._settings(asked, prepared)
        about = self._said(prepared, settings.training)
        listener = asked.progress
        if isinstance(listener, bool):
            listener = Ticker(settings.epochs) if listener else Silent()
        listener.begins(prepared.task)
        with np.errstate(all="ignore"):  # what runs away is not finite, and looked at where it counts
            taught = self._taught(prepared, settings, asked, listener)
            if not np.isfinite(taught.learned.history[taught.learned.chosen or 0].score.main):
                raise CrugError(
                    f"recording {name!r}: every network that was tried diverged; allow more epochs or units"
                )
            known = Known.of(prepared, taught.learned, about, taught.network)
        listener.learned(name, taught.learned, taught.network.units_of(len(self.recordings)))
        self.network, self.recordings = taught.network, (*self.recordings, known)
        if known.undecided:
            warnings.warn(known.undecided, stacklevel=2)
        if known.failed:
            remedy = "`remove` takes it out; allow more epochs or units then, or choose other columns"
            warnings.warn(f"{known.failed}; {remedy}", stacklevel=2)
        elif known.about.remarks:
            warnings.warn(f"{name}: look again: {'; '.join(known.about.remarks)}", stacklevel=2)
        return self

    def prepared(self, x: Any, name: str, dt: float | None = None, **how: Unpack[How]) -> Prepared:
        """What `learn` would learn, given the same arguments; or the error that it would raise."""
        asked = Asked.of(how)
        prepared = self._prepared(x, name, dt, asked)
        self._settings(asked, prepared)
        return prepared

    def _prepared(self, x: Any, name: str, dt: float | None, asked: Asked) -> Prepared:
        pieces = as_recordings(x, name, dt, asked.columns, asked.inputs)
        if name in self.tasks:
            raise CrugError(f"the model already has a recording called {name!r}; choose another name")
        if name == "free":
            raise CrugError("no recording can be called 'free', which stands for the free units; choose another name")
        least = max(LEAST, len(pieces[0].columns) + 1)
        if asked.units is not None and asked.units < least:
            raise CrugError(f"recording {name!r}: units = {asked.units}; it needs at least {least}")
        if len(pieces[0].columns) > max(LEAST, self.units):
            more = self._more_units(4 * least)
            raise Exhausted(
                f"recording {name!r}: has {len(pieces[0].columns)} columns, the model {self.units} units", *more
            )
        with np.errstate(all="ignore"):
            return prepare(pieces, name, asked.smooth, asked.hold_out)

    def _said(self, prepared: Prepared, training: TrainingSettings) -> About:
        """What will be said of a recording, proven to be what a file can hold before it is learned."""
        try:
            about = About.of(prepared, training)
            said = {"settings": self.settings, "seed": self.seed, "about": about.model_dump(mode="json")}
            assert json.loads(json.dumps(said, allow_nan=False)) == said
        except (ValidationError, TypeError, ValueError, AssertionError) as error:
            brief = str(error).splitlines()[-1] if str(error) else "it reads back as something else"
            raise CrugError(f"recording {prepared.task.name!r}: could not be saved ({brief})") from None
        return about

    def _settings(self, asked: Asked, prepared: Prepared) -> CrugSettings:
        """What was asked for; where that says nothing, the model's settings; then what the recording suggests."""
        given = merged([asked.settings(), self.settings, prepared.task.suggests()])
        settings = CrugSettings.resolve(CASE, given)
        if settings.allocation == "price" and (asked.units, asked.tolerance) != (None, None):
            raise CrugError("units and tolerance are for the path; with allocation = price, set prices instead")
        if settings.allocation == "path":
            block = max(settings.path.start, 2 * prepared.task.dim)
            self._check_room(prepared.task.name, block, min(block, asked.units or block))
        return settings

    def _check_room(self, name: str, block: int, needed: int) -> None:
        """Whether the block that is opened first finds its units, some of either kind, before any work is done."""
        free = self.ledger["free"]
        if sum(free.values()) < needed or min(free.values()) < needed // 4:
            raise Exhausted(
                f"recording {name!r}: {free['linear']} linear and {free['relu']} ReLU units are free, a recording "
                f"begins with {needed}, at least {needed // 4} of either kind",
                *self._more_units(2 * block),
            )

    def _more_units(self, count: int) -> tuple[str, str]:
        """How to get units, in Python and on the command line."""
        if self.recordings:
            return f"add some: model.grow({count})", f"add some: crug grow FILE {count}"
        return f"make a larger model: Model(units={count})", f"make a larger model: crug learn --size {count}"

    def _taught(self, prepared: Prepared, settings: CrugSettings, asked: Asked, listener: Listener) -> Taught:
        task = prepared.task
        network = widen(self.network, task.dim, generator(self.seed, Stream.ENCODER, task.dim))
        network = task.fit(network)
        assignment = Assignment(task, len(self.recordings), network, {}, self.seed, (task,))
        samples = (part.tobytes() for part in task.examples())
        label = digest(settings.model_dump_json().encode(), *samples, network_bytes(network))
        with tempfile.TemporaryDirectory() as folder:
            desk = Desk(Path(asked.scratch or folder) / PROGRESS, label, listener)
            try:
                return learn(Crug(settings), assignment, desk)
            except Exhausted as error:
                more = self._more_units(2 * max(settings.path.start, 2 * task.dim))
                raise Exhausted(f"recording {task.name!r}: {error.what}", *more) from None

    def remove(self, name: str) -> Self:
        """Take a recording out and its units back. All others keep every bit; one that draws on it forbids it."""
        number = self._number(name)
        for k, known in enumerate(self.recordings):
            if k != number and (self.network.owner[self.network.runs[k]] == number).any():
                raise CrugError(f"{known.name!r} draws on {name!r}, which has to stay; remove {known.name!r} first")
        rng = generator(self.seed, Stream.REMOVAL, number, self.units_free)
        self.network = release(self.network, number, rng)
        self.recordings = tuple(known for known in self.recordings if known.name != name)
        return self

    def grow(self, units: int) -> Self:
        """Add free units, half of them linear. Nothing that was learned changes by a bit."""
        units = positive("units", units)
        affordable(
            GROWING * (self.units + units) ** 2, f"a network of {self.units + units:,} units", "grow it by fewer"
        )
        rng = generator(self.seed, Stream.GROWTH, self.units)
        self.network = grow(self.network, units - units // 2, units // 2, rng)
        return self

    def extract(self, name: str) -> Self:
        """The small stand-alone network of one recording, as a model of its own without free units."""
        known, small = self._known(name), alone(self.network, self._number(name))
        about = known.about.model_copy(update={"parameters": parameters_digest(small, 0)})
        return self.restored(self.seed, self.settings, small, (replace(known, about=about),))

    def save(self, path: str | Path) -> None:
        """Write the model into one file (safetensors, no pickle), whole or not at all.

        Where the model came from this file, or was saved to it before, and somebody else has changed the file since,
        nothing is written.
        """
        from crug.model.file import save  # a file is made of models

        save(self, path)
