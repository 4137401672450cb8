"""Hard attention to the task (Serra et al., ICML 2018): every task learns which units it uses; what earlier tasks use
is closed to its gradients, but it may listen to it.

| Serra et al. | here | shape | meaning |
|---|---|---|---|
| e^t | `embedding` | (n,) | what decides whether a unit is used |
| a^t = sigma(s e^t) | `attention` | (n,) | the mask |
| a^{<=t} | `protected` | (n,) | 1 for every unit that an earlier task uses |
| s, s_max | `scale`, `smax` | | steepness: rises from 1/s_max to s_max within every epoch |
| c | `strength` | | price of units that no earlier task uses |

A weight from unit j to unit i is frozen where both are protected: its update is multiplied by 1 - min(a_i, a_j). When a
task ends its mask is cut at 1/2, so every factor is 0 or 1 and earlier tasks keep their bits. A later task may use
protected units as they are; what enters them from elsewhere is silent in the tasks that own them.

Two departures. Serra et al. multiply the gradient of e by s_max (cosh(s e) + 1) / (s (cosh(e) + 1)), which makes it
that of s_max sigma(e): here it is that of sigma(e), because Adam does not see a constant factor and clipping would. And
the mask is on all that a unit hears and says, where CRUG has its gates too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import Field

from crug.core.block import Block, Fixed, Params, in_block, masked
from crug.core.network import Network
from crug.methods.base import Lesson, Memory
from crug.methods.shared import Shared
from crug.sections import NonNegative, Positive
from crug.training.objective import Controls, Objective
from crug.training.settings import RunSettings

START, LIMIT = 1.0, 6.0
"""Of the embeddings: open at first, and never so far from 0 that they cannot come back."""


class HatSettings(RunSettings):
    strength: Annotated[NonNegative, Field(description="price of using all units that no earlier task uses")] = 0.05
    smax: Annotated[float, Field(gt=1, description="steepness of the masks at the end of an epoch")] = 400.0
    embedding_lr: Annotated[Positive, Field(description="constant learning rate of what decides on the masks")] = 1e-2


@dataclass(frozen=True)
class Attention(Objective):
    """Controls: `strength`, `smax`, `embedding_lr`, `protected`."""

    def effective(self, params: Params, fixed: Fixed, controls: Controls) -> Params:
        return masked(params, fixed.alive * self.attention(params, fixed, controls))

    def attention(self, params: Params, fixed: Fixed, controls: Controls) -> Array:
        """The mask as it is in this step of the epoch; its gradient is that of sigma(e). Readouts are always on."""
        e, smax = params["embedding"], controls["smax"]
        part = (controls["progress"] * controls["epochs"]) % 1.0
        soft = jax.nn.sigmoid(e)
        now = jax.nn.sigmoid((1 / smax + (smax - 1 / smax) * part) * e)
        return jnp.where(fixed.hidden > 0, soft + jax.lax.stop_gradient(now - soft), 1.0)

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: Controls) -> Array:
        new = fixed.hidden * (1 - controls["protected"])
        used = jnp.sum(new * self.attention(params, fixed, controls))
        return controls["strength"] * used / jnp.maximum(jnp.sum(new), 1.0)

    def freeze(self, updates: Params, params: Params, controls: Controls) -> Params:
        open_ = 1 - controls["protected"]
        held = {name: updates[name] * open_ for name in ("a", "h")}
        held["C"] = updates["C"] * open_[:, None]
        held["W"] = updates["W"] * jnp.maximum(open_[:, None], open_)
        e = params["embedding"]
        held["embedding"] = jnp.clip(e + updates["embedding"], -LIMIT, LIMIT) - e
        return {**updates, **held}

    @property
    def axes(self) -> Mapping[str, tuple[int, ...]]:
        return {"embedding": (0,)}

    def arrays(self, units: int, feeders: int) -> dict[str, np.ndarray]:
        return {"embedding": np.full(units, START, np.float32)}

    def rates(self, controls: Controls) -> dict[str, Array]:
        return {"embedding": controls["embedding_lr"]}

    def taking_part(self, params: Params, fixed: Fixed, controls: Controls) -> Array:
        return fixed.alive * jax.nn.sigmoid(controls["smax"] * params["embedding"])

    def absorb(self, params: Params, block: Block, controls: Controls) -> Params:
        """The units that are used, as they are: their masks are 1."""
        return {**params, **masked(params, block.fixed.alive)}


class Hat(Shared):
    name: ClassVar[str] = "hat"
    summary: ClassVar[str] = "hard attention: every task learns which units it uses; what earlier ones use is frozen"
    Settings: ClassVar[type[RunSettings]] = HatSettings
    exact: ClassVar[bool] = True
    objective = Attention()

    def recall(self, memory: Memory, block: Block) -> Controls:
        s, nothing = self.settings, np.zeros(len(block.members), np.float32)
        protected = memory.get("protected", nothing)
        numbers = {"strength": s.strength, "smax": s.smax, "embedding_lr": s.embedding_lr}
        found: Controls = {name: jnp.float32(value) for name, value in numbers.items()}
        return {**found, "protected": in_block(block, {"a": protected})["a"]}

    def remember(self, lesson: Lesson, after: Network) -> Memory:
        """All units that some task uses."""
        protected = np.zeros(after.size, np.float32)
        protected[after.used()] = 1
        return {"protected": protected}
