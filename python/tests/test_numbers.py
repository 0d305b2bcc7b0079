"""Every argument that takes numbers takes the same ones, and says the same of others.

The arguments of all public functions are found by introspection, so that none is forgotten.
"""

import decimal
import fractions
import functools
import inspect
import os

import numpy
import pytest

import kyoho
from kyoho.compat import pytreegrav

X = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
M = [1.0, 2.0]
TEXT = "pair p\ni x: f64\nj x: f64\nparam far: f64\nresult s: f64 sum\nbody\ns += far * (i.x - j.x)\n"

# What each argument takes, by its name. New ones have to be put here.
REALS = {"accuracy", "theta", "eta", "dt_max", "dt_min", "gravity", "time", "approach_distance", "seconds"}
REALS |= {"w0", "mass", "radius", "fraction", "least", "most", "separation", "speed", "impact", "eccentricity"}
REALS |= {"pericentre"}
REALS |= {"subsystem_radius", "progress_seconds", "G", "tolerance", "speed_of_light", "escapes"}
INTEGERS = {"order", "threads", "crossover", "pairs", "first_address", "count", "samples", "nj", "sink", "sinks"}
INTEGERS |= {"n", "seed"}
INTEGERS |= {"block_steps", "group_size", "max_steps"}
ARRAYS = {"positions", "masses", "velocities", "accelerations", "jerks", "snaps", "crackles", "sixth_derivatives"}
ARRAYS |= {"seventh_derivatives", "times", "radii2", "steps", "radii", "at"}
ARRAYS |= {"pos", "m", "pos_target", "pos_source", "m_source", "softening", "softening_target", "softening_source"}
INTEGER_ARRAYS = {"indices", "addresses", "identifiers", "offsets", "sink_offsets", "source_offsets"}
INTEGER_ARRAYS |= {"first_addresses", "source_counts", "groups"}
# One number, and in some functions an array of them.
SOFTENINGS = {"eps", "source_eps", "softening2"}
OF_ALL = {"Cluster", "Cluster.add_group", "System.force_all", "System.start_all"}
# Words, switches, functions, and what has numbers within it.
OTHERS = {"self", "precision", "scope", "backend", "devices", "criterion", "neighbour_criterion", "potential", "out"}
OTHERS |= {"f64_as_dd", "text", "i", "j", "bodies", "progress", "parameters", "tree", "return_tree", "parallel"}
OTHERS |= {"method", "quadrupole", "device", "terms", "collisions", "field", "path", "centre", "units", "communicator"}
OTHERS |= {"subsystems", "on_collision", "binaries", "first", "second", "law", "on", "by", "clusters", "options"}
# Results and errors are not called by users; of these the arrays that they hold are looked at when used.
HOLDERS = {"Backend", "Binary", "Bodies", "Encounter", "Energies", "EnergyJump", "Error", "Evolution", "Forces"}
HOLDERS |= {"Information", "FewBodies", "Integration", "Interaction", "Predictions", "Result", "Sources", "Statistics"}
HOLDERS |= {"TreeErrors", "Snapshot", "__version__"}
HOLDERS |= {"model", "Part", "Stars"}


def system(order=2):
    made = kyoho.System(order, backend="cpu", threads=1)
    made.set_sources(X, M)
    return made


def cluster():
    made = kyoho.Cluster(backend="cpu", threads=1)
    made.add(X, M, [[0, 1, 0], [0, -1, 0]])
    return made


@functools.lru_cache(None)
def objects():
    made = kyoho.pair(TEXT, backend="cpu")
    made(i={"x": M}, j={"x": M}, far=1.0)
    return {"System": system(), "Cluster": cluster(), "Pair": made}


