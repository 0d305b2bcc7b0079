"""The workers of the codes for AMUSE, as far as they do not need AMUSE."""

import importlib
import importlib.metadata
import pathlib
import sys
import types

import numpy
import pytest

import kyoho

FOLDER = pathlib.Path(__file__).parents[2] / "packaging/amuse/amuse-kyoho/src/amuse_kyoho"


@pytest.fixture
def amuse_kyoho(monkeypatch):
    """The package, without the modules that AMUSE's scripts see."""
    package = types.ModuleType("amuse_kyoho")
    package.__path__ = [str(FOLDER)]
    monkeypatch.setitem(sys.modules, "amuse_kyoho", package)
    for name in ("field_worker", "dynamics_worker", "_version"):
        monkeypatch.delitem(sys.modules, f"amuse_kyoho.{name}", raising=False)
    return package


@pytest.mark.parametrize(
    ("code", "function", "argument", "value", "said"),
    [
        ("dynamics_worker.KyohoWorker", "order", "order", 5, "order is 5; allowed: 2, 4, 6, 8"),
        ("dynamics_worker.KyohoWorker", "eta", "eta", -1.0, "timestep_parameter is -1.0; allowed: finite numbers"),
        ("dynamics_worker.KyohoWorker", "dt_max", "dt_max", float("nan"), "dt_max is nan"),
        ("dynamics_worker.KyohoWorker", "pair_distance", "pair_distance", -1.0, "pair_distance is -1.0"),
        ("field_worker.KyohoFieldWorker", "accuracy", "accuracy", 0.5, "accuracy is 0.5; allowed: 0, for direct"),
        ("field_worker.KyohoFieldWorker", "precision", "precision", "half", "precision is 'half'; allowed: ''"),
        ("field_worker.KyohoFieldWorker", "backend", "backend", "gpu", "backend is 'gpu'; allowed: '', 'cuda'"),
        ("field_worker.KyohoFieldWorker", "eps2", "epsilon_squared", -1.0, "epsilon_squared is -1.0"),
    ],
)
def test_parameters_are_refused_where_they_are_set(amuse_kyoho, code, function, argument, value, said):
    module, name = code.split(".")
    worker = getattr(importlib.import_module(f"amuse_kyoho.{module}"), name)()
    got = types.SimpleNamespace()
    getattr(worker, f"get_{function}")(**{argument: got})
    before = got.value
    with pytest.raises(kyoho.Error, match=said):
        getattr(worker, f"set_{function}")(**{argument: value})
    getattr(worker, f"get_{function}")(**{argument: got})
    assert got.value == before


def test_a_binary_is_a_subsystem_if_that_is_asked_for(amuse_kyoho):
    worker = importlib.import_module("amuse_kyoho.dynamics_worker").KyohoWorker()
    worker.set_backend(backend="cpu")
    worker.set_subsystems(subsystems=1)
    one = types.SimpleNamespace()
    # Masses, positions, velocities, and radii.
    bodies = ([1e-3, 1e-3, 1.0], [0.0, 1e-6, 1.0], [0.0] * 3, [0.0] * 3, [0.0] * 3, [0.0, 2000**0.5, 0.1])
    worker.new_particle(one, *bodies, [0.0] * 3, [0.0] * 3, npoints=3)
    worker.evolve_model(0.1)
    assert len(worker.cluster.binaries) == 1
    # A cluster that is there follows the parameter.
    worker.set_subsystems(subsystems=0)
    worker.evolve_model(0.1)
    assert len(worker.cluster.binaries) == 0
    worker.set_subsystems(subsystems=1)
    worker.evolve_model(0.2)
    assert len(worker.cluster.binaries) == 1


def test_fields_stay_where_a_parameter_changes(amuse_kyoho):
    worker = importlib.import_module("amuse_kyoho.dynamics_worker").KyohoWorker()
    worker.set_backend(backend="cpu")
    worker.add_field("point_mass", "mass=1.0")
    with pytest.raises(kyoho.Error, match="the parameter 'radius' of the field 'plummer' is 'not given'"):
        worker.add_field("plummer", "mass=1.0")
    with pytest.raises(kyoho.Error, match="have 'mass'; allowed: NAME=NUMBER"):
        worker.add_field("point_mass", "mass")
    one = types.SimpleNamespace()
    worker.new_particle(one, *([value] for value in (2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)), npoints=1)
    # On a circle with period 2 pi; the order makes a new cluster, at another time.
    worker.evolve_model(0.5)
    worker.set_order(order=6)
    worker.evolve_model(1.5707963267948966)
    place = [types.SimpleNamespace() for _ in range(3)]
    worker.get_position(one.value, *place, npoints=1)
    assert [value.value[0] for value in place] == pytest.approx([0, 1, 0], abs=1e-5)
    energy = types.SimpleNamespace()
    worker.get_potential_energy(energy)
    assert energy.value == pytest.approx(-2, abs=1e-4)
    worker.set_is_time_reversed_allowed(is_time_reversed_allowed=1)
    with pytest.raises(kyoho.Error, match="allowed: later ones where there are fields or laws"):
        worker.evolve_model(1.0)


