"""Unit gates: the hard-concrete gate and its L0 price (eq. 3 and 5; deterministic, appendix A.1), and the objective
that puts gates on the parameters and prices on open gates and on transfer (eq. 4 to 8, A.4).

| paper | here | shape | meaning |
|---|---|---|---|
| log alpha_i | `log_alpha` | (n,) | the gate of every unit of the block |
| lateral gates of L0 transfer | `lateral` | (d,) | the gate of every committed unit that feeds the block |
| lambda_lin, lambda_relu | `price_linear`, `price_relu` | | price of an open gate |
| lambda_transfer | `price_transfer` | | price of listening to committed units |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from crug.core.block import Block, Fixed, Params, masked
from crug.training.objective import Controls, Objective

GAMMA, ZETA = -0.1, 1.1
START = 2.0
"""log alpha at the start of a task: a gate of about 0.96, open but not saturated."""
SHUT = 20.0
"""log alpha and its negative where a gate is open or closed for good: without gradient either way."""


def gate(log_alpha: Array) -> Array:
    """g in [0, 1]: the stretched and clipped sigmoid."""
    return jnp.clip(jax.nn.sigmoid(log_alpha) * (ZETA - GAMMA) + GAMMA, 0.0, 1.0)


def openness(log_alpha: Array) -> Array:
    """The L0 price of each gate: the chance that its stochastic version would not be exactly zero."""
    return jax.nn.sigmoid(log_alpha - np.log(-GAMMA / ZETA))


@dataclass(frozen=True)
class Gating(Objective):
    """Controls: `gates` (1 on, 0 absorbed), `gate_lr`, `price_linear`, `price_relu`, `price_transfer`, and `warm`, the
    part of the phase over which the price of gates rises.

    The lateral gates of L0 transfer are always on; once absorbed, they stay fully open or closed.
    """

    transfer: str = "none"

    @property
    def lateral(self) -> bool:
        """Whether the units that feed the block have gates of their own."""
        return self.transfer == "l0"

    def effective(self, params: Params, fixed: Fixed, controls: Controls) -> Params:
        open_ = controls["gates"] * fixed.hidden
        found = masked(params, fixed.alive * (open_ * gate(params["log_alpha"]) + (1 - open_)))
        return {**found, "V": found["V"] * gate(params["lateral"])} if self.lateral else found

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: Controls) -> Array:
        price = fixed.relu * controls["price_relu"] + (1 - fixed.relu) * controls["price_linear"]
        rise = jnp.minimum(1.0, controls["progress"] / jnp.maximum(controls["warm"], 1e-9))
        warm = jnp.where(controls["warm"] > 0, rise, 1.0)
        capacity = warm * jnp.sum(price * fixed.hidden * openness(params["log_alpha"]))
        V = effective["V"]
        if self.transfer == "l2":
            return capacity + controls["price_transfer"] * jnp.sum(V**2)
        if self.transfer == "l1":
            return capacity + controls["price_transfer"] * jnp.sum(jnp.abs(V))
        if self.transfer == "l0":
            return capacity + controls["price_transfer"] * jnp.sum(openness(params["lateral"]))
        return capacity

    def freeze(self, updates: Params, params: Params, controls: Controls) -> Params:
        """A closed gate stays closed: it has no gradient from the task, and its price must not move it on."""
        held = {name: updates[name] * (gate(params[name]) > 0) for name in self.axes}
        return {**updates, **held}

    @property
    def axes(self) -> Mapping[str, tuple[int, ...]]:
        return {"log_alpha": (0,), "lateral": ()}

    def arrays(self, units: int, feeders: int) -> dict[str, np.ndarray]:
        return {"log_alpha": np.full(units, START, np.float32), "lateral": np.full(feeders, START, np.float32)}

    def rates(self, controls: Controls) -> dict[str, Array]:
        return {name: controls["gate_lr"] for name in self.axes}

    def taking_part(self, params: Params, fixed: Fixed, controls: Controls) -> Array:
        return jnp.where(controls["gates"] > 0, gate(params["log_alpha"]), fixed.alive)

    def closed(self, params: Params, fixed: Fixed, controls: Controls) -> np.ndarray | None:
        return np.asarray(gate(params["log_alpha"]) <= 0) if controls["gates"] > 0 else None

    def absorb(self, params: Params, block: Block, controls: Controls) -> Params:
        """Gates are multiplied into the parameters and stand open afterwards; lateral ones are cut at the threshold."""
        if not controls["gates"] > 0 and not self.lateral:
            return params
        plain = {**params, **self.effective(params, block.fixed, controls)}
        plain["log_alpha"] = jnp.full_like(params["log_alpha"], START)
        if self.lateral:
            listening = gate(params["lateral"]) > self.threshold
            plain["V"] = plain["V"] * listening
            plain["lateral"] = jnp.where(listening, SHUT, -SHUT)
        return plain
