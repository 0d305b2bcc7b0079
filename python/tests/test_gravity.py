"""Functions that need no system."""

import numpy
import pytest
from conftest import close

import kyoho


def test_direct_sums_are_those_of_numpy(bodies):
    accelerations, potentials = kyoho.gravity(bodies.positions, bodies.masses, eps=0.1)
    expected = bodies.gravity(eps=0.1)
    assert close(accelerations, expected[0]) and close(potentials, expected[1])


def test_every_body_counts_at_other_places(bodies):
    places = bodies.positions[:7]
    accelerations, potentials = kyoho.gravity(bodies.positions, bodies.masses, 0.1, at=places)
    expected = bodies.gravity(places, eps=0.1)
    assert close(accelerations, expected[0]) and close(potentials, expected[1])


def test_each_place_may_have_a_softening_of_its_own(bodies):
    places, eps = bodies.positions[:7], numpy.linspace(0.1, 1, 7)
    accelerations, potentials = kyoho.gravity(bodies.positions, bodies.masses, eps, at=places)
    expected = bodies.gravity(places, eps=eps)
    assert close(accelerations, expected[0]) and close(potentials, expected[1])


def test_potentials_are_left_out_if_they_are_not_wanted(bodies):
    accelerations = kyoho.gravity(bodies.positions, bodies.masses, potential=False)
    assert close(accelerations, bodies.gravity()[0])


def test_results_are_written_to_the_callers_arrays(bodies):
    table = numpy.full((bodies.count, 4), 7.0)
    out = table[:, 1:], table[:, 0]
    accelerations, potentials = kyoho.gravity(bodies.positions, bodies.masses, out=out)
    assert accelerations is out[0] and potentials is out[1]
    expected = bodies.gravity()
    assert close(table, numpy.column_stack([expected[1], expected[0]]))
    alone = numpy.empty((bodies.count, 3))
    assert kyoho.gravity(bodies.positions, bodies.masses, potential=False, out=alone) is alone


def test_a_tree_has_the_accuracy_that_was_asked_for(many):
    exact = kyoho.gravity(many.positions, many.masses, potential=False)
    norm = numpy.linalg.norm(exact, axis=1)
    for accuracy in (1e-2, 1e-4):
        found = kyoho.gravity(many.positions, many.masses, accuracy=accuracy, potential=False)
        errors = numpy.linalg.norm(found - exact, axis=1) / norm
        assert 0 < numpy.median(errors) < accuracy
        told = kyoho.tree_error(many.positions, many.masses, accuracy=accuracy, samples=500)
        assert 0 < told.median < accuracy and told.median <= told.percentile_90 <= told.percentile_99 <= told.worst
        assert told.median == pytest.approx(numpy.median(errors), rel=0.5)


@pytest.mark.parametrize("options", [{"accuracy": 1e-4}, {"theta": 0.3}])
def test_close_pairs_have_the_accuracy_by_default(options):
    random = numpy.random.default_rng(1)
    places = random.normal(size=(3000, 3))
    apart = random.normal(size=(3000, 3)) * 10.0 ** random.uniform(-9, -5, 3000)[:, None]
    positions, masses = numpy.concatenate([places, places + apart]), numpy.full(6000, 1 / 6000)
    exact, exact_potentials = kyoho.gravity(positions, masses)
    found, potentials = kyoho.gravity(positions, masses, **options)
    errors = numpy.linalg.norm(found - exact, axis=1) / numpy.linalg.norm(exact, axis=1)
    assert numpy.median(errors) < 1e-4 and numpy.percentile(errors, 99) < 5e-4
    assert potentials.sum() == pytest.approx(exact_potentials.sum(), rel=1e-4)


def test_the_opening_angle_of_a_tree(many):
    exact = kyoho.gravity(many.positions, many.masses, potential=False)
    errors = []
    for theta in (1.0, 0.3):
        found = kyoho.gravity(many.positions, many.masses, theta=theta, potential=False)
        errors.append(numpy.abs(found - exact).max())
    assert 0 < errors[1] < errors[0]