def test_laws_stay_where_a_parameter_changes(amuse_kyoho):
    worker = importlib.import_module("amuse_kyoho.dynamics_worker").KyohoWorker()
    worker.set_backend(backend="cpu")
    spring = """pair spring
i      pos: vec3<f64>
j      pos: vec3<f64>, mass: f64
param  stiffness: f64
result potential: f64 sum
body
  potential += 0.5 * stiffness * j.mass * norm2(j.pos - i.pos)
"""
    worker.add_law(spring, "stiffness=1e6")
    with pytest.raises(kyoho.Error, match="the parameter 'stiffness' of the law 'spring' is 'not given'"):
        worker.add_law(spring, "")
    two = types.SimpleNamespace()
    # They are on a circle with an angular velocity of 1000, which their gravity hardly changes.
    x, vy, zero = [1.0, -1.0], [1000.0, -1000.0], [0.0, 0.0]
    worker.new_particle(two, [0.5, 0.5], x, zero, zero, zero, vy, zero, zero, npoints=2)
    worker.evolve_model(1e-3)
    worker.set_order(order=6)
    worker.evolve_model(numpy.pi * 1e-3)
    place = [types.SimpleNamespace() for _ in range(3)]
    worker.get_position(two.value, *place, npoints=2)
    assert place[0].value == pytest.approx([-1, 1], abs=1e-3)
    energy = types.SimpleNamespace()
    worker.get_potential_energy(energy)
    assert energy.value == pytest.approx(5e5, rel=1e-4)
    worker.set_is_time_reversed_allowed(is_time_reversed_allowed=1)
    with pytest.raises(kyoho.Error, match="allowed: later ones where there are fields or laws"):
        worker.evolve_model(1e-3)


def two(worker, mass, radius):
    """Adds a particle that rests in the middle, and one that leaves it with a speed of 1."""
    one, zeros = types.SimpleNamespace(), [0.0] * 2
    worker.new_particle(one, [mass] * 2, [0.0, 1.0], zeros, zeros, [0.0, 1.0], zeros, zeros, [radius] * 2, npoints=2)
    return one.value


def dynamics(**stopping):
    """A worker that looks for some conditions, by their names in its module."""
    module = importlib.import_module("amuse_kyoho.dynamics_worker")
    worker = module.KyohoWorker()
    worker.set_backend(backend="cpu")
    worker.set_is_time_reversed_allowed(is_time_reversed_allowed=1)
    for name in stopping:
        worker.enable_stopping_condition(getattr(module, name))
    return worker


def test_collisions_are_found_on_the_way_back_too(amuse_kyoho):
    worker = dynamics(COLLISION=True)
    indices = two(worker, 1e-9, 0.1)
    worker.evolve_model(-2.0)
    assert worker.met == [(0, tuple(indices))]
    assert worker.cluster.time == pytest.approx(-0.8, abs=0.05)
    assert worker.cluster.velocities[1, 0] == pytest.approx(1.0)


def test_an_error_leaves_the_model_as_it_was(amuse_kyoho):
    worker = dynamics()
    two(worker, 1e-3, 0.0)
    worker.evolve_model(0.25)
    before = worker.cluster.time, worker.cluster.velocities.tolist()
    with pytest.raises(kyoho.Error, match="nan"):
        worker.evolve_model(float("nan"))
    assert (worker.cluster.time, worker.cluster.velocities.tolist()) == before
    worker.evolve = lambda _: pytest.fail("no")
    with pytest.raises(pytest.fail.Exception):
        worker.evolve_model(0.1)
    assert (worker.cluster.time, worker.cluster.velocities.tolist()) == before


def test_a_timeout_holds_for_an_evolution_that_looks_at_a_box(amuse_kyoho, monkeypatch):
    worker = dynamics(TIMEOUT=True, OUT_OF_BOX=True)
    two(worker, 1e-3, 0.0)
    worker.set_stopping_condition_timeout_parameter(value=100.0)
    worker.set_stopping_condition_out_of_box_parameter(value=1e9)
    given, evolve, clock = [], worker.current().evolve, importlib.import_module("time")
    begin = clock.monotonic()
    # Each part takes 7 seconds.
    monkeypatch.setattr(clock, "monotonic", lambda: begin + 7 * len(given))
    worker.cluster = types.SimpleNamespace(
        time=0.0,
        identifiers=(),
        get=worker.cluster.get,
        evolve=lambda to, block_steps, seconds: (given.append(seconds), evolve(to))[1],
    )
    worker.evolve(1.0)
    assert given == pytest.approx([max(100 - 7 * part, 0) for part in range(16)])


def test_a_box_around_particles_without_mass_has_their_mean_in_its_middle(amuse_kyoho):
    worker = dynamics(OUT_OF_BOX=True)
    worker.set_stopping_condition_out_of_box_use_center_of_mass_parameter(value=True)
    worker.set_stopping_condition_out_of_box_parameter(value=1.5)
    indices = two(worker, 0.0, 0.0)
    worker.evolve_model(4.0)
    assert worker.met == [(5, (index,)) for index in indices]
    assert 2.0 < worker.cluster.time <= 2.25


def test_a_particle_may_be_named_twice_where_it_is_deleted(amuse_kyoho):
    worker = dynamics()
    indices = two(worker, 1e-3, 0.0)
    assert worker.delete_particle(numpy.array([indices[0]] * 2, dtype=numpy.int32), npoints=2) == 0
    assert list(worker.radii) == [indices[1]] and worker.cluster.identifiers.tolist() == [indices[1]]


def test_the_version_is_where_amuse_looks_for_it(amuse_kyoho, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"that of {name}")
    found = importlib.import_module(".._version", "amuse_kyoho.dynamics").version
    assert found == "that of amuse-kyoho"
