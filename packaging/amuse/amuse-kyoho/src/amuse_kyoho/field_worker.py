"""The field code, in the process that AMUSE starts for it."""

import numpy

import kyoho
from kyoho._places import masses_at


_NOT_NEGATIVE = (lambda value: 0 <= value < numpy.inf, "finite numbers from 0")
# What parameters may be, by their names in scripts.
_ALLOWED = {
    "order": (lambda value: value in (2, 4, 6, 8), "2, 4, 6, 8"),
    "precision": (lambda value: value in ("", "single", "mixed", "double"), "'', 'single', 'mixed', 'double'"),
    "backend": (lambda value: value in ("", "cuda", "opencl", "cpu"), "'', 'cuda', 'opencl', 'cpu'"),
    "accuracy": (lambda value: value == 0 or 1e-6 <= value <= 1e-2, "0, for direct sums, or 1e-6 to 1e-2"),
    "epsilon_squared": _NOT_NEGATIVE,
    "timestep_parameter": _NOT_NEGATIVE,
    "dt_max": _NOT_NEGATIVE,
    "pair_distance": _NOT_NEGATIVE,
}


def checked(name, value):
    """The value of a parameter, unless it is not allowed: then the script is told where it sets it."""
    is_allowed, allowed = _ALLOWED.get(name, (lambda _: True, ""))
    if not is_allowed(value):
        raise kyoho.Error(f"{name} is {value!r}; allowed: {allowed}")
    return value


class KyohoFieldWorker:
    """Particles with masses and positions, and their gravity at points. Results of 0 mean success;
    errors of the library are raised, and AMUSE hands on their text.
    """

    def __init__(self):
        self.epsilon_squared = 0.0
        self.accuracy = 0.0
        self.precision = ""
        self.backend = ""
        self.initialize_code()

    def initialize_code(self):
        self.bodies = {}
        self.next_index = 0
        self.forget()
        return 0

    def cleanup_code(self):
        return self.initialize_code()

    def commit_parameters(self):
        self.forget()
        return 0

    recommit_parameters = commit_parameters
    commit_particles = commit_parameters
    recommit_particles = commit_parameters

    def forget(self):
        """Drops the system that was made of the particles and the parameters."""
        self.system = self.masses = self.positions = None

    def get_eps2(self, epsilon_squared):
        epsilon_squared.value = self.epsilon_squared
        return 0

    def set_eps2(self, epsilon_squared):
        self.epsilon_squared = checked("epsilon_squared", epsilon_squared)
        return 0

    def get_accuracy(self, accuracy):
        accuracy.value = self.accuracy
        return 0

    def set_accuracy(self, accuracy):
        self.accuracy = checked("accuracy", accuracy)
        self.forget()
        return 0

    def get_precision(self, precision):
        precision.value = self.precision
        return 0

    def set_precision(self, precision):
        self.precision = checked("precision", precision)
        self.forget()
        return 0

    def get_backend(self, backend):
        backend.value = self.backend
        return 0

    def set_backend(self, backend):
        self.backend = checked("backend", backend)
        self.forget()
        return 0

    def new_particle(self, index_of_the_particle, mass, x, y, z, npoints):
        indices = numpy.arange(self.next_index, self.next_index + npoints)
        self.bodies.update(zip(indices.tolist(), numpy.column_stack([mass, x, y, z])))
        self.next_index += npoints
        index_of_the_particle.value = indices
        self.forget()
        return 0

    def delete_particle(self, index_of_the_particle, npoints):
        if not all(index in self.bodies for index in index_of_the_particle):
            return -1
        for index in index_of_the_particle:
            # It may be named twice.
            self.bodies.pop(index, None)
        self.forget()
        return 0

    def get_mass(self, index_of_the_particle, mass, npoints):
        if not all(index in self.bodies for index in index_of_the_particle):
            return -1
        mass.value = [self.bodies[index][0] for index in index_of_the_particle]
        return 0

    def set_mass(self, index_of_the_particle, mass, npoints):
        if not all(index in self.bodies for index in index_of_the_particle):
            return -1
        for index, value in zip(index_of_the_particle, mass):
            self.bodies[index][0] = value
        self.forget()
        return 0

    def get_gravity_at_point(self, eps, x, y, z, ax, ay, az, npoints):
        accelerations, _ = self.gravity(eps, numpy.column_stack([x, y, z]))
        ax.value, ay.value, az.value = accelerations.T
        return 0

    def get_potential_at_point(self, eps, x, y, z, phi, npoints):
        places, softening2 = numpy.column_stack([x, y, z]), self.softening2(eps)
        _, potentials = self.gravity(eps, places)
        soft = softening2 > 0
        if soft.any():
            # A particle at the point itself does not count.
            potentials[soft] += masses_at(places[soft], self.positions, self.masses) / numpy.sqrt(softening2[soft])
        phi.value = potentials
        return 0

    def get_potential_energy(self, potential_energy):
        self.prepare()
        indices = numpy.arange(len(self.masses), dtype=numpy.int32)
        forces = self.system.force(self.positions, indices=indices, softening2=self.epsilon_squared)
        potential_energy.value = 0.5 * float(self.masses @ forces.potentials)
        return 0

    def softening2(self, eps):
        return self.epsilon_squared + numpy.square(numpy.asarray(eps, dtype=float))

    def prepare(self):
        """Hands the particles to the library, if they or the parameters have changed."""
        if self.system is not None:
            return
        table = numpy.array(list(self.bodies.values())).reshape(-1, 4)
        self.masses, self.positions = table[:, 0].copy(), table[:, 1:].copy()
        self.new_system(numpy.arange(len(table), dtype=numpy.int32))

    def new_system(self, indices):
        """Makes the system of the particles, which have these indices."""
        precision = self.precision or ("mixed" if self.accuracy else "double")
        self.system = kyoho.System(
            order=2, precision=precision, backend=self.backend or None, accuracy=self.accuracy or None
        )
        self.system.set_sources(self.positions, self.masses, indices=indices)

    def gravity(self, eps, places):
        """The accelerations and potentials at some places."""
        self.prepare()
        softening2 = self.softening2(eps)
        if not self.accuracy:
            forces = self.system.force(places, indices=None, softening2=softening2)
            return forces.accelerations, forces.potentials
        # A tree has one softening for all places of a call.
        accelerations, potentials = numpy.empty(places.shape), numpy.empty(len(places))
        for value in numpy.unique(softening2):
            chosen = softening2 == value
            forces = self.system.force(places[chosen], indices=None, softening2=float(value))
            accelerations[chosen], potentials[chosen] = forces.accelerations, forces.potentials
        return accelerations, potentials
