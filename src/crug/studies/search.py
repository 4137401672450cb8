"""Searches for settings: Optuna proposes, an engine carries out, and the journal of a search survives everything.

Trials come in batches of a fixed size. All of a batch are proposed from what the batches before it have told, by a
sampler whose seed follows from the number of the trial. So the outcome does not depend on how many workers there are or
which run ends first. The journal has only trials that are over: a search that is interrupted proposes the others again,
the same ones, and goes on to the same end. A run that fails counts as the worst, so that a search does not stand still
at settings that cannot be run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crug.errors import CrugError
from crug.metrics import quartiles
from crug.runs import Result
from crug.studies.pool import Done, Engine
from crug.studies.reproduce import Desk
from crug.studies.wanted import Wanted
from crug.training.settings import keys

if TYPE_CHECKING:
    import optuna

JOURNAL = "search.journal"
BATCH = 4
"""Trials that are proposed together."""
WORST = 1e3
"""What a divergent or exhausted run counts as where a finite number is needed."""
HOPELESS = 4.0
"""A trial whose first seed is so many times worse than the best trial so far is not run with further seeds."""


class Space(NamedTuple):
    """What is searched: the settings with their ranges, each on a logarithmic scale where it is above zero."""

    ranges: Mapping[str, tuple[float, float]]
    whole: frozenset[str] = frozenset()

    @classmethod
    def of(cls, wanted: Wanted, given: Mapping[str, tuple[float, float]] | None = None) -> Space:
        """The ranges that are given, or those that the method itself names."""
        kind, settings = wanted.kind.Settings, wanted.settings
        ranges = dict(given or settings.searched())
        fields = keys(kind)
        if not ranges:
            raise CrugError(
                f"method {wanted.method}: names no settings to search" + (" by these settings" if kind.search else ""),
                f"give ranges, or {settings.remedy}",
                f"give them: --range KEY=LOW:HIGH, for one of {', '.join(fields)}; or {settings.remedy}",
            )
        for key, (low, high) in ranges.items():
            if key not in fields:
                raise CrugError(f"{key}: there is no such setting; `crug methods` lists them")
            if key.startswith(settings.idle()):
                raise CrugError(f"{key}: does nothing by these settings; {settings.remedy}")
            if not low < high:
                raise CrugError(f"{key}: its range is from {low:g} to {high:g}; give the lower end first")
        return cls(ranges, frozenset(key for key in ranges if fields[key].annotation is int))

    def propose(self, trial: optuna.Trial) -> dict[str, Any]:
        """The settings of a trial."""
        found: dict[str, Any] = {}
        for key, (low, high) in self.ranges.items():
            if key in self.whole:
                found[key] = trial.suggest_int(key, int(low), int(high), log=low > 0)
            else:
                found[key] = float(f"{trial.suggest_float(key, low, high, log=low > 0):.6g}")
        return found


class Plan(NamedTuple):
    """What a search is of.

    Parameters
    ----------
    wanted : the run whose settings are searched; its seed does not count.
    space : of settings.
    trials, seeds : how many, and how many runs each.
    pareto : whether units count beside the score.
    hopeless : whether trials that begin badly are stopped.
    """

    wanted: Wanted
    space: Space
    trials: int
    seeds: int = 3
    pareto: bool = False
    hopeless: bool = False
    sampler: int = 0
    """The seed of what is proposed."""


def search(plan: Plan, desk: Desk, engine: Engine, tell: Callable[[int, Done], None]) -> optuna.Study:
    """Carry a search out, or go on with it; `tell` is called with the number of trials that are over and each run."""
    study = open_study(plan, desk.runs)
    while (over := len(study.trials)) < plan.trials:
        batch = range(over, min((over // BATCH + 1) * BATCH, plan.trials))
        proposed = {number: propose(study, plan, number) for number in batch}
        best = min((trial.values[0] for trial in _before(study, over)), default=np.inf)
        failed = _Failed(lambda done, over=over: tell(over, done))
        wanted = {number: runs_of(plan, trial) for number, trial in proposed.items()}
        values = _values(plan, wanted, desk, engine, best, failed)
        if not over and all(failed.of(runs) for runs in wanted.values()):
            raise CrugError(f"all of the first trials failed, so it is not their settings: {failed.of(wanted[0])}")
        for number, trial in proposed.items():
            study.add_trial(_over(trial, values[number], failed.of(wanted[number])))
    return study


def _before(study: optuna.Study, number: int) -> list[optuna.trial.FrozenTrial]:
    """The trials of the batches before that of trial `number`."""
    return study.trials[: number // BATCH * BATCH]


def propose(study: optuna.Study, plan: Plan, number: int) -> optuna.trial.FrozenTrial:
    """Trial `number`: it follows from the batches before its own. Where units count too, the sampler is the same one:
    searches are too short for generations."""
    import optuna

    seed = int(np.random.default_rng([plan.sampler, number]).integers(2**31))
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=2 * BATCH)
    alike = optuna.create_study(sampler=sampler, directions=study.directions)
    alike.add_trials(_before(study, number))
    trial = alike.ask()
    trial.set_user_attr("settings", plan.space.propose(trial))
    return alike.trials[-1]


def _over(trial: optuna.trial.FrozenTrial, values: Sequence[float], failed: str) -> optuna.trial.FrozenTrial:
    """The trial with its values. What the sampler noted of it stays."""
    import optuna

    said = {**trial.user_attrs, **({"failed": failed} if failed else {})}
    return optuna.trial.create_trial(
        params=trial.params,
        distributions=trial.distributions,
        user_attrs=said,
        system_attrs=trial.system_attrs,
        values=list(values),
    )


def open_study(plan: Plan, folder: Path) -> optuna.Study:
    """The search as its journal has it."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise CrugError('a search needs optuna: pip install "crug[search]"') from None
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    backend = JournalFileBackend(str(folder / JOURNAL))
    directions: list[Any] = ["minimize"] * (2 if plan.pareto else 1)
    ranges = ",".join(f"{key}={low:g}:{high:g}" for key, (low, high) in plan.space.ranges.items())
    name = f"{plan.wanted.plan.sequence} {plan.wanted.method} {ranges} seeds={plan.seeds} from={plan.sampler}"
    name += "".join(f" {key}={value}" for key, value in sorted(plan.wanted.given.items()))
    name += " pareto" * plan.pareto + " hopeless" * plan.hopeless
    return optuna.create_study(
        storage=optuna.storages.JournalStorage(backend),
        study_name=name,
        directions=directions,
        load_if_exists=True,
    )