LISTS = {"sink_offsets": [0, 2], "source_offsets": [0, 2]}
SOURCES = kyoho.Sources(X, M)
STARS = kyoho.model.Stars(numpy.array(X), numpy.array(M), numpy.array(X))
# What has to be given for a call that can be made.
NEEDED = {
    "gravity": {"positions": X, "masses": M},
    "tree_error": {"positions": X, "masses": M, "theta": 0.5},
    "forces_on_lists": {"sources": SOURCES, "positions": X, "indices": None, **LISTS},
    "forces_in_batch": {"bodies": SOURCES, "offsets": [0, 2]},
    "few_body": {"positions": X, "velocities": [[0, 1, 0], [0, -1, 0]], "masses": M, "time": 0.0},
    "write": {"path": os.devnull, "positions": X, "masses": M},
    "pair": {"text": TEXT},
    "pair_gravity": {"order": 2},
    "Pair": {"text": TEXT},
    "System.set_crossover": {"pairs": -1},
    "System.set_time": {"time": 0.0},
    "System.set_sources": {"positions": X, "masses": M},
    "System.force": {"positions": X, "indices": None},
    "System.start": {"positions": X, "indices": None},
    "System.find_neighbours": {"positions": X, "radii2": [1.0, 1.0], "indices": None},
    "System.neighbours": {"sink": 0},
    "System.tree_error": {"positions": X, "indices": None},
    "System.force_lists": {"positions": X, "indices": None, "sources": SOURCES, **LISTS},
    "System.start_lists": {"positions": X, "indices": None, "sources": SOURCES, **LISTS},
    "System.force_batch": {"bodies": SOURCES, "offsets": [0, 2]},
    "System.start_batch": {"bodies": SOURCES, "offsets": [0, 2]},
    "Cluster.add": {"positions": X, "masses": M},
    "Cluster.set": {"identifiers": [0, 1]},
    "Cluster.remove": {"identifiers": []},
    "Cluster.evolve": {"time": 0.0},
    **{name: {"n": 3} for name in ("plummer", "hernquist", "king", "uniform_sphere", "cold_collapse")},
    "binaries": {"fraction": 0.5, "least": 1.0, "most": 2.0},
    "two_clusters": {"first": STARS, "second": STARS, "separation": 2.0},
    "Accel": {"pos": X, "m": M},
    "Potential": {"pos": X, "m": M},
    "AccelTarget": {"pos_target": X, "pos_source": X, "m_source": M},
    "PotentialTarget": {"pos_target": X, "pos_source": X, "m_source": M},
}
# Further arguments without which others are not looked at.
FORMS = {"Pair.__call__": {"source_offsets": [0, 1, 2]}, "Pair.start": {"source_offsets": [0, 1, 2]}}


def callables():
    """All public functions, constructors and methods, by their names."""
    for name in kyoho.__all__:
        if name not in HOLDERS:
            yield name, getattr(kyoho, name)
    for name in kyoho.model.__all__:
        if name not in HOLDERS:
            yield name, getattr(kyoho.model, name)
    for owner in ("System", "Cluster", "Pair"):
        for name, found in inspect.getmembers(getattr(kyoho, owner), inspect.isfunction):
            if not name.startswith("_") or name == "__call__":
                yield f"{owner}.{name}", found
    for name in pytreegrav.__all__:
        yield name, getattr(pytreegrav, name)


def call(name, **given):
    owner, _, method = name.partition(".")
    if not method:
        function = next(getattr(at, name) for at in (kyoho, kyoho.model, pytreegrav) if hasattr(at, name))
        return function(**{**NEEDED.get(name, {}), **given})
    return getattr(objects()[owner], method)(**{**NEEDED.get(name, {}), **given})


def kind_of(name, parameter):
    """What a parameter of a function takes."""
    if name.startswith("Pair") and parameter == "sources":
        return "integer"
    if name in kyoho.model.__all__ and parameter == "masses":
        return None
    for kind, names in (("real", REALS), ("integer", INTEGERS), ("reals", ARRAYS), ("integers", INTEGER_ARRAYS)):
        if parameter in names:
            return kind
    if parameter in SOFTENINGS:
        return "real" if name in OF_ALL else "real or reals"
    if parameter in OTHERS or parameter == "sources":
        return None
    raise AssertionError(f"{name} has a parameter {parameter}, of which these tests do not know what it takes")


