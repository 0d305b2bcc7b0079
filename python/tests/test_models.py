"""Models of star clusters."""

import numpy
import pytest

import kyoho

UNITS = "pc Msun Myr"
PROFILES = ["plummer", "hernquist", "king", "uniform_sphere", "cold_collapse"]


@pytest.mark.parametrize("name", PROFILES)
def test_a_model_is_in_standard_units_and_has_a_seed(name):
    make = getattr(kyoho.model, name)
    stars = make(300, seed=3)
    assert all((one == other).all() for one, other in zip(stars, make(300, seed=3)))
    assert (stars.positions != make(300, seed=4).positions).any()
    cluster = kyoho.Cluster(backend="cpu")
    cluster.add(*stars)
    kinetic, potential = cluster.energies
    assert kinetic == pytest.approx(0.0 if name == "cold_collapse" else 0.25, abs=1e-13)
    assert kinetic + potential == pytest.approx(-0.25, abs=1e-13)


def test_masses_and_binaries():
    stars = kyoho.model.king(
        300,
        w0=5,
        radius=2.0,
        units=UNITS,
        masses=kyoho.model.kroupa(0.3, 20),
        binaries=kyoho.model.binaries(0.5, least=1e-4, most=1e-3),
    )
    assert 0.3 <= stars.masses.min() < 0.5 and 5 < stars.masses.max() <= 20
    distances = numpy.linalg.norm(stars.positions[0:200:2] - stars.positions[1:200:2], axis=1)
    assert distances.max() < 2e-3
    cluster = kyoho.Cluster(units=UNITS, subsystems=True, backend="cpu")
    cluster.add(*stars)
    cluster.evolve(1e-4)
    assert 90 < len(cluster.binaries) <= 110
    axes = [binary.semi_major_axis for binary in cluster.binaries]
    assert 0.9e-4 < min(axes) < 2e-4


def test_two_clusters_may_be_clusters():
    first = kyoho.model.plummer(100, mass=3.0)
    second = kyoho.Cluster(backend="cpu")
    second.add(*kyoho.model.king(50, seed=2))
    stars = kyoho.model.two_clusters(first, second, 10, speed=2, impact=6)
    centres = [stars.positions[part].mean(axis=0) for part in (slice(0, 100), slice(100, 150))]
    assert centres[1] - centres[0] == pytest.approx([8, 6, 0], abs=1e-12)
    assert (stars.masses[:, numpy.newaxis] * stars.velocities).sum(axis=0) == pytest.approx([0, 0, 0], abs=1e-12)
    assert stars.masses.sum() == pytest.approx(4)


def test_quantities_are_taken_and_given_back():
    u = pytest.importorskip("astropy.units")
    plain = kyoho.model.plummer(50, mass=100.0, radius=0.5, units=UNITS)
    stars = kyoho.model.plummer(50, mass=100 * u.Msun, radius=0.5 * u.pc, units=UNITS)
    assert stars.velocities.unit == u.pc / u.Myr and (stars.velocities.value == plain.velocities).all()
    pairs = kyoho.model.binaries(1.0, least=10 * u.AU, most=20 * u.AU)
    close = kyoho.model.plummer(
        50, radius=0.5 * u.pc, units=UNITS, masses=kyoho.model.kroupa(0.5 * u.Msun, 2), binaries=pairs
    )
    x = close.positions
    assert (numpy.linalg.norm(x[::2] - x[1::2], axis=1) < 40 * u.AU).all()
    assert close.masses.unit == u.Msun and close.masses.min() >= 0.5 * u.Msun
    both = kyoho.model.two_clusters(stars, close, 5 * u.pc, speed=1 * u.km / u.s, units=UNITS)
    v = both.velocities
    centres = [numpy.average(v[part], axis=0, weights=both.masses[part]) for part in (slice(0, 50), slice(50, 100))]
    assert (centres[0] - centres[1])[0].to_value(u.km / u.s) == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda model: model.plummer(1), "^n is 1; allowed: 2 to 1073741824"),
        (lambda model: model.plummer(5, seed=-1), "^seed is -1; allowed: 0 to"),
        (lambda model: model.king(5, w0=13), "'w0' of the model 'king' is '13'; allowed: 0.1 to 12"),
        (lambda model: model.plummer(5, masses="kroupa"), r"^masses is 'kroupa'; allowed: kyoho.model.kroupa\("),
        (
            lambda model: model.plummer(5, binaries=model.kroupa()),
            r"^binaries is Part.*; allowed: kyoho.model.binaries\(",
        ),
        (lambda model: model.plummer(5, units=UNITS), "'radius' of the model 'plummer' is 'not given'"),
        (lambda model: model.plummer(5, units="parsec"), "^units is 'parsec'; allowed: SI"),
        (
            lambda model: model.plummer(5, masses=model.kroupa(2, 1)),
            "'most' of the part 'kroupa' is '1'; allowed: above",
        ),
        (lambda model: model.plummer(5, mass=1e308, radius=1e-300), "^a position or velocity of the model is 'inf'"),
        (lambda model: model.plummer(5, mass=5e-324), "^a mass of the model is '0'; allowed: a mass, radius and"),
        (
            lambda model: model.two_clusters(*2 * [model.plummer(5)], 5, eccentricity=1e308, pericentre=1),
            "^the motion of a body of the two clusters is ",
        ),
        (lambda model: model.two_clusters(3, 4, 5), "^first is 3; allowed: what has positions"),
        (lambda model: model.two_clusters(*2 * [model.plummer(5)], 5), "'speed' of the orbit is 'not given'"),
        (
            lambda model: model.two_clusters(*2 * [model.Stars([[1]], [1], [[1]])], 5),
            r"^first.positions has the shape \(1, 1\)",
        ),
    ],
)
def test_bad_input_is_an_error_with_what_is_allowed(call, said):
    with pytest.raises(kyoho.Error, match=said):
        call(kyoho.model)
