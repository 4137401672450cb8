"""Continual learning with neuron pruning (paper, appendix A.7): an L1 price on what comes into a unit, then units of
little activity are pruned and the others frozen.

A unit's activity is its mean |z| over free-running trajectories, in units of the readouts' own. The threshold is the
largest on a logarithmic grid for which D_stsp of the pruned network, on the training data, stays within `margin` of
the unpruned one's ('graceful forgetting').
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import jax.numpy as jnp
import numpy as np
from pydantic import Field

from crug.core.block import Block, Fixed, Params, State, compact, masked
from crug.methods.base import Closing, Lesson, Memory
from crug.methods.isolating import FEWEST, Isolating
from crug.sections import NonNegative, Section
from crug.training.objective import Controls, Objective
from crug.training.settings import Given, RunSettings

GRID = np.logspace(1, -6, 351)
"""Thresholds that are tried: fifty a decade, from ten times as active as the readouts downwards."""


class L1Settings(Section):
    linear: Annotated[NonNegative, Field(description="L1 price of what comes into a linear unit")] = 1.56e-3
    relu: Annotated[NonNegative, Field(description="L1 price of what comes into a ReLU unit")] = 1.67e-3


class ClnpSettings(RunSettings):
    l1: L1Settings = L1Settings()
    margin: Annotated[
        NonNegative, Field(description="how much worse D_stsp may become by pruning, as a part of it")
    ] = 0.02

    presets: ClassVar[Mapping[str, Given]] = {
        "blgf": {"l1": {"linear": 1.18e-3, "relu": 1.53e-3}, "margin": 0.6615},
        "cognitive": {"l1": {"linear": 0.02, "relu": 0.02}, "margin": 0.01, "training": {"lr": 3e-2}},
    }
    search: ClassVar[Mapping[str, tuple[float, float]]] = {
        "l1.linear": (6e-4, 5e-3),
        "l1.relu": (1.5e-3, 1e-2),
        "margin": (0.02, 0.8),
    }


@dataclass(frozen=True)
class Pruning(Objective):
    """Controls: `l1_linear`, `l1_relu`."""

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: Controls):
        e = effective
        price = fixed.relu * controls["l1_relu"] + (1 - fixed.relu) * controls["l1_linear"]
        rows = sum(jnp.abs(e[name]).sum(1) for name in ("W", "V", "C"))
        incoming = jnp.abs(e["a"]) + jnp.abs(e["h"]) + rows
        return jnp.sum(price * incoming)


class Clnp(Isolating):
    name: ClassVar[str] = "clnp"
    summary: ClassVar[str] = "neuron pruning: an L1 price, then quiet units are pruned and the others frozen"
    Settings: ClassVar[type[RunSettings]] = ClnpSettings
    remedy = "use a larger network (network.M) or keep fewer units a task (l1.linear, l1.relu, margin)"

    objective = Pruning()

    def recall(self, memory: Memory, block: Block) -> Controls:
        return {f"l1_{kind}": jnp.float32(getattr(self.settings.l1, kind)) for kind in ("linear", "relu")}

    def close(self, lesson: Lesson, rng: np.random.Generator) -> Closing:
        block, params = self.prune(lesson)
        return self.freeze(lesson, block, params, rng)

    def prune(self, lesson: Lesson) -> tuple[Block, Params]:
        """The smallest block of all thresholds that is still within the margin."""
        whole = lesson.block, lesson.params
        limit = self._main(lesson, *whole) * (1 + self.settings.margin)
        if not np.isfinite(limit):  # a divergent network cannot tell what it needs
            return whole
        active, tried = activity(lesson), 0
        for threshold in GRID:
            keep = np.flatnonzero(active > threshold)
            if len(keep) < FEWEST or len(keep) == tried:
                continue
            tried = len(keep)
            block, state = compact(lesson.before, lesson.block, State(lesson.params, (), {}), keep)
            if self._main(lesson, block, state.params) <= limit:
                return block, state.params
        return whole

    def _main(self, lesson: Lesson, block: Block, params: Params) -> float:
        return lesson.scorer.score(lesson.before, block, masked(params, block.fixed.alive)).main


def activity(lesson: Lesson) -> np.ndarray:
    """The mean |z| of each of the block's units while it is scored, over the readouts' mean; infinite for these.

    Where no units are read out, it is relative to the most active one.
    """
    block = lesson.block
    z = lesson.scorer.states(lesson.before, block, masked(lesson.params, block.fixed.alive))
    mean = np.abs(z).mean(axis=(0, 1), dtype=np.float64)
    if not block.dim:
        mean = np.nan_to_num(mean)
        return mean / mean.max()
    relative = mean / mean[: block.dim].mean()
    relative[: block.dim] = np.inf
    return np.where(np.isnan(relative), 0, relative)
