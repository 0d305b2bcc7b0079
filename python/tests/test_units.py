"""Systems of units, and quantities of astropy."""

import copy

import numpy
import pytest

import kyoho

try:
    from astropy import constants
    from astropy import units as u
except ImportError:
    u = None
needs_astropy = pytest.mark.skipif(u is None, reason="astropy is not there")

X = numpy.random.RandomState(3).normal(size=(5, 3))
M = numpy.linspace(1, 2, 5)


def of(found, unit):
    """The numbers of quantities in a unit."""
    assert isinstance(found, u.Quantity)
    return found.to_value(unit)


@needs_astropy
@pytest.mark.parametrize(
    "units", ["SI", "m kg s", "pc Msun Myr", "AU Msun yr", "kpc 1e10Msun km/s", "ly Mearth 2.5day", "Rsun Mjup 1e3cm/h"]
)
def test_the_constant_is_astropys(units):
    others = {"1e10Msun": 1e10 * u.Msun, "2.5day": 2.5 * u.day, "1e3cm/h": 1e3 * u.cm / u.h, "ly": u.lyr}
    words = ("m kg s" if units == "SI" else units).split()
    length, mass, last = (others[word] if word in others else u.Unit(word) for word in words)
    time = 1 * length / last if "/" in units else 1 * last
    expected = (constants.G / (length**3 / mass / time**2)).to_value("")
    assert kyoho.gravitational_constant(units) == pytest.approx(expected, rel=1e-12)


def test_gravity_has_a_constant_or_units():
    accelerations, potentials = kyoho.gravity(X, M, eps=0.1)
    for G, given in ((2.5, {"G": 2.5}), (kyoho.gravitational_constant("pc Msun Myr"), {"units": "pc Msun Myr"})):
        found = kyoho.gravity(X, M, eps=0.1, **given)
        assert numpy.array_equal(found[0], G * accelerations) and numpy.array_equal(found[1], G * potentials)
        assert numpy.array_equal(kyoho.gravity(X, M, eps=0.1, potential=False, **given), found[0])
    out = numpy.empty((5, 3)), numpy.empty(5)
    kyoho.gravity(X, M, eps=0.1, G=2.0, out=out)
    assert numpy.array_equal(out[0], 2 * accelerations) and numpy.array_equal(out[1], 2 * potentials)
    for given, words in (
        ({"G": 2.0, "units": "SI"}, "G and units are given"),
        ({"units": "pc Msun"}, "units is 'pc Msun'; allowed: SI, or a length"),
        ({"units": 3}, "units is 3; allowed: a text"),
        ({"G": 0.0}, "G is 0.0; allowed: numbers above 0"),
    ):
        with pytest.raises(kyoho.Error, match=words):
            kyoho.gravity(X, M, **given)


@needs_astropy
def test_gravity_of_quantities_has_units():
    accelerations, potentials = kyoho.gravity(X, M, eps=0.1)
    found = kyoho.gravity(X * u.pc, M * u.Msun, eps=2e4 * u.AU / 2e4 * 0.1 * u.pc.to(u.AU))
    assert numpy.allclose(of(found[0], constants.G * u.Msun / u.pc**2), accelerations, rtol=1e-12)
    assert numpy.allclose(of(found[1], constants.G * u.Msun / u.pc), potentials, rtol=1e-12)
    listed = kyoho.gravity([row * u.pc for row in X], [mass * u.Msun for mass in M], eps=0.1 * u.pc, potential=False)
    assert numpy.allclose(listed, found[0], rtol=1e-12)
    (there,) = kyoho.gravity([[0, 0, 0]] * u.km, [3] * u.kg, at=[[0, 0, 4000]] * u.m, potential=False)
    assert there[2].to_value(u.m / u.s**2) == pytest.approx(-3 * 6.6743e-11 / 16e6, rel=1e-12)
    errors = kyoho.tree_error(X * u.pc, M * u.Msun, eps=0.1 * u.pc, accuracy=1e-3)
    assert errors == kyoho.tree_error(X, M, eps=0.1, accuracy=1e-3)
    for given, words in (
        ((X * u.pc, M), "masses has no unit"),
        ((X, M * u.Msun), "positions has no unit"),
        ((X, M, 1 * u.pc), "positions has no unit"),
        ((X * u.s, M * u.Msun), "positions and masses are in s and solMass"),
        ((X * u.pc, M * u.Msun, 1 * u.s), "eps is in s; allowed: units such as pc"),
        ((X * u.pc, M * u.Msun, 0.5), "eps has no unit"),
        ((X * u.pc, M * u.Msun, 0.0, X), "at has no unit"),
    ):
        with pytest.raises(kyoho.Error, match=words):
            kyoho.gravity(*given)


