"""Pair interactions that users write."""

import decimal
import fractions
import os

import numpy
import pytest

import kyoho

GRAVITY = """
pair gravity
i      pos: vec3<f64>, id: u32
j      pos: vec3<f64>, mass: f64, id: u32
param  eps2: f64
result acc: vec3<f64> sum
       pot: f64 sum
       others: u32 count
body
  skip if i.id == j.id
  d = j.pos - i.pos
  rinv = rsqrt(norm2(d) + eps2)
  acc += j.mass * rinv^3 * d
  pot -= j.mass * rinv
  others count= true
"""
BACKENDS = [name for name, backend in kyoho.info().backends.items() if backend.devices]


def bodies(count):
    random = numpy.random.default_rng(3)
    return random.normal(size=(count, 3)), random.uniform(size=count) / count, numpy.arange(count)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gravity_is_that_of_the_library(backend):
    positions, masses, ids = bodies(700)
    gravity = kyoho.pair(GRAVITY, backend=backend)
    found = gravity(i={"pos": positions, "id": ids}, j={"pos": positions, "mass": masses, "id": ids}, eps2=1e-4)
    accelerations, potentials = kyoho.gravity(positions, masses, eps=0.01, precision="double", backend="cpu")
    numpy.testing.assert_allclose(found["acc"], accelerations, rtol=1e-12, atol=1e-13)
    numpy.testing.assert_allclose(found["pot"], potentials, rtol=1e-12)
    assert found["others"].dtype == numpy.uint32 and (found["others"] == 699).all()
    # What was given stays for the next call.
    again = gravity(eps2=1e-4)
    assert (again["acc"] == found["acc"]).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_of_neighbours(backend):
    positions, masses, ids = bodies(500)
    with kyoho.System(order=2, backend="cpu") as system:
        system.set_sources(positions, masses)
        offsets, addresses = system.find_neighbours(positions, numpy.full(500, 0.25), indices=None)
    gravity = kyoho.pair(GRAVITY, backend=backend)
    data = {"i": {"pos": positions, "id": ids}, "j": {"pos": positions, "mass": masses, "id": ids}}
    found = gravity(**data, eps2=0.01, source_offsets=offsets, addresses=addresses)
    # A sink finds itself, which the text leaves out.
    assert (found["others"] == numpy.diff(offsets) - 1).all()
    near = addresses[offsets[7] : offsets[8]]
    near = near[near != 7]
    d = positions[near] - positions[7]
    weights = masses[near] * ((d**2).sum(1) + 0.01) ** -1.5
    numpy.testing.assert_allclose(found["acc"][7], (weights[:, None] * d).sum(0), rtol=1e-12)
    ranges = gravity(eps2=0.01, sink_offsets=[0, 100, 500], first_addresses=[0, 50], source_counts=[50, 20])
    assert (ranges["others"][:100] == numpy.where(ids[:100] < 50, 49, 50)).all()
    with pytest.raises(kyoho.Error, match="source_offsets"):
        gravity(source_offsets=offsets, addresses=addresses[:-1])


def test_numbers_of_sinks_and_sources_are_those_of_the_lists():
    pair = kyoho.pair("pair p\nj x: f64\nresult s: f64 sum\nbody\ns += j.x\n")
    for lists in (
        {"source_offsets": [0, 1, 2, 3], "addresses": [0, 1, 0]},
        {"first_addresses": [0, 0, 0], "source_counts": [2, 2, 2]},
        {"sink_offsets": [0, 1, 3], "first_addresses": [0, 0], "source_counts": [2, 2]},
    ):
        assert pair(j={"x": [1, 2]}, sinks=3, sources=2, **lists)["s"].shape == (3,)
        for call in (pair, pair.start):
            with pytest.raises(kyoho.Error, match="sinks is 7; allowed: 3, as the lists have") as caught:
                call(sinks=7, **lists)
            assert caught.value.result == kyoho.Result.BAD_COUNT
        with pytest.raises(kyoho.Error, match="the length of j.x is 2; allowed: 7, as the run wants"):
            pair(sources=7, **lists)


