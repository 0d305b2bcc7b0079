"""Gravitational forces for N-body codes, on NVIDIA GPUs, OpenCL devices and CPUs.

>>> import numpy, kyoho
>>> random = numpy.random.default_rng(1)
>>> positions, masses = random.normal(size=(1000, 3)), numpy.full(1000, 1e-3)
>>> accelerations, potentials = kyoho.gravity(positions, masses, eps=0.01)
>>> accelerations.shape, potentials.shape
((1000, 3), (1000,))
"""

from . import model
from ._cluster import Cluster
from ._clusters import Clusters
from ._errors import Error, Result
from ._evolution import Binary, Bodies, Encounter, Energies, EnergyJump, Evolution, Integration
from ._few_body import FewBodies, few_body
from ._files import Snapshot, read, write
from ._gravity import forces_in_batch, forces_on_lists, gravity, release, tree_error
from ._information import Backend, Information, info
from ._library import __version__
from ._pair import Pair, pair, pair_gravity
from ._results import Forces, Interaction, Predictions, Sources, Statistics, TreeErrors
from ._system import System
from ._units import gravitational_constant

__all__ = [
    "Backend",
    "Binary",
    "Bodies",
    "Cluster",
    "Clusters",
    "Encounter",
    "Energies",
    "EnergyJump",
    "Error",
    "Evolution",
    "FewBodies",
    "Forces",
    "Information",
    "Integration",
    "Interaction",
    "Pair",
    "Predictions",
    "Result",
    "Snapshot",
    "Sources",
    "Statistics",
    "System",
    "TreeErrors",
    "__version__",
    "few_body",
    "forces_in_batch",
    "forces_on_lists",
    "gravitational_constant",
    "gravity",
    "info",
    "model",
    "pair",
    "pair_gravity",
    "read",
    "release",
    "tree_error",
    "write",
]
