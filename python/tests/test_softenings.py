"""Bodies each of which has a softening: that of a pair is the root of the mean of the squares of both."""

import numpy
import pytest
from conftest import close

import kyoho

PRECISIONS = ["single", "mixed", "double"]


@pytest.fixture
def eps(bodies):
    """Softenings, of which some are zero."""
    lengths = numpy.random.RandomState(7).uniform(0, 0.5, bodies.count)
    lengths[::9] = 0
    return lengths


@pytest.mark.parametrize("precision", PRECISIONS)
def test_each_body_may_have_a_softening_of_its_own(bodies, eps, precision):
    accelerations, potentials = kyoho.gravity(bodies.positions, bodies.masses, eps, precision=precision)
    expected = bodies.gravity(eps=eps, source_eps=eps)
    assert close(accelerations, expected[0]) and close(potentials, expected[1])
    # Pulls are mutual.
    total = (bodies.masses[:, numpy.newaxis] * accelerations).sum(axis=0)
    assert numpy.abs(total).max() < 1e-14


def test_calls_do_not_remember_the_softenings_of_others(bodies, eps):
    for length in (eps, 0.1, eps[::-1], eps * 2, 0.0):
        count = bodies.count if length is not eps else 60
        part = type(bodies)(count)
        given = length[:count] if isinstance(length, numpy.ndarray) else length
        found = kyoho.gravity(part.positions, part.masses, given, potential=False)
        source_eps = given if isinstance(given, numpy.ndarray) else None
        assert close(found, part.gravity(eps=given, source_eps=source_eps)[0])


def test_equal_softenings_are_one_to_the_last_bit(bodies):
    one = kyoho.gravity(bodies.positions, bodies.masses, 0.1)
    each = kyoho.gravity(bodies.positions, bodies.masses, numpy.full(bodies.count, 0.1))
    assert (one[0] == each[0]).all() and (one[1] == each[1]).all()


def test_places_feel_bodies_with_the_softenings_of_both(bodies, eps):
    places = bodies.positions[:7] + 0.1
    of_places = numpy.linspace(0, 1, 7)
    for given in (of_places, 0.3):
        accelerations, potentials = kyoho.gravity(bodies.positions, bodies.masses, given, places, source_eps=eps)
        expected = bodies.gravity(places, eps=given, source_eps=eps)
        assert close(accelerations, expected[0]) and close(potentials, expected[1])
    one = kyoho.gravity(bodies.positions, bodies.masses, 0.3, places, source_eps=0.3)
    assert close(one[0], bodies.gravity(places, eps=0.3)[0])


def test_few_bodies_and_those_in_one_place():
    nothing = kyoho.gravity(numpy.empty((0, 3)), [], [])
    assert nothing[0].shape == (0, 3) and nothing[1].shape == (0,)
    alone = kyoho.gravity([[1, 2, 3]], [2.0], [0.5])
    assert (alone[0] == 0).all() and (alone[1] == 0).all()
    accelerations, potentials = kyoho.gravity([[0, 0, 0], [0, 0, 0], [3, 0, 0]], [1.0, 2.0, 0.0], [1.0, 7**0.5, 4.0])
    assert (accelerations[:2] == 0).all() and close(potentials[:2], [-1.0, -0.5])
    # Without any softening bodies in one place exert no force on one another.
    pulls = kyoho.gravity([[0, 0, 0], [0, 0, 0], [3, 0, 0]], [1.0, 2.0, 4.0], [0.0, 0.0, 1.0], potential=False)
    assert close(pulls[:2, 0], 4 * 3 / 9.5**1.5)


