from crug.metrics.hellinger import power_spectrum, spectral_distance
from crug.metrics.mixture import MixtureReference
from crug.metrics.quartiles import Quartiles, quartiles
from crug.metrics.state_space import BinnedReference, kl

__all__ = ["BinnedReference", "MixtureReference", "Quartiles", "kl", "power_spectrum", "quartiles", "spectral_distance"]
