"""Maps that are made by hand."""

import numpy as np

from crug.analysis.maps import Map


def made(a, W, h, relu) -> Map:
    """A map with these parameters, of which the first unit is read out."""
    a, W, h = (np.asarray(x, np.float64) for x in (a, W, h))
    return Map(a, W, h, np.asarray(relu, bool), np.array([0]), np.zeros((len(a), 0)))


def tent(slope: float = 2.0) -> Map:
    """x' = 1 - slope |x|, by units that are x and -x. Rollouts need a slope below 2, which leaves binary numbers."""
    return made([0, 0], [[-slope, -slope], [slope, slope]], [1, -1], [True, True])


def turning(growth: float) -> Map:
    """The plane turned by 0.3 in a step, and stretched."""
    return made(
        [0, 0], growth * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]), [0, 0], [False] * 2
    )