PARAMETERS = [
    (name, parameter, kind_of(name, parameter))
    for name, function in callables()
    for parameter in inspect.signature(function).parameters
    if kind_of(name, parameter)
]


class Quantity:
    """A number with a unit, as far as it is needed."""

    unit = "km"

    def __float__(self):
        return 20000.0

    def __index__(self):
        return 20000

    def __array__(self, dtype=None, copy=None):
        return numpy.array(20000.0)


class WithUnit(numpy.ndarray):
    unit = "km"


class WithUnits(numpy.ndarray):
    units = "km"


def bad_values(kind):
    """Values with what is said of them."""
    yield Quantity(), "has a unit"
    yield numpy.array(1.0).view(WithUnits), "has a unit"
    yield numpy.ones(2).view(WithUnit), "has a unit"
    yield numpy.ma.masked_array([1.0, 2.0], [True, False]), "has a mask"
    yield numpy.ma.masked, "has a mask"
    yield "0.1", ""
    yield True, ""
    yield numpy.bool_(True), ""
    yield object(), ""
    if "integer" in kind:
        yield numpy.float64(1.0), ""
        yield numpy.array(1.0), ""
    else:
        yield 1j, ""
        yield numpy.array(["1", "2"]), ""
    if kind in ("real", "integer"):
        yield [1, 1], ""
        yield numpy.array([1]), ""
    else:
        yield [True, False], ""
        yield [numpy.ma.masked_array(1.0, True), 1.0], "has a mask"
    if kind in ("real", "real or reals"):
        yield float("nan"), ""
        yield fractions.Fraction(10**400), ""
    if kind == "integer":
        yield 1.5, ""
        yield 2**70, ""
    if kind == "integers":
        yield [1.0, 2.0], ""
        yield numpy.array([2**63, 0], dtype=numpy.uint64), ""


@pytest.mark.parametrize(("name", "parameter", "kind"), PARAMETERS)
def test_what_is_no_plain_number_is_refused_in_the_callers_words(name, parameter, kind):
    for value, said in bad_values(kind):
        if name == "System.set_time" and isinstance(value, list):
            continue
        with pytest.raises(kyoho.Error, match=f"^{parameter} .*{said}") as error:
            call(name, **{**FORMS.get(name, {}), parameter: value})
        assert not isinstance(error.value.__cause__, kyoho.Error)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("gravity", "eps", 2),
        ("gravity", "threads", 1),
        ("gravity", "theta", 1),
        ("tree_error", "samples", 2),
        ("System", "order", 4),
        ("System", "crossover", -1),
        ("Cluster", "eta", 1),
        ("Cluster", "time", 3),
        ("Cluster.evolve", "time", 0),
        ("Cluster.evolve", "block_steps", 7),
        ("System.set_time", "time", 0),
        ("System.force", "softening2", 1),
        ("System.force", "nj", 2),
        ("System.force_all", "softening2", 1),
        ("System.predict", "count", 2),
        ("Accel", "softening", 1),
        ("Accel", "G", 2),
        ("Pair.__call__", "sinks", 2),
    ],
)
def test_numbers_of_any_type_are_taken(name, parameter, value):
    given = [value, numpy.int64(value), numpy.int8(value), numpy.array(value)]
    if parameter in REALS | SOFTENINGS | ARRAYS:
        given += [float(value), numpy.float32(value), numpy.array(float(value))]
    if parameter in REALS | SOFTENINGS:
        given += [fractions.Fraction(value), decimal.Decimal(value)]
    for number in given:
        call(name, **{parameter: number})


