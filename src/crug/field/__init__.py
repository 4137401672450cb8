"""The field's public files: learned, measured exactly as their authors' programs do, beside the published numbers."""

from crug.field.benchmarks import BENCHMARKS, Benchmark
from crug.field.protocols import Measured, judged

__all__ = ["BENCHMARKS", "Benchmark", "Measured", "judged"]
