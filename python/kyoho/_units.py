"""Systems of units by the names of their units, and quantities of astropy."""

from __future__ import annotations

import re
from ctypes import byref, c_double
from typing import Any

from ._errors import Error
from ._library import check, library
from ._numbers import text_or_none

# astropy's names of units that have others in the library.
_NAMES = {"ly": "lyr", "day": "d"}


def gravitational_constant(units: str) -> float:
    """The gravitational constant in a system of units: ``"SI"``, or a length, a mass and a time or a
    speed, such as ``"pc Msun Myr"``, ``"AU Msun yr"`` or ``"kpc 1e10Msun km/s"``.

    >>> import kyoho
    >>> round(kyoho.gravitational_constant("kpc Msun km/s"), 12)
    4.300917e-06
    """
    found = c_double()
    text = text_or_none("units", "\0" if units is None else units, "a text such as 'pc Msun Myr'")
    check(library.kyoho_gravitational_constant(text, byref(found)))
    return found.value


def has_unit(value: Any) -> bool:
    """Whether something is a quantity of astropy, or a sequence of some."""
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and has_unit(value[0])
    return hasattr(value, "unit") and hasattr(value, "to_value")


def quantity(name: str, value: Any) -> Any:
    """What has a unit as a quantity of astropy."""
    from astropy.units import Quantity

    try:
        return value if isinstance(value, Quantity) else Quantity(value)
    except Exception as error:
        raise Error(f"{name} is no quantity: {error}") from error


def in_unit(name: str, value: Any, unit: Any) -> Any:
    """The numbers of a quantity in a unit, or those of zero, which needs none."""
    if not has_unit(value):
        if isinstance(value, (int, float)) and value == 0:
            return value
        raise Error(f"{name} has no unit; allowed: quantities such as in {unit}, as others have units")
    given = quantity(name, value)
    try:
        return given.to_value(unit)
    except Exception:
        raise Error(f"{name} is in {given.unit}; allowed: units such as {unit}") from None


class Units:
    """A system of units, whose quantities of astropy become numbers and numbers quantities."""

    def __init__(self, text: str) -> None:
        self.gravity = gravitational_constant(text)
        self.words = ["m", "kg", "s"] if text.strip() == "SI" else text.split()
        self.known: dict[str, Any] = {}

    def unit(self, kind: str) -> Any:
        """The unit of a kind of quantity."""
        if not self.known:
            length, mass, last = (unit_of(word) for word in self.words)
            is_speed = "/" in self.words[2]
            time, speed = (length / last, last) if is_speed else (last, length / last)
            self.known = {"length": length, "mass": mass, "time": time, "speed": speed, "energy": mass * speed**2}
            self.known.update(acceleration=speed**2 / length, potential=speed**2)
            # What a time is given in where the system has none.
            self.known["clock"] = unit_of("Gyr") if is_speed else time
        return self.known[kind]

    def number(self, name: str, value: Any, kind: str) -> Any:
        """What is no quantity stays."""
        return in_unit(name, value, self.unit(kind)) if has_unit(value) else value

    def any_number(self, name: str, value: Any, powers: tuple[int, int, int] | None = None) -> Any:
        """The numbers of a quantity of any kind that lengths, masses and times make, or that these powers of
        them do."""
        if not has_unit(value):
            return value
        given = quantity(name, value)
        unit = unit_of("")
        of = {"m": "length", "kg": "mass", "s": "time"}
        found = given.unit.decompose()
        for base, power in zip(found.bases, found.powers):
            if base.to_string() not in of:
                raise Error(f"{name} is in {given.unit}; allowed: units of lengths, masses and times")
            unit = unit * self.unit(of[base.to_string()]) ** power
        if powers is not None:
            wanted = unit_of("")
            for kind, power in zip(of.values(), powers):
                wanted = wanted * self.unit(kind) ** power
            if not given.unit.is_equivalent(wanted):
                allowed = f"units such as {wanted}" if any(powers) else "a number without a unit"
                raise Error(f"{name} is in {given.unit}; allowed: {allowed}")
        return given.to_value(unit)

    def quantity(self, value: Any, kind: str) -> Any:
        """A number or an array with its unit."""
        found = value * self.unit(kind)
        return found.to(self.unit("clock")) if kind == "time" else found


def unit_of(word: str) -> Any:
    """The unit of astropy for a word of a system of units."""
    from astropy import units

    product = units.dimensionless_unscaled
    for place, part in enumerate(word.split("/") if word else ()):
        factor, name = re.fullmatch(r"([-+.\d]*(?:[eE][-+]?\d+)?)([A-Za-z]+)", part).groups()  # type: ignore[union-attr]
        unit = units.Unit(_NAMES.get(name, name))
        unit = float(factor) * unit if factor else unit
        product = product / unit if place else unit
    return units.Unit(product)