def test_arrays_within_arguments_are_looked_at_too():
    wrong = numpy.ones((2, 3)).view(WithUnit)
    for call_it in (
        lambda sources: objects()["System"].force_batch(sources, [0, 2]),
        lambda sources: kyoho.forces_in_batch(sources, [0, 2]),
    ):
        with pytest.raises(kyoho.Error, match="^bodies.velocities has a unit"):
            call_it(kyoho.Sources(X, M, wrong))
    with pytest.raises(kyoho.Error, match="^sources.positions has a unit"):
        objects()["System"].force_lists(X, indices=None, sources=kyoho.Sources(wrong, M), **LISTS)
    pair = objects()["Pair"]
    for field in ("i", "j"):
        for value, said in (
            (numpy.ones(2).view(WithUnit), "has a unit"),
            (numpy.ma.masked_array([1.0, 2.0], [True, False]), "has a mask"),
            (["a", "b"], "is an array of <U1"),
            ([True, False], "is an array of bool; allowed: real numbers"),
        ):
            with pytest.raises(kyoho.Error, match=f"^{field}.x {said}"):
                pair(**{field: {"x": value}})
    for value in (Quantity(), numpy.ma.masked, True, object(), numpy.array([1.0, 2.0]).view(WithUnit)):
        with pytest.raises(kyoho.Error, match="^far "):
            pair(far=value)
    with pytest.raises(kyoho.Error, match="^out.potentials has a unit"):
        kyoho.Forces(potentials=numpy.ones(2).view(WithUnit))
    with pytest.raises(kyoho.Error, match="^out.potentials has a mask"):
        kyoho.Forces(potentials=numpy.ma.masked_array([1.0, 2.0], [True, False]))


def test_numbers_of_two_doubles_have_the_same_rules():
    quad = kyoho.System(2, "quad", backend="cpu")
    for value in (Quantity(), numpy.ma.masked, True, "soft", [Quantity(), 0.0], [0.0, float("nan")], [1.0, 2.0, 3.0]):
        with pytest.raises(kyoho.Error, match="^time"):
            quad.set_time(value)
    for good in ("0.1", fractions.Fraction(1, 3), [0.1, 1e-18], numpy.array(0.1), 1):
        quad.set_time(good)
    with pytest.raises(kyoho.Error, match="^positions has a unit"):
        quad.set_sources(numpy.ones((2, 3)).view(WithUnit), M)
    with pytest.raises(kyoho.Error, match="^positions has a mask"):
        quad.set_sources(numpy.ma.masked_array(numpy.ones((2, 3)), True), M)


def test_names_of_sinks_are_those_of_the_function():
    for given, said in (
        ({"eps": [0.1, 0.1, 0.1]}, r"^eps has the shape \(3,\); allowed: \(2,\)"),
        ({"at": numpy.zeros((2, 2))}, r"^at has the shape \(2, 2\)"),
        ({"at": numpy.zeros((2, 3)).view(WithUnit)}, "^at has a unit"),
    ):
        with pytest.raises(kyoho.Error, match=said):
            call("gravity", **given)
    with pytest.raises(kyoho.Error, match=r"^softening2 has the shape \(3,\)"):
        call("System.force", softening2=[0.1, 0.1, 0.1])
    with pytest.raises(kyoho.Error, match="^at has a mask"):
        call("tree_error", at=numpy.ma.masked_array(numpy.ones((2, 3)), True))


def test_identifiers_are_not_rounded():
    with pytest.raises(kyoho.Error, match="^identifiers is an array of float64; allowed: integers"):
        cluster().remove([0.7])
    with pytest.raises(kyoho.Error, match="^identifiers has the number 9223372036854775808; allowed: integers of 64"):
        cluster().get([2**63])


def test_quantities_of_astropy_are_refused_where_there_are_no_units():
    u = pytest.importorskip("astropy.units")
    for name, given in (
        ("System.set_sources", {"positions": X * u.pc}),
        ("Accel", {"softening": 1 * u.pc}),
        ("Accel", {"G": 1 * u.m}),
        ("Cluster", {"eps": 1 * u.pc}),
        ("Cluster.evolve", {"time": 1 * u.yr}),
        ("System.set_time", {"time": 1 * u.yr}),
    ):
        with pytest.raises(kyoho.Error, match=f"^{next(iter(given))} (has a unit|is no array of numbers)"):
            call(name, **given)
