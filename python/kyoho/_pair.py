"""Pair interactions that users write as text."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_int64, c_void_p, create_string_buffer, sizeof
from typing import Any

import numpy
from numpy.typing import NDArray

from . import _structures as structures
from ._arrays import Arrays, integers
from ._devices import Device, device_array, empty_like
from ._errors import Error, Result, chosen
from ._handle import Handle, taking_turns
from ._library import check, library
from ._numbers import (
    INT64,
    in_limbs,
    integer,
    integer_or_none,
    is_single,
    limbs_of,
    readable,
    real,
    refuse_units_and_masks,
    text_or_none,
)
from ._system import DEVICES

_F32, _F64, _FF, _DD, _I32, _U32 = range(1, 7)
_NAMES = {_F32: "f32", _F64: "f64", _FF: "ff", _DD: "dd", _I32: "i32", _U32: "u32"}
# The types in which arrays are handed over as they are.
_NUMBERS = {
    numpy.dtype(numpy.float32): _F32,
    numpy.dtype(numpy.float64): _F64,
    numpy.dtype(numpy.int32): _I32,
    numpy.dtype(numpy.uint32): _U32,
}
# The types of results, and how many of them a number is.
_RESULTS = {
    _F32: (numpy.float32, 1),
    _F64: (numpy.float64, 1),
    _FF: (numpy.float32, 2),
    _DD: (numpy.float64, 2),
    _I32: (numpy.int32, 1),
    _U32: (numpy.uint32, 1),
}
_SINKS, _SOURCES, _PARAMETERS, _OF_RESULTS = range(1, 5)


class _Variable:
    """What a text declares: a name, the type of its numbers, and how many a row or a table has."""

    def __init__(self, described: structures.PairVariable) -> None:
        self.name: str = described.name.decode()
        self.type: int = described.number_type
        self.width: int = described.width
        self.table_size: int = described.table_size


def pair(
    text: str,
    *,
    f64_as_dd: bool = False,
    backend: str | None = None,
    devices: str | None = None,
    threads: int | None = None,
) -> Pair:
    """A pair interaction, compiled from a text of the language of pairs (``docs/pairs.md``).

    Parameters
    ----------
    text : str
        The text.
    f64_as_dd : bool
        Whether every ``f64`` of the text is read as ``dd``, two doubles.
    backend, devices, threads
        As for :class:`kyoho.System`. With a backend of None the CPU also computes what a GPU cannot.

    >>> import kyoho
    >>> count = kyoho.pair('''
    ... pair count
    ... i x: f64
    ... j x: f64
    ... param reach: f64
    ... result near: u32 count, nearest: f64 min
    ... body
    ...   d = abs(i.x - j.x)
    ...   near count= d < reach
    ...   nearest min= d
    ... ''')
    >>> found = count(i={"x": [0.0, 5.0]}, j={"x": [0.5, 1.0, 4.75]}, reach=2)
    >>> found["near"], found["nearest"]
    (array([2, 1], dtype=uint32), array([0.5 , 0.25]))
    """
    return Pair(text, f64_as_dd=f64_as_dd, backend=backend, devices=devices, threads=threads)


def pair_gravity(order: int) -> str:
    """The text of the built-in law of an order, for :func:`kyoho.pair`.

    Fields of ``i`` and ``j`` are ``pos``, from order 4 on ``vel``, from order 6 on ``acc``, in order
    8 ``jerk``, and ``id``; ``j`` has ``mass`` too. The parameter is ``eps2``, the squared softening.
    Results are ``pot``, ``acc``, ``jerk``, ``snap`` and ``crackle`` as far as the order has them, and
    from order 4 on ``nearest``, the id of the nearest source, and ``distance2``.

    Parameters
    ----------
    order : int
        2, 4, 6 or 8.

    >>> import kyoho
    >>> gravity = kyoho.pair(kyoho.pair_gravity(2), f64_as_dd=True)
    >>> bodies = {"pos": [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], "id": [0, 1]}
    >>> found = gravity(i=bodies, j={**bodies, "mass": [1.0, 1.0]}, eps2=0)
    >>> found["acc"][0, 0]      # 1/9 as the sum of two doubles
    array([1.11111111e-01, 6.16790569e-18])
    """
    text = library.kyoho_pair_gravity(integer("order", order, allowed="2, 4, 6, 8"))
    if text is None:
        raise Error(f"order is {order!r}; allowed: 2, 4, 6, 8")
    found: str = text.decode()
    return found


@taking_turns
class Pair(Handle):
    """A compiled pair interaction. Call it with the fields of the sinks and of the sources.

    Threads may use several at once; calls of one wait for one another.
    """

    __slots__ = ("_on_device", "_sinks", "_started", "_variables")

    _noun = "pair interaction"
    _again = ""
    _free = "kyoho_pair_free"

    def __init__(
        self,
        text: str,
        *,
        f64_as_dd: bool = False,
        backend: str | None = None,
        devices: str | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(text, str):
            raise Error(f"text is a {type(text).__name__}; allowed: str")
        encoded = text_or_none("text", text, "a text of characters, none of them null")
        options = structures.PairOptions(sizeof(structures.PairOptions))
        options.f64_as_dd = int(bool(f64_as_dd))
        options.backend = chosen("backend", backend, structures.BACKENDS)
        options.threads = integer_or_none("threads", threads, least=1) or 0
        options.devices = text_or_none("devices", devices, DEVICES)
        handle = c_void_p()
        check(library.kyoho_pair_compile(encoded, byref(options), byref(handle)))
        self._handle = handle.value or 0
        # The fields on a device, with what keeps their memory.
        self._on_device: dict[str, tuple[Any, object]] = {}
        self._sinks = 0
        # The number of sinks of the run that was started.
        self._started = 0
        self._variables = {section: self._declared(section) for section in range(_SINKS, _OF_RESULTS + 1)}

    def _declared(self, section: int) -> dict[str, _Variable]:
        """What the text declares in a section, by name."""
        variables: dict[str, _Variable] = {}
        described = structures.PairVariable(sizeof(structures.PairVariable))
        while not (result := library.kyoho_pair_describe(self._handle, section, len(variables), byref(described))):
            variable = _Variable(described)
            variables[variable.name] = variable
        if result != Result.BAD_COUNT:
            check(result)
        return variables

    def __call__(
        self,
        i: Mapping[str, Any] | None = None,
        j: Mapping[str, Any] | None = None,
        *,
        sinks: int | None = None,
        sources: int | None = None,
        sink_offsets: Any = None,
        source_offsets: Any = None,
        addresses: Any = None,
        first_addresses: Any = None,
        source_counts: Any = None,
        **parameters: Any,
    ) -> dict[str, Any]:
        """The results for every sink.

        Parameters
        ----------
        i, j : mapping
            The arrays of the fields of the sinks and of the sources by their names: ``(n,)`` for
            single numbers, ``(n, components)`` for vectors. Numbers are rounded to the type of the
            field; integers have to be exact. For ``ff`` and ``dd`` a last axis of 2 may hold the high
            and the low limbs. Arrays of the CUDA device that computes have the type of the field, and
            are read there. None: those of the last call.
        sinks, sources : int
            Their numbers, where the text declares no field for them. Lists have that of the sinks.
        source_offsets, addresses
            Only the sources of its list act on a sink: those at ``addresses[source_offsets[k]]`` to
            below ``addresses[source_offsets[k + 1]]``, as :meth:`kyoho.System.find_neighbours` gives
            both. None: all sources act on all sinks.
        first_addresses, source_counts
            In their place: the first source of each list, and the number of sources.
        sink_offsets : (lists + 1,) of int32
            The first sink of each list and, behind the last one, the number of sinks. None: a list
            for each sink.
        parameters
            The parameters by their names: a number, those of a vector, or a table. Numbers may be
            ``int``, ``float``, ``Decimal``, ``Fraction`` or ``str``, of which ``dd`` keeps 32 digits.
            Those that were given before may be left out.

        Returns
        -------
        dict
            Arrays by the names of the results, ``(n,)`` or ``(n, components)``. Those in ``ff`` and
            ``dd`` have a last axis of 2 for the high and the low limb. They are on the device if
            arrays of ``i`` are there.
        """
        lists = (sink_offsets, source_offsets, addresses, first_addresses, source_counts)
        return self._results(self._run("run", i, j, sinks, sources, lists, parameters))

    def start(
        self,
        i: Mapping[str, Any] | None = None,
        j: Mapping[str, Any] | None = None,
        *,
        sinks: int | None = None,
        sources: int | None = None,
        sink_offsets: Any = None,
        source_offsets: Any = None,
        addresses: Any = None,
        first_addresses: Any = None,
        source_counts: Any = None,
        **parameters: Any,
    ) -> None:
        """Begins what a call with these arguments does, in a thread of the library; :meth:`wait` gives
        the results. Arrays of the host are copied. Until then nothing else can be done with this pair
        interaction.
        """
        lists = (sink_offsets, source_offsets, addresses, first_addresses, source_counts)
        self._started = self._run("start", i, j, sinks, sources, lists, parameters)

    def wait(self) -> dict[str, Any]:
        """The results of what :meth:`start` began."""
        check(library.kyoho_pair_wait(self._own()))
        return self._results(self._started)

    def _run(
        self,
        call: str,
        i: Mapping[str, Any] | None,
        j: Mapping[str, Any] | None,
        sinks: int | None,
        sources: int | None,
        lists: tuple[Any, Any, Any, Any, Any],
        parameters: Mapping[str, Any],
    ) -> int:
        """Sets what is given, runs or starts, and returns the number of sinks."""
        self._own()
        for section, name, given in ((_SINKS, "i", i), (_SOURCES, "j", j)):
            for field, array in (given or {}).items():
                self._set(self._variable(section, f"{name}.", field), f"{name}.{field}", array)
        for name, value in parameters.items():
            self._set_parameter(self._variable(_PARAMETERS, "", name), value)
        of_sinks = -1 if sinks is None else integer("sinks", sinks, least=0)
        of_sources = -1 if sources is None else integer("sources", sources, least=0)
        if any(array is not None for array in lists[1:]):
            return self._run_lists(call, *lists, of_sinks, of_sources)
        if lists[0] is not None:
            raise Error("sink_offsets is given without lists; allowed: with source_offsets or first_addresses")
        function = getattr(library, f"kyoho_pair_{call}")
        check(function(self._handle, of_sinks, of_sources))
        return self._sinks if sinks is None else of_sinks

    def _results(self, count: int) -> dict[str, Any]:
        return {name: self._result(variable, count) for name, variable in self._variables[_OF_RESULTS].items()}

    def explain(self) -> str:
        """The compiled list of operations, with what is computed once a sink or a source and costs."""
        return self._text(library.kyoho_pair_explain)

    def source(self, backend: str) -> str:
        """The text of the kernels that a backend gets: PTX for ``cuda``, OpenCL C for ``opencl``."""
        number = chosen("backend", backend, structures.BACKENDS)
        return self._text(lambda *arguments: library.kyoho_pair_source(arguments[0], number, *arguments[1:]))

    def _variable(self, section: int, prefix: str, name: str) -> _Variable:
        variables = self._variables[section]
        if name not in variables:
            allowed = ", ".join(prefix + known for known in variables) or "none, as the text declares none"
            raise Error(f"there is no {prefix}{name}; allowed: {allowed}")
        return variables[name]

    def _set(self, variable: _Variable, name: str, array: Any) -> None:
        wanted = (variable.width,) if variable.width > 1 else ()
        device = None if type(array) is numpy.ndarray else device_array(name, array)
        if device is not None:
            self._set_on_device(variable, name, array, device)
            return
        self._on_device.pop(name, None)
        rows = real(name, array)
        has_limbs = variable.type in (_FF, _DD) and rows.ndim == len(wanted) + 2 and rows.shape[-1] == 2
        shape = rows.shape[:-1] if has_limbs else rows.shape
        if len(shape) != 1 + len(wanted) or shape[1:] != wanted:
            allowed = f"(n, {variable.width})" if wanted else "(n,)"
            raise Error(f"{name} has the shape {rows.shape}; allowed: {allowed}", Result.BAD_COUNT)
        number_type = variable.type if has_limbs else _NUMBERS.get(rows.dtype)
        if has_limbs:
            rows = rows.astype(numpy.float64 if variable.type == _DD else numpy.float32, copy=False)
        elif number_type is None:
            rows, number_type = _converted(name, rows, variable)
        if not _follow(rows):
            rows = numpy.ascontiguousarray(rows)
        stride = rows.strides[0] if len(rows) > 1 else 0
        check(
            library.kyoho_pair_set(self._handle, name.encode(), number_type, rows.ctypes.data, stride, len(rows)),
        )
        if name.startswith("i."):
            self._sinks = len(rows)

    def _set_on_device(self, variable: _Variable, name: str, array: Any, device: Device) -> None:
        dtype, limbs = _RESULTS[variable.type]
        of_row = _shape_of_row(variable, limbs)
        if numpy.dtype(device.type) != dtype:
            given, allowed = numpy.dtype(device.type).name, numpy.dtype(dtype).name
            raise Error(f"{name} has numbers of type {given} on its device; allowed: {allowed}")
        if tuple(device.shape[1:]) != of_row or not device.shape:
            raise Error(f"{name} has the shape {device.shape}; allowed: (n, *{of_row})", Result.BAD_COUNT)
        size = numpy.dtype(dtype).itemsize
        packed = [size * int(numpy.prod(device.shape[place + 1 :])) for place in range(len(device.shape))]
        strides = device.strides or tuple(packed)
        if tuple(strides[1:]) != tuple(packed[1:]) or (device.shape[0] > 1 and strides[0] < packed[0]):
            allowed = "rows that do not overlap, of numbers that follow one another"
            raise Error(f"{name} has the strides {strides}; allowed: {allowed}")
        cuda = structures.Cuda(device.device, 0, device.stream)
        check(
            library.kyoho_pair_set_on_device(
                self._handle,
                name.encode(),
                variable.type,
                device.address,
                strides[0] if device.shape[0] > 1 else 0,
                device.shape[0],
                byref(cuda),
            )
        )
        # Each run reads it.
        self._on_device[name] = (array, device.owner)
        if name.startswith("i."):
            self._sinks = device.shape[0]

    def _set_parameter(self, variable: _Variable, value: Any) -> None:
        refuse_units_and_masks(variable.name, value)
        values = [value] if is_single(value) else numpy.asarray(value, object).ravel()
        limbs = numpy.array([limbs_of(variable.name, number) for number in values], numpy.float64).reshape(-1, 2)
        check(
            library.kyoho_pair_set_parameter(self._handle, variable.name.encode(), _DD, limbs.ctypes.data, len(limbs))
        )

    def _run_lists(
        self,
        call: str,
        sink_offsets: Any,
        source_offsets: Any,
        addresses: Any,
        first_addresses: Any,
        source_counts: Any,
        sinks: int,
        sources: int,
    ) -> int:
        given = {
            "sink_offsets": sink_offsets,
            "source_offsets": source_offsets,
            "addresses": addresses,
            "first_addresses": first_addresses,
            "source_counts": source_counts,
        }
        for name, array in given.items():
            if array is not None and device_array(name, array) is not None:
                raise Error(f"{name} is on a CUDA device; allowed: arrays of numpy")
        lists = structures.Lists(sizeof(structures.Lists))
        form = source_offsets if source_offsets is not None else first_addresses
        if form is None:
            raise Error("addresses or source_counts are given alone; allowed: with source_offsets or first_addresses")
        if source_offsets is not None:
            source_offsets = readable("source_offsets", source_offsets, INT64)
            count = max(source_offsets.size - 1, 0)
        else:
            first_addresses = integers("first_addresses", first_addresses)
            count = len(first_addresses)
        if sink_offsets is None:
            sink_offsets = numpy.arange(count + 1, dtype=numpy.int32)
        offsets, ranges, entries = Arrays(lists, count + 1), Arrays(lists, count), Arrays(lists)
        offsets.integers("sink_offsets", sink_offsets)
        if source_offsets is not None:
            offsets.long_integers("source_offsets", source_offsets)
        for name, array in (("first_addresses", first_addresses), ("source_counts", source_counts)):
            if array is not None:
                ranges.integers(name, array)
        if addresses is not None:
            entries.integers("addresses", addresses)
            last = int(source_offsets[-1]) if source_offsets is not None and source_offsets.size else 0
            if last > entries.rows_there():
                raise Error(
                    f"source_offsets[{count}] is {last}; allowed: up to {entries.rows_there()}, as there are addresses",
                    Result.BAD_COUNT,
                )
        elif source_offsets is not None and first_addresses is None and source_counts is None and source_offsets.any():
            raise Error("source_offsets is given without addresses; allowed: both, or lists without sources")
        lists.group_count = count
        of_lists = int(numpy.asarray(sink_offsets)[-1])
        if sinks not in (-1, of_lists):
            raise Error(f"sinks is {sinks}; allowed: {of_lists}, as the lists have", Result.BAD_COUNT)
        check(getattr(library, f"kyoho_pair_{call}_lists")(self._handle, byref(lists), sources))
        return of_lists

    def _result(self, variable: _Variable, count: int) -> Any:
        dtype, limbs = _RESULTS[variable.type]
        shape = (count, *_shape_of_row(variable, limbs))
        name = variable.name.encode()
        for field, (like, _) in self._on_device.items():
            if field.startswith("i."):
                made = empty_like(like, field, shape, numpy.dtype(dtype).name)
                device = device_array(variable.name, made)
                if device is not None:
                    cuda = structures.Cuda(device.device, 0, device.stream)
                    function = library.kyoho_pair_result_on_device
                    check(function(self._handle, name, variable.type, device.address, 0, count, byref(cuda)))
                return made
        array: NDArray[Any] = numpy.empty(shape, dtype)
        check(library.kyoho_pair_result(self._handle, name, variable.type, array.ctypes.data, 0, count))
        return array

    def _text(self, call: Any) -> str:
        needed = c_int64()
        result = call(self._own(), None, 0, byref(needed))
        if result != Result.BUFFER_TOO_SMALL:
            check(result)
        room = create_string_buffer(needed.value)
        check(call(self._handle, room, needed.value, None))
        return room.value.decode()


def _shape_of_row(variable: _Variable, limbs: int) -> tuple[int, ...]:
    return ((variable.width,) if variable.width > 1 else ()) + ((limbs,) if limbs > 1 else ())


def _converted(name: str, rows: NDArray[Any], variable: _Variable) -> tuple[NDArray[Any], int]:
    """An array of another type in one that the library takes."""
    if variable.type not in (_I32, _U32) or rows.dtype.kind == "f":
        # The library rounds them to the type of the field.
        return in_limbs(rows), _DD
    dtype = numpy.dtype(numpy.int32 if variable.type == _I32 else numpy.uint32)
    limits = numpy.iinfo(dtype)
    if rows.size > 0 and (rows.min() < limits.min or rows.max() > limits.max):
        value = rows.min() if rows.min() < limits.min else rows.max()
        raise Error(f"{name} has the number {value}; allowed: integers of {_NAMES[variable.type]}")
    return rows.astype(dtype), variable.type


def _follow(rows: NDArray[Any]) -> bool:
    """Whether the numbers of a row follow one another, and rows do not overlap."""
    size = rows.itemsize
    for length, stride in zip(reversed(rows.shape[1:]), reversed(rows.strides[1:])):
        if length > 1 and stride != size:
            return False
        size *= length
    return len(rows) < 2 or abs(rows.strides[0]) >= size
