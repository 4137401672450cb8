"""From a file or an object to a `Recording`: file formats, choice of columns, the clock, gaps, shape and noise."""

from crug.readers.columns import FILLS, Recording
from crug.readers.files import read
from crug.readers.shape import shaped

__all__ = ["FILLS", "Recording", "read", "shaped"]
