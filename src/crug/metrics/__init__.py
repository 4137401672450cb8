from crug.metrics.hellinger import power_spectrum, spectral_distance
from crug.metrics.state_space import BinnedReference, kl

__all__ = ["BinnedReference", "kl", "power_spectrum", "spectral_distance"]
