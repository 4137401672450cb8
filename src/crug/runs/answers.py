"""Whether a method answered as it was asked. A user's own method may return anything; what is wrong is said with the
name of the method and of the question, before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from crug.core.block import Opening
from crug.core.network import Network
from crug.errors import CrugError
from crug.methods.base import Closing, Method, Rehearsal
from crug.methods.shared import Shared
from crug.training.phases import Course, Outcome, Phase, Progress


def _wrong(method: Method, question: str, found: Any, wanted: str) -> CrugError:
    kind = " and ".join(type(part).__name__ for part in (found if isinstance(found, tuple) else (found,)))
    return CrugError(f"{method.name}: {question} returned {kind}, not {wanted}")


def opening(method: Method, found: Any) -> Opening:
    """What `open` answered."""
    if not isinstance(found, Opening):
        raise _wrong(method, "open", found, "an Opening")
    return found


def rehearsals(method: Method, found: Any) -> Sequence[Rehearsal]:
    """What `rehearse` answered."""
    if not isinstance(found, list | tuple) or not all(isinstance(one, Rehearsal) for one in found):
        raise _wrong(method, "rehearse", found, "a list of Rehearsal")
    for one in found:
        if getattr(type(one.task), "view", None) is None or not all(np.ndim(piece) for piece in one.examples):
            raise _wrong(method, "rehearse", tuple(one[:3:2]), "a Rehearsal of a task and arrays of its examples")
    return found


def recalled(method: Method, found: Any) -> dict[str, Any]:
    """What `recall` answered: numbers and arrays by name, as compiled code takes them."""
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise _wrong(method, "recall", found, "a dict of numbers and arrays by name")
    for name, value in found.items():
        if not all(_numeric(leaf) for leaf in jax.tree.leaves(value)):
            raise _wrong(method, "recall", value, f"numbers or arrays as {name!r}")
    return found


def phase(method: Method, found: Any, history: Sequence[Outcome]) -> Phase | None:
    """What `next_phase` answered: what to do, from units as the network has them or from what an earlier phase kept."""
    if found is None:
        return None
    if not isinstance(found, Phase):
        raise _wrong(method, "next_phase", found, "a Phase or None")
    if not isinstance(found.epochs, int | np.integer) or found.epochs < 1:
        raise CrugError(f"{method.name}: next_phase returned a Phase of {found.epochs} epochs; it needs one at least")
    if found.begin is not None and found.begin not in range(len(history)):
        raise CrugError(f"{method.name}: next_phase begins with phase {found.begin}; there are {len(history)} so far")
    return found


def choice(method: Method, found: Any, history: Sequence[Outcome]) -> int:
    """What `choose` answered: the number of a phase."""
    if isinstance(found, bool) or not isinstance(found, int | np.integer) or found not in range(len(history)):
        raise _wrong(method, "choose", found, f"the number of one of {len(history)} phases, from 0")
    return int(found)


def closing(method: Method, found: Any) -> Closing:
    """What `close` answered: the network, and the memory that `remember` gave it."""
    if not (isinstance(found, tuple) and [type(part) for part in found] == [Network, dict]):
        if isinstance(method, Shared) and isinstance(found, tuple) and len(found) == 2 and type(found[0]) is Network:
            raise _wrong(method, "remember", found[1], "a dict of arrays")
        raise _wrong(method, "close", found, "a Network and a dict of arrays")
    for name, value in found[1].items():
        if not isinstance(name, str) or not _numeric(value):
            raise _wrong(method, "remember", value, f"an array as {name!r}")
    memory = {name: np.asarray(value) for name, value in found[1].items()}
    return Closing(found[0], memory)


def penalty(method: Method, course: Course, phase: Phase, progress: Progress) -> None:
    """Whether `penalty` adds one number to the loss. It is asked for its shape only; nothing is computed."""
    objective, fixed, params = course.objective, progress.block.fixed, progress.state.params
    controls = {name: jax.tree.map(jnp.asarray, value) for name, value in course.controls(phase).items()}

    def added(params, controls):
        answers.append(objective.penalty(params, objective.effective(params, fixed, controls), fixed, controls))

    answers: list[Any] = []
    jax.eval_shape(added, params, controls)
    found = answers[0]
    shape = getattr(found, "shape", () if isinstance(found, int | float) else None)
    if shape != ():
        told = type(found).__name__ if shape is None else f"an array of shape {shape}"
        raise CrugError(f"{method.name}: penalty returned {told}, not one number")


def _numeric(value: Any) -> bool:
    """Whether arrays can hold it."""
    if isinstance(value, Mapping | str | bytes) or value is None:
        return False
    try:
        return np.asarray(value).dtype.kind in "fiub"
    except (TypeError, ValueError):
        return False
