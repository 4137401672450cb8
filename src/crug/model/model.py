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
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from pydantic import ValidationError

from crug.core.network import alone
from crug.errors import CrugError, Exhausted
from crug.methods.crug import CrugSettings
from crug.model.asked import Asked, How
from crug.model.job import Job, done
from crug.model.kept import Kept
from crug.model.known import About
from crug.model.record import Record, cut
from crug.model.uses import Uses
from crug.readers import Recording
from crug.runs.listeners import Silent, Ticker
from crug.sections import TrainingSettings, checked_seed, plain, positive
from crug.tasks import Prepared, as_recordings, prepare
from crug.training.settings import Given, merged, nested

if TYPE_CHECKING:
    from crug.model.file import Saved

UNITS = 512
"""Of a new model: room for some fifteen recordings. Free units are a number; they cost nothing."""
LEAST = 4
"""Units that a recording needs at the very least."""
MOST = 10**9
"""Units that a model may have."""
CASE = "model"


class Model(Uses):
    """One recurrent network that learns recordings one after another and forgets none.

    Parameters
    ----------
    units : units in all, before any `grow`. They have no kind until a recording takes them: it takes as many linear and
        as many ReLU units as it needs.
    relu : does nothing any more; it said how many of the units are ReLU units.
    seed : decides every random draw, together with what is learned.
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
        seed, given, units = checked_seed(seed), plain(nested(settings or {})), positive("units", units, MOST)
        if "network" in given:
            raise CrugError("settings: the network's size is given by units, not as network.M and network.P")
        if relu is not None:
            warnings.warn("relu does nothing: a recording takes the kinds of units that it needs", stacklevel=2)
        CrugSettings.resolve(CASE, given)
        self._hold(seed, given, units, ())
        self.files: dict[Path, Saved] = {}
        """By the files that this model came from or went to, what was there then."""

    @classmethod
    def restored(cls, seed: int, settings: Given, kept: tuple[Kept, ...], free: int) -> Self:
        """A model of records that another one or a file held, with so many free units."""
        model = cls(units=LEAST, seed=seed, settings=settings)
        model._hold(model.seed, model.settings, free, kept)
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
        job = self.job(x, name, dt, asked)
        listener = asked.progress
        if isinstance(listener, bool):
            listener = Ticker(job.settings.epochs) if listener else Silent()
        listener.begins(job.prepared.task)
        folder = None if asked.scratch is None else Path(asked.scratch)
        record = done(job, self._heard(job.settings), folder, listener)
        listener.learned(name, record.known.learned, record.units.count)
        self.add(Kept.of(record))
        return self

    def add(self, kept: Kept) -> None:
        """Take in a record, which finds its units free."""
        self._hold(self.seed, self.settings, self.units_free - sum(kept.listed.count.values()), (*self.kept, kept))
        known = kept.record.known
        if known.undecided:
            warnings.warn(known.undecided, stacklevel=3)
        if known.failed:
            remedy = "`remove` takes it out; allow more epochs or units then, or choose other columns"
            warnings.warn(f"{known.failed}; {remedy}", stacklevel=3)
        elif known.about.remarks:
            warnings.warn(f"{kept.name}: look again: {'; '.join(known.about.remarks)}", stacklevel=3)

    def _heard(self, settings: CrugSettings) -> list[Record]:
        """The records that a new one may hear."""
        return [] if settings.transfer.kind == "none" else [one.record for one in self.kept]

    def learn_many(
        self, recordings: Mapping[str, Any], workers: int = 1, dt: float | None = None, **how: Unpack[How]
    ) -> Self:
        """Add several recordings, each learned by a process of its own.

        They become the same records, to the bit, as if they had been learned one after another in this order. Where
        they may hear one another (the setting transfer.kind), they are learned one after another, and a warning says
        so. A recording that the model has already under its name is left out.

        Parameters
        ----------
        recordings : by name, what `learn` takes as x. Inputs come with a Recording.
        workers : how many processes at a time.
        dt : the interval between samples, where the recordings do not say.
        how : as for `learn`. With `scratch`, the same call goes on where an interrupted one was; remove the folder's
            part `crug-progress` when the model is saved.
        """
        from crug.model.many import learn_many  # which makes models of its own

        learn_many(self, recordings, workers, dt, Asked.of(how))
        return self

    def merge(self, *others: Model) -> Self:
        """A new model with the recordings of this one and of others, and the free units of all.

        Every recording keeps its bits. One that several models have, the same to the bit, is taken once; two that
        differ under one name are refused. Seed and settings are this model's.
        """
        from crug.model.merging import merged_records

        kept = merged_records([self, *others])
        return self.restored(self.seed, self.settings, kept, sum(model.units_free for model in (self, *others)))

    def job(self, x: Any, name: str, dt: float | None, asked: Asked) -> Job:
        """What `learn` has to do, or the error that says why it cannot."""
        prepared = self._prepared(x, name, dt, asked)
        settings = self._settings(asked, prepared)
        return Job(prepared, self._said(prepared, settings.training), settings, self.seed, self.units_free)

    def prepared(self, x: Any, name: str, dt: float | None = None, **how: Unpack[How]) -> Prepared:
        """What `learn` would learn, given the same arguments; or the error that it would raise."""
        return self.job(x, name, dt, Asked.of(how)).prepared

    def _prepared(self, x: Any, name: str, dt: float | None, asked: Asked) -> Prepared:
        pieces = as_recordings(x, name, dt, asked.columns, asked.inputs)
        if name in self.tasks:
            raise CrugError(f"the model already has a recording called {name!r}; choose another name")
        if name == "free":
            raise CrugError("no recording can be called 'free', which stands for the free units; choose another name")
        least = max(LEAST, len(pieces[0].columns) + 1)
        if asked.units is not None and positive("units", asked.units) < least:
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
            if json.loads(json.dumps(said, allow_nan=False)) != said:
                raise ValueError("its settings would be others when they are loaded again")
        except (ValidationError, TypeError, ValueError) as error:
            brief = str(error).splitlines()[-1]
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
            self.check_room(prepared.task.name, block, min(block, settings.path.most or block))
        return settings

    def check_room(self, name: str, block: int, needed: int) -> None:
        """Whether the block that is opened first finds its units, before any work is done."""
        if self.units_free < needed:
            raise Exhausted(
                f"recording {name!r}: {self.units_free} units are free, a recording begins with {needed}",
                *self._more_units(2 * block),
            )

    def _more_units(self, count: int) -> tuple[str, str]:
        """How to get units, in Python and on the command line."""
        if self.kept:
            return f"add some: model.grow({count})", f"add some: crug grow FILE {count}"
        return f"make a larger model: Model(units={count})", f"make a larger model: crug learn --size {count}"

    # what else can be done with a model

    def remove(self, name: str) -> Self:
        """Take a recording out and its units back. All others keep every bit; one that draws on it forbids it."""
        gone = self._kept(name)
        for one in self.kept:
            if name in one.listed.heard:
                raise CrugError(f"{one.name!r} draws on {name!r}, which has to stay; remove {one.name!r} first")
        free = self.units_free + sum(gone.listed.count.values())
        self._hold(self.seed, self.settings, free, tuple(one for one in self.kept if one is not gone))
        return self

    def grow(self, units: int) -> Self:
        """Add free units. Nothing that was learned changes by a bit."""
        units = positive("units", units)
        positive("units in all", self.units + units, MOST)
        self._hold(self.seed, self.settings, self.units_free + units, self.kept)
        return self

    def extract(self, name: str) -> Self:
        """The small stand-alone network of one recording, as a model of its own without free units."""
        kept, found = self._kept(name), self._family(name)
        if kept.listed.heard:  # the units that it hears are its own there
            known = kept.record.known
            units = cut(alone(found.network, found.number), 0, [name], len(known.about.inputs))
            kept = Kept.of(Record(units, known))
        return self.restored(self.seed, self.settings, (kept,), 0)

    def save(self, path: str | Path) -> None:
        """Write the model into one file (safetensors, no pickle). What is new is appended, all of it or nothing.

        Where the model came from this file, or was saved to it before, and somebody else has changed the file since,
        nothing is written.
        """
        from crug.model.file import save  # a file is made of models

        save(self, path)
