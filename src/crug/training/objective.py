"""What a method does inside a gradient step: to parameters, loss and update, and with arrays of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from crug.core.block import Block, Fixed, Params, masked

Controls = dict[str, Any]
"""Numbers and arrays by name: `lr`, `lr_end`, `epochs`; `progress`, the part of the phase that is over; the phase's own
controls; what the method recalls. They may change without anything being compiled again."""


@dataclass(frozen=True)
class Objective:
    """The task's loss and nothing else; a method overrides what it does differently. Hashable: part of what is
    compiled.

    Parameters
    ----------
    replay : where training is given other tasks, one of them is drawn for an extra step after so many steps on the
        present one; with 0, all tasks take turns.
    threshold : a unit that takes part by more than that is kept when a block is absorbed.
    """

    replay: int = field(default=0, kw_only=True)
    threshold: float = field(default=0.5, kw_only=True)

    # what runs

    def effective(self, params: Params, fixed: Fixed, controls: Controls) -> Params:
        """The parameters that run. A padded unit has none."""
        return masked(params, fixed.alive)

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: Controls) -> Float[Array, ""]:
        """What is added to the task's loss."""
        return jnp.float32(0)

    def freeze(self, updates: Params, params: Params, controls: Controls) -> Params:
        """The last word on an update, e.g. to hold what earlier tasks use."""
        return updates

    # an account of every step

    def begin(self, params: Params) -> Params:
        """The account at the start of a phase, arrays by name."""
        return {}

    def account(self, account: Params, gradients: Params, change: Params) -> Params:
        """The account after a step: the gradients of the whole loss before it, clipped, and the change that it made."""
        return account

    # arrays of the method's own

    @property
    def axes(self) -> Mapping[str, tuple[int, ...]]:
        """For every array of the method's own, which of its axes run over the block's units."""
        return {}

    def arrays(self, units: int, feeders: int) -> dict[str, np.ndarray]:
        """The arrays of the method's own at the start of a task, for so many units and feeders."""
        return {}

    def rates(self, controls: Controls) -> dict[str, Float[Array, ""]]:
        """Learning rates of arrays of the method's own that do not follow the others'."""
        return {}

    # which units take part, and what is left when training is over

    def taking_part(self, params: Params, fixed: Fixed, controls: Controls) -> Float[Array, " n"]:
        """How far each unit takes part, from 0 to 1."""
        return fixed.alive

    def closed(self, params: Params, fixed: Fixed, controls: Controls) -> np.ndarray | None:
        """Which units (n,) will never take part again, without influence and gradient: they are dropped. None: nobody
        asks."""
        return None

    def absorb(self, params: Params, block: Block, controls: Controls) -> Params:
        """The parameters as they would be committed: plain ones that run as they are. Units that do not take part by
        more than the threshold are dropped afterwards."""
        return {**params, **self.effective(params, block.fixed, controls)}
