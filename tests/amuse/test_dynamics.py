"""Kyoho in AMUSE's own tests for all codes of gravitational dynamics, and in tests of its own."""

import importlib.metadata

import numpy
import pytest
from amuse.couple.bridge import Bridge
from amuse.datamodel import Particles
from amuse.ext.galactic_potentials import NFW_profile
from amuse.ic.plummer import new_plummer_model
from amuse.support.exceptions import CodeException
from amuse.test.amusetest import TestWithMPI
from amuse.test.suite.codes_tests.gd_tests import _TestGravitationalDynamicsInterface, _TestGravityCodes
from amuse.units import constants, nbody_system, units
from amuse_kyoho import Kyoho, KyohoField, KyohoInterface

length, mass, speed, time = nbody_system.length, nbody_system.mass, nbody_system.speed, nbody_system.time


class TestKyohoInterface(_TestGravitationalDynamicsInterface, TestWithMPI):
    def gravity_code_interface(self):
        return KyohoInterface

    def reference_includes(self):
        return "Kyoho"


class TestKyoho(_TestGravityCodes, TestWithMPI):
    def gravity_code_factory(self):
        return Kyoho


def stars(count=64):
    made = new_plummer_model(count, random=numpy.random.RandomState(5))
    made.radius = 0 | length
    return made


def two(distance=1.0, at_rest=True):
    """Two stars at rest, or on a circle with period 2 pi."""
    made = Particles(2)
    made.mass = 0.5 | mass
    made.position = [[0.5 * distance, 0, 0], [-0.5 * distance, 0, 0]] | length
    made.velocity = [[0, 0, 0]] * 2 | speed if at_rest else [[0, 0.5, 0], [0, -0.5, 0]] | speed
    made.radius = 0 | length
    return made


def code(particles, **parameters):
    made = Kyoho()
    for name, value in parameters.items():
        setattr(made.parameters, name, value)
    made.particles.add_particles(particles)
    return made


def test_several_workers_have_the_bits_of_one():
    model, found = stars(), []
    for workers in (1, 2):
        gravity = Kyoho(number_of_workers=workers)
        gravity.parameters.epsilon_squared = 0.01 | length**2
        gravity.particles.add_particles(model)
        gravity.evolve_model(0.25 | time)
        gravity.particles[0].mass *= 2
        gravity.evolve_model(0.5 | time)
        energies = [gravity.kinetic_energy, gravity.potential_energy]
        found.append((gravity.particles.position.number.tolist(), [energy.number for energy in energies]))
        gravity.stop()
    assert found[0] == found[1]


def test_energies_are_kept_in_all_orders():
    model = stars()
    for order, more in ((4, {}), (6, {}), (8, {}), (2, {"dt_max": 1e-3 | time})):
        gravity = code(model, order=order, epsilon_squared=0.01 | length**2, **more)
        before = gravity.kinetic_energy + gravity.potential_energy
        gravity.evolve_model(0.5 | time)
        after = gravity.kinetic_energy + gravity.potential_energy
        assert abs(after / before - 1) < 1e-5, order
        assert gravity.model_time == 0.5 | time
        gravity.stop()


def test_potentials_and_gravity_are_those_of_the_field_code():
    model = stars()
    gravity, field = code(model, epsilon_squared=0.01 | length**2), KyohoField()
    field.parameters.epsilon_squared = 0.01 | length**2
    field.particles.add_particles(model)
    eps, places = numpy.zeros(3) | length, [[1, 2, 0.5], [0.3, 0.1, 0.2], [-1, 0, 0]] | length
    for own, other in zip(gravity.get_gravity_at_point(eps, *places.T), field.get_gravity_at_point(eps, *places.T)):
        assert numpy.allclose(own.value_in(length / time**2), other.value_in(length / time**2), rtol=1e-14, atol=0)
    own, other = (made.get_potential_at_point(eps, *places.T) for made in (gravity, field))
    assert numpy.allclose(own.value_in(speed**2), other.value_in(speed**2), rtol=1e-14, atol=0)
    potentials = gravity.particles.potential_in_code
    assert abs(0.5 * (model.mass * potentials).sum() / gravity.potential_energy - 1) < 1e-13
    gravity.stop()
    field.stop()


def test_particles_change_between_evolutions():
    gravity = code(stars(), epsilon_squared=0.01 | length**2)
    gravity.evolve_model(0.1 | time)
    gravity.particles[:10].velocity += [1, 0, 0] | speed
    gravity.particles.remove_particle(gravity.particles[20])
    gravity.particles.add_particles(two(20.0))
    gravity.evolve_model(0.2 | time)
    assert len(gravity.particles) == 65 and gravity.model_time == 0.2 | time
    # Parameters may change too.
    gravity.parameters.order = 6
    gravity.parameters.epsilon_squared = 0.02 | length**2
    gravity.evolve_model(0.3 | time)
    assert gravity.parameters.order == 6 and gravity.model_time == 0.3 | time
    gravity.stop()


def test_collisions_and_pairs_end_an_evolution():
    falling = two()
    falling.radius = 0.1 | length
    gravity = code(falling, timestep_parameter=1e-2)
    collision = gravity.stopping_conditions.collision_detection
    collision.enable()
    gravity.evolve_model(10 | time)
    assert collision.is_set() and gravity.model_time < 10 | time
    first, second = collision.particles(0)[0], collision.particles(1)[0]
    assert {first.key, second.key} == set(falling.key)
    assert 0.1 | length < (first.position - second.position).length() < 0.2 | length
    gravity.stop()

    gravity = code(two(), timestep_parameter=1e-2, pair_distance=0.3 | length)
    pair = gravity.stopping_conditions.pair_detection
    gravity.evolve_model(0.01 | time)
    pair.enable()
    gravity.evolve_model(10 | time)
    assert pair.is_set() and len(pair.particles(0)) == len(pair.particles(1)) == 1
    gravity.stop()


