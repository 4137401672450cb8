"""Continual learning of dynamical systems: one recurrent network learns system after system and forgets none."""

from importlib.metadata import version

__version__ = version("crug")
