"""Arrays of any kind: read where they are, copied, or refused by name."""

import contextlib
import pickle
import sys
import types

import numpy
import pytest
from conftest import close

import kyoho
from kyoho import _structures
from kyoho._arrays import Arrays
from kyoho._devices import device_array, empty_like, numbers_like
from kyoho._results import kinds_of, new_forces


def at_origin(positions, masses, **more):
    return kyoho.gravity(positions, masses, at=[[0, 0, 0]], potential=False, **more)


def forms_of(positions):
    """Arrays with these numbers, in other forms."""
    table = numpy.zeros((len(positions), 5))
    table[:, 1:4] = positions
    yield table[:, 1:4]
    yield numpy.asfortranarray(positions)
    yield positions[::-1].copy()[::-1]
    yield positions.astype(">f8")
    yield positions.tolist()
    read_only = positions.copy()
    read_only.flags.writeable = False
    yield read_only
    unaligned = numpy.zeros(positions.nbytes + 1, numpy.uint8)[1:].view(numpy.float64).reshape(-1, 3)
    unaligned[:] = positions
    yield unaligned
    yield numpy.rec.fromarrays(positions.T, names="x,y,z").view((float, 3))


def test_forms_of_arrays_do_not_matter(bodies):
    expected = at_origin(bodies.positions, bodies.masses)
    for positions in forms_of(bodies.positions):
        assert (at_origin(positions, bodies.masses) == expected).all()
    assert (at_origin(bodies.positions, bodies.masses[::-1].copy()[::-1]) == expected).all()
    assert (at_origin(bodies.positions, bodies.masses.tolist()) == expected).all()


def test_other_types_are_converted(bodies):
    halves = numpy.round(bodies.positions * 2)
    expected = at_origin(halves, numpy.ones(bodies.count), eps=0.1)
    for type in (numpy.float32, numpy.int8, numpy.int64):
        assert (at_origin(halves.astype(type), numpy.ones(bodies.count, type), eps=0.1) == expected).all()
    # All rows are one in memory.
    one = numpy.broadcast_to([1.0, 2.0, 3.0], (4, 3))
    assert close(at_origin(one, numpy.broadcast_to(1.0, 4)), 4 * at_origin(one[:1], [1.0]))


def test_strided_results(bodies):
    table = numpy.full((bodies.count, 2, 4), 7.0)
    out = kyoho.Forces(accelerations=table[::-1, 0, :3], potentials=table[:, 1, 1])
    system = kyoho.System(order=2)
    system.set_sources(bodies.positions, bodies.masses)
    system.force(bodies.positions, indices=bodies.indices, out=out)
    expected = bodies.gravity()
    assert close(table[::-1, 0, :3], expected[0]) and close(table[:, 1, 1], expected[1])
    assert (table[:, 0, 3] == 7).all() and (table[:, 1, [0, 2, 3]] == 7).all()


class WithUnit(numpy.ndarray):
    unit = "pc"


X = numpy.zeros((2, 3))
M = numpy.ones(2)


@pytest.mark.parametrize(
    ("positions", "masses", "said"),
    [
        (X + 1j, M, "positions is an array of complex128; allowed: real numbers"),
        (X.astype(object), M, "positions is an array of object"),
        ([["a", "b", "c"]], [1], "positions is an array of <U1"),
        ([[1, 2, 3], [4, 5]], M, "positions is"),
        (X > 0, M, "positions is an array of bool"),
        (X[:, :2], M, r"positions has the shape \(2, 2\); allowed: \(2, 3\)"),
        (X[0], M, r"positions has the shape \(3,\)"),
        (5, M, r"positions has the shape \(\)"),
        (None, M, "positions is an array of object"),
        (X, M[:1], r"masses has the shape \(1,\); allowed: \(2,\)"),
        (X, 1.0, r"masses has the shape \(\); allowed: \(2,\)"),
        (X, None, "masses is an array of object"),
        (X.view(WithUnit), M, "positions has a unit"),
        (X, numpy.ma.masked_array(M, [True, False]), "masses has a mask"),
        (X + numpy.nan, M, "the position of the source at address 0 is NaN"),
        (X, [1.0, numpy.inf], "the mass of the source at address 1 is inf"),
    ],
)
def test_errors_name_the_argument(positions, masses, said):
    with pytest.raises(kyoho.Error, match=said):
        at_origin(positions, masses)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"eps": -1.0}, "eps is -1.0; allowed: 0 or more"),
        ({"eps": "soft"}, "eps is 'soft'"),
        ({"eps": [0.1, 0.1, 0.1]}, r"eps has the shape \(3,\); allowed: \(2,\)"),
        ({"eps": float("nan")}, "eps is nan"),
        ({"at": numpy.zeros((2, 2))}, r"at has the shape \(2, 2\)"),
        ({"accuracy": 1.0}, "accuracy"),
        ({"precision": "exact"}, "precision is 'exact'"),
        ({"out": numpy.empty((2, 3))}, "out is no tuple of two"),
        ({"out": (numpy.empty((2, 3)), numpy.empty(3))}, r"out.accelerations|out.potentials"),
        ({"out": (numpy.empty((3, 3)), numpy.empty(3))}, "out has rows for 3 sinks; allowed: 2"),
        ({"out": (numpy.empty((2, 3), "f4"), numpy.empty(2))}, "out.accelerations is an array of float32"),
        ({"out": ([[0, 0, 0]] * 2, numpy.empty(2))}, "out.accelerations is a list"),
        ({"out": (numpy.empty((3, 2)).T, numpy.empty(2))}, "out.accelerations has the strides"),
        ({"out": (numpy.broadcast_to(0.0, (2, 3)), numpy.empty(2))}, "out.accelerations may only be read"),
    ],
)
def test_errors_of_other_arguments(more, said):
    with pytest.raises(kyoho.Error, match=said):
        kyoho.gravity(X, M, **more)


