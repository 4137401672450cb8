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
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from crug import store
from crug.config import explain, nested, with_defaults
from crug.dynamics import rollout as run_freely
from crug.errors import CrugError, Exhausted
from crug.evaluation import Score, attractor, free_run
from crug.known import Known
from crug.listeners import Silent, Ticker
from crug.methods.crug import Crug, CrugConfig
from crug.network import alone, create, from_arrays, grow, release, to_arrays, widen
from crug.proof import digest, digest_of, machine, network_bytes, parameters_digest, rollout_digest
from crug.sequence import Listener, train
from crug.tasks import Task
from crug.tasks.columns import Recording
from crug.tasks.recordings import prepare, time_scale

FORMAT = 1
UNITS = 512
"""Of a new model: room for some fifteen recordings. Free units cost nothing but their place in the file."""
BATCHES = 31
"""Gradient steps in an epoch, however long a recording is: as many as the benchmarks have."""
STARTS = 10
"""Rollouts by which a checkpoint is scored. Of five, the best of many checkpoints at times had the luckiest starts."""
NETWORK, ENCODER, GROWTH, REMOVAL = 0, 3, 4, 5
"""Streams of randomness."""
PROGRESS = "crug-progress"
FOREIGN = "not a model of crug, or a damaged one"
DAMAGED = "if it was one, restore it from a backup; the model comes first, as in: crug learn lab.crug recording.csv"


