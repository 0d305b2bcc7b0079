"""The one way of numbers into the package: what they may be, and what is said of others."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy

from ._errors import Error, Result

FLOAT64 = numpy.dtype(numpy.float64)
INT32 = numpy.dtype(numpy.int32)
INT64 = numpy.dtype(numpy.int64)
_BOOLS = (bool, numpy.bool_)
_MOST = float(numpy.finfo(FLOAT64).max)


def number(name: str, value: Any, *, least: float | None = None, above: float | None = None) -> float:
    """A finite real number of any type that is one, also as an array of numpy without axes."""
    found: float = value if type(value) is float else float(_single(name, value, "fiu", "a number"))
    if least is not None and not least <= found < numpy.inf:
        raise _out_of_range(name, found, f"{least} or more")
    if above is not None and not above < found < numpy.inf:
        raise _out_of_range(name, found, f"numbers above {above}")
    if not -numpy.inf < found < numpy.inf:
        raise _out_of_range(name, found, "finite numbers")
    return found


def number_or_none(name: str, value: Any, *, least: float | None = None, above: float | None = None) -> float | None:
    """As :func:`number`; None stays."""
    return None if value is None else number(name, value, least=least, above=above)


def integer(name: str, value: Any, *, least: int = -(2**31), most: int = 2**31 - 1, allowed: str = "an integer") -> int:
    """An integer of any type that is one, also as an array of numpy without axes."""
    if type(value) is not int:
        value = operator.index(_single(name, value, "iu", allowed))
    if not least <= value <= most:
        raise Error(f"{name} is {value}; allowed: {least} to {most}", Result.BAD_COUNT)
    found: int = value
    return found


def integer_or_none(name: str, value: Any, *, least: int = -(2**31), most: int = 2**31 - 1) -> int | None:
    """As :func:`integer`; None stays."""
    return None if value is None else integer(name, value, least=least, most=most)


def text_or_none(name: str, value: Any, allowed: str) -> bytes | None:
    """A text for the library; None stays."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and "\0" not in value:
            return value.encode()
    except UnicodeEncodeError:
        # Halves of characters have no bytes.
        pass
    raise Error(f"{name} is {value!r}; allowed: {allowed}")


def function_or_none(name: str, value: Any) -> Any:
    """A function; None stays."""
    if value is None or callable(value):
        return value
    raise Error(f"{name} is {value!r}; allowed: a function")


def is_single(value: Any) -> bool:
    """Whether something is one number, or nothing that has elements."""
    axes = getattr(value, "ndim", None)
    if isinstance(axes, int):
        return axes == 0
    has_elements = any(hasattr(value, name) for name in ("__len__", "__iter__", "__cuda_array_interface__"))
    return not has_elements or isinstance(value, str)


def readable(name: str, array: Any, dtype: Any, kinds: str = "") -> Any:
    """An array of numpy of the wanted type with the numbers of an object."""
    given = plain(name, array)
    if given.dtype.kind not in (kinds or ("iu" if dtype.kind == "i" else "fiu")) and given.size > 0:
        allowed = "integers" if dtype.kind == "i" else "real numbers"
        raise Error(f"{name} is an array of {given.dtype}; allowed: {allowed}")
    if dtype.kind in "iu" and given.dtype != dtype and given.size > 0:
        limits = numpy.iinfo(dtype)
        least, most = int(given.min()), int(given.max())
        if least < limits.min or most > limits.max:
            value = least if least < limits.min else most
            allowed = f"integers of {8 * dtype.itemsize} bits"
            raise Error(f"{name} has the number {value}; allowed: {allowed}", Result.BAD_ADDRESS)
    return given.astype(dtype, copy=False)


def real(name: str, array: Any) -> Any:
    """An array of numpy with the real numbers of an object, of the type that they have."""
    given = plain(name, array)
    return readable(name, given, given.dtype, "fiu")


def plain(name: str, array: Any) -> Any:
    """An array of numpy with what an object has, unless that has units or masks."""
    refuse_units_and_masks(name, array)
    try:
        return numpy.asarray(array)
    except Exception as error:
        raise Error(f"{name} is no array of numbers: {error}") from error


def refuse_units_and_masks(name: str, value: Any) -> None:
    """Refuses what would be lost in an array of numbers."""
    if type(value) is numpy.ndarray:
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            if type(item) not in (float, int):
                refuse_units_and_masks(name, item)
        return
    if hasattr(value, "unit") or hasattr(value, "units"):
        allowed = "plain numbers; kyoho.gravity takes quantities, and so does kyoho.Cluster(units='pc Msun Myr')"
        raise Error(f"{name} has a unit; allowed: {allowed}")
    mask = getattr(value, "mask", None)
    if mask is not None and not callable(mask):
        raise Error(f"{name} has a mask; allowed: plain arrays")


def limbs_of(name: str, value: Any) -> tuple[float, float]:
    """A number in two doubles, with all digits that these have. It may also be a text."""
    exact = _exact(name, value)
    try:
        high = float(exact)
    except OverflowError:
        raise Error(f"{name} is {value!r}; allowed: numbers up to {_MOST}", Result.OUT_OF_RANGE) from None
    return high, float(exact - Fraction(high)) if isinstance(exact, Fraction) else 0.0


def in_limbs(array: Any) -> Any:
    """The real numbers of an array in two doubles, the nearest one and the rest, along a last axis."""
    # Long doubles have all 64 bits of integers.
    long = array.astype(numpy.longdouble)
    high = long.astype(numpy.float64)
    # Infinities have no rest.
    low = numpy.subtract(long, high, out=numpy.zeros_like(long), where=numpy.isfinite(high))
    return numpy.stack([high, low.astype(numpy.float64)], axis=-1)


def _exact(name: str, value: Any) -> Fraction | float:
    """A number with all its digits; infinities and what is no number stay floats."""
    refuse_units_and_masks(name, value)
    if isinstance(value, numpy.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, _BOOLS):
        try:
            if isinstance(value, numpy.longdouble):
                return Fraction(*value.as_integer_ratio())
            return Fraction(value.item() if isinstance(value, numpy.generic) else value)
        except (ValueError, OverflowError, ZeroDivisionError):
            try:
                return float(value)
            except (TypeError, ValueError):
                pass
        except TypeError:
            pass
    raise Error(f"{name} is {value!r}; allowed: real numbers")


def _single(name: str, value: Any, kinds: str, allowed: str) -> Any:
    """A number that numpy, Python or another library has, which is of one of these kinds of numpy."""
    refuse_units_and_masks(name, value)
    wrong = f"{name} is {value!r}; allowed: {allowed}"
    if hasattr(value, "__array__") and not hasattr(value, "__cuda_array_interface__"):
        value = plain(name, value)
        if value.ndim != 0 or value.dtype.kind not in kinds:
            raise Error(wrong)
        return value[()]
    # Text has no number, though Python makes one of it, and arrays have more than one.
    convert = "__index__" if "f" not in kinds else "__float__"
    is_one = is_single(value) and (hasattr(value, convert) or hasattr(value, "__index__"))
    if isinstance(value, (str, bytes, *_BOOLS)) or not is_one:
        raise Error(wrong)
    try:
        return operator.index(value) if convert == "__index__" else float(value)
    except Exception as error:
        raise Error(wrong) from error


def _out_of_range(name: str, value: float, allowed: str) -> Error:
    is_finite = -numpy.inf < value < numpy.inf
    return Error(f"{name} is {value}; allowed: {allowed}", Result.BAD_OPTION if is_finite else Result.NOT_FINITE)