def test_integers():
    system = kyoho.System(order=2)
    system.set_sources(X, M, indices=[1, 2])
    for indices, said in [
        ([1.0, 2.0], "indices is an array of float64; allowed: integers"),
        ([1, 2**31], "indices has the number 2147483648; allowed: integers of 32 bits"),
        ([1], r"indices has the shape \(1,\); allowed: \(2,\)"),
    ]:
        with pytest.raises(kyoho.Error, match=said):
            system.force(X, indices=indices)
    with pytest.raises(kyoho.Error) as error:
        system.set_sources(X, M, addresses=[0, -1])
    assert error.value.result == kyoho.Result.BAD_ADDRESS


def test_offsets_that_do_not_fit():
    system = kyoho.System(order=2)
    system.set_sources(X, M)
    lists = dict(indices=None, sink_offsets=[0, 2], source_offsets=[0, 2], addresses=[0, 1])
    system.force_lists(X, **lists)
    for change, said in [
        ({"sink_offsets": [0, 3]}, "sink_offsets ends with 3; allowed: 2, the number of positions"),
        ({"source_offsets": [0, 9]}, "source_offsets ends with 9; allowed: 2, the number of addresses"),
        ({"source_offsets": [0, 1, 2]}, "source_offsets has the shape"),
        ({"sink_offsets": []}, "sink_offsets is empty"),
    ]:
        with pytest.raises(kyoho.Error, match=said):
            system.force_lists(X, **{**lists, **change})
    with pytest.raises(kyoho.Error, match="offsets ends with 5; allowed: 2, the number of bodies"):
        system.force_batch(kyoho.Sources(X, M), [0, 5])
    with pytest.raises(kyoho.Error, match="bodies is a tuple; allowed: kyoho.Sources"):
        system.force_batch((X, M), [0, 2])


class OnDevice:
    """An array that claims to be in memory of a CUDA device."""

    def __init__(self, shape, type="<f8", **more):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": type,
            "data": (0x7F0000000000, False),
            "strides": None,
            "version": 3,
            "stream": None,
            **more,
        }


class ByDlpack:
    """An array that tells of itself by DLPack alone."""

    def __init__(self, kind, array=None):
        self.kind, self.array = kind, array

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __array__(self, dtype=None, copy=None):
        return self.array


def test_arrays_of_a_device_are_refused_by_a_system_on_the_cpu():
    system = kyoho.System(order=2, backend="cpu")
    said = "positions is in memory of CUDA device 0, and the system computes on cpu; allowed: arrays of numpy, or"
    with pytest.raises(kyoho.Error, match=said):
        system.set_sources(OnDevice((2, 3)), OnDevice((2,)))
    system.set_sources(X, M)
    for positions in (OnDevice((2, 3)), ByDlpack(2, X)):
        with pytest.raises(kyoho.Error, match=said):
            system.force(positions, indices=None, out=kyoho.Forces(potentials=numpy.empty(2)))
    with pytest.raises(kyoho.Error, match=said.replace("positions", "bodies.positions")):
        system.force_batch(kyoho.Sources(OnDevice((2, 3)), OnDevice((2,))), [0, 2])


def test_lists_of_pairs_are_arrays_of_the_host():
    pair = kyoho.pair("pair p\nj x: f64\nresult s: f64 sum\nbody\ns += j.x\n", backend="cpu")
    lists = {"source_offsets": [0, 2], "addresses": [0, 1]}
    for name, type in (("source_offsets", "<i8"), ("addresses", "<i4")):
        with pytest.raises(kyoho.Error, match=f"{name} is on a CUDA device; allowed: arrays of numpy"):
            pair(j={"x": [1.0, 2.0]}, **{**lists, name: OnDevice((2,), type)})


