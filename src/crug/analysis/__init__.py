"""What a network that has learned a recording does, in the words and numbers of dynamical systems theory: exponents,
fixed points and cycles, linear regions, basins, transfer, and how its rollouts compare with the recording. Everything
here reads a network and changes nothing. Numbers are in float64."""

from crug.analysis.analysis import Analysis, Subject, analyse
from crug.analysis.cycles import Orbit, find_orbits
from crug.analysis.lyapunov import Exponents, kaplan_yorke, spectrum
from crug.analysis.maps import Map
from crug.analysis.regions import Graph, Regions, regions
from crug.analysis.verdict import Judged, judged

__all__ = [
    "Analysis",
    "Exponents",
    "Graph",
    "Judged",
    "Map",
    "Orbit",
    "Regions",
    "Subject",
    "analyse",
    "find_orbits",
    "judged",
    "kaplan_yorke",
    "regions",
    "spectrum",
]
