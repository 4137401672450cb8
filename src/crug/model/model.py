"""A model for life: recordings are added one after another, over months, and each can be had back.

    model = crug.Model(seed=0)
    model.learn(x, name="monday", dt=0.01)
    model.rollout("monday", 5_000)
    model.save("lab.crug")

Learning is a transaction: whatever goes wrong leaves the model as it was. Nothing that was learned ever changes again,
and `verify` proves it.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import numpy as np

from crug.core.dynamics import rollout as run_states
from crug.core.network import Network, alone, create, grow, release, to_arrays, widen
from crug.core.streams import Stream, generator
from crug.errors import CrugError, Exhausted
from crug.methods.base import Assignment
from crug.methods.crug import Crug, CrugSettings
from crug.model.asked import Asked, How
from crug.model.known import About, Known
from crug.readers import Recording
from crug.runs.learning import Desk, Taught, learn
from crug.runs.listeners import Listener, Silent, Ticker
from crug.runs.proof import digest, network_bytes, parameters_digest
from crug.runs.result import NOISE_SEED, Learned
from crug.tasks import Prepared, Score, as_recordings, prepare
from crug.tasks.base import Picture
from crug.tasks.recordings import SAMPLES, Rolling
from crug.training.settings import Given, merged, nested

UNITS = 512
"""Of a new model: room for some fifteen recordings. Free units cost nothing but their place in the file."""
LEAST = 4
"""Units that a recording needs at the very least."""
CASE = "model"
PROGRESS = "crug-progress"


class Size(NamedTuple):
    """One point of a capacity curve: a network that was tried, scored on the training data."""

    units: int
    score: Score
    committed: bool


class Model:
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
        given = nested(settings or {})
        if "network" in given:
            raise CrugError("settings: the network's size is given by units and relu, not as network.M and network.P")
        P = units // 2 if relu is None else relu
        CrugSettings.resolve(CASE, {**given, "network": {"M": units, "P": P}})
        network = create(units, P, 1, generator(seed, Stream.NETWORK, 0))
        self._hold(seed, given, replace(network, B=network.B[:, :0]), ())

    @classmethod
    def restored(cls, seed: int, settings: Given, network: Network, recordings: tuple[Known, ...]) -> Self:
        """A model of what another one or a file held."""
        model = cls(units=LEAST, seed=seed, settings=settings)
        model._hold(seed, dict(settings), network, recordings)
        return model

    def _hold(self, seed: int, settings: dict[str, Any], network: Network, recordings: tuple[Known, ...]) -> None:
        self.seed, self.settings, self.network, self.recordings = seed, settings, network, recordings

    def __repr__(self) -> str:
        known = ", ".join(self.tasks) or "nothing yet"
        return f"Model of {self.units} units, {self.units_free} free, that knows {known}"

    # what there is

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the recordings, in the order in which they were learned."""
        return tuple(known.name for known in self.recordings)

    @property
    def units(self) -> int:
        """Units in all."""
        return self.network.size

    @property
    def units_free(self) -> int:
        """Units that no recording owns."""
        return len(self.network.free())

    @property
    def ledger(self) -> dict[str, dict[str, int]]:
        """How many units of each kind every task owns, and how many are free."""
        free = self.network.relu[self.network.free()]
        owned = {name: self.network.units_of(k) for k, name in enumerate(self.tasks)}
        return {**owned, "free": {"linear": int((~free).sum()), "relu": int(free.sum())}}

    def about(self, name: str) -> About:
        """What is known of a recording: samples, interval, columns, digests."""
        return self._known(name).about

    def learned(self, name: str) -> Learned:
        """How a recording was learned: its score right afterwards, every phase, minutes."""
        return self._known(name).learned

    def held_out(self, name: str) -> np.ndarray:
        """The part (T, N) of a recording that it was not learned from, in your units."""
        known = self._known(name)
        return known.scale.restore(known.task.test)

    def capacity_curve(self, name: str) -> list[Size]:
        """What each size that was tried on the way would have cost."""
        learned = self.learned(name)
        return [Size(o.units, o.score, i == learned.chosen) for i, o in enumerate(learned.history)]

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
        epochs : the most epochs that may be spent.
        units : no more units than that for this recording.
        tolerance : how much worse than the best a smaller network may score; a larger one saves units.
        progress : whether to say how far it is (True if not given), or a listener.
        scratch : a folder in which interrupted learning is kept; the same call then goes on from there. Remove
            its part `crug-progress` when the model is saved.
        """
        asked = Asked.of(how)
        prepared = self._prepared(x, name, dt, asked)
        settings = self._settings(asked, prepared)
        listener = asked.progress
        if isinstance(listener, bool):
            listener = Ticker(settings.epochs) if listener else Silent()
        listener.begins(prepared.task)
        taught = self._taught(prepared, settings, asked, listener)
        if not np.isfinite(taught.learned.own.main):
            raise CrugError(f"recording {name!r}: every network that was tried diverged; allow more epochs or units")
        known = Known.of(prepared, taught.learned, settings.training, taught.network)
        listener.learned(name, taught.learned, taught.network.units_of(len(self.recordings)))
        self.network, self.recordings = taught.network, (*self.recordings, known)
        if known.failed:
            remedy = "`remove` takes it out; allow more epochs or units then, or choose other columns"
            warnings.warn(f"{known.failed}; {remedy}", stacklevel=2)
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
        prepared = prepare(pieces, name, asked.smooth)
        least = max(LEAST, prepared.task.dim + 1)
        if asked.units is not None and asked.units < least:
            raise CrugError(f"recording {name!r}: units = {asked.units}; it needs at least {least}")
        return prepared

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
        if units < 1:
            raise CrugError(f"grow({units}): give a positive number of units")
        rng = generator(self.seed, Stream.GROWTH, self.units)
        self.network = grow(self.network, units - units // 2, units // 2, rng)
        return self

    # using what was learned

    def rollout(
        self,
        name: str,
        steps: int | None = None,
        x0: np.ndarray | None = None,
        inputs: np.ndarray | None = None,
        noise: bool = False,
        seed: int = NOISE_SEED,
    ) -> np.ndarray:
        """Run one recording's network freely: (steps, N) in your units, from x0 (N,) or several x0 (batch, N).

        The first row is one step after the start. Without x0, that is where the held-out part begins. Without `steps`
        there are 10,000. A recording that was learned with inputs runs under `inputs` (T, Q), or under those of its
        held-out part, for as many steps as there are.

        With `noise=True` it varies as the recording did, where the recording was found to vary by more than a network
        does by itself (`learned(name).noisy`); the same `seed` gives the same bits.
        """
        number, known = self._number(name), self._known(name)
        start = known.task.test[:1] if x0 is None else known.scale.standardise(self._observations(name, x0))
        usual = known.task.usual_steps if inputs is None else len(np.atleast_1d(inputs))
        count = _whole(usual if steps is None else steps)
        how = Rolling(start, count, inputs, self._noise_seed(name, noise, seed))
        out = known.scale.restore(known.task.roll(self.network, number, how))
        return out if x0 is not None and np.ndim(x0) == 2 else out[0]

    def rollout_all(self, x0: Mapping[str, np.ndarray] | None, steps: int) -> dict[str, np.ndarray]:
        """Run the whole network once and read every recording from it: name -> (steps, N).

        `x0` gives starts by name, in each recording's own units; what it does not name starts where its held-out part
        begins. Where a recording draws on earlier ones, it hears them as they run here, not as in its own `rollout`.
        There are no inputs here, also for recordings that were learned with some, and no noise.
        """
        if not self.recordings:
            return {}
        net, units = self.network, self.network.used()
        z0 = np.zeros((1, len(units)), np.float32)
        for number, known in enumerate(self.recordings):
            start = self._one_start(known, (x0 or {}).get(known.name))
            own = np.flatnonzero(net.owner[units] == number)
            z0[0, own] = net.B[units[own], : len(start)] @ start
            z0[0, np.searchsorted(units, net.readouts[number])] = start
        for name in x0 or {}:
            self._number(name)
        system = net.system(units, np.concatenate(net.readouts))
        out = np.asarray(run_states(system._replace(encoder=z0[:, :0]), z0, system.readout, _whole(steps)))[0]
        parts = np.split(out, np.cumsum([len(r) for r in net.readouts])[:-1], axis=1)
        return {known.name: known.scale.restore(part) for known, part in zip(self.recordings, parts, strict=True)}

    def _one_start(self, known: Known, given: Any) -> np.ndarray:
        start = known.task.test[:1]
        if given is not None:
            start = known.scale.standardise(self._observations(known.name, given))
        if len(start) > 1:
            raise CrugError(f"x0 of {known.name!r} has {len(start)} starts; the whole network has one")
        return np.asarray(start[0], np.float32)

    def score(self, name: str, noise: bool = False, seed: int = NOISE_SEED) -> Score:
        """All measures of a recording on its held-out part; with `noise=True`, of rollouts that vary as it did."""
        return self._known(name).task.evaluate(self.network, self._number(name), self._noise_seed(name, noise, seed))

    def _noise_seed(self, name: str, noise: bool, seed: int) -> int | None:
        if noise and self.network.noises[self._number(name)] is None:
            raise CrugError(
                f"{name!r} carries no noise: none did its rollouts any good when it was learned",
                "leave noise out",
                "leave --noise out",
            )
        return seed if noise else None

    def picture(self, name: str) -> Picture:
        """A recording's held-out part and a rollout, in your units, for `crug.report` to draw."""
        known = self._known(name)
        found = known.task.picture(self.network, self._number(name))
        shown = {part: known.scale.restore(x) for part, x in found.parts.items() if part in SAMPLES}
        return found._replace(parts={**found.parts, **shown})

    def extract(self, name: str) -> Model:
        """The small stand-alone network of one recording, as a model of its own without free units."""
        known, small = self._known(name), alone(self.network, self._number(name))
        about = known.about.model_copy(update={"parameters": parameters_digest(small, 0)})
        return Model.restored(self.seed, self.settings, small, (replace(known, about=about),))

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters of the network as plain arrays: a, W, C, h, the encoder B, unit kinds, ledger, readouts."""
        return {name: np.array(value) for name, value in to_arrays(self.network).items()}

    def verify(self) -> dict[str, bool]:
        """For every recording, whether its parameters and its rollout are still the bits that were learned.

        The rollout is compared on the kind of machine that learned it only: others round differently, and there the
        parameters decide.
        """
        return {known.name: known.unchanged(self.network, k) for k, known in enumerate(self.recordings)}

    def save(self, path: str | Path) -> None:
        """Write the model into one file (safetensors, no pickle), whole or not at all."""
        from crug.model.file import save  # a file is made of models

        save(self, path)

    def _number(self, name: str) -> int:
        if name not in self.tasks:
            known = ", ".join(self.tasks) or "none yet"
            raise CrugError(f"the model has no recording called {name!r}; it has: {known}")
        return self.tasks.index(name)

    def _known(self, name: str) -> Known:
        return self.recordings[self._number(name)]

    def _observations(self, name: str, x0: Any) -> np.ndarray:
        """Starts (batch, N) in the recording's own units."""
        x0 = np.atleast_2d(np.asarray(x0, np.float64))
        dim = self._known(name).task.dim
        if x0.ndim > 2 or x0.shape[1] != dim:
            raise CrugError(f"{name!r} has {dim} dimensions; x0 is (N,) or (batch, N), not {x0.shape}")
        if not np.isfinite(x0).all():
            raise CrugError(f"{name!r}: x0 has values that are not finite")
        return x0


def _whole(steps: int) -> int:
    if steps < 1:
        raise CrugError(f"steps = {steps}; give a positive number")
    return steps