def test_all_arrays_of_an_argument_are_in_one_memory():
    system = kyoho.System(order=2, backend="cpu")
    with pytest.raises(kyoho.Error, match="masses is in memory of the host; allowed: memory of CUDA device 0, as pos"):
        system.set_sources(OnDevice((2, 3)), M)
    with pytest.raises(kyoho.Error, match="masses is in memory of CUDA device 0; allowed: memory of the host"):
        system.set_sources(X, OnDevice((2,)))
    with pytest.raises(kyoho.Error, match="masses belongs to the stream 7; allowed: 1, as positions"):
        system.set_sources(OnDevice((2, 3), stream=1), OnDevice((2,), stream=7))


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (OnDevice((2, 3), "<f4"), "positions has numbers of type float32 on its device; allowed: float64"),
        (OnDevice((2, 2)), r"positions has the shape \(2, 2\)"),
        (OnDevice((2, 3), strides=(8, 16)), "positions has the strides"),
        (OnDevice((2, 3), mask=OnDevice((2,))), "positions cannot be read, as its library says: it has a mask"),
        (ByDlpack(10), "positions is in memory of kind 10 of DLPack"),
    ],
)
def test_arrays_of_a_device_that_cannot_be_read(positions, said):
    with pytest.raises(kyoho.Error, match=said):
        kyoho.System(order=2, backend="cpu").set_sources(positions, OnDevice((2,)))


def test_arrays_of_the_host_by_dlpack_are_read(bodies):
    expected = at_origin(bodies.positions, bodies.masses)
    assert (at_origin(ByDlpack(1, bodies.positions), ByDlpack(1, bodies.masses)) == expected).all()


def test_structures_tell_where_arrays_of_a_device_are():
    structure = _structures.Sources(1)
    arrays = Arrays(structure)
    arrays.rows("positions", OnDevice((2, 3), strides=(64, 8), stream=5, data=(0x1000, True)))
    arrays.elements("masses", OnDevice((2,), stream=5))
    arrays.finish()
    assert (structure.memory, structure.cuda.device, structure.cuda.stream) == (_structures.CUDA, 0, 5)
    assert (structure.positions, structure.positions_stride) == (0x1000, 64)
    assert (structure.masses, structure.masses_stride) == (0x7F0000000000, 0)
    assert arrays.count == 2
    forces = kyoho.Forces(accelerations=OnDevice((2, 3)), nearest=OnDevice((2,), "<i4"))
    assert forces.count == 2 and forces._structure.memory == _structures.CUDA


def test_dlpack_describes_arrays_of_a_device():
    table = numpy.zeros((4, 5, 3))
    found = device_array("table", ByDlpack(2, table[1:, 2]))
    assert found.address == table[1:, 2].ctypes.data
    assert (found.shape, found.strides, found.type, found.device) == ((3, 3), (120, 8), "<f8", 0)
    assert device_array("table", ByDlpack(13, table.astype("i4"))).type == "<i4"


class Cupy(OnDevice):
    """An array of cupy, as far as it is needed."""

    device = contextlib.nullcontext()


def test_results_are_of_the_kind_of_the_arguments(monkeypatch):
    monkeypatch.setattr(Cupy, "__module__", "cupy")
    cupy = types.SimpleNamespace(
        empty=lambda shape, dtype: Cupy(shape, numpy.dtype(dtype).str),
        arange=lambda count, dtype: Cupy((count,), numpy.dtype(dtype).str),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    arrays = Arrays(_structures.Sinks(1))
    arrays.rows("positions", Cupy((2, 3)))
    forces = new_forces(kinds_of(kyoho.System(order=4).interaction), 2, arrays)
    assert type(forces.accelerations) is Cupy and type(forces.nearest) is Cupy
    assert type(numbers_like(Cupy((2, 3)), "positions", 2)) is Cupy
    with pytest.raises(kyoho.Error, match="positions is an array of test_arrays, .* allowed: out=, or"):
        empty_like(OnDevice((2, 3)), "positions", (2,), "float64")


def test_results_need_memory_that_may_be_written():
    with pytest.raises(kyoho.Error, match="out.potentials may only be read"):
        kyoho.Forces(potentials=OnDevice((2,), data=(0x7F0000000000, True)))


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(kyoho.Error("masses is wrong", kyoho.Result.NOT_FINITE)))
    assert str(error) == "masses is wrong" and error.result == kyoho.Result.NOT_FINITE
