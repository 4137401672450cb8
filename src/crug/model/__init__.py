"""What a user holds: a model that learns recordings one after another, rolls them out, is saved and verified."""

from crug.model.file import load
from crug.model.known import Known
from crug.model.merging import merge
from crug.model.model import Model
from crug.model.uses import Size

__all__ = ["Known", "Model", "Size", "load", "merge"]
