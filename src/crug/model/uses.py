"""What can be done with what a model has learned. Nothing here changes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crug.analysis import Analysis, Judged, Subject, analyse, judged
from crug.analysis.baselines import forecast_errors
from crug.analysis.recognition import FEWEST as SHORTEST
from crug.analysis.recognition import Recognised, candidate, ranked
from crug.core.dynamics import rollout as run_states
from crug.core.network import Network, to_arrays
from crug.errors import CrugError
from crug.model.known import About, Known
from crug.page import write_page
from crug.readers import Recording
from crug.runs.result import NOISE_SEED, Learned
from crug.runtime import affordable
from crug.sections import checked_seed, positive
from crug.tasks import RecordingTask, Score
from crug.tasks.base import Picture
from crug.tasks.recordings import FEWEST, SAMPLES, Rolling
from crug.tasks.scale import within_reach

ROLLING = 32
"""Bytes that a number of a rollout takes until it is in the recording's own units."""


class Size(NamedTuple):
    """One point of a capacity curve: a network that was tried, scored on the training data."""

    units: int
    score: Score
    committed: bool


class Uses:
    """A network with the recordings that it knows."""

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

    # using what was learned

    @np.errstate(all="ignore")
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
        count = _whole(usual if steps is None else steps, start.size)
        how = Rolling(start, count, inputs, self._noise_seed(name, noise, seed))
        out = known.scale.restore(known.task.roll(self.network, number, how))
        return out if x0 is not None and np.ndim(x0) == 2 else out[0]

    def rollout_in_pieces(
        self, name: str, steps: int, x0: np.ndarray | None = None, noise: bool = False, seed: int = NOISE_SEED
    ) -> Iterator[np.ndarray]:
        """The rows of `rollout`, some after others, in arrays (some, N): for rollouts that are longer than memory.

        There is one start, and there are no inputs.
        """
        number, known = self._number(name), self._known(name)
        start = known.task.test[:1] if x0 is None else known.scale.standardise(self._observations(name, x0))
        how = Rolling(start[:1], positive("steps", steps, 2**62), None, self._noise_seed(name, noise, seed))
        for piece in known.task.rolling(self.network, number, how):
            with np.errstate(all="ignore"):
                yield known.scale.restore(piece)[0]

    @np.errstate(all="ignore")
    def forecast(
        self, name: str, context: np.ndarray | Recording, steps: int, inputs: np.ndarray | None = None
    ) -> np.ndarray:
        """What comes next: (steps, N) in your units, after the last samples that you have.

        Parameters
        ----------
        name : a recording of the model.
        context : (T, N) the last samples, in the recording's units and as far apart; or a Recording. The network
            follows them before it runs freely; a hundred are usually enough, more never hurt.
        steps : how many samples to foresee.
        inputs : (T + steps - 1, Q) for a recording that was learned with inputs: what drove it from the first sample of
            the context on. Of a context that is a Recording with inputs, only those from then on.

        Examples
        --------
        >>> import numpy as np
        >>> from crug import Model
        >>> t = 0.1 * np.arange(3_100)
        >>> x = np.stack([np.sin(t), np.cos(t)], axis=1)
        >>> model = Model(units=16, seed=0, settings={"path.start": 8})
        >>> model = model.learn(x[:3_000], name="circle", dt=0.1, epochs=20, progress=False)
        >>> model.forecast("circle", x[3_000:3_050], 50).shape
        (50, 2)
        """
        known = self._known(name)
        if isinstance(context, Recording):
            given = [part for part in (context.inputs, inputs) if part is not None]
            inputs, context = np.concatenate(given) if given else None, context.values
        x = known.scale.standardise(self._observations(name, context, "the context"))
        how = Rolling(x, _whole(steps, x.shape[1]), inputs)
        return known.scale.restore(known.task.foresee(self.network, self._number(name), how))

    @np.errstate(all="ignore")
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
        out = np.asarray(
            run_states(system._replace(encoder=z0[:, :0]), z0, system.readout, _whole(steps, len(system.readout)))
        )[0]
        parts = np.split(out, np.cumsum([len(r) for r in net.readouts])[:-1], axis=1)
        return {known.name: known.scale.restore(part) for known, part in zip(self.recordings, parts, strict=True)}

    def _one_start(self, known: Known, given: Any) -> np.ndarray:
        start = known.task.test[:1]
        if given is not None:
            start = known.scale.standardise(self._observations(known.name, given))
        if len(start) > 1:
            raise CrugError(f"x0 of {known.name!r} has {len(start)} starts; the whole network has one")
        return np.asarray(start[0], np.float32)

    @np.errstate(all="ignore")
    def score(
        self,
        name: str,
        x: np.ndarray | Recording | None = None,
        noise: bool = False,
        seed: int = NOISE_SEED,
        inputs: np.ndarray | None = None,
    ) -> Score:
        """All measures of a recording's network on the held-out part, or on new data.

        Parameters
        ----------
        name : a recording of the model.
        x : (T, N) other samples of the same system, in the recording's units and as far apart; or a Recording.
        noise, seed : with `noise=True`, rollouts vary as the recording did.
        inputs : (T, Q) what drove the new samples, for a recording that was learned with inputs.
        """
        task, quiet = self._tested(name, x, inputs), self._noise_seed(name, noise, seed)
        return task.evaluate(self.network, self._number(name), quiet)

    def judged(self, name: str, x: np.ndarray | Recording | None = None, inputs: np.ndarray | None = None) -> Judged:
        """What scores of the held-out part, or of new data, are judged by: what a perfect model would get, and what
        scores do not see. `judged(name).says(score(name).measures())` is the verdict in words."""
        if x is None:
            return self._known(name).judged
        number, task = self._number(name), self._tested(name, x, inputs)
        found = judged(self.network, number, task, self._carried(number))
        if task.input_columns:
            return found
        # where the data are of another system, the held-out part is no measure of what a perfect model would get
        own = task.on(task.test[: len(task.test) // 2]).on(task.test[len(task.test) // 2 :]).floor()
        return replace(found, floor={measure: min(value, own[measure]) for measure, value in found.floor.items()})

    def verdict(self, name: str) -> str:
        """Whether a recording was learned, in words: "indistinguishable from the recording", "good", "recognisable" or
        "not what was recorded", and what is wrong with it. Empty where an earlier crug learned it, which did not keep
        what it takes to say so."""
        known = self._known(name)
        best = known.learned.noisy.own if known.learned.noisy else known.learned.own
        return known.judged.says(best.measures())

    def recognise(self, x: np.ndarray | Recording) -> Recognised:
        """Which known recording's dynamics made a stretch of data, or whether it is new.

        Parameters
        ----------
        x : (T, N) at least 150 samples, in the units and as far apart as the recordings; or a Recording.

        Returns
        -------
        `name` is the recording, or None if the stretch is new; `ranking` has all recordings with as many columns.
        `print` says it in words. Recordings with inputs are left out, and those whose samples are farther apart or less
        far than a Recording says of its own.
        """
        dt = x.dt if isinstance(x, Recording) else None
        given = np.asarray(x.values if isinstance(x, Recording) else x, np.float64)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim != 2 or len(given) < SHORTEST:
            raise CrugError(f"to be recognised, data are (T, N) with T at least {SHORTEST}, not {given.shape}")
        if not np.isfinite(given).all():
            raise CrugError("the data to be recognised have values that are not finite; leave them out or fill them")
        found = []
        for number, known in enumerate(self.recordings):
            seen = known.task.observed()
            if seen is None or seen.inputs is not None or seen.x.shape[1] != given.shape[1]:
                continue
            if dt is None or np.isclose(dt, known.about.dt, rtol=0.01):
                found.append(candidate(self.network, number, known.name, seen, known.scale.standardise(given)))
        return ranked(found)

    def forecast_errors(self, name: str, x: np.ndarray | Recording | None = None) -> dict[str, dict[int, float]]:
        """Errors of forecasts after 1, 10 and 50 samples in standard deviations, of the recording's network and of two
        simple models beside it: the last sample for ever, and a linear autoregression."""
        return forecast_errors(self.network, self._number(name), self._tested(name, x))

    def _tested(self, name: str, x: Any, inputs: Any = None) -> RecordingTask:
        """The task of a recording, with new data to test it by if there are any."""
        known = self._known(name)
        if x is None:
            return known.task
        if isinstance(x, Recording):
            inputs, x = x.inputs if inputs is None else inputs, x.values
        x = known.scale.standardise(self._observations(name, x, "the data"))
        if len(x) < FEWEST:
            raise CrugError(f"{name!r}: {len(x)} samples are too few for a score; give at least {FEWEST}")
        return known.task.on(x, inputs)

    def _carried(self, number: int) -> int | None:
        return NOISE_SEED if self.network.noises[number] else None

    def _noise_seed(self, name: str, noise: bool, seed: int) -> int | None:
        if noise and self.network.noises[self._number(name)] is None:
            raise CrugError(
                f"{name!r} carries no noise: none did its rollouts any good when it was learned",
                "leave noise out",
                "leave --noise out",
            )
        return checked_seed(seed) if noise else None

    def analyse(self, name: str, cycles: int = 1) -> Analysis:
        """What a recording's network does: Lyapunov exponents and dimension, fixed points and cycles of up to `cycles`
        samples, linear regions, where it ends from many starts, and what it draws from earlier recordings.

        `print` shows it in words. Places are in the recording's units, and exponents per sample and per unit of time.
        """
        known = self._known(name)
        scale = known.scale
        subject = Subject(self.network, self._number(name), known.task, self.tasks, scale.mean, scale.std)
        return analyse(subject, cycles)

    @np.errstate(all="ignore")
    def picture(self, name: str) -> Picture:
        """A recording's held-out part and a rollout, in your units, for `crug.report` to draw."""
        known = self._known(name)
        found = known.task.picture(self.network, self._number(name))
        shown = {part: known.scale.restore(x) for part, x in found.parts.items() if part in SAMPLES}
        return found._replace(parts={**found.parts, **shown})

    def report(self, path: str | Path) -> Path:
        """Write a page that shows all that was learned: scores with their verdicts, attractors to turn with the mouse,
        exponents, fixed points, spectra, and who owns which unit. It is one HTML file that opens offline."""
        from crug.model.told import book_of_model  # a book is made of a model

        return write_page(book_of_model(self), path)

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters of the network as plain arrays: a, W, C, h, the encoder B, unit kinds, ledger, readouts."""
        return {name: np.array(value) for name, value in to_arrays(self.network).items()}

    def verify(self) -> dict[str, bool]:
        """For every recording, whether its parameters and its rollout are still the bits that were learned.

        The rollout is compared on the kind of machine that learned it only: others round differently, and there the
        parameters decide.
        """
        return {known.name: known.unchanged(self.network, k) for k, known in enumerate(self.recordings)}

    def _number(self, name: str) -> int:
        if name not in self.tasks:
            known = ", ".join(self.tasks) or "none yet"
            raise CrugError(f"the model has no recording called {name!r}; it has: {known}")
        return self.tasks.index(name)

    def _known(self, name: str) -> Known:
        return self.recordings[self._number(name)]

    def _observations(self, name: str, x: Any, called: str = "x0") -> np.ndarray:
        """Samples (several, N) in the recording's own units."""
        try:
            x = np.atleast_2d(np.asarray(x, np.float64))
        except (TypeError, ValueError):
            raise CrugError(f"{name!r}: {called} is not an array of numbers") from None
        dim = self._known(name).task.dim
        if x.ndim > 2 or x.shape[1] != dim:
            raise CrugError(f"{name!r} has {dim} dimensions; {called} is (N,) or (several, N), not {x.shape}")
        if not len(x):
            raise CrugError(f"{name!r}: {called} has no samples")
        if not np.isfinite(x).all():
            raise CrugError(f"{name!r}: {called} has values that are not finite")
        known = self._known(name)
        within_reach(f"{name!r}, {called}", known.scale.standardise(x), known.about.columns)
        return x


def _whole(steps: Any, width: int) -> int:
    """A number of steps of a rollout that fits into memory."""
    steps = positive("steps", steps, 2**62)
    what = f"a rollout of {steps:,} steps"
    affordable(ROLLING * steps * width, what, "take fewer, or rollout_in_pieces", "take fewer")
    return steps
