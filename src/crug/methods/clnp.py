"""Continual learning with neuron pruning (paper, appendix A.7): an L1 price on what comes into a unit, then units of
little activity are pruned and the others frozen.

A unit's activity is its mean |z| over free-running trajectories, in units of the readouts' own. The threshold is the
largest on a logarithmic grid for which D_stsp of the pruned network, on the training data, stays within `margin` of
the unpruned one's ('graceful forgetting').
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import Field

from crug.block import Block, Fixed, Params, State, compact, system
from crug.config import NonNegative, RunConfig, Section
from crug.evaluation import TrainingScore, TrialScore
from crug.methods.base import Lesson, Memory
from crug.methods.isolating import FEWEST, Isolating
from crug.network import Network
from crug.training import Objective, answers

GRID = np.logspace(1, -6, 351)
"""Thresholds that are tried: fifty a decade, from ten times as active as the readouts downwards."""


class L1Config(Section):
    linear: Annotated[NonNegative, Field(description="L1 price of what comes into a linear unit")] = 1.56e-3
    relu: Annotated[NonNegative, Field(description="L1 price of what comes into a ReLU unit")] = 1.67e-3


class ClnpConfig(RunConfig):
    l1: L1Config = L1Config()
    margin: Annotated[
        NonNegative, Field(description="how much worse D_stsp may become by pruning, as a part of it")
    ] = 0.02

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "blgf": {"l1": {"linear": 1.18e-3, "relu": 1.53e-3}, "margin": 0.6615},
        "cognitive": {"l1": {"linear": 0.02, "relu": 0.02}, "margin": 0.01, "training": {"lr": 3e-2}},
    }
    search: ClassVar[dict[str, tuple[float, float]]] = {
        "l1.linear": (6e-4, 5e-3),
        "l1.relu": (1.5e-3, 1e-2),
        "margin": (0.02, 0.8),
    }


@dataclass(frozen=True)
class Pruning(Objective):
    """Controls: `l1_linear`, `l1_relu`."""

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: dict[str, Array], progress: Array):
        e = effective
        price = fixed.relu * controls["l1_relu"] + (1 - fixed.relu) * controls["l1_linear"]
        rows = sum(jnp.abs(e[name]).sum(1) for name in ("W", "V", "C"))
        incoming = jnp.abs(e["a"]) + jnp.abs(e["h"]) + rows
        return jnp.sum(price * incoming)


class Clnp(Isolating):
    name: ClassVar[str] = "clnp"
    summary: ClassVar[str] = "neuron pruning: an L1 price, then quiet units are pruned and the others frozen"
    Config: ClassVar[type[RunConfig]] = ClnpConfig
    remedy = "use a larger network (network.M) or keep fewer units a task (l1.linear, l1.relu, margin)"

    objective = Pruning()

    def recall(self, memory: Memory, block: Block) -> Params:
        return {f"l1_{kind}": jnp.float32(getattr(self.config.l1, kind)) for kind in ("linear", "relu")}

    def close(
        self, network: Network, lesson: Lesson, memory: Memory, rng: np.random.Generator
    ) -> tuple[Network, Memory]:
        block, params = self.prune(network, lesson)
        return self.freeze(network, block, params, rng), memory

    def prune(self, network: Network, lesson: Lesson) -> tuple[Block, Params]:
        """The smallest block of all thresholds that is still within the margin."""
        whole = lesson.block, lesson.params
        limit = self._score(network, lesson, *whole) * (1 + self.config.margin)
        if not np.isfinite(limit):  # a divergent network cannot tell what it needs
            return whole
        active, tried = activity(network, lesson), 0
        for threshold in GRID:
            keep = np.flatnonzero(active > threshold)
            if len(keep) < FEWEST or len(keep) == tried:
                continue
            tried = len(keep)
            block, state = compact(network, lesson.block, State(lesson.params, (), {}), keep)
            if self._score(network, lesson, block, state.params) <= limit:
                return block, state.params
        return whole

    def _score(self, network: Network, lesson: Lesson, block: Block, params: Params) -> float:
        return lesson.scorer.of(network, block, Objective().effective(params, block.fixed, {})).main


def activity(network: Network, lesson: Lesson) -> np.ndarray:
    """The mean |z| of each of the block's units in free rollouts, over the readouts' mean; infinite for these.

    A task of trials has no readout units: there it is the mean over fresh trials, over that of the most active unit.
    """
    block, scorer = lesson.block, lesson.scorer
    effective = Objective().effective(lesson.params, block.fixed, {})
    if isinstance(scorer, TrialScore):
        everything = block.fixed._replace(decoder=jnp.eye(len(block.units)))
        z = np.asarray(answers(effective, everything, scorer.trials, jnp.arange(len(scorer.trials.inputs))))
        mean = np.nan_to_num(np.abs(z).mean(axis=(0, 1), dtype=np.float64))[: len(block.members)]
        return mean / mean.max()
    assert isinstance(scorer, TrainingScore)
    free = system(network, block, effective)
    z = scorer.run(*free, len(block.feeders) + np.arange(len(block.members)))
    mean = np.abs(z).mean(axis=(0, 1), dtype=np.float64)
    relative = mean / mean[: block.dim].mean()
    relative[: block.dim] = np.inf
    return np.where(np.isnan(relative), 0, relative)
