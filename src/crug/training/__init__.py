"""How a block is trained: settings and where their defaults come from, the objective that a method brings, many epochs
as one compiled call, and phases, which are stretches of training with one loss, one rate schedule and one rule to
stop."""

from crug.training.epochs import Recipe
from crug.training.objective import Objective
from crug.training.phases import Course, Outcome, Phase, Progress, run_phase
from crug.training.settings import RunSettings

__all__ = ["Course", "Objective", "Outcome", "Phase", "Progress", "Recipe", "RunSettings", "run_phase"]