@needs_astropy
@pytest.mark.parametrize("units", ["pc Msun Myr", "AU Msun yr", "kpc 1e10Msun km/s", "SI"])
def test_a_cluster_takes_quantities_and_gives_them_back(units):
    a, total = 2 * u.AU, 1.5 * u.Msun
    period = (2 * numpy.pi * (a**3 / (constants.G * total)) ** 0.5).to(u.yr)
    speed = (constants.G * total / a) ** 0.5
    cluster = kyoho.Cluster(6, units=units, eps=0 * u.AU, dt_max=period, time=3 * u.yr, backend="cpu", threads=1)
    names = cluster.add([[0, 0, 0], [1, 0, 0]] * a, [1, 1e-12] * total, [[0, 0, 0], [0, 1, 0]] * speed)
    before = cluster.energies
    evolution = cluster.evolve(3 * u.yr + period / 4, progress=lambda time, steps: time < 3 * u.yr)
    assert of(cluster.time - 3 * u.yr, period) == pytest.approx(0.25, rel=1e-9)
    assert evolution.time == cluster.time and of(evolution.closest.distance, a) == pytest.approx(1, rel=1e-5)
    assert numpy.allclose(of(cluster.positions[1] - cluster.positions[0], a), [0, 1, 0], atol=1e-4)
    assert numpy.allclose(of(cluster.velocities[1] - cluster.velocities[0], speed), [-1, 0, 0], atol=1e-4)
    assert of(cluster.energies.total / before.total, "") == pytest.approx(1, rel=1e-6)
    assert of(before.kinetic, 1e-12 * total * speed**2) == pytest.approx(0.5, rel=1e-9)
    cluster.set(names, masses=[2, 0] * u.Msun, radii=[1, 1] * u.Rsun)
    assert numpy.allclose(of(cluster.masses, u.Msun), [2, 0]) and numpy.allclose(of(cluster.radii, u.km), 695700)
    # A field's parameters have units of all kinds.
    cluster.add_field("logarithmic_halo", speed=220 * u.km / u.s, core=[0.0], flattening=1.0)
    cluster.add_field("solar_tide", oort_a=15 * u.km / u.s / u.kpc, oort_b=-12 / u.Gyr, density=0.1 * u.Msun / u.pc**3)
    centre = ([0, 9] * u.Myr, [[0, 0, 0], [9, 0, 0]] * u.pc)
    cluster.add_field("plummer", mass=0 * u.kg, radius=1 * u.pc, centre=centre)
    assert cluster.field_energy.unit == cluster.energies.total.unit
    again = copy.deepcopy(cluster)
    assert (again.positions == cluster.positions).all() and again.time == cluster.time


def test_a_cluster_with_units_takes_and_gives_plain_numbers_too():
    cluster = kyoho.Cluster(units="pc Msun km/s", backend="cpu", threads=1)
    cluster.add([[0, 0, 0], [1, 0, 0]], [2.0, 3.0])
    assert kyoho.gravitational_constant("pc Msun km/s") == pytest.approx(4.30091727e-3, rel=1e-9)
    assert cluster.energies.potential == pytest.approx(-6 * 4.30091727e-3, rel=1e-9) and type(cluster.time) is float
    for call, words in (
        (lambda: kyoho.Cluster(units="pc Msun"), "units is 'pc Msun'"),
        (lambda: kyoho.Cluster(units="SI", gravity=2.0), "gravity and units are given"),
    ):
        with pytest.raises(kyoho.Error, match=words):
            call()