@pytest.mark.parametrize(
    ("order", "precision"),
    [(2, "single"), (2, "quad"), (4, "single"), (4, "double"), (6, "mixed"), (6, "quad"), (8, "double"), (8, "quad")],
)
def test_each_order_sums_what_each_source_adds_alone(bodies, eps, order, precision):
    random = numpy.random.RandomState(2)
    sources = [random.uniform(-1, 1, (12, 3)) for _ in range(8)]
    masses, eps2 = bodies.masses[:12], eps[:12] ** 2
    vectors = [random.uniform(-1, 1, (9, 3)) for _ in range(order // 2)]
    softening2 = numpy.linspace(0, 0.3, 9)
    names = "accelerations", "jerks", "snaps", "crackles"
    with kyoho.System(order, precision) as system, kyoho.System(order, "double", backend="cpu") as alone:
        system.set_sources(sources[0], masses, *sources[1:], softening2=eps2)
        system.set_time(0.125)
        alone.set_time(0.125)
        forces = system.force(*vectors, indices=None, softening2=softening2)
        expected = {name: 0.0 for name in ("potentials", *names[: order // 2])}
        for one in range(12):
            alone.set_sources(*(array[[one]] for array in (sources[0], masses, *sources[1:])))
            by_one = alone.force(*vectors, indices=None, softening2=(softening2 + eps2[one]) / 2)
            for name in expected:
                expected[name] = expected[name] + getattr(by_one, name)
        for name, wanted in expected.items():
            found = getattr(forces, name)
            found = found[..., 0] if precision == "quad" else found
            assert numpy.abs(found - wanted).max() < 1e-12 * numpy.abs(wanted).max(), name
        if order > 2:
            places = system.predict().positions
            places = places[..., 0] if precision == "quad" else places
            distance2 = ((places - vectors[0][:, numpy.newaxis]) ** 2).sum(axis=2)
            assert (forces.nearest == distance2.argmin(axis=1)).all()


def test_sources_that_moved_are_written_with_their_softenings(bodies, eps):
    with kyoho.System(order=2) as system:
        system.set_sources(bodies.positions, bodies.masses, softening2=eps**2)
        moved = numpy.array([3, 50, 99], dtype=numpy.int32)
        bodies.positions[moved] += 0.25
        eps[moved] = [0, 0.4, 0.1]
        with pytest.raises(kyoho.Error, match="'not given, and other sources have one'"):
            system.set_sources(bodies.positions[moved], bodies.masses[moved], addresses=moved)
        system.set_sources(bodies.positions[moved], bodies.masses[moved], addresses=moved, softening2=eps[moved] ** 2)
        forces = system.force(bodies.positions, indices=bodies.indices, softening2=eps**2)
        expected = bodies.gravity(eps=eps, source_eps=eps)[0]
        assert close(forces.accelerations, expected) and close(system.force_all().accelerations, expected)
        # A removed body is one without mass.
        system.set_sources([[0, 0, 0]], [0.0], addresses=[5], softening2=0.0)
        bodies.masses[5] = 0
        forces = system.force(bodies.positions[:1], indices=[0], softening2=eps[:1] ** 2)
        assert close(forces.accelerations, bodies.gravity(eps=eps, source_eps=eps)[0][:1])
        # Others, without softenings, may take the place of all.
        system.set_sources(bodies.positions, bodies.masses)
        assert close(system.force_all(0.01).accelerations, bodies.gravity(eps=0.1)[0])
        with pytest.raises(kyoho.Error, match="'given, and other sources have none'"):
            system.set_sources([[0, 0, 0]], [1.0], addresses=[5], softening2=[0.1])


@pytest.mark.parametrize("precision", [None, "single", "double"])
def test_trees_have_the_softenings_of_both(precision):
    random = numpy.random.RandomState(3)
    x, m = random.normal(size=(6000, 3)), random.uniform(0, 1, 6000)
    eps = 0.2 * 100 ** -random.uniform(0, 1, 6000)

    def has_accuracy(found, expected):
        errors = numpy.linalg.norm(found - expected, axis=1) / numpy.linalg.norm(expected, axis=1)
        assert 1e-9 < numpy.median(errors) <= 1e-3 and numpy.percentile(errors, 99) <= 1e-2

    found = kyoho.gravity(x, m, eps, accuracy=1e-3, precision=precision)
    expected = kyoho.gravity(x, m, eps)
    has_accuracy(found[0], expected[0])
    assert numpy.abs(found[1] / expected[1] - 1).max() < 1e-2
    errors = kyoho.tree_error(x, m, eps, accuracy=1e-3, precision=precision)
    assert 0 < errors.median <= 1e-3 and errors.worst < 0.1
    places = random.normal(size=(4000, 3))
    given = {"at": places, "source_eps": eps, "potential": False}
    for of_places in (eps[:4000], 0.05):
        expected = kyoho.gravity(x, m, of_places, **given)
        has_accuracy(kyoho.gravity(x, m, of_places, theta=0.5, precision=precision, **given), expected)


@pytest.mark.parametrize("options", [{"accuracy": 1e-3}, {"theta": 0.5}])
def test_a_tree_sums_each_place_with_its_own_softening(options):
    options = {"precision": "double", **options}
    random = numpy.random.RandomState(3)
    x, m, places = random.normal(size=(6000, 3)), random.uniform(0, 1, 6000), random.normal(size=(4000, 3))
    eps = 0.2 * 100 ** -random.uniform(0, 1, 4000)
    # Few pairs are summed directly, many by a tree.
    for count in (1, 3, 4000):
        found = kyoho.gravity(x, m, eps[:count], places[:count], **options)
        expected = kyoho.gravity(x, m, eps[:count], places[:count])
        errors = numpy.linalg.norm(found[0] - expected[0], axis=1) / numpy.linalg.norm(expected[0], axis=1)
        assert numpy.median(errors) <= 1e-3 and errors.max() < 0.1
        assert numpy.abs(found[1] / expected[1] - 1).max() < 1e-2
        assert (numpy.median(errors) > 1e-9) == (count == 4000)
    told = kyoho.tree_error(x, m, eps, places, samples=4000, **options)
    assert told.median == pytest.approx(numpy.median(errors), rel=1e-3)
    # One length for each place that is the same for all is one, to the last bit.
    one = kyoho.gravity(x, m, 0.1, places, potential=False, **options)
    assert (kyoho.gravity(x, m, numpy.full(4000, 0.1), places, potential=False, **options) == one).all()


def test_a_system_with_softenings_goes_on_by_a_tree(bodies, eps):
    with kyoho.System(order=2) as system:
        system.set_sources(bodies.positions, bodies.masses, softening2=eps**2)
        before = system.force_all()
        system.move(accuracy=1e-3)
        # So few pairs are summed directly.
        assert (system.force_all().accelerations == before.accelerations).all()
    with kyoho.System(order=2, theta=0.5) as system:
        system.set_sources(bodies.positions, bodies.masses, softening2=eps**2)
        assert (system.force_all().accelerations == before.accelerations).all()


def test_what_cannot_be_summed_with_softenings_is_refused(bodies, eps):
    x, m = bodies.positions, bodies.masses
    soft = kyoho.System(order=2)
    soft.set_sources(x, m, softening2=eps**2)
    regular = kyoho.System(order=4, scope="regular", precision="double")
    lists = {"indices": None, "sink_offsets": [0, 100], "first_addresses": [0], "source_counts": [9]}
    for said, call in [
        (r"eps has the shape \(3,\); allowed: \(100,\)", lambda: kyoho.gravity(x, m, [1, 2, 3])),
        (r"eps has the shape \(3,\); allowed: \(100,\)", lambda: kyoho.gravity(x, m, [1, 2, 3], x, 1e-3)),
        (r"eps is -1.0; allowed: 0 or more", lambda: kyoho.gravity(x, m, eps - 1)),
        ("source_eps is given without at; allowed: eps", lambda: kyoho.gravity(x, m, source_eps=eps)),
        (r"source_eps has the shape \(2,\)", lambda: kyoho.gravity(x, m, at=x, source_eps=[1, 2])),
        ("does not compute order 4 regular double with", lambda: regular.set_sources(x, m, softening2=eps)),
        ("does not compute interaction lists and batches with", lambda: soft.force_lists(x, **lists)),
        ("interaction lists and batches", lambda: soft.force_batch(kyoho.Sources(x, m), [0, 100])),
        ("sources that have softenings is '1e-2'; allowed: 0, as each has its own", lambda: soft.force_all(0.01)),
        ("softening of the source at address 4 is -1,", lambda: soft.set_sources(x, m, softening2=-only(4))),
    ]:
        with pytest.raises(kyoho.Error, match=said):
            call()
    expected = bodies.gravity(eps=eps, source_eps=eps)[0]
    assert close(soft.force_all().accelerations, expected), "what was refused has changed nothing"


def only(wrong):
    """Softenings of which one is 1, and the others 0."""
    return (numpy.arange(100) == wrong).astype(float)
