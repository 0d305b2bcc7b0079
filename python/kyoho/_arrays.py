"""The way of arrays into the structures of the library."""

from __future__ import annotations

from ctypes import Structure, addressof, c_char
from typing import TYPE_CHECKING, Any

import numpy

from ._devices import Device, device_array
from ._errors import Error, Result
from ._numbers import FLOAT64, INT32, INT64, in_limbs, readable, real, refuse_units_and_masks
from ._structures import CUDA, DD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NDARRAY = numpy.ndarray
# Arrays are buffers; the types of older numpy do not say so.
_BYTE: Callable[[Any], c_char] = c_char.from_buffer
_HOST = "memory of the host"


class Arrays:
    """Puts arrays into one structure of the library. All have one element or row for each of
    ``count`` bodies, and all are in one memory.

    They are handed over as they are where they have the library's type and their rows can be
    reached by a stride. Otherwise those that are only read are copied.
    """

    # None: no array yet; "memory of the host"; or the number of the CUDA device.
    place: str | int | None = None
    first = ""
    stream: int | None = None
    # An array on a device, of which results take their kind.
    device_array: Any = None
    # The beginning of names of arrays in errors, such as "out.", and the caller's words for some.
    label = ""
    words: Mapping[str, str] = {"softening2_each": "softening2"}
    # Copies and owners of memory, which have to stay until the call is over.
    kept: tuple[object, ...] = ()

    def __init__(self, structure: Structure, count: int | None = None) -> None:
        self.structure = structure
        self.count = count

    def rows(self, field: str, array: Any) -> None:
        """Puts an array that is read, of shape (count, 3)."""
        if not self._as_it_is(field, array, FLOAT64, 3):
            self._put(field, array, FLOAT64, 3)

    def elements(self, field: str, array: Any) -> None:
        """Puts an array that is read, of shape (count,)."""
        if not self._as_it_is(field, array, FLOAT64, 0):
            self._put(field, array, FLOAT64, 0)

    def integers(self, field: str, array: Any) -> None:
        """Puts an array of integers that is read, of shape (count,)."""
        if not self._as_it_is(field, array, INT32, 0):
            self._put(field, array, INT32, 0)

    def long_integers(self, field: str, array: Any) -> None:
        """Puts an array of 64-bit integers that is read, of shape (count,)."""
        self._put(field, array, INT64, 0)

    def results(self, field: str, array: Any, columns: int = 0, integers: bool = False) -> None:
        """Puts an array that is written, which is never a copy."""
        dtype = INT32 if integers else FLOAT64
        if not self._as_it_is(field, array, dtype, columns):
            self._put(field, array, dtype, columns, is_written=True)

    def long_results(self, field: str, array: Any) -> None:
        """Puts an array of 64-bit integers that is written, of shape (count,)."""
        self._put(field, array, INT64, 0, is_written=True)

    def _name(self, field: str) -> str:
        """The caller's name of a field."""
        return self.label + self.words.get(field, field)

    def _as_it_is(self, field: str, array: Any, dtype: Any, columns: int) -> bool:
        """Puts an array whose numbers follow one another in the host's memory, and may be written.
        It is the short way for most arrays; the others have to be looked at.
        """
        if type(array) is not _NDARRAY or array.dtype is not dtype:
            return False
        shape = array.shape
        if (len(shape) != 2 or shape[1] != columns) if columns else len(shape) != 1:
            return False
        if self.place is None:
            self.place = _HOST
            self.first = self._name(field)
            if self.count is None:
                self.count = shape[0]
        if shape[0] != self.count or self.place is not _HOST:
            return False
        try:
            setattr(self.structure, field, addressof(_BYTE(array)))
        except (TypeError, ValueError, BufferError):
            return False
        return True

    def _put(self, field: str, array: Any, dtype: Any, columns: int, is_written: bool = False) -> None:
        name = self._name(field)
        device = None if type(array) is _NDARRAY else device_array(name, array)
        if device is not None:
            self._settle(name, device.device)
            address, strides, shape = device.address, device.strides, device.shape
            _check_type(name, device, dtype, is_written)
            self._settle_stream(name, device.stream)
            if self.device_array is None:
                self.device_array = array
            self.kept += (device.owner,)
        else:
            array = _writable(name, array, dtype) if is_written else readable(name, array, dtype)
            self._settle(name, _HOST)
            shape = array.shape
        if self.count is None and len(shape) == (2 if columns else 1):
            self.count = shape[0]
        wanted = (self.count, columns) if columns else (self.count,)
        if tuple(shape) != wanted:
            of = "n" if self.count is None else self.count
            allowed = f"({of}, {columns})" if columns else f"({of},)"
            raise Error(f"{name} has the shape {tuple(shape)}; allowed: {allowed}", Result.BAD_COUNT)
        if device is None:
            if not is_written:
                array = _with_rows(array)
            elif not _has_rows(array):
                raise _bad_strides(name, array.strides)
            self.kept += (array,)
            address, strides = array.ctypes.data, array.strides
        elif not _are_rows(shape, strides, dtype.itemsize):
            raise _bad_strides(name, strides)
        setattr(self.structure, field, address)
        if strides is not None and shape[0] > 1:
            setattr(self.structure, f"{field}_stride", strides[0])

    def _settle(self, name: str, place: str | int) -> None:
        if self.place is None:
            self.place = place
            self.first = name
        elif self.place != place:
            raise Error(f"{name} is in {_named(place)}; allowed: {_named(self.place)}, as {self.first}")

    def _settle_stream(self, name: str, stream: int | None) -> None:
        if self.stream is None:
            self.stream = stream
        elif stream is not None and stream != self.stream:
            raise Error(f"{name} belongs to the stream {stream}; allowed: {self.stream}, as {self.first}")

    def rows_there(self) -> int:
        """The number of rows of all arrays."""
        return 0 if self.count is None else self.count

    def finish(self) -> None:
        """Tells the structure where the arrays are."""
        if type(self.place) is int:
            self.structure.memory = CUDA
            self.structure.cuda.device = self.place
            self.structure.cuda.stream = self.stream


