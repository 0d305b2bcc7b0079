"""Systems of few bodies: against formulae, and whatever is wrong is an error that names it."""

import numpy
import pytest

import kyoho

BURRAU = [[1, 3, 0], [-2, -1, 0], [1, -1, 0]], numpy.zeros((3, 3)), [3, 4, 5]


def energy(bodies, masses):
    masses = numpy.asarray(masses, float)
    separations = bodies.positions[:, None] - bodies.positions
    distances = numpy.linalg.norm(separations, axis=2)
    first, second = numpy.triu_indices(len(masses), 1)
    potential = -(masses[first] * masses[second] / distances[first, second]).sum()
    return 0.5 * (masses * (bodies.velocities**2).sum(axis=1)).sum() + potential


def test_the_backend_and_its_devices_are_chosen_as_for_systems():
    usual = kyoho.few_body(*BURRAU, 2.0)
    chosen = kyoho.few_body(*BURRAU, 2.0, backend="cpu", devices="0,")
    assert (chosen.positions == usual.positions).all()
    for options, words in (
        ({"backend": "gpu"}, "backend is 'gpu'"),
        ({"backend": "cpu", "devices": "7,"}, "7"),
        ({"devices": "some"}, "some"),
    ):
        with pytest.raises(kyoho.Error, match=words):
            kyoho.few_body(*BURRAU, 2.0, **options)


def test_burraus_problem_ends_with_the_known_binary():
    start = kyoho.few_body(*BURRAU, 0.0)
    end = kyoho.few_body(*BURRAU, 70.0)
    assert list(end.ends) == ["time"] and end.times == [70.0]
    assert list(end.companions) == [-1, 2, 1]
    assert abs(end.semi_major_axes[1] - 0.5525) < 1e-3 and abs(end.eccentricities[2] - 0.9887) < 1e-3
    assert abs(energy(end, BURRAU[2]) / energy(start, BURRAU[2]) - 1) < 1e-12
    assert list(kyoho.few_body(*BURRAU, 1e3, escapes=20).ends) == ["escape"]
    assert list(kyoho.few_body(*BURRAU, 70.0, max_steps=5).ends) == ["steps"]


def test_systems_do_not_feel_one_another_on_any_number_of_threads():
    alone = kyoho.few_body(*BURRAU, 10.0)
    positions, velocities, masses = (numpy.concatenate([numpy.asarray(array, float)] * 4) for array in BURRAU)
    for threads in (1, 3):
        all_ = kyoho.few_body(positions, velocities, masses, 10.0, offsets=[0, 3, 6, 6, 9, 12], threads=threads)
        assert list(all_.ends) == ["time"] * 5
        assert (all_.positions.reshape(4, 3, 3) == alone.positions).all()
    assert (positions[:3] == BURRAU[0]).all()


def test_collisions_end_a_system_where_the_radii_touch():
    bodies = ([[-1, 0, 0], [1, 0, 0]], numpy.zeros((2, 3)), [0.5, 0.5])
    end = kyoho.few_body(*bodies, 10, radii=[0.1, 0.2], collisions=True)
    assert list(end.ends) == ["collision"] and end.touching.tolist() == [[0, 1]]
    assert abs(end.positions[1, 0] - end.positions[0, 0] - 0.3) < 1e-9


def test_the_gravitational_constant_and_the_speed_of_light():
    pair = [[0, 0, 0], [1, 0, 0]], [[0, -1, 0], [0, 1, 0]], [0.5, 0.5]
    assert abs(kyoho.few_body(*pair, 1.0, G=4).semi_major_axes[0] - 1) < 1e-12
    orbit = [[0, 0, 0], [1, 0, 0]], [[0, -0.5, 0], [0, 0.5, 0]], [0.5, 0.5]
    assert list(kyoho.few_body(*pair, 1.0, speed_of_light=1.0).ends) == ["merger"]
    shrunk = kyoho.few_body(*orbit, 10.0, speed_of_light=20, terms=[2.5])
    # Peters 1964: da/dt = -64/5 m1 m2 (m1 + m2) / (a^3 c^5).
    rate = 64 / 5 * 0.25 / 20**5
    assert abs((1 - shrunk.semi_major_axes[0]) / (10 * rate) - 1) < 0.01


@pytest.mark.parametrize(
    "words, change",
    [
        ("positions has the shape (3,)", {"positions": [1, 2, 3]}),
        ("velocities has the shape (2, 3)", {"velocities": numpy.zeros((2, 3))}),
        ("masses has the shape (2,)", {"masses": [1, 2]}),
        ("the mass of body 1", {"masses": [1, -2, 3]}),
        ("the last of offsets is 2; allowed: 3", {"offsets": [0, 2]}),
        ("offsets[1]", {"offsets": [0, -1, 3]}),
        ("tolerance", {"tolerance": 1}),
        ("terms has 3", {"speed_of_light": 1e3, "terms": [3]}),
        ("terms has 3", {"speed_of_light": 1e3, "terms": 3}),
        ("terms", {"speed_of_light": 1e3, "terms": [[1], "x"]}),
        ("the distance of bodies 0 and 1 of system 0 is '0'", {"positions": [[1, 3, 0], [1, 3, 0], [1, -1, 0]]}),
        ("the velocity of body 2 of system 0 is '1e200'", {"velocities": [[0, 0, 0], [0, 0, 0], [0, 1e200, 0]]}),
        ("time is -1", {"time": -1}),
        ("position of body 0", {"positions": [[numpy.nan, 0, 0], [1, 0, 0], [2, 0, 0]]}),
    ],
)
def test_whatever_is_wrong_is_named(words, change):
    positions, velocities, masses = BURRAU
    given = {"positions": positions, "velocities": velocities, "masses": masses, "time": 1.0, **change}
    with pytest.raises(kyoho.Error) as raised:
        kyoho.few_body(**given)
    assert words in str(raised.value)
