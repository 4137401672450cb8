"""A method through a sequence of tasks, in a folder: the loop, the store (atomic, locked, resumable), the journal of a
task under way, the result, and the proof that nothing was forgotten."""

from crug.runs.learning import Taught, learn
from crug.runs.listeners import Listener, Silent, Ticker
from crug.runs.plan import Plan
from crug.runs.result import Learned, Result, TaskResult
from crug.runs.sequence import run

__all__ = ["Learned", "Listener", "Plan", "Result", "Silent", "TaskResult", "Taught", "Ticker", "learn", "run"]
