"""Systems for block steps."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
from conftest import close

import kyoho

VECTORS = ["velocities", "accelerations", "jerks", "snaps", "crackles", "sixth_derivatives", "seventh_derivatives"]
# By order: the derivatives that sinks need, and the results.
SINKS = {2: 0, 4: 1, 6: 2, 8: 3}
RESULTS = {
    2: {"potentials", "accelerations"},
    4: {"potentials", "accelerations", "jerks", "nearest", "nearest_distance2"},
    6: {"potentials", "accelerations", "jerks", "snaps", "nearest", "nearest_distance2"},
    8: {"potentials", "accelerations", "jerks", "snaps", "crackles", "nearest", "nearest_distance2"},
}


def derivatives(bodies, count):
    random = numpy.random.RandomState(5)
    return [random.uniform(-1, 1, (bodies.count, 3)) for _ in range(count)]


def fourth(bodies, **options):
    """A system of order 4 that has these bodies."""
    system = kyoho.System(order=4, **options)
    system.set_sources(bodies.positions, bodies.masses, bodies.velocities)
    return system


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_each_order_has_its_results(bodies, order):
    with kyoho.System(order=order) as system:
        assert system.interaction.order == order and system.interaction.precision == "double"
        system.set_sources(bodies.positions, bodies.masses, *derivatives(bodies, 7))
        forces = system.force(
            bodies.positions, *derivatives(bodies, SINKS[order]), indices=bodies.indices, softening2=0.01
        )
    there = {name for name in RESULTS[8] if getattr(forces, name) is not None}
    assert there == RESULTS[order]
    expected = bodies.gravity(eps=0.1)
    assert close(forces.accelerations, expected[0]) and close(forces.potentials, expected[1])
    assert forces.count == bodies.count and "accelerations" in repr(forces)


def test_jerks_and_nearest_sources(bodies):
    forces = fourth(bodies).force(bodies.positions, bodies.velocities, indices=bodies.indices)
    step = 1e-6
    later = type(bodies)(bodies.count)
    later.positions = bodies.positions + step * bodies.velocities
    jerks = (later.gravity()[0] - bodies.gravity()[0]) / step
    assert numpy.allclose(forces.jerks, jerks, rtol=1e-2, atol=1e-2)
    r = bodies.positions[numpy.newaxis] - bodies.positions[:, numpy.newaxis]
    distance2 = (r**2).sum(axis=2)
    numpy.fill_diagonal(distance2, numpy.inf)
    assert (forces.nearest == distance2.argmin(axis=1)).all()
    assert close(forces.nearest_distance2, distance2.min(axis=1))


def test_sources_are_predicted_to_the_time(bodies):
    system = fourth(bodies)
    system.set_time(0.5)
    predicted = system.predict()
    assert close(predicted.positions, bodies.positions + 0.5 * bodies.velocities)
    assert close(predicted.velocities, bodies.velocities) and predicted.accelerations is None
    assert close(system.predict(10, 5).positions, predicted.positions[10:15])
    assert system.predict(10, 0).positions.shape == (0, 3)


def test_sources_are_written_at_addresses(bodies):
    system = kyoho.System(order=2)
    system.set_sources(bodies.positions[:3], bodies.masses[:3], addresses=[5, 0, 2])
    system.set_sources(bodies.positions[3:4], bodies.masses[3:4], first_address=1)
    predicted = system.predict()
    assert predicted.positions.shape == (6, 3)
    assert (predicted.positions[[5, 0, 2, 1]] == bodies.positions[:4]).all()
    assert numpy.isnan(predicted.positions[3:5]).all()
    # Those below nj alone.
    part = type(bodies)(2)
    part.positions, part.masses = bodies.positions[[1, 3]], bodies.masses[[1, 3]]
    forces = system.force([[0, 0, 0]], indices=None, nj=2)
    assert close(forces.accelerations, part.gravity(numpy.zeros((1, 3)))[0])


def test_neighbours(bodies):
    system = fourth(bodies)
    radii2 = numpy.linspace(0, 16, bodies.count)
    system.force(bodies.positions, bodies.velocities, indices=bodies.indices, radii2=radii2)
    for sink in (0, 10, 99):
        distance2 = ((bodies.positions - bodies.positions[sink]) ** 2).sum(axis=1)
        within = [i for i in range(bodies.count) if i != sink and distance2[i] < radii2[sink]]
        assert system.neighbours(sink).tolist() == within
    with pytest.raises(kyoho.Error) as error:
        system.neighbours(100)
    assert error.value.result == kyoho.Result.BAD_COUNT


def test_lists_of_neighbours_have_any_length(many):
    system = fourth(many)
    system.force(many.positions[:1], many.velocities[:1], indices=[0], radii2=[100.0])
    assert (system.neighbours(0) == many.indices[1:]).all()


def test_regular_forces_leave_out_neighbours(bodies):
    system = fourth(bodies, scope="regular")
    radii2 = numpy.full(1, 0.5)
    forces = system.force(
        bodies.positions[:1],
        bodies.velocities[:1],
        indices=[0],
        radii2=radii2,
        steps=[0.0],
        neighbour_criterion="plain",
    )
    assert forces.nearest is None
    near = system.neighbours(0)
    assert 0 < len(near) < bodies.count - 1
    rest = type(bodies)(2)
    others = numpy.setdiff1d(bodies.indices, numpy.append(near, 0))
    rest.positions, rest.masses = bodies.positions[others], bodies.masses[others]
    assert close(forces.accelerations, rest.gravity(bodies.positions[:1])[0])


def test_work_in_two_calls(bodies):
    system = fourth(bodies)
    expected = system.force(bodies.positions, bodies.velocities, indices=bodies.indices)
    positions = bodies.positions.copy()
    system.start(positions, bodies.velocities, indices=bodies.indices)
    positions[:] = 0
    system.set_sources(bodies.positions + 1, bodies.masses)
    forces = system.wait()
    assert (forces.accelerations == expected.accelerations).all()
    with pytest.raises(kyoho.Error) as error:
        system.wait()
    assert error.value.result == kyoho.Result.CALL_ORDER

    pairs = kyoho.Sources(bodies.positions, bodies.masses, bodies.velocities)
    offsets = numpy.arange(0, 101, 2, dtype=numpy.int32)
    expected = system.force_batch(pairs, offsets)
    system.start_batch(pairs, offsets)
    assert (system.wait().jerks == expected.jerks).all()
    lists = dict(indices=None, sink_offsets=[0, 1], first_addresses=[0], source_counts=[50])
    expected = system.force_lists(bodies.positions[:1], bodies.velocities[:1], **lists)
    system.start_lists(bodies.positions[:1], bodies.velocities[:1], **lists)
    assert (system.wait().jerks == expected.jerks).all()


def test_sources_on_one_another(bodies):
    system = fourth(bodies)
    expected = system.force(bodies.positions, bodies.velocities, indices=bodies.indices, softening2=0.01)
    forces = system.force_all(0.01)
    assert (forces.jerks == expected.jerks).all() and (forces.nearest == expected.nearest).all()
    system.start_all(0.01)
    assert (system.wait().accelerations == expected.accelerations).all()
    out = kyoho.Forces(accelerations=numpy.empty((10, 3)))
    assert system.force_all(nj=10, out=out) is out
    first = (bodies.positions[:10], bodies.velocities[:10])
    assert (out.accelerations == system.force(*first, indices=bodies.indices[:10], nj=10).accelerations).all()
    for wrong, said in (
        (dict(softening2="x"), "softening2 is 'x'; allowed: a number"),
        (dict(softening2=-1), "softening"),
        (dict(nj=-1), "nj is -1; allowed: 0 to"),
        (dict(nj=bodies.count + 1), f"no source was written to address {bodies.count}"),
        (dict(out=out), "out"),
    ):
        with pytest.raises(kyoho.Error, match=said):
            system.force_all(**wrong)


def test_only_wanted_results_are_written(bodies):
    system = fourth(bodies)
    out = kyoho.Forces(jerks=numpy.empty((bodies.count, 3)), nearest=numpy.empty(bodies.count, numpy.int32))
    assert system.force(bodies.positions, bodies.velocities, indices=bodies.indices, out=out) is out
    full = system.force(bodies.positions, bodies.velocities, indices=bodies.indices)
    assert (out.jerks == full.jerks).all() and (out.nearest == full.nearest).all() and out.potentials is None


def test_what_a_system_tells(bodies):
    system = fourth(bodies, precision="mixed", backend="cpu", threads=1)
    assert system.backend == "cpu" and len(system.devices) == 1 and system.interaction.precision == "mixed"
    system.force(bodies.positions, bodies.velocities, indices=bodies.indices)
    counts = system.statistics
    assert (counts.sources, counts.writes, counts.blocks, counts.sinks) == (100, 100, 1, 100)
    assert counts.interactions == 100 * 100 and counts.bytes > 0
    assert "order 4, mixed" in repr(system)
    system.set_crossover(-1)
    system.move(backend="cpu", threads=2)
    forces = system.force(bodies.positions, bodies.velocities, indices=bodies.indices)
    assert numpy.allclose(forces.accelerations, bodies.gravity()[0], rtol=1e-4)


def test_a_closed_system_is_an_error(bodies):
    system = fourth(bodies)
    system.close()
    system.close()
    assert "closed" in repr(system)
    with pytest.raises(kyoho.Error, match="closed") as error:
        system.force(bodies.positions, bodies.velocities, indices=bodies.indices)
    assert error.value.result == kyoho.Result.BAD_HANDLE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": 3}, "order"),
        ({"precision": "half"}, "precision is 'half'; allowed: 'single', 'mixed', 'double', 'quad'"),
        ({"scope": "all"}, "scope is 'all'"),
        ({"backend": "gpu"}, "backend is 'gpu'"),
        ({"devices": 1}, "devices is 1; allowed: 'all'"),
        ({"threads": 0}, "threads is 0"),
        ({"order": 2, "accuracy": 0.5}, "accuracy"),
        ({"order": 4, "accuracy": 1e-3}, "trees of order 4"),
        ({"order": 2, "theta": -1.0}, "theta"),
        ({"order": 8, "precision": "single"}, "order 8"),
    ],
)
def test_options_that_are_not_allowed(options, said):
    with pytest.raises(kyoho.Error, match=said):
        kyoho.System(**options)


def test_sources_within_a_radius_are_those_of_all_pairs():
    random = numpy.random.default_rng(4)
    positions, radii2 = random.normal(size=(300, 3)), random.uniform(0, 0.5, 300)
    indices = numpy.arange(300, dtype=numpy.int32)
    with kyoho.System(order=2) as system:
        system.set_sources(positions, numpy.ones(300))
        offsets, addresses = system.find_neighbours(positions, radii2, indices=indices)
        for sink in range(300):
            r2 = ((positions - positions[sink]) ** 2).sum(axis=1)
            expected = numpy.flatnonzero((r2 < radii2[sink]) & (indices != sink))
            assert (addresses[offsets[sink] : offsets[sink + 1]] == expected).all()
        # They are lists as forces take them.
        lists = {"sink_offsets": numpy.arange(301, dtype=numpy.int32), "source_offsets": offsets}
        forces = system.force_lists(positions, indices=None, addresses=addresses, **lists)
        assert (forces.potentials[numpy.diff(offsets) > 0] < 0).all()
    with kyoho.System(order=4) as system, pytest.raises(kyoho.Error, match="order 2"):
        system.find_neighbours(positions, radii2, indices=None)


def in_limbs(numbers):
    """Fractions as numbers of two doubles."""
    flat = [Fraction(number) for number in numpy.asarray(numbers, object).ravel()]
    high = [float(number) for number in flat]
    low = [float(number - Fraction(first)) for number, first in zip(flat, high)]
    return numpy.array([high, low]).T.reshape((*numpy.shape(numbers), 2))


def exact(limbs):
    """The exact sums of two doubles each, as an array of fractions."""
    return numpy.vectorize(Fraction, otypes=[object])(limbs).sum(axis=-1)


def test_quad_has_two_doubles_for_each_number():
    third, tiny = Fraction(1, 3), Fraction(1, 2**80)
    positions = numpy.array([[third, 0, 0], [third + 1 + tiny, 0, 0]], object)
    system = kyoho.System(order=4, precision="quad")
    system.set_sources(in_limbs(positions), [1.0, 1.0], in_limbs([[third, 0, 0], [0, 0, 0]]), indices=[1, 2])
    forces = system.force(in_limbs(positions), numpy.zeros((2, 3)), indices=[1, 2], radii2=[2.0, 0.5])
    assert forces.accelerations.shape == (2, 3, 2) and forces.potentials.shape == (2, 2)
    assert abs(exact(forces.accelerations)[0, 0] - 1 / (1 + tiny) ** 2) < 1e-30
    assert abs(exact(forces.nearest_distance2)[0] - (1 + tiny) ** 2) < 1e-30
    assert forces.nearest.tolist() == [2, 1] and forces.nearest.dtype == numpy.int32
    assert system.neighbours(0).tolist() == [2] and system.neighbours(1).tolist() == []
    # Arrays without a last axis get the nearest doubles.
    out = kyoho.Forces(accelerations=numpy.empty((2, 3)))
    system.force(in_limbs(positions), numpy.zeros((2, 3)), indices=[1, 2], out=out)
    assert (out.accelerations == forces.accelerations[..., 0]).all()
    with pytest.raises(kyoho.Error, match=r"out.potentials has the shape \(2,\); allowed: \(n, 2\), as other arrays"):
        kyoho.Forces(accelerations=numpy.empty((2, 3, 2)), potentials=numpy.empty(2))


def test_times_of_quad_have_all_their_digits():
    system = kyoho.System(order=4, precision="quad")
    system.set_sources([[0, 0, 0]], [1.0], [[1, 0, 0]])
    for time in [Fraction(1, 3), "0.1", Decimal("0.7"), (1.0, 2.0**-70), 0.25]:
        system.set_time(time)
        expected = sum(map(Fraction, time)) if isinstance(time, tuple) else Fraction(time)
        assert abs(exact(system.predict().positions)[0, 0] - expected) < 1e-31
    with pytest.raises(kyoho.Error, match="time is 'noon'; allowed: real numbers"):
        system.set_time("noon")


def test_derivatives_of_quad_have_all_their_digits():
    time, vectors = Fraction(1, 3), [numpy.array([[0.1 * k, 0.7, -0.3]]) for k in range(1, 5)]
    expected = sum(Fraction(float(vector[0, 0])) * time**k / math.factorial(k) for k, vector in enumerate(vectors))
    for form in (numpy.asarray, in_limbs):
        system = kyoho.System(order=4, precision="quad")
        positions, velocities, accelerations, jerks = map(form, vectors)
        system.set_sources(positions, [1.0], velocities, accelerations, jerks)
        system.set_time(time)
        assert abs(exact(system.predict().positions)[0, 0] - expected) < 1e-31


def test_arrays_of_quad_that_are_wrong():
    system = kyoho.System(order=2, precision="quad")
    with pytest.raises(kyoho.Error, match=r"positions has the shape \(2, 2\); allowed: \(n, 3\), \(n, 3, 2\)"):
        system.set_sources(numpy.zeros((2, 2)), [1.0, 1.0])
    with pytest.raises(kyoho.Error, match=r"masses has the shape \(2, 3\); allowed: \(n,\), \(n, 2\)"):
        system.set_sources(numpy.zeros((2, 3)), numpy.zeros((2, 3)))
    with pytest.raises(kyoho.Error, match="interaction lists of order 2 quad"):
        system.force_batch(kyoho.Sources(numpy.zeros((2, 3)), [1, 1]), [0, 2])
    for wrong in ("bool", "complex", "object", "U"):
        with pytest.raises(kyoho.Error, match=r"positions is an array of .*; allowed: real numbers"):
            system.set_sources(numpy.zeros((1, 3)).astype(wrong), [1.0])


def test_integers_and_long_doubles_keep_their_digits_in_quad():
    system = kyoho.System(order=2, precision="quad")
    for value in (2**60 + 1, 2**64 - 1, numpy.longdouble(1) / 3):
        system.set_sources(numpy.full((1, 3), value), [1.0])
        assert (exact(system.predict().positions) == Fraction(*value.as_integer_ratio())).all()
    # Limbs may be of any type too.
    system.set_sources(numpy.array([[[1, 0], [0, 0], [0, 0]]], numpy.longdouble), [1])
    assert system.predict().positions[0, 0].tolist() == [1, 0]