@needs_astropy
def test_quantities_may_be_integers():
    positions, masses = u.Quantity([[1, 2, 3], [0, 0, 1]], u.pc, dtype=int), u.Quantity([3, 5], u.Msun, dtype=int)
    cluster = kyoho.Cluster(units="pc Msun km/s")
    cluster.add(positions, masses)
    assert numpy.array_equal(cluster.positions.to_value(u.pc), [[1, 2, 3], [0, 0, 1]])
    found = kyoho.gravity(positions, masses, potential=False)[0]
    assert numpy.array_equal(found, kyoho.gravity(positions.astype(float), masses, potential=False)[0])


@needs_astropy
def test_quantities_of_other_kinds_are_refused():
    cluster = kyoho.Cluster(units="pc Msun km/s", backend="cpu", threads=1)
    for call, words in (
        (lambda: cluster.evolve(1 * u.pc), "time is in pc; allowed: units such as"),
        (lambda: cluster.add([[0, 0, 0]] * u.s, [1.0]), "positions is in s; allowed: units such as pc"),
        (lambda: cluster.add_field("point_mass", mass=1 * u.A), "mass is in A; allowed: units of lengths, masses"),
        (lambda: kyoho.Cluster().add([[0, 0, 0]] * u.pc, [1.0]), r"positions has a unit; .*kyoho.Cluster\(units="),
    ):
        with pytest.raises(kyoho.Error, match=words):
            call()


TENSOR = ("xx", "yy", "zz", "xy", "xz", "yz")


@needs_astropy
def test_parameters_of_built_in_fields_have_their_dimensions():
    def moved(name, **parameters):
        cluster = kyoho.Cluster(units="pc Msun Myr", backend="cpu", threads=1)
        cluster.add([[8.0, 1.0, 0.5]], [1.0], [[0.0, 1.0, 0.0]])
        cluster.add_field(name, **parameters)
        cluster.evolve(0.5)
        return cluster.positions[0]

    for name, given, plain in (
        ("plummer", {"mass": 1e4 * u.Msun, "radius": 1e-3 * u.kpc}, {"mass": 1e4, "radius": 1}),
        ("king", {"w0": 3, "mass": 1e3 * u.Msun, "radius": 1 * u.pc}, {"w0": 3, "mass": 1e3, "radius": 1}),
        (
            "logarithmic_halo",
            {"speed": 1 * u.pc / u.Myr, "core": 2 * u.pc, "flattening": 0.9 * u.one},
            {"speed": 1, "core": 2, "flattening": 0.9},
        ),
        ("tidal_tensor", {**dict.fromkeys(TENSOR, 0), "xx": 1e-12 / u.yr**2}, {**dict.fromkeys(TENSOR, 0), "xx": 1}),
    ):
        assert numpy.allclose(moved(name, **given), moved(name, **plain), rtol=1e-13, atol=0)
    for name, parameters, words in (
        ("plummer", {"mass": 10 * u.kpc, "radius": 1}, "mass is in kpc; allowed: units such as"),
        ("plummer", {"mass": 10, "radius": 1 * u.Msun}, "radius is in solMass; allowed: units such as pc"),
        (
            "logarithmic_halo",
            {"speed": 1, "core": 1, "flattening": 1 * u.kpc},
            "flattening is in kpc; allowed: a number",
        ),
        ("logarithmic_halo", {"speed": 1 * u.pc, "core": 1, "flattening": 1}, "speed is in pc; allowed: units"),
        ("plummer", {"mass": [5.0, 2.0], "radius": []}, "mass has 2 numbers; allowed: one"),
    ):
        with pytest.raises(kyoho.Error, match=words):
            moved(name, **parameters)
    # Texts say nothing of dimensions.
    pull = "pair pull\ni pos: vec3<f64>\nparam mass: f64\nresult potential: f64 sum\nbody\n potential += mass * i.pos.x"
    assert moved(pull, mass=1e-3 * u.km / u.s / u.Myr)[0] < 8.0
