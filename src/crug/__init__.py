"""Continual learning of dynamical systems: one recurrent network learns system after system and forgets none.

import crug

model = crug.Model(units=160, seed=0)
model.learn(crug.read("monday.csv"), name="monday")
model.save("lab.crug")
"""

from importlib.metadata import version

from crug.runtime import one_thread

__version__ = version("crug")
one_thread()

from crug.errors import CrugError  # noqa: E402
from crug.model import Model, load  # noqa: E402
from crug.tasks.files import read  # noqa: E402

__all__ = ["CrugError", "Model", "__version__", "load", "read"]