class Size(NamedTuple):
    """One point of a capacity curve: a network that was tried, scored on the training data."""

    units: int
    d_stsp: float
    d_h: float
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
        self.seed, self.settings = seed, nested(settings or {})
        if "network" in self.settings:
            raise CrugError("settings: the network's size is given by units and relu, not as network.M and network.P")
        P = units // 2 if relu is None else relu
        self._config({"network": {"M": units, "P": P}}, {})
        network = create(units, P, 1, np.random.default_rng([seed, NETWORK, 0]))
        self._network = replace(network, B=network.B[:, :0])
        self._known: tuple[Known, ...] = ()

    # what there is

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the recordings, in the order in which they were learned."""
        return tuple(known.name for known in self._known)

    @property
    def units(self) -> int:
        return self._network.size

    @property
    def units_free(self) -> int:
        return len(self._network.free())

    @property
    def ledger(self) -> dict[str, dict[str, int]]:
        """How many units of each kind every task owns, and how many are free."""
        free = self._network.relu[self._network.free()]
        owned = {name: self._network.units_of(k) for k, name in enumerate(self.tasks)}
        return {**owned, "free": {"linear": int((~free).sum()), "relu": int(free.sum())}}

    def about(self, name: str) -> Known:
        """Everything that is remembered of a recording."""
        return self._known[self._number(name)]

    def capacity_curve(self, name: str) -> list[Size]:
        """What each size that was tried on the way would have cost."""
        learned = self.about(name).learned
        return [Size(o.units, *o.score, i == learned.chosen) for i, o in enumerate(learned.history)]

    # learning

    def learn(
        self,
        x: np.ndarray | Recording | Sequence[np.ndarray],
        name: str,
        dt: float | None = None,
        *,
        epochs: int | None = None,
        units: int | None = None,
        tolerance: float | None = None,
        columns: Sequence[str] = (),
        smooth: bool = True,
        progress: bool | Listener = True,
        scratch: str | Path | None = None,
    ) -> Model:
        """Add a recording.

        Parameters
        ----------
        x : (T, N) samples in your own units, or a list of such: several trajectories of one system. The last sixth of
            each is held out for `score`. What `crug.read` returns also says `dt` and `columns`.
        name : what it is called from now on.
        dt : the interval between samples, 1 if not given; remembered, not used.
        epochs : the most epochs that may be spent.
        units : no more units than that for this recording.
        tolerance : how much worse than the best a smaller network may score; a larger one saves units.
        columns : names of the columns, to be remembered. Without them, a column that rises evenly is taken for a clock
            and refused.
        smooth : whether noise, where a column has some, is smoothed away before learning. The held-out part stays as it
            was recorded.
        progress : whether to say how far it is.
        scratch : a folder in which interrupted learning is kept; the same call then goes on from there. Remove
            its part `crug-progress` when the model is saved.
        """
        if name in self.tasks:
            raise CrugError(f"the model already has a recording called {name!r}; choose another name")
        if isinstance(x, Recording):
            x, columns, dt = x.values, columns or x.columns, x.dt if dt is None else dt
        dt = 1.0 if dt is None else dt
        pieces, task, scale = prepare(x, name, dt, units, columns, smooth)
        number = len(self._known)
        config = self._config(_asked(epochs, units, tolerance), _own(task))
        if config.allocation == "price" and (units, tolerance) != (None, None):
            raise CrugError("units and tolerance are for the path; with allocation = price, set prices instead")
        method = Crug(config)
        block = max(config.path.start, 2 * task.dim)
        if self._known:
            method.remedy = f"add some: model.grow({2 * block}), or crug grow FILE {2 * block}"
        else:
            method.remedy = f"make a larger model: Model(units={2 * block}), or crug learn --size {2 * block}"
        if config.allocation == "path":
            self._check_room(name, min(block, units or block), method.remedy)
        network = widen(self._network, task.dim, np.random.default_rng([self.seed, ENCODER, task.dim]))
        if isinstance(progress, bool):
            progress = Ticker(config.epochs) if progress else Silent()
        progress.task(0, task)
        label = digest(config.model_dump_json().encode(), task.train.tobytes(), network_bytes(network))
        with tempfile.TemporaryDirectory() as folder:
            work = Path(scratch or folder) / PROGRESS
            try:
                network, _, record, _ = train(
                    config, method, network, {}, [task] * (number + 1), number, work, label, progress
                )
            except Exhausted as error:
                raise Exhausted(f"recording {name!r}: {error}") from None
        if not np.isfinite(record.own.main):
            raise CrugError(f"recording {name!r}: every network that was tried diverged; allow more epochs or units")
        known = Known(
            name=name,
            dt=float(dt),
            samples=sum(len(piece) for piece in pieces),
            columns=tuple(columns) or tuple(str(i + 1) for i in range(task.dim)),
            smoothed=task.smoothed,
            scale=scale,
            test=task.test.astype(np.float32),
            learned=record,
            interval=config.training.interval,
            window=config.training.window,
            data=digest_of(pieces),
            parameters=parameters_digest(network, number),
            rollout=rollout_digest(network, number, task.test[:1]),
            machine=machine(),
        )
        progress.learned(0, name, record.own, network.units_of(number))
        self._network, self._known = network, (*self._known, known)
        if known.failed:
            remedy = "`remove` takes it out; allow more epochs or units then, or choose other columns"
            warnings.warn(f"{known.failed}; {remedy}", stacklevel=2)
        return self

    def _check_room(self, name: str, block: int, remedy: str) -> None:
        """Whether the block that is opened first finds its units, some of either kind, before any work is done."""
        free = self.ledger["free"]
        if sum(free.values()) < block or min(free.values()) < block // 4:
            raise Exhausted(
                f"recording {name!r}: {free['linear']} linear and {free['relu']} ReLU units are free, a recording "
                f"begins with {block}, at least {block // 4} of either kind; {remedy}"
            )

    def remove(self, name: str) -> Model:
        """Take a recording out and its units back. All others keep every bit; one that draws on it forbids it."""
        number = self._number(name)
        for k, known in enumerate(self._known):
            if k != number and (self._network.owner[self._network.runs[k]] == number).any():
                raise CrugError(f"{known.name!r} draws on {name!r}, which has to stay; remove {known.name!r} first")
        rng = np.random.default_rng([self.seed, REMOVAL, number, self.units_free])
        self._network = release(self._network, number, rng)
        self._known = tuple(known for known in self._known if known.name != name)
        return self

    def grow(self, units: int) -> Model:
        """Add free units, half of them linear. Nothing that was learned changes by a bit."""
        if units < 1:
            raise CrugError(f"grow({units}): give a positive number of units")
        rng = np.random.default_rng([self.seed, GROWTH, self.units])
        self._network = grow(self._network, units - units // 2, units // 2, rng)
        return self

    # using what was learned

    def rollout(self, name: str, steps: int, x0: np.ndarray | None = None) -> np.ndarray:
        """Run one recording's network freely: (steps, N) in your units, from x0 (N,) or several x0 (batch, N).

        The first row is one step after the start. Without x0, that is where the held-out part begins.
        """
        number = self._number(name)
        known = self._known[number]
        start = known.test[:1] if x0 is None else known.scale.standardise(self._observations(name, x0))
        out = known.scale.restore(free_run(self._network, number, start, _whole(steps)))
        return out if x0 is not None and np.ndim(x0) == 2 else out[0]

    def rollout_all(self, x0: Mapping[str, np.ndarray] | None, steps: int) -> dict[str, np.ndarray]:
        """Run the whole network once and read every recording from it: name -> (steps, N).

        `x0` gives starts by name, in each recording's own units; what it does not name starts where its held-out part
        begins. Where a recording draws on earlier ones, it hears them as they run here, not as in its own `rollout`.
        """
        if not self._known:
            return {}
        net, units = self._network, self._network.used()
        z0 = np.zeros((1, len(units)), np.float32)
        for number, known in enumerate(self._known):
            given = (x0 or {}).get(known.name)
            start = known.test[:1] if given is None else known.scale.standardise(self._observations(known.name, given))
            if len(start) > 1:
                raise CrugError(f"x0 of {known.name!r} has {len(start)} starts; the whole network has one")
            start = np.asarray(start[0], np.float32)
            own = np.flatnonzero(net.owner[units] == number)
            z0[0, own] = net.B[units[own], : len(start)] @ start
            z0[0, np.searchsorted(units, net.readouts[number])] = start
        for name in x0 or {}:
            self._number(name)
        floor = np.where(net.relu[units], 0, -np.inf).astype(np.float32)
        readouts = [np.searchsorted(units, r) for r in net.readouts]
        everything = (net.a[units], net.W[np.ix_(units, units)], net.h[units], floor)
        out = np.asarray(run_freely(*everything, z0, np.concatenate(readouts), _whole(steps)))[0]
        parts = np.split(out, np.cumsum([len(r) for r in readouts])[:-1], axis=1)
        return {known.name: known.scale.restore(part) for known, part in zip(self._known, parts, strict=True)}

    def score(self, name: str) -> Score:
        """D_stsp and D_H of a recording on its held-out part."""
        number = self._number(name)
        return attractor(self._network, number, self._known[number].task)

    def extract(self, name: str) -> Model:
        """The small stand-alone network of one recording, as a model of its own without free units."""
        number = self._number(name)
        small = Model.__new__(Model)
        small.seed, small.settings = self.seed, self.settings
        small._network = alone(self._network, number)
        known = self._known[number]
        small._known = (replace(known, parameters=parameters_digest(small._network, 0)),)
        return small

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters of the network as plain arrays: a, W, C, h, the encoder B, unit kinds, ledger, readouts."""
        return {name: np.array(value) for name, value in to_arrays(self._network).items()}

    def verify(self) -> dict[str, bool]:
        """For every recording, whether its parameters and its rollout are still the bits that were learned.

        The rollout is compared on the kind of machine that learned it only: others round differently, and there the
        parameters decide.
        """
        return {
            known.name: known.parameters == parameters_digest(self._network, k)
            and (known.machine != machine() or known.rollout == rollout_digest(self._network, k, known.test[:1]))
            for k, known in enumerate(self._known)
        }

    # files

    def save(self, path: str | Path) -> None:
        """Write the model into one file (safetensors, no pickle), whole or not at all."""
        arrays = {f"network.{name}": value for name, value in to_arrays(self._network).items()}
        for k, one in enumerate(self._known):
            arrays |= {f"task.{k}.{name}": value for name, value in one.arrays().items()}
        about = {"seed": self.seed, "settings": self.settings, "tasks": [one.to_json() for one in self._known]}
        store.write_arrays(Path(path), arrays, format=f"crug model {FORMAT}", model=json.dumps(store.encode(about)))

    def _config(self, asked: dict[str, Any], own: dict[str, Any]) -> CrugConfig:
        """What was asked for; where that says nothing, the model's settings; then what the recording suggests."""
        values = {"sequence": "model", "tasks": ("recording",), "method": "crug", "seed": self.seed}
        merged = with_defaults(with_defaults(asked, self.settings), own)
        try:
            return CrugConfig.model_validate({**values, **merged})
        except ValidationError as error:
            raise CrugError(explain(error, CrugConfig)) from None

    def _number(self, name: str) -> int:
        if name not in self.tasks:
            known = ", ".join(self.tasks) or "none yet"
            raise CrugError(f"the model has no recording called {name!r}; it has: {known}")
        return self.tasks.index(name)

    def _observations(self, name: str, x0: Any) -> np.ndarray:
        """Starts (batch, N) in the recording's own units."""
        x0 = np.atleast_2d(np.asarray(x0, np.float64))
        dim = self.about(name).test.shape[1]
        if x0.ndim > 2 or x0.shape[1] != dim:
            raise CrugError(f"{name!r} has {dim} dimensions; x0 is (N,) or (batch, N), not {x0.shape}")
        if not np.isfinite(x0).all():
            raise CrugError(f"{name!r}: x0 has values that are not finite")
        return x0