@pytest.mark.parametrize("backend", BACKENDS)
def test_argmin_and_argmax_name_the_first_source_whatever_its_key(backend):
    text = """pair p
    j level: u32, way: f64, id: u32
    result most: u32 argmax, near: u32 argmin
    body
    most argmax= j.level, j.id
    near argmin= 1 / abs(j.way), j.id
    """
    pair = kyoho.pair(text, backend=backend)
    sources = {"level": [0] * 5000, "way": [0.0] * 5000, "id": range(7, 5007)}
    found = pair(j=sources, sinks=2)
    assert found["most"].tolist() == found["near"].tolist() == [7, 7]
    found = pair(source_offsets=[0, 3, 5, 5], addresses=[9, 2, 4, 1, 3])
    assert found["most"].tolist() == found["near"].tolist() == [16, 8, 2**32 - 1]


def test_lists_of_offsets_need_addresses():
    pair = kyoho.pair("pair p\nj x: f64\nresult s: f64 sum\nbody\ns += j.x\n")
    assert pair(j={"x": [1, 2]}, source_offsets=[0, 0])["s"].tolist() == [0]
    with pytest.raises(kyoho.Error, match="source_offsets is given without addresses; allowed: both"):
        pair(source_offsets=[0, 2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_goes_on_beside_its_caller(backend):
    positions, masses, ids = bodies(300)
    data = {"i": {"pos": positions, "id": ids}, "j": {"pos": positions, "mass": masses, "id": ids}}
    gravity = kyoho.pair(GRAVITY, backend=backend)
    wanted = gravity(**data, eps2=0.01)
    # It has copies of the arrays, which the caller may write to.
    gravity.start(**data, eps2=0.01)
    masses[:] = 0
    with pytest.raises(kyoho.Error, match="a run was under way"):
        gravity()
    found = gravity.wait()
    assert all((found[name] == wanted[name]).all() for name in wanted)
    gravity.start(sink_offsets=[0, 300], first_addresses=[0], source_counts=[50])
    assert (gravity.wait()["others"] == numpy.where(ids < 50, 49, 50)).all()
    with pytest.raises(kyoho.Error, match="without a run under way") as caught:
        gravity.wait()
    assert caught.value.result == kyoho.Result.CALL_ORDER


def test_double_double_keeps_all_digits():
    third = "pair third\nj weight: dd\nparam x: dd\nresult sum: dd sum\nbody\nsum += j.weight * x\n"
    exact = fractions.Fraction(1, 3)
    for value in (exact, decimal.Decimal(1) / decimal.Decimal(3), "0.33333333333333333333333333333333"):
        high, low = kyoho.pair(third)(sinks=1, j={"weight": [1.0, 2.0]}, x=value)["sum"][0]
        assert abs(fractions.Fraction(high) + fractions.Fraction(low) - 1) < fractions.Fraction(1, 10**27)
        assert high == 1.0
    limbs = kyoho.pair(third)(sinks=1, j={"weight": [[1.0, 1e-25]]}, x=1)["sum"][0]
    assert limbs.tolist() == [1.0, 1e-25]


@pytest.mark.parametrize("number", ["f64", "dd"])
def test_integers_and_long_doubles_keep_their_digits_in_double_double(number):
    text = f"pair p\nj x: {number}\nparam a: {number}\nresult s: dd sum\nbody\ns += a * j.x\n"
    pair = kyoho.pair(text, f64_as_dd=True)
    long = numpy.longdouble(1) / 3
    for value in (2**60 + 1, -(2**63) + 1, 2**64 - 1, long):
        for x, a in ((numpy.array([value]), 1), ([1], numpy.array(value)), ([1], numpy.array([value]))):
            high, low = pair(sinks=1, j={"x": x}, a=a)["s"][0]
            exact = fractions.Fraction(*value.as_integer_ratio())
            assert fractions.Fraction(high) + fractions.Fraction(low) == exact and high == float(value)


def test_what_is_too_large_for_two_doubles_is_refused():
    text = "pair p\nj x: f64\nparam a: dd\nresult s: dd sum\nbody\ns += a * j.x\n"
    for value in (fractions.Fraction(10**400), -(10**400), "1e400", numpy.longdouble("1e400")):
        with pytest.raises(kyoho.Error, match=r"^a is .*; allowed: numbers up to 1.79\d*e\+308"):
            kyoho.pair(text)(sinks=1, j={"x": [1]}, a=value)


def test_arrays_of_any_kind():
    text = "pair p\ni a: f32\nj v: vec2<f64>, n: i32\nresult s: f32 sum(f64), m: i32 max\nbody\ns += i.a\nm max= j.n\n"
    wide = numpy.arange(24.0).reshape(4, 6)
    found = kyoho.pair(text)(i={"a": [1, 2]}, j={"v": wide[::2, 1:3], "n": numpy.array([-5, 7], dtype=numpy.int64)})
    assert found["s"].tolist() == [2.0, 4.0] and found["m"].tolist() == [7, 7]
    for a in (numpy.float16, numpy.longdouble, numpy.uint64, ">f8"):
        assert kyoho.pair(text)(i={"a": numpy.array([1, 2], a)}, j={"v": wide[::2, 1:3], "n": [-5, 7]})["s"][1] == 4


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", ["f32", "f64", "ff", "dd"])
def test_fields_may_have_what_is_no_finite_number(backend, number):
    text = f"""
pair p
j      x: {number}, name: i32
result s: {number} sum, unknown: u32 count, far: u32 count
body
  unknown count= j.x != j.x
  far count= abs(j.x) > 1e30
  skip if j.x != j.x || abs(j.x) > 1e30
  s += j.x
"""
    x = [numpy.nan, 1.0, numpy.inf, -numpy.inf]
    pair = kyoho.pair(text, backend=backend)
    for form in (numpy.array(x), numpy.array(x, numpy.longdouble)):
        found = pair(j={"x": form, "name": [1.0, 2.0, 3.0, 4.0]}, sinks=1)
        assert found["s"].ravel()[0] == 1 and found["unknown"] == 1 and found["far"] == 2
    with pytest.raises(kyoho.Error, match=r"j.name\[0\] is 'NaN'; allowed: integers of i32"):
        pair(j={"name": x})


def test_what_is_wrong_is_named():
    with pytest.raises(kyoho.Error, match="line 4, column 6: there is no 'b'") as caught:
        kyoho.pair("pair p\nresult a: f64 sum\nbody\na += b\n")
    assert caught.value.result == kyoho.Result.BAD_TEXT
    gravity = kyoho.pair(GRAVITY)
    with pytest.raises(kyoho.Error, match="there is no j.charge; allowed: j.pos, j.mass, j.id"):
        gravity(j={"charge": [1.0]})
    with pytest.raises(kyoho.Error, match="there is no eps; allowed: eps2"):
        gravity(eps=1)
    with pytest.raises(kyoho.Error, match=r"i.pos has the shape \(3,\); allowed: \(n, 3\)"):
        gravity(i={"pos": [1.0, 2.0, 3.0]})
    with pytest.raises(kyoho.Error, match="i.id has the number -1; allowed: integers of u32"):
        gravity(i={"id": [-1]})
    for wrong in (True, [False], numpy.array([True])):
        with pytest.raises(kyoho.Error, match="i.id is an array of bool; allowed: real numbers"):
            gravity(i={"id": numpy.array(wrong).reshape(1)})
        with pytest.raises(kyoho.Error, match="eps2 is .*; allowed: real numbers"):
            gravity(eps2=wrong)
    with pytest.raises(kyoho.Error, match=r"j.x is an array of bool; allowed: real numbers"):
        kyoho.pair("pair p\nj x: dd\nresult s: dd sum\nbody\ns += j.x\n")(j={"x": [[True, False]]}, sinks=1)
    with pytest.raises(kyoho.Error, match="eps2 is NaN"):
        gravity(eps2=float("nan"))
    with pytest.raises(kyoho.Error, match="i.pos"):
        gravity()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_has_to_make_its_own():
    gravity = kyoho.pair(GRAVITY, backend="cpu")
    child = os.fork()
    if child == 0:
        try:
            gravity(eps2=1)
        except kyoho.Error as error:
            os._exit(0 if "is a fork of process" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_texts():
    gravity = kyoho.pair(GRAVITY)
    assert "once a pair:" in gravity.explain()
    assert ".entry sum_pairs" in gravity.source("cuda") and "sum_lists(" in gravity.source("opencl")
    with pytest.raises(kyoho.Error, match="cuda, opencl"):
        gravity.source("cpu")


def test_the_built_in_law_has_a_text_for_each_order():
    for order, result in ((2, "acc"), (4, "jerk"), (6, "snap"), (8, "crackle")):
        assert f"pair gravity_{order}" in kyoho.pair_gravity(order)
        assert f"{result}: vec3<f64> sum" in kyoho.pair_gravity(order)
    for wrong in (3, "4", None):
        with pytest.raises(kyoho.Error, match="order is .*; allowed: 2, 4, 6, 8"):
            kyoho.pair_gravity(wrong)
