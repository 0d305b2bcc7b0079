"""The dynamics code, in the process that AMUSE starts for it."""

import time as clock

import numpy

import kyoho

from .field_worker import KyohoFieldWorker, checked

# The numbers of stopping conditions.
COLLISION, PAIR, TIMEOUT, NUMBER_OF_STEPS, OUT_OF_BOX = 0, 1, 3, 4, 5
SUPPORTED = (COLLISION, PAIR, TIMEOUT, NUMBER_OF_STEPS, OUT_OF_BOX)

# An evolution looks for particles outside of the box at the end of as many parts of its time.
PARTS = 16


def _read(parameters):
    """The numbers of each of the parameters of a text."""
    given = {}
    for word in parameters.split():
        name, _, numbers = word.partition("=")
        try:
            given[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            allowed = "NAME=NUMBER for each parameter, with spaces between them"
            raise kyoho.Error(f"the parameters have {word!r}; allowed: {allowed}") from None
    return given


def _workers():
    """The communicator of the workers, if there are several: all get all calls."""
    from mpi4py import MPI

    return MPI.COMM_WORLD if MPI.COMM_WORLD.Get_size() > 1 else None


class KyohoWorker(KyohoFieldWorker):
    """Particles that evolve, and their gravity at points. Results of 0 mean success, -1 means that
    there is no such particle; errors of the library are raised, and AMUSE hands on their text.
    """

    def initialize_code(self):
        self.order = 4
        self.eta = 0.0
        self.dt_max = 0.0
        self.pair_distance = 0.0
        self.begin_time = 0.0
        self.is_time_reversed_allowed = 0
        self.subsystems = 0
        self.cluster = None
        self.radii = {}
        # The fields that act on the particles and the laws between them, each with its parameters.
        self.fields = []
        self.laws = []
        self.enabled = set()
        # The conditions that ended the last evolution, with the particles of each.
        self.met = []
        return super().initialize_code()

    def commit_particles(self):
        self.forget()
        return 0

    recommit_particles = commit_particles

    def synchronize_model(self):
        return 0

    # Bodies are those of a cluster, which is made anew where a parameter changes.

    def new_cluster(self, bodies, time):
        cluster = kyoho.Cluster(
            self.order,
            self.precision or None,
            eps=self.epsilon_squared**0.5,
            eta=self.eta or None,
            dt_max=self.dt_max or None,
            time=time,
            approach_distance=self.pair_distance if PAIR in self.enabled else None,
            subsystems=bool(self.subsystems),
            accuracy=self.accuracy or None,
            backend=self.backend or None,
            communicator=_workers(),
        )
        for field, parameters in self.fields:
            cluster.add_field(field, **parameters)
        for law, parameters in self.laws:
            cluster.add_law(law, **parameters)
        if bodies is not None:
            cluster.add(bodies.positions, bodies.masses, bodies.velocities, identifiers=bodies.identifiers)
        return cluster

    def add_field(self, field, parameters):
        """Adds a field with parameters such as ``"mass=2.5 push=0.0,0.0,1.0"``, as the units of the particles."""
        given = _read(parameters)
        self.current().add_field(field, **given)
        self.fields.append((field, given))
        return 0

    def add_law(self, law, parameters):
        """Adds a law between particles, with parameters as of a field."""
        given = _read(parameters)
        self.current().add_law(law, **given)
        self.laws.append((law, given))
        return 0

    def choices(self):
        """What a cluster is made with."""
        distance = self.pair_distance if PAIR in self.enabled else 0.0
        names = ("order", "precision", "epsilon_squared", "eta", "dt_max", "subsystems", "accuracy", "backend")
        return (distance, *(getattr(self, name) for name in names))

    def bodies_of(self, indices=None):
        return self.current().get(indices)

    def current(self):
        """The cluster, as the parameters want it."""
        if self.cluster is None:
            self.cluster = self.new_cluster(None, self.begin_time)
        elif self.made_with != self.choices():
            self.replace(self.cluster.get(), self.cluster.time)
        self.made_with = self.choices()
        return self.cluster

    def replace(self, bodies, time):
        self.cluster = self.new_cluster(bodies, time)
        self.forget()

    def are_known(self, indices):
        return all(index in self.radii for index in numpy.asarray(indices).tolist())

    def new_particle(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius, npoints):
        indices = numpy.arange(self.next_index, self.next_index + npoints, dtype=numpy.int32)
        positions, velocities = numpy.column_stack([x, y, z]), numpy.column_stack([vx, vy, vz])
        self.current().add(positions, mass, velocities, identifiers=indices)
        self.radii.update(zip(indices.tolist(), numpy.asarray(radius).tolist()))
        self.next_index += npoints
        index_of_the_particle.value = indices
        self.forget()
        return 0

    def delete_particle(self, index_of_the_particle, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        self.current().remove(index_of_the_particle)
        for index in numpy.asarray(index_of_the_particle).tolist():
            # It may be named twice.
            self.radii.pop(index, None)
        self.met = []
        self.forget()
        return 0

    def get_state(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        bodies = self.bodies_of(index_of_the_particle)
        mass.value = bodies.masses
        x.value, y.value, z.value = bodies.positions.T
        vx.value, vy.value, vz.value = bodies.velocities.T
        return self.get_radius(index_of_the_particle, radius, npoints)

    def set_state(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius, npoints):
        positions, velocities = numpy.column_stack([x, y, z]), numpy.column_stack([vx, vy, vz])
        result = self.change(index_of_the_particle, masses=mass, positions=positions, velocities=velocities)
        return result or self.set_radius(index_of_the_particle, radius, npoints)

    def change(self, indices, **values):
        if not self.are_known(indices):
            return -1
        self.current().set(indices, **values)
        self.forget()
        return 0

    def get_mass(self, index_of_the_particle, mass, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        mass.value = self.bodies_of(index_of_the_particle).masses
        return 0

    def set_mass(self, index_of_the_particle, mass, npoints):
        return self.change(index_of_the_particle, masses=mass)

    def get_position(self, index_of_the_particle, x, y, z, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        x.value, y.value, z.value = self.bodies_of(index_of_the_particle).positions.T
        return 0

    def set_position(self, index_of_the_particle, x, y, z, npoints):
        return self.change(index_of_the_particle, positions=numpy.column_stack([x, y, z]))

    def get_velocity(self, index_of_the_particle, vx, vy, vz, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        vx.value, vy.value, vz.value = self.bodies_of(index_of_the_particle).velocities.T
        return 0

    def set_velocity(self, index_of_the_particle, vx, vy, vz, npoints):
        return self.change(index_of_the_particle, velocities=numpy.column_stack([vx, vy, vz]))

    def get_radius(self, index_of_the_particle, radius, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        radius.value = [self.radii[index] for index in numpy.asarray(index_of_the_particle).tolist()]
        return 0

    def set_radius(self, index_of_the_particle, radius, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        self.radii.update(zip(numpy.asarray(index_of_the_particle).tolist(), numpy.asarray(radius).tolist()))
        return 0

    def get_acceleration(self, index_of_the_particle, ax, ay, az, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        ax.value, ay.value, az.value = self.forces_on(index_of_the_particle).accelerations.T
        return 0

    def get_potential(self, index_of_the_particle, potential, npoints):
        if not self.are_known(index_of_the_particle):
            return -1
        potential.value = self.forces_on(index_of_the_particle).potentials
        return 0

    def forces_on(self, indices):
        """The forces of the particles on some of them."""
        self.prepare()
        return self.system.force(
            self.bodies_of(indices).positions,
            indices=numpy.asarray(indices, dtype=numpy.int32),
            softening2=self.epsilon_squared,
        )

    def prepare(self):
        """Hands the particles to the library for their gravity, if they have moved since."""
        if self.system is None:
            bodies = self.bodies_of()
            self.masses, self.positions = bodies.masses, bodies.positions
            self.new_system(bodies.identifiers)

    def evolve_model(self, time):
        cluster = self.current()
        self.met = []
        try:
            if time < cluster.time and self.is_time_reversed_allowed:
                self.evolve_back(time)
            else:
                self.evolve(time)
        finally:
            self.forget()
        return 0

    def evolve_back(self, time):
        """Evolves to an earlier time, as far ahead with all velocities turned round."""
        if self.fields or self.laws:
            allowed = "later ones where there are fields or laws"
            raise kyoho.Error(f"the time to evolve to is an earlier one; allowed: {allowed}")
        now, bodies = self.cluster.time, self.cluster.get()
        self.replace(bodies._replace(velocities=-bodies.velocities), 0.0)
        try:
            self.evolve(now - time)
        except BaseException:
            self.replace(bodies, now)
            raise
        gone, bodies = self.cluster.time, self.cluster.get()
        self.replace(bodies._replace(velocities=-bodies.velocities), now - gone)

    def evolve(self, time):
        """Evolves to a time, or until a stopping condition is met."""
        cluster = self.cluster
        indices, has_radii = cluster.identifiers, COLLISION in self.enabled
        if len(indices) > 0:
            cluster.set(indices, radii=[self.radii[index] if has_radii else 0.0 for index in indices.tolist()])
        begin, parts = cluster.time, PARTS if OUT_OF_BOX in self.enabled else 1
        steps = int(self.number_of_steps) if NUMBER_OF_STEPS in self.enabled else None
        until = clock.monotonic() + self.timeout
        for part in range(1, parts + 1):
            to = time if part == parts else begin + part / parts * (time - begin)
            seconds = max(until - clock.monotonic(), 0.0) if TIMEOUT in self.enabled else None
            evolution = cluster.evolve(to, block_steps=steps, seconds=seconds)
            if evolution.end == "seconds":
                self.met.append((TIMEOUT, ()))
            elif evolution.end == "block steps":
                self.met.append((NUMBER_OF_STEPS, ()))
            for encounter in evolution.encounters:
                condition = COLLISION if encounter.kind == "collision" else PAIR
                self.met.append((condition, (encounter.first, encounter.second)))
            if OUT_OF_BOX in self.enabled:
                self.met += [(OUT_OF_BOX, (index,)) for index in self.outside()]
            if self.met:
                return
            if steps is not None:
                steps = max(steps - evolution.block_steps, 1)

    def outside(self):
        """The particles that are outside of the box."""
        bodies = self.cluster.get()
        positions = bodies.positions
        if self.out_of_box_use_center_of_mass and len(positions) > 0:
            weights = bodies.masses if bodies.masses.any() else None
            positions = positions - numpy.average(positions, axis=0, weights=weights)
        return bodies.identifiers[(abs(positions) > self.out_of_box).any(axis=1)].tolist()

    # The whole

    def get_time(self, time):
        time.value = self.current().time
        return 0

    def get_begin_time(self, time):
        time.value = self.begin_time
        return 0

    def set_begin_time(self, time):
        if self.cluster is not None and self.cluster.time == self.begin_time != time:
            self.replace(self.cluster.get(), time)
        self.begin_time = time
        return 0

    def get_time_step(self, time_step):
        time_step.value = self.dt_max
        return 0

    def get_number_of_particles(self, number_of_particles):
        number_of_particles.value = len(self.radii)
        return 0

    def get_index_of_first_particle(self, index_of_the_particle):
        first = next(iter(self.radii), None)
        index_of_the_particle.value = -1 if first is None else first
        return 1 if first is None else 0

    def get_index_of_next_particle(self, index_of_the_particle, index_of_the_next_particle):
        indices = list(self.radii)
        index_of_the_next_particle.value = -1
        if index_of_the_particle not in self.radii:
            return -1
        place = indices.index(index_of_the_particle) + 1
        if place == len(indices):
            return 1
        index_of_the_next_particle.value = indices[place]
        return 0

    def get_kinetic_energy(self, kinetic_energy):
        kinetic_energy.value = self.current().energies.kinetic
        return 0

    def get_potential_energy(self, potential_energy):
        potential_energy.value = self.current().energies.potential
        return 0

    def get_total_mass(self, mass):
        mass.value = self.bodies_of().masses.sum()
        return 0

    def mean(self, vectors):
        masses = self.bodies_of().masses
        return numpy.average(vectors, axis=0, weights=masses) if masses.sum() > 0 else numpy.zeros(3)

    def get_center_of_mass_position(self, x, y, z):
        x.value, y.value, z.value = self.mean(self.bodies_of().positions)
        return 0

    def get_center_of_mass_velocity(self, vx, vy, vz):
        vx.value, vy.value, vz.value = self.mean(self.bodies_of().velocities)
        return 0

    def get_total_radius(self, radius):
        positions = self.bodies_of().positions
        radius.value = numpy.linalg.norm(positions - self.mean(positions), axis=1).max(initial=0.0)
        return 0

    # Stopping conditions

    def has_stopping_condition(self, type, result):
        result.value = int(type in SUPPORTED)
        return 0

    def enable_stopping_condition(self, type):
        if type not in SUPPORTED:
            return -1
        self.enabled.add(int(type))
        return 0

    def disable_stopping_condition(self, type):
        self.enabled.discard(int(type))
        return 0

    def is_stopping_condition_enabled(self, type, result):
        result.value = int(type in self.enabled)
        return 0

    def is_stopping_condition_set(self, type, result):
        result.value = int(any(condition == type for condition, _ in self.met))
        return 0

    def get_number_of_stopping_conditions_set(self, result):
        result.value = len(self.met)
        return 0

    def get_stopping_condition_info(self, index, type, number_of_particles):
        if not 0 <= index < len(self.met):
            return -1
        condition, particles = self.met[index]
        type.value, number_of_particles.value = condition, len(particles)
        return 0

    def get_stopping_condition_particle_index(self, index, index_of_the_column, index_of_particle):
        particles = self.met[index][1] if 0 <= index < len(self.met) else ()
        if not 0 <= index_of_the_column < len(particles):
            return -1
        index_of_particle.value = particles[index_of_the_column]
        return 0


def _add_parameter(name, attribute, argument, default, name_in_scripts=None):
    """Adds the functions that get and set a parameter."""

    def get(self, **given):
        given[argument].value = getattr(self, attribute)
        return 0

    def set(self, **given):
        setattr(self, attribute, checked(name_in_scripts or name, given[argument]))
        self.forget()
        return 0

    setattr(KyohoWorker, f"get_{name}", get)
    setattr(KyohoWorker, f"set_{name}", set)
    if not hasattr(KyohoWorker, attribute):
        setattr(KyohoWorker, attribute, default)


for _name in ("order", "dt_max", "pair_distance", "is_time_reversed_allowed", "subsystems"):
    _add_parameter(_name, _name, _name, 0)
_add_parameter("eta", "eta", "eta", 0, "timestep_parameter")
for _name, _default in (
    ("timeout", 4.0),
    ("number_of_steps", 1),
    ("out_of_box", 0.0),
    ("out_of_box_use_center_of_mass", False),
    # No gas is here, but AMUSE has these for every code.
    ("minimum_density", -1.0),
    ("maximum_density", -1.0),
    ("minimum_internal_energy", -1.0),
    ("maximum_internal_energy", -1.0),
):
    _add_parameter(f"stopping_condition_{_name}_parameter", _name, "value", _default)
