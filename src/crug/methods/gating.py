"""CRUG's objective: unit gates on the parameters, the price of open gates, the price of transfer (eq. 3-8, A.4)."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from crug.block import Fixed, Params
from crug.gates import gate, openness
from crug.training import Objective


@dataclass(frozen=True)
class Gating(Objective):
    """Controls: `gates` (1 on, 0 absorbed), `price_linear`, `price_relu`, `price_transfer`, `warm` (part of it).

    The lateral gates of L0 transfer are always on; once absorbed, they stay fully open or closed.
    """

    transfer: str = "none"

    @property
    def lateral(self) -> bool:
        return self.transfer == "l0"

    def effective(self, params: Params, fixed: Fixed, controls: dict[str, Array]) -> Params:
        open_ = controls["gates"] * fixed.gated
        g = fixed.alive * (open_ * gate(params["log_alpha"]) + (1 - open_))
        V = params["V"] * g[:, None]
        if self.lateral:
            V = V * gate(params["lateral"])
        C = g[:, None] * params["C"]
        return {"a": g * params["a"], "W": g[:, None] * params["W"] * g, "V": V, "C": C, "h": g * params["h"]}

    def penalty(self, params: Params, effective: Params, fixed: Fixed, controls: dict[str, Array], progress: Array):
        price = fixed.relu * controls["price_relu"] + (1 - fixed.relu) * controls["price_linear"]
        warm = jnp.where(controls["warm"] > 0, jnp.minimum(1.0, progress / jnp.maximum(controls["warm"], 1e-9)), 1.0)
        capacity = warm * jnp.sum(price * fixed.gated * openness(params["log_alpha"]))
        V = effective["V"]
        if self.transfer == "l2":
            return capacity + controls["price_transfer"] * jnp.sum(V**2)
        if self.transfer == "l1":
            return capacity + controls["price_transfer"] * jnp.sum(jnp.abs(V))
        if self.transfer == "l0":
            return capacity + controls["price_transfer"] * jnp.sum(openness(params["lateral"]))
        return capacity

    def freeze(self, updates: Params, params: Params) -> Params:
        """A closed gate stays closed: it has no gradient from the task, and its price must not move it on."""
        held = {name: updates[name] * (gate(params[name]) > 0) for name in ("log_alpha", "lateral")}
        return {**updates, **held}