def _whole(steps: int) -> int:
    if steps < 1:
        raise CrugError(f"steps = {steps}; give a positive number")
    return steps


def load(path: str | Path) -> Model:
    """The model in a file."""
    path = Path(path)
    if path.is_dir():
        raise CrugError(f"{path}: is a folder; give a model's file")
    if not path.exists():
        raise CrugError(f"{path}: there is no such file; crug learn {path} RECORDING makes it")
    arrays, metadata = store.read_described(path, foreign=FOREIGN, remedy=DAMAGED)
    kind, _, version = metadata.get("format", "").rpartition(" ")
    if kind != "crug model":
        raise CrugError(f"{path}: another file of crug, not a model; {DAMAGED}")
    if not version.isdigit() or int(version) > FORMAT:
        raise CrugError(f"{path}: made by a newer crug (format {version}, this one reads {FORMAT}); upgrade crug")
    about = json.loads(metadata["model"])
    model = Model.__new__(Model)
    model.seed, model.settings = about["seed"], about["settings"]
    model._network = from_arrays({n.removeprefix("network."): v for n, v in arrays.items() if n.startswith("network.")})
    model._known = tuple(
        Known.restored(one, {name: arrays[f"task.{k}.{name}"] for name in Known.ARRAYS})
        for k, one in enumerate(about["tasks"])
    )
    return model


def _asked(epochs: int | None, units: int | None, tolerance: float | None) -> dict[str, Any]:
    """What `learn` was told."""
    path = {name: value for name, value in (("most", units), ("tolerance", tolerance)) if value is not None}
    return {"path": path} if epochs is None else {"path": path, "epochs": epochs}


def _own(task: Task) -> dict[str, Any]:
    """The settings that follow from the recording."""
    interval, window = time_scale(task.train, task.breaks)
    return {"training": {"interval": interval, "window": window, "batches": BATCHES, "starts": STARTS}}
