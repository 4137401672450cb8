"""Tasks by name, and named sequences of them."""

from crug.config import TrialSettings
from crug.tasks import cognitive, gait
from crug.tasks.base import Task
from crug.tasks.cognitive import TrialTask
from crug.tasks.systems import SYSTEMS, generate

SEQUENCES: dict[str, tuple[str, ...]] = {
    "vlrc": ("van-der-pol", "lorenz", "rossler", "chua"),
    "rcvl": ("rossler", "chua", "van-der-pol", "lorenz"),
    "cvlr": ("chua", "van-der-pol", "lorenz", "rossler"),
    "lrcv": ("lorenz", "rossler", "chua", "van-der-pol"),
    "blgf": ("blasius", "laser", "genesio-tesi", "finance"),
    "lorenz-family": ("lorenz", "lorenz-313", "lorenz-200", "lorenz-160"),
    **gait.SEQUENCES,
    **cognitive.SEQUENCES,
}

TASKS: tuple[str, ...] = (*SYSTEMS, *gait.SUBJECTS, *cognitive.NAMES)
AnyTask = Task | TrialTask


def load(name: str, seed: int, trials: TrialSettings | None = None) -> AnyTask:
    """The task of that name; its data follow from the seed."""
    if name in cognitive.NAMES:
        return cognitive.load(name, seed, trials)
    return load_recording(name, seed)


def load_recording(name: str, seed: int) -> Task:
    """A system or a subject, by name."""
    if name in gait.SUBJECTS:
        return gait.load(name)
    if name not in SYSTEMS:
        raise KeyError(f"no task is called {name!r}; there are {', '.join(TASKS)}")
    return generate(SYSTEMS[name], seed)


__all__ = ["SEQUENCES", "SYSTEMS", "TASKS", "AnyTask", "Task", "TrialTask", "load", "load_recording"]
