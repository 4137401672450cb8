"""The network as data and in motion: parameters and ledger, one step, rollouts, the forced unroll with its adjoint, the
block of units that learns, and streams of randomness. Nothing here knows of tasks, methods or files."""

from crug.core.block import Block, Fixed, Params, open_block
from crug.core.dynamics import System, run_freely, run_under
from crug.core.network import Network
from crug.core.streams import Stream, generator

__all__ = [
    "Block",
    "Fixed",
    "Network",
    "Params",
    "Stream",
    "System",
    "generator",
    "open_block",
    "run_freely",
    "run_under",
]