def test_a_thread_computes_with_fewer_bodies_after_more(bodies):
    kyoho.gravity(bodies.positions, bodies.masses)
    accelerations, _ = kyoho.gravity(bodies.positions[:2], bodies.masses[:2])
    pair = type(bodies)(2)
    pair.positions, pair.masses = bodies.positions[:2], bodies.masses[:2]
    assert close(accelerations, pair.gravity()[0])


def test_memory_can_be_given_back(bodies):
    before, _ = kyoho.gravity(bodies.positions, bodies.masses)
    kyoho.release()
    kyoho.release()
    after, _ = kyoho.gravity(bodies.positions, bodies.masses)
    assert (before == after).all()


def test_no_bodies_and_no_places(bodies):
    nothing = numpy.empty((0, 3))
    accelerations, potentials = kyoho.gravity(nothing, [])
    assert accelerations.shape == (0, 3) and potentials.shape == (0,)
    accelerations, potentials = kyoho.gravity(nothing, [], at=[[1, 2, 3]])
    assert (accelerations == 0).all() and (potentials == 0).all()
    assert kyoho.gravity(bodies.positions, bodies.masses, at=nothing, potential=False).shape == (0, 3)


def test_groups_have_their_own_sources(bodies):
    sources = kyoho.Sources(bodies.positions, bodies.masses)
    # Sinks 0 to 2 feel sources 10 to 29, sinks 3 to 9 feel sources 50 to 59.
    lists = [numpy.arange(10, 30), numpy.arange(50, 60)]
    common = dict(indices=None, sink_offsets=[0, 3, 10], softening2=0.01)
    expected = []
    for places, own in ((bodies.positions[:3], lists[0]), (bodies.positions[3:10], lists[1])):
        part = type(bodies)(2)
        part.positions, part.masses = bodies.positions[own], bodies.masses[own]
        expected.append(part.gravity(places, eps=0.1)[0])
    expected = numpy.concatenate(expected)
    sinks = bodies.positions[:10]
    by_addresses = kyoho.forces_on_lists(
        sources, sinks, source_offsets=[0, 20, 30], addresses=numpy.concatenate(lists), **common
    )
    by_ranges = kyoho.forces_on_lists(sources, sinks, first_addresses=[10, 50], source_counts=[20, 10], **common)
    chosen = numpy.concatenate(lists)
    of_call = kyoho.Sources(bodies.positions[chosen], bodies.masses[chosen])
    of_the_call = kyoho.forces_on_lists(of_call, sinks, source_offsets=[0, 20, 30], **common)
    for forces in (by_addresses, by_ranges, of_the_call):
        assert close(forces.accelerations, expected)


def test_lists_do_not_reach_sources_of_calls_before(bodies):
    sources = kyoho.Sources(bodies.positions, bodies.masses)
    fewer = kyoho.Sources(bodies.positions[:5], bodies.masses[:5])
    common = dict(indices=None, sink_offsets=[0, 1], source_offsets=[0, 1], addresses=[50])
    kyoho.forces_on_lists(sources, [[0, 0, 0]], **common)
    with pytest.raises(kyoho.Error) as error:
        kyoho.forces_on_lists(fewer, [[0, 0, 0]], **common)
    assert error.value.result == kyoho.Result.BAD_ADDRESS


def test_bodies_of_a_batch_feel_those_of_their_own_system(bodies):
    offsets = [0, 30, 30, 100]
    forces = kyoho.forces_in_batch(kyoho.Sources(bodies.positions, bodies.masses), offsets, softening2=0.01)
    for begin, end in zip(offsets, offsets[1:]):
        part = type(bodies)(end - begin)
        part.positions, part.masses = bodies.positions[begin:end], bodies.masses[begin:end]
        assert close(forces.potentials[begin:end], part.gravity(eps=0.1)[1])
    full = kyoho.Sources(bodies.positions, bodies.masses, bodies.velocities)
    jerks = kyoho.forces_in_batch(full, offsets, softening2=0.01, order=4).jerks
    assert jerks.shape == (100, 3) and (jerks != 0).all()


def test_information():
    information = kyoho.info()
    assert information.version == kyoho.__version__
    assert set(information.backends) == {"cpu", "cuda", "opencl"}
    assert all(backend.devices > 0 or backend.reason for backend in information.backends.values())
    assert {entry.order for entry in information.interactions} == {2, 4, 6, 8}
    assert information.version in str(information) and "order 8" in str(information)