def test_steps_and_time_end_an_evolution():
    gravity = code(two(at_rest=False), timestep_parameter=1e-5)
    steps = gravity.stopping_conditions.number_of_steps_detection
    gravity.parameters.stopping_conditions_number_of_steps = 5
    steps.enable()
    gravity.evolve_model(1 | time)
    assert steps.is_set() and gravity.model_time < 0.1 | time
    steps.disable()
    timeout = gravity.stopping_conditions.timeout_detection
    gravity.parameters.stopping_conditions_timeout = 0.3 | units.s
    timeout.enable()
    gravity.evolve_model(1e6 | time)
    assert timeout.is_set() and not steps.is_set()
    gravity.stop()


def test_time_goes_back_where_that_is_allowed():
    model = stars(16)
    gravity = code(model, epsilon_squared=0.01 | length**2, order=8, timestep_parameter=0.1)
    gravity.evolve_model(0.5 | time)
    try:
        gravity.evolve_model(0 | time)
        raise AssertionError("it went back")
    except CodeException as error:
        assert "the time to evolve to is '0'" in str(error)
    gravity.parameters.is_time_reversed_allowed = 1
    gravity.evolve_model(0 | time)
    assert gravity.model_time == 0 | time
    assert (gravity.particles.position - model.position).lengths().max() < 1e-8 | length
    gravity.stop()


def test_a_field_has_quantities_as_parameters():
    converter = nbody_system.nbody_to_si(1 | units.MSun, 1 | units.au)
    planet = Particles(1)
    planet.mass, planet.radius = 1e-9 | units.MSun, 0 | units.km
    planet.position = [[1, 0, 0]] | units.au
    circular = (constants.G * (1 | units.MSun) / (1 | units.au)).sqrt()
    planet.vx, planet.vy, planet.vz = 0 * circular, circular, 0 * circular
    gravity = Kyoho(converter)
    gravity.parameters.order = 6
    gravity.add_field("point_mass", mass=1 | units.MSun)
    gravity.particles.add_particles(planet)
    gravity.evolve_model(0.5 * numpy.pi * (1 | units.au) / circular)
    assert numpy.allclose(gravity.particles.position.value_in(units.au), [[0, 1, 0]], atol=1e-5)
    gravity.stop()
    gravity = Kyoho()
    with pytest.raises(ValueError, match="has no N-body unit"):
        gravity.add_field("point_mass", mass=1 | units.MSun)
    gravity.add_field("plummer", mass=2 | mass, radius=0.5)
    with pytest.raises(CodeException, match="'plumer'"):
        gravity.add_field("plumer", mass=2 | mass)
    gravity.stop()


def test_parameters_are_refused_where_they_are_set():
    gravity = Kyoho()
    with pytest.raises(CodeException, match="order is 5; allowed: 2, 4, 6, 8"):
        gravity.parameters.order = 5
    assert gravity.parameters.order == 4
    gravity.stop()


def test_the_version_is_known():
    assert KyohoInterface.version() == importlib.metadata.version("amuse-kyoho")


def test_a_bridge_in_a_galaxy_conserves_energy():
    """A cluster on its orbit in the potential of a galaxy."""
    converter = nbody_system.nbody_to_si(1e4 | units.MSun, 3 | units.parsec)
    model = new_plummer_model(128, converter, random=numpy.random.RandomState(5))
    galaxy = NFW_profile(1e7 | units.MSun / units.kpc**3, 10 | units.kpc)
    model.x += 5 | units.kpc
    model.vy += galaxy.circular_velocity(5 | units.kpc)
    gravity = Kyoho(converter)
    gravity.parameters.order = 6
    gravity.parameters.epsilon_squared = (0.3 | units.parsec) ** 2
    gravity.particles.add_particles(model)
    bridge = Bridge(timestep=0.5 | units.Myr, use_threading=False)
    bridge.add_system(gravity, (galaxy,))
    inner = gravity.kinetic_energy + gravity.potential_energy

    def total():
        particles = gravity.particles
        outer = galaxy.get_potential_at_point(0 | units.parsec, *particles.position.T)
        return gravity.kinetic_energy + gravity.potential_energy + (particles.mass * outer).sum()

    before = total()
    bridge.evolve_model(20 | units.Myr)
    assert abs(bridge.model_time / (20 | units.Myr) - 1) < 1e-9
    # The energy of the orbit is a hundred thousand times that of the cluster.
    assert abs((total() - before) / inner) < 0.02
    gravity.stop()


def test_results_are_those_of_ph4():
    from amuse.community.ph4.interface import ph4

    model = stars()
    found = []
    for made in (ph4(), Kyoho()):
        made.parameters.epsilon_squared = 0.01 | length**2
        made.parameters.timestep_parameter = 0.003 if isinstance(made, ph4) else 1e-4
        if isinstance(made, ph4):
            made.parameters.force_sync = 1
        made.particles.add_particles(model)
        made.evolve_model(0.125 | time)
        assert made.model_time == 0.125 | time
        found.append(made.particles.position.value_in(length))
        made.stop()
    error = numpy.abs(found[0] - found[1]).max()
    print("largest difference from ph4:", error)
    assert error < 1e-8
