"""A tree code over the ranks of MPI: a sphere of bodies at rest falls together.

It falls to two thirds of its radius. Each rank has some of the bodies, wherever they are, and none
knows all.

    mpirun -np 4 python tree_mpi.py 1000000
"""

import sys

import numpy
from mpi4py import MPI

import kyoho

ranks = MPI.COMM_WORLD
bodies = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
step, softening2 = 0.05, 1e-3  # the square of the softening length

# Body i is the same on any number of ranks: its place follows from three irrational numbers.
indices = numpy.arange(ranks.rank, bodies, ranks.size, dtype=numpy.int32)
radii, heights, turns = (indices * numpy.sqrt(number) % 1 for number in (2, 3, 5))
radii, heights, turns = radii ** (1 / 3), 2 * heights - 1, 2 * numpy.pi * turns
across = radii * numpy.sqrt(1 - heights**2)
positions = numpy.stack([across * numpy.cos(turns), across * numpy.sin(turns), radii * heights], axis=1)
velocities, masses = numpy.zeros_like(positions), numpy.full(len(indices), 1 / bodies)

energies = []
with kyoho.System(order=2, accuracy=1e-3, communicator=ranks) as system:
    for number in range(17):
        system.set_sources(positions, masses, indices=indices)
        forces = system.force_all(softening2)
        if number > 0:
            velocities += step / 2 * forces.accelerations
        own = masses @ ((velocities**2).sum(axis=1) + forces.potentials) / 2
        energies.append(ranks.allreduce(own))
        velocities += step / 2 * forces.accelerations
        positions += step * velocities

if ranks.rank == 0:
    print(f"initial energy  {energies[0]:.12e}\nfinal energy    {energies[-1]:.12e}")
