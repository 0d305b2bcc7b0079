"""Sources that are at the places of sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[numpy.float64]


def masses_at(places: Numbers, sources: Numbers, masses: Numbers) -> Numbers:
    """The mass of the sources at each place itself."""
    wanted, there = _words(places), _words(sources)
    found = numpy.zeros(len(places))
    candidates = numpy.flatnonzero(numpy.isin(wanted, there))
    if candidates.size:
        mass_at: dict[tuple[float, ...], float] = {}
        for number in numpy.flatnonzero(numpy.isin(there, wanted)):
            place = tuple(sources[number])
            mass_at[place] = mass_at.get(place, 0.0) + masses[number]
        for number in candidates:
            found[number] = mass_at.get(tuple(places[number]), 0.0)
    return found


def _words(rows: Numbers) -> Any:
    """A word for each row, the same for equal rows."""
    # Both zeros are equal.
    bits = numpy.ascontiguousarray(rows + 0.0).view(numpy.uint64)
    factors = numpy.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], numpy.uint64)
    return (bits * factors).sum(axis=1, dtype=numpy.uint64)
