"""The synthetic systems of both benchmarks and the Lorenz family, with the data protocols of appendix A.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from crug.core.streams import named
from crug.errors import CrugError
from crug.sections import Section
from crug.tasks.base import Family
from crug.tasks.recordings import RecordingTask
from crug.tasks.strict import State, integrate

TRAIN, TEST, BURN_IN = 100_000, 20_000, 1_000


@dataclass(frozen=True)
class System:
    """A differential equation and how it is observed.

    `dt` is the interval between observations, `every` the integration steps in it, `transient` what is dropped before
    standardisation. `initial` draws a starting state.
    """

    name: str
    title: str
    rhs: Callable[[State], State]
    initial: Callable[[np.random.Generator], np.ndarray]
    dt: float = 0.01
    every: int = 1
    transient: int = 0


def generate(system: System, seed: int) -> RecordingTask:
    """The task of one seed: 100,000 training and 20,000 test samples, standardised as the paper does."""
    samples = system.transient + BURN_IN + TRAIN + TEST
    start = system.initial(named(seed, system.name))
    x = integrate(system.rhs, start, system.dt / system.every, samples, system.every)
    x = x[system.transient :]
    if not np.isfinite(x).all():
        raise CrugError(f"{system.name}: seed {seed} starts outside the basin of its attractor; use another seed")
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    train, test = x[BURN_IN : BURN_IN + TRAIN], x[BURN_IN + TRAIN :]
    return RecordingTask(system.name, system.title, train, test, system.dt, columns=("x", "y", "z")[: x.shape[1]])


def van_der_pol(s: State, mu: float = 2.0) -> State:
    x, y = s
    return y, mu * (1.0 - x * x) * y - x


def lorenz(s: State, rho: float = 28.0, sigma: float = 10.0, beta: float = 8 / 3) -> State:
    x, y, z = s
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def rossler(s: State, a: float = 0.2, b: float = 0.2, c: float = 5.7) -> State:
    x, y, z = s
    return -y - z, x + a * y, b + z * (x - c)


def chua(s: State, alpha: float = 15.6, beta: float = 28.0, m0: float = -8 / 7, m1: float = -5 / 7) -> State:
    x, y, z = s
    f = m1 * x + 0.5 * (m0 - m1) * (jnp.abs(x + 1.0) - jnp.abs(x - 1.0))
    return alpha * (y - x - f), x - y + z, -beta * y


def blasius(s: State, a: float = 1.0, b: float = 1.0, c: float = 10.0, z_star: float = 0.006) -> State:
    x, y, z = s
    alpha1, alpha2, k1, k2 = 0.2, 1.0, 0.05, 0.0
    grazing = alpha1 * x * y / (1.0 + k1 * x)
    hunting = alpha2 * y * z / (1.0 + k2 * y)
    return a * x - grazing, -b * y + grazing - hunting, -c * (z - z_star) + hunting


def laser(s: State, a: float = 10.0, b: float = 1.0, c: float = 5.0, d: float = -1.0) -> State:
    x, y, z = s
    h, k = -5.0, -6.0
    return a * (y - x) + b * y * z * z, c * x + d * x * z * z, h * z + k * x * x


def genesio_tesi(s: State, a: float = 0.44, b: float = 1.1, c: float = 1.0) -> State:
    x, y, z = s
    return y, z, -c * x - b * y - a * z + x * x


def finance(s: State, a: float = 0.001, b: float = 0.2, c: float = 1.1) -> State:
    x, y, z = s
    return (1 / b - a) * x + z + x * y, -b * y - x * x, -x - c * z


def _around(*reference: float) -> Callable[[np.random.Generator], np.ndarray]:
    """Initial states of the second benchmark: the reference, each coordinate off by 5 %."""
    return lambda rng: np.array(reference) * (1 + 0.05 * rng.standard_normal(len(reference)))


def _lorenz_start(rng: np.random.Generator) -> np.ndarray:
    e = rng.standard_normal(3)
    return np.array([5 * e[0], 5 * e[1], 20 + 5 * abs(e[2])])


def _lorenz_at(rho: float) -> System:
    return System(f"lorenz-{rho:g}", f"Lorenz, ρ = {rho:g}", lambda s: lorenz(s, rho), _lorenz_start)


def _dysts(name: str, title: str, rhs: Callable[[State], State], dt: float, *reference: float) -> System:
    return System(name, title, rhs, _around(*reference), dt, every=50, transient=10_000)


SYSTEMS = {
    system.name: system
    for system in (
        System("van-der-pol", "Van der Pol", van_der_pol, lambda rng: rng.standard_normal(2)),
        System("lorenz", "Lorenz-63", lorenz, _lorenz_start),
        System("rossler", "Rössler", rossler, lambda rng: 2 * rng.standard_normal(3)),
        System("chua", "Chua", chua, lambda rng: 0.1 * rng.standard_normal(3)),
        _dysts("blasius", "Blasius", blasius, 0.066049, 4.031713, 5.1113788, 0.016508812),
        _dysts("laser", "Laser", laser, 0.0094683, -2.540801356216252, -1.940570579119389, -2.9680975444071955),
        _dysts("genesio-tesi", "Genesio-Tesi", genesio_tesi, 0.059441, -0.053772565, -0.26162564, 0.33501557),
        _dysts("finance", "Finance", finance, 0.098948, -0.51664739, -3.9568707, 0.0012893581),
        *map(_lorenz_at, (313.0, 200.0, 160.0)),
    )
}


def load(name: str, seed: int, settings: Section | None = None) -> RecordingTask:
    """The system of that name; its data follow from the seed."""
    return generate(SYSTEMS[name], seed)


FAMILY = Family(
    "systems",
    {name: system.title for name, system in SYSTEMS.items()},
    load,
    sequences={
        "vlrc": ("van-der-pol", "lorenz", "rossler", "chua"),
        "rcvl": ("rossler", "chua", "van-der-pol", "lorenz"),
        "cvlr": ("chua", "van-der-pol", "lorenz", "rossler"),
        "lrcv": ("lorenz", "rossler", "chua", "van-der-pol"),
        "blgf": ("blasius", "laser", "genesio-tesi", "finance"),
        "lorenz-family": ("lorenz", "lorenz-313", "lorenz-200", "lorenz-160"),
    },
)
