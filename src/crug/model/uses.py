"""What can be done with what a model has learned. Nothing here changes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crug.analysis import Analysis, Judged, Subject, analyse, judged
from crug.analysis.baselines import forecast_errors
from crug.analysis.recognition import Recognised
from crug.core.network import Network, to_arrays
from crug.errors import CrugError
from crug.model.kept import Family, Kept, joined
from crug.model.known import About, Known
from crug.model.recognised import recognised
from crug.model.record import whole
from crug.model.together import connected, run_together
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
    """Records of recordings, and a number of free units."""

    def _hold(self, seed: int, settings: dict[str, Any], free: int, kept: tuple[Kept, ...]) -> None:
        self.seed, self.settings, self.units_free, self.kept = seed, settings, free, kept
        self._numbers = {one.name: k for k, one in enumerate(kept)}
        self._families: dict[str, Family] = {}

    def __repr__(self) -> str:
        known = ", ".join(self.tasks) or "nothing yet"
        return f"Model of {self.units} units, {self.units_free} free, that knows {known}"

    # what there is

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the recordings, in the order in which they were learned."""
        return tuple(one.name for one in self.kept)

    @property
    def recordings(self) -> tuple[Known, ...]:
        """What is known of every recording."""
        return tuple(one.record.known for one in self.kept)

    @property
    def units(self) -> int:
        """Units in all."""
        return self.units_free + sum(sum(one.listed.count.values()) for one in self.kept)

    @property
    def ledger(self) -> dict[str, dict[str, int]]:
        """How many units of each kind every task owns, and how many are free, which are of either kind."""
        return {**{one.name: one.listed.count for one in self.kept}, "free": {"either": self.units_free}}

    @property
    def network(self) -> Network:
        """All units that recordings own, as the one dense network of the paper, put together anew at every call."""
        return joined(self.kept, whole)

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
        network, number, known = *self._placed(name), self._known(name)
        start = known.task.test[:1] if x0 is None else known.scale.standardise(self._observations(name, x0))
        usual = known.task.usual_steps if inputs is None else len(np.atleast_1d(inputs))
        count = _whole(usual if steps is None else steps, start.size)
        how = Rolling(start, count, inputs, self._noise_seed(name, noise, seed))
        out = known.scale.restore(known.task.roll(network, number, how))
        return out if x0 is not None and np.ndim(x0) == 2 else out[0]

    def rollout_in_pieces(
        self, name: str, steps: int, x0: np.ndarray | None = None, noise: bool = False, seed: int = NOISE_SEED
    ) -> Iterator[np.ndarray]:
        """The rows of `rollout`, some after others, in arrays (some, N): for rollouts that are longer than memory.

        There is one start, and there are no inputs.
        """
        network, number, known = *self._placed(name), self._known(name)
        start = known.task.test[:1] if x0 is None else known.scale.standardise(self._observations(name, x0))
        how = Rolling(start[:1], positive("steps", steps, 2**62), None, self._noise_seed(name, noise, seed))
        for piece in known.task.rolling(network, number, how):
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
        return known.scale.restore(known.task.foresee(*self._placed(name), how))

    @np.errstate(all="ignore")
    def rollout_all(self, x0: Mapping[str, np.ndarray] | None, steps: int) -> dict[str, np.ndarray]:
        """Run all units at once and read every recording from them: name -> (steps, N).

        `x0` gives starts by name, in each recording's own units; what it does not name starts where its held-out part
        begins. Where a recording draws on earlier ones, it hears them as they run here, not as in its own `rollout`.
        There are no inputs here, also for recordings that were learned with some, and no noise.
        """
        for name in x0 or {}:
            self._number(name)
        starts = {name: self._one_start(self._known(name), (x0 or {}).get(name)) for name in self.tasks}
        count, found = _whole(steps, sum(map(len, starts.values()))), {}
        for group in connected(self.kept):
            out = run_together(joined(group, whole), [starts[one.name] for one in group], count)
            found |= {one.name: self._known(one.name).scale.restore(x) for one, x in zip(group, out, strict=True)}
        return {name: found[name] for name in self.tasks}

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
        return task.evaluate(*self._placed(name), quiet)

    def judged(self, name: str, x: np.ndarray | Recording | None = None, inputs: np.ndarray | None = None) -> Judged:
        """What scores of the held-out part, or of new data, are judged by: what a perfect model would get, and what
        scores do not see. `judged(name).says(score(name).measures())` is the verdict in words."""
        if x is None:
            return self._known(name).judged
        (network, number), task = self._placed(name), self._tested(name, x, inputs)
        found = judged(network, number, task, NOISE_SEED if network.noises[number] else None)
        if self._driven(name):
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
        `name` is the recording, or None if the stretch is new; `ranking` has all recordings with as many columns,
        before or after the delayed copies are made that they were learned with. `print` says it in words. `left_out`
        says which of them could not be compared: those with inputs, those whose samples are farther apart or less far
        than a Recording says of its own, and those with too short a part that they were not learned from.
        """
        return recognised([(known, *self._placed(known.name)) for known in self.recordings], x)

    def forecast_errors(self, name: str, x: np.ndarray | Recording | None = None) -> dict[str, dict[int, float]]:
        """Errors of forecasts after 1, 10 and 50 samples in standard deviations, of the recording's network and of two
        simple models beside it: the last sample for ever, and a linear autoregression. Empty where there are too few
        samples, and for recordings with inputs, which the simple models do not hear."""
        if self._driven(name):
            return {}
        return forecast_errors(*self._placed(name), self._tested(name, x))

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

    def _driven(self, name: str) -> bool:
        """Whether a recording has inputs, which may be without names."""
        seen = self._known(name).task.observed()
        return seen is not None and seen.inputs is not None

    def _noise_seed(self, name: str, noise: bool, seed: int) -> int | None:
        if noise and self._kept(name).record.units.noise is None:
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
        return analyse(self.subject(name), cycles)

    def subject(self, name: str) -> Subject:
        """A recording's network with what it takes to analyse it."""
        known, found = self._known(name), self._family(name)
        return Subject(found.network, found.number, known.task, found.names, known.scale.mean, known.scale.std)

    @np.errstate(all="ignore")
    def picture(self, name: str) -> Picture:
        """A recording's held-out part and a rollout, in your units, for `crug.report` to draw."""
        known = self._known(name)
        found = known.task.picture(*self._placed(name))
        shown = {part: known.scale.restore(x) for part, x in found.parts.items() if part in SAMPLES}
        return found._replace(parts={**found.parts, **shown})

    def report(self, path: str | Path) -> Path:
        """Write a page that shows all that was learned: scores with their verdicts, attractors to turn with the mouse,
        exponents, fixed points, spectra, and who owns which unit. It is one HTML file that opens offline."""
        from crug.model.told import book_of_model  # a book is made of a model

        return write_page(book_of_model(self), path)

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters of the network of the paper as plain arrays: a, W, C, h, the encoder B, unit kinds, ledger,
        readouts. They are of the units that recordings own; free units have no parameters until a recording takes them.
        """
        return {name: np.array(value) for name, value in to_arrays(self.network).items()}

    def verify(self) -> dict[str, bool]:
        """For every recording, whether its parameters and its rollout are still the bits that were learned.

        The rollout is compared on the kind of machine that learned it only: others round differently, and there the
        parameters decide. A recording that is damaged in the model's file is not what was learned.
        """
        return {name: not change for name, change in self.changes()}

    def changes(self) -> Iterator[tuple[str, str]]:
        """For every recording, in what it is not what was learned; an empty text if in nothing."""
        return ((name, self._family(name).change()) for name in self.tasks)

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            known = ", ".join(self.tasks) or "none yet"
            raise CrugError(f"the model has no recording called {name!r}; it has: {known}")
        return self._numbers[name]

    def _kept(self, name: str) -> Kept:
        return self.kept[self._number(name)]

    def _known(self, name: str) -> Known:
        return self._kept(name).record.known

    def _family(self, name: str) -> Family:
        if name not in self._families:
            own = self._kept(name)
            self._families[name] = Family([*(self._kept(other) for other in own.listed.heard), own])
        return self._families[name]

    def _placed(self, name: str) -> tuple[Network, int]:
        """The small network that a recording runs in, and its number there."""
        found = self._family(name)
        return found.network, found.number

    def _observations(self, name: str, x: Any, called: str = "x0") -> np.ndarray:
        """Samples (several, N) in the recording's own units."""
        try:
            x = np.atleast_2d(np.asarray(x, np.float64))
        except (TypeError, ValueError):
            raise CrugError(f"{name!r}: {called} is not an array of numbers") from None
        dim = self._known(name).task.dim
        if called != "x0" and dim == 1 and len(x) == 1:  # samples (T,) of a single column
            x = x.T
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
