"""Integrates a Plummer model with a code of AMUSE, on its own CPU worker and on the one that links Kyoho.

plummer.py CODE NUMBER END [alone]: prints the energies at END in units of the model, one line for each worker:
mode, time, kinetic, potential. With "alone" only the worker that links Kyoho runs.
"""

import sys

import numpy
from amuse.community.ph4.interface import ph4
from amuse.community.phigrape.interface import PhiGRAPE
from amuse.ic.plummer import new_plummer_model
from amuse.units import nbody_system

# The name of the mode in which each code uses its own arithmetic.
CODES = {"ph4": (ph4, "cpu"), "phigrape": (PhiGRAPE, "g6lib")}


def energies(code, mode, number, end):
    numpy.random.seed(20)
    instance = code(mode=mode)
    instance.initialize_code()
    instance.parameters.epsilon_squared = 1e-4 | nbody_system.length**2
    instance.particles.add_particles(new_plummer_model(number))
    instance.commit_particles()
    instance.evolve_model(end | nbody_system.time)
    time = instance.model_time.value_in(nbody_system.time)
    kinetic = instance.kinetic_energy.value_in(nbody_system.energy)
    potential = instance.potential_energy.value_in(nbody_system.energy)
    instance.stop()
    return time, kinetic, potential


name, number, end = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
code, own = CODES[name]
for mode in ["gpu"] if "alone" in sys.argv else [own, "gpu"]:
    print(mode, *(repr(float(value)) for value in energies(code, mode, number, end)), flush=True)
