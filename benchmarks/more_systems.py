"""Systems beside those of the package: four more to be learned, and twelve that no model has seen."""

import jax.numpy as jnp
import numpy as np

from crug.tasks.strict import State
from crug.tasks.systems import System


def thomas(s: State, b: float = 0.18) -> State:
    x, y, z = s
    return jnp.sin(y) - b * x, jnp.sin(z) - b * y, jnp.sin(x) - b * z


def halvorsen(s: State, a: float = 1.4) -> State:
    x, y, z = s
    return -a * x - 4 * y - 4 * z - y * y, -a * y - 4 * z - 4 * x - z * z, -a * z - 4 * x - 4 * y - x * x


def rucklidge(s: State, a: float = 6.7, k: float = 2.0) -> State:
    x, y, z = s
    return -k * x + a * y - y * z, x, -z + y * y


def brusselator(s: State, a: float = 1.0, b: float = 3.0) -> State:
    x, y = s
    return a + x * x * y - (b + 1) * x, b * x - x * x * y


def chen(s: State, a: float = 35.0, b: float = 3.0, c: float = 28.0) -> State:
    x, y, z = s
    return a * (y - x), (c - a) * x - x * z + c * y, x * y - b * z


def lu(s: State, a: float = 36.0, b: float = 3.0, c: float = 20.0) -> State:
    x, y, z = s
    return a * (y - x), -x * z + c * y, x * y - b * z


def aizawa(s: State) -> State:
    x, y, z = s
    a, b, c, d, e, f = 0.95, 0.7, 0.6, 3.5, 0.25, 0.1
    return (
        (z - b) * x - d * y,
        d * x + (z - b) * y,
        c + a * z - z * z * z / 3 - (x * x + y * y) * (1 + e * z) + f * z * x * x * x,
    )


def dadras(s: State) -> State:
    x, y, z = s
    a, b, c, d, e = 3.0, 2.7, 1.7, 2.0, 9.0
    return y - a * x + b * y * z, c * y - x * z + z, d * x * y - e * z


def arneodo(s: State, a: float = -5.5, b: float = 4.5, c: float = 1.0, d: float = -1.0) -> State:
    x, y, z = s
    return y, z, -a * x - b * y - c * z + d * x * x * x


def rikitake(s: State, a: float = 1.0, mu: float = 1.0) -> State:
    x, y, z = s
    return -mu * x + z * y, -mu * y + x * (z - a), 1 - x * y


def hindmarsh_rose(s: State) -> State:
    x, y, z = s
    return y - x * x * x + 3 * x * x - z + 3.25, 1 - 5 * x * x - y, 0.006 * (4 * (x + 1.6) - z)


def shimizu_morioka(s: State, a: float = 0.85, b: float = 0.5) -> State:
    x, y, z = s
    return y, x - a * y - x * z, -b * z + x * x


def burke_shaw(s: State, e: float = 13.0, n: float = 10.0) -> State:
    x, y, z = s
    return -n * (x + y), -y - n * x * z, n * x * y + e


def sprott_b(s: State) -> State:
    x, y, z = s
    return y * z, x - y, 1 - x * y


def fitzhugh_nagumo(s: State, current: float = 0.5) -> State:
    v, w = s
    return v - v * v * v / 3 - w + current, 0.08 * (v + 0.7 - 0.8 * w)


def selkov(s: State, a: float = 0.08, b: float = 0.6) -> State:
    x, y = s
    return -x + a * y + x * x * y, b - a * y - x * x * y


def _system(name: str, rhs, dt: float, *start: float) -> System:
    """As systems of the second benchmark are observed: fifty steps between two samples, and no transient."""

    def initial(rng: np.random.Generator) -> np.ndarray:
        return np.array(start) * (1 + 0.05 * rng.standard_normal(len(start)))

    return System(name, name, rhs, initial, dt, every=20, transient=10_000)


LEARNED = (
    _system("thomas", thomas, 0.2, 0.1, 1.1, 2.0),
    _system("halvorsen", halvorsen, 0.015, -1.5, -1.5, 1.0),
    _system("rucklidge", rucklidge, 0.04, 1.0, 1.0, 4.5),
    _system("brusselator", brusselator, 0.07, 1.0, 2.0),
)
OTHERS = (
    _system("chen", chen, 0.005, -10.0, 0.5, 37.0),
    _system("lu", lu, 0.006, -8.0, 0.5, 20.0),
    _system("aizawa", aizawa, 0.02, 0.1, 0.1, 0.1),
    _system("dadras", dadras, 0.02, 1.0, 1.0, 1.0),
    _system("arneodo", arneodo, 0.03, 0.5, 0.5, 0.5),
    _system("rikitake", rikitake, 0.05, 1.0, 0.3, 1.5),
    _system("hindmarsh-rose", hindmarsh_rose, 0.2, 0.1, 0.1, 3.0),
    _system("shimizu-morioka", shimizu_morioka, 0.06, 0.4, 0.2, 0.5),
    _system("burke-shaw", burke_shaw, 0.01, 0.6, 0.4, 0.3),
    _system("sprott-b", sprott_b, 0.07, 0.05, 0.05, 0.1),
    _system("fitzhugh-nagumo", fitzhugh_nagumo, 0.4, 0.5, 0.2),
    _system("selkov", selkov, 0.12, 0.6, 1.1),
)