def runs_of(plan: Plan, trial: optuna.trial.FrozenTrial) -> list[Wanted]:
    """The runs of a trial."""
    given = {**plan.wanted.given, **trial.user_attrs["settings"]}
    return [plan.wanted.model_copy(update={"given": given, "seed": seed}) for seed in range(plan.seeds)]


class _Failed:
    """The runs of a batch that failed, and why; others are told of every run."""

    def __init__(self, tell: Callable[[Done], None]):
        self.tell, self.why = tell, dict[str, str]()

    def __call__(self, done: Done) -> None:
        if done.result is None:
            self.why[done.wanted.key] = done.error
        self.tell(done)

    def of(self, runs: Sequence[Wanted]) -> str:
        """Why a trial has runs that failed; an empty text where it has none."""
        return next((self.why[one.key] for one in runs if one.key in self.why), "")


def _values(
    plan: Plan, wanted: dict[int, list[Wanted]], desk: Desk, engine: Engine, best: float, failed: _Failed
) -> dict[int, list[float]]:
    """What the trials of a batch came to."""
    if plan.hopeless:
        _carry_out([runs[0] for runs in wanted.values()], desk, engine, failed)
        for number, runs in wanted.items():
            if _value_of(_result(desk, runs[0])) > HOPELESS * best:
                wanted[number] = runs[:1]
    _carry_out([one for runs in wanted.values() for one in runs if not failed.of([one])], desk, engine, failed)
    return {number: _value(plan, [_result(desk, one) for one in runs]) for number, runs in wanted.items()}


def _carry_out(wanted: Sequence[Wanted], desk: Desk, engine: Engine, tell: Callable[[Done], None]) -> None:
    """Those of the runs that are not stored yet."""
    for done in engine.carry_out([one for one in wanted if desk.shelf.find(one) is None]):
        if done.result is not None:
            desk.shelf.add(done.result)
        tell(done)


def _result(desk: Desk, wanted: Wanted) -> Result | None:
    """None of a run that failed."""
    record = desk.shelf.find(wanted)
    return None if record is None else record.result


def _value_of(result: Result | None) -> float:
    """The worst task of a run; of trials, what is missed of full accuracy."""
    if result is None or not result.completed:
        return WORST
    main = next(iter(result.tasks[0].final))
    worst = result.overall.get(main, np.inf)
    return min(WORST, 1 - worst if main == "accuracy" else worst)


def _value(plan: Plan, results: Sequence[Result | None]) -> list[float]:
    """The median over seeds, and where units count their median too; a run that failed has all units."""
    score = quartiles([_value_of(result) for result in results]).median
    if not plan.pareto:
        return [score]
    most = plan.wanted.settings.network.M
    return [score, float(np.median([most if result is None else result.units for result in results]))]


def table(study: optuna.Study) -> list[tuple[int, dict[str, Any], list[float]]]:
    """All trials that are over, the best first: number, settings, values."""
    done = [trial for trial in study.trials if trial.values]
    ordered = sorted(done, key=lambda trial: (trial.values, trial.number))
    return [(trial.number, trial.user_attrs["settings"], trial.values) for trial in ordered]