class LimbArrays(Arrays):
    """Puts arrays of numbers of two doubles, the high and the low limb, along a last axis of 2. What
    is read may also be plain numbers.
    """

    def __init__(self, structure: Structure, count: int | None = None) -> None:
        super().__init__(structure, count)
        structure.number_type = DD

    def rows(self, field: str, array: Any) -> None:
        self._put(field, self._in_limbs(field, array, 3), FLOAT64, 6)

    def elements(self, field: str, array: Any) -> None:
        self._put(field, self._in_limbs(field, array, 0), FLOAT64, 2)

    def results(self, field: str, array: Any, columns: int = 0, integers: bool = False) -> None:
        if integers:
            super().results(field, array, columns, integers)
            return
        name = self._name(field)
        array = _writable(name, array, FLOAT64)
        shape = (3, 2) if columns else (2,)
        if array.ndim != 1 + len(shape) or array.shape[1:] != shape:
            allowed = f"(n, {', '.join(map(str, shape))}), as other arrays have two limbs"
            raise Error(f"{name} has the shape {array.shape}; allowed: {allowed}", Result.BAD_COUNT)
        if not array.flags.c_contiguous:
            raise _bad_strides(name, array.strides)
        self._put(field, array.reshape(len(array), 2 * columns or 2), FLOAT64, 2 * columns or 2, is_written=True)

    def _in_limbs(self, field: str, array: Any, columns: int) -> Any:
        """Numbers of two doubles as rows of doubles."""
        name = self._name(field)
        if type(array) is not _NDARRAY and device_array(name, array) is not None:
            raise Error(f"{name} is on a CUDA device; allowed: arrays of numpy in precision 'quad'")
        given = real(name, array)
        width = 2 * columns or 2
        wanted = 2 if columns else 1
        given = in_limbs(given) if given.ndim == wanted else given.astype(FLOAT64, copy=False)
        if given.ndim != wanted + 1 or given.shape[-1] != 2 or (columns and given.shape[1] != columns):
            allowed = f"(n, {columns}), (n, {columns}, 2)" if columns else "(n,), (n, 2)"
            raise Error(f"{name} has the shape {numpy.shape(array)}; allowed: {allowed}", Result.BAD_COUNT)
        return numpy.ascontiguousarray(given).reshape(len(given), width)


def _bad_strides(name: str, strides: Any) -> Error:
    allowed = "rows that do not overlap, of numbers that follow one another"
    return Error(f"{name} has the strides {strides}; allowed: {allowed}")


def _named(place: str | int) -> str:
    return f"memory of CUDA device {place}" if isinstance(place, int) else place


def _check_type(name: str, device: Device, dtype: Any, is_written: bool) -> None:
    if numpy.dtype(device.type) != dtype:
        raise Error(f"{name} has numbers of type {numpy.dtype(device.type).name} on its device; allowed: {dtype.name}")
    if is_written and device.read_only:
        raise Error(f"{name} may only be read; allowed: an array that may be written")


def numbers(name: str, array: Any) -> Any:
    """An array of numpy with the real numbers of an object."""
    return readable(name, array, FLOAT64)


def integers(name: str, array: Any, dtype: Any = INT32) -> Any:
    """An array of numpy with the integers of an object, which have 32 bits or as many as are wanted."""
    found = readable(name, array, dtype)
    if found.ndim != 1:
        raise Error(f"{name} has the shape {found.shape}; allowed: (n,)", Result.BAD_COUNT)
    return found


def _writable(name: str, array: Any, dtype: Any) -> Any:
    refuse_units_and_masks(name, array)
    if not isinstance(array, _NDARRAY):
        raise Error(f"{name} is a {type(array).__name__}; allowed: arrays of numpy, or on a CUDA device")
    if array.dtype != dtype:
        raise Error(f"{name} is an array of {array.dtype}; allowed: {dtype.name}")
    if not array.flags.writeable:
        raise Error(f"{name} may only be read; allowed: an array that may be written")
    return array


def _are_rows(shape: Any, strides: Any, size: int) -> bool:
    """Whether the library reaches all numbers with a stride from row to row."""
    if strides is None:
        return True
    if len(shape) == 2:
        if strides[1] != size and shape[0] > 0:
            return False
        size *= shape[1]
    return bool(shape[0] < 2 or abs(strides[0]) >= size)


def _has_rows(array: Any) -> bool:
    return _are_rows(array.shape, array.strides, array.itemsize)


def _with_rows(array: Any) -> Any:
    return array if _has_rows(array) else numpy.ascontiguousarray(array)
