"""Systems of few bodies, with hard binaries and close encounters."""

from __future__ import annotations

import ctypes
import dataclasses
from ctypes import byref
from typing import Any

import numpy

from . import _structures as structures
from ._arrays import integers, numbers
from ._errors import Error, Result, chosen
from ._library import check, library
from ._numbers import integer, integer_or_none, number, number_or_none, text_or_none
from ._system import DEVICES

# The words of relativistic terms.
_TERMS = {1: 1, 2: 2, 2.5: 4, 3.5: 8}


@dataclasses.dataclass
class FewBodies:
    """Where systems of few bodies ended; arrays of systems and of their bodies.

    ``ends`` has a word for each system: 'time', 'escape', 'exchange', 'collision', 'merger' (at the
    innermost stable orbit), 'steps' (as many were made as were allowed) or 'no step' (two bodies
    came too near). ``touching`` has the two bodies of a collision or a merger, from 0 in their
    system, else -1. ``companions`` has for each body the one
    that it is in a binary with, from 0 in its system, else -1; ``semi_major_axes`` and
    ``eccentricities`` are those of the binary.
    """

    positions: Any
    velocities: Any
    ends: Any
    times: Any
    touching: Any
    companions: Any
    semi_major_axes: Any
    eccentricities: Any


def few_body(
    positions: Any,
    velocities: Any,
    masses: Any,
    time: Any,
    *,
    offsets: Any = None,
    radii: Any = None,
    G: Any = 1.0,
    tolerance: Any = 1e-14,
    speed_of_light: Any = None,
    terms: Any = (1, 2, 2.5),
    collisions: bool = False,
    escapes: Any = None,
    max_steps: Any = 100_000_000,
    threads: Any = None,
    backend: str | None = None,
    devices: Any = None,
) -> FewBodies:
    """Evolves systems of up to 100 bodies each, without softening, however near bodies come: by
    algorithmic regularisation and extrapolation, and two bodies alone by Kepler's solution.

    Parameters
    ----------
    positions, velocities : (n, 3)
        Those of all bodies of all systems; they are not changed.
    masses : (n,)
        0 or more.
    time : float
        How long the systems evolve.
    offsets : (systems + 1,), optional
        The first body of each system and, behind the last, the number of bodies. Without it all
        bodies are one system.
    radii : (n,), optional
        For collisions.
    G : float
        The gravitational constant.
    tolerance : float
        The largest relative error of a step, 1e-14 to 1e-3.
    speed_of_light : float, optional
        Gives pairs the relativistic ``terms``, of 1, 2, 2.5 and 3.5, in harmonic coordinates. A
        system ends where two bodies are as near as 6 G (m1 + m2) / c^2.
    collisions : bool
        Whether a system ends where two bodies are as near as the sum of their radii, unless they
        move apart from the start on.
    escapes : float, optional
        A system ends where a part is unbound, moves away, and is farther from the rest than this
        many times the extent of both; or where all parts fly apart, this many times farther from one
        another than G (m1 + m2) / v^2.
    max_steps : int
        The most steps of a system; one that needs more ends where it is.
    threads : int, optional
        The number of threads, which changes no bit of the results.
    backend, devices : optional
        As of ``System``. GPUs take systems of 2 to 16 bodies, with the bits of CPUs; unless the
        backend is given, where 16384 systems or more have one number of bodies.

    >>> import kyoho
    >>> pair = [[0, 0, 0], [1, 0, 0]], [[0, -0.5, 0], [0, 0.5, 0]], [0.5, 0.5]
    >>> kyoho.few_body(*pair, time=1.0).semi_major_axes.round(12)
    array([1., 1.])
    """
    places, speeds = (
        numpy.array(numbers(name, array), order="C")
        for name, array in (("positions", positions), ("velocities", velocities))
    )
    count = len(places) if places.ndim == 2 else 0
    for name, array in (("positions", places), ("velocities", speeds)):
        if array.shape != (count, 3):
            allowed = "(n, 3)" if name == "positions" else f"({count}, 3)"
            raise Error(f"{name} has the shape {array.shape}; allowed: {allowed}", Result.BAD_COUNT)
    weights = _column("masses", masses, count)
    sizes = None if radii is None else _column("radii", radii, count)
    firsts = numpy.ascontiguousarray(integers("offsets", [0, count] if offsets is None else offsets))
    if len(firsts) == 0 or firsts[-1] != count:
        last = firsts[-1] if len(firsts) else "missing"
        raise Error(f"the last of offsets is {last}; allowed: {count}, the number of bodies", Result.BAD_COUNT)
    systems = len(firsts) - 1

    given = structures.FewBodyOptions(ctypes.sizeof(structures.FewBodyOptions))
    given.threads = integer_or_none("threads", threads, least=1) or 0
    given.time = number("time", time, least=0)
    given.gravity = number("G", G, above=0)
    given.tolerance = number("tolerance", tolerance, above=0)
    given.max_steps = integer("max_steps", max_steps, least=1, most=2**63 - 1)
    given.speed_of_light = number_or_none("speed_of_light", speed_of_light, above=0) or 0.0
    given.terms = _bits(terms)
    given.stops_at_collision = bool(collisions)
    given.escape_distance = number_or_none("escapes", escapes, above=0) or 0.0
    given.devices = text_or_none("devices", devices, DEVICES)
    given.backend = chosen("backend", backend, structures.BACKENDS)

    bodies = structures.FewBodySystems(ctypes.sizeof(structures.FewBodySystems), systems)
    for name, array in (("offsets", firsts), ("masses", weights), ("positions", places), ("velocities", speeds)):
        setattr(bodies, name, array.ctypes.data)
    if sizes is not None:
        bodies.radii = sizes.ctypes.data
    outcomes = structures.FewBodyOutcomes(ctypes.sizeof(structures.FewBodyOutcomes))
    made: dict[str, Any] = {
        name: numpy.zeros(number_of, numpy.int32 if name in _INTEGERS else numpy.float64)
        for name, number_of in (
            ("ends", systems),
            ("times", systems),
            ("first_touching", systems),
            ("second_touching", systems),
            ("companions", count),
            ("semi_major_axes", count),
            ("eccentricities", count),
        )
    }
    for name, array in made.items():
        setattr(outcomes, name, array.ctypes.data)
    check(library.kyoho_few_body_evolve(byref(given), byref(bodies), byref(outcomes)))
    words = {value: word for word, value in structures.FEW_BODY_ENDS.items()}
    ends = numpy.array([words[end] for end in made["ends"].tolist()], dtype=object)
    return FewBodies(
        places,
        speeds,
        ends,
        made["times"],
        numpy.stack((made["first_touching"], made["second_touching"]), axis=1),
        made["companions"],
        made["semi_major_axes"],
        made["eccentricities"],
    )


_INTEGERS = ("ends", "first_touching", "second_touching", "companions")


def _column(name: str, array: Any, count: int) -> Any:
    found = numpy.ascontiguousarray(numbers(name, array))
    if found.shape != (count,):
        raise Error(f"{name} has the shape {found.shape}; allowed: ({count},)", Result.BAD_COUNT)
    return found


def _bits(terms: Any) -> int:
    bits = 0
    for term in numpy.atleast_1d(numbers("terms", terms)).ravel().tolist():
        if term not in _TERMS:
            raise Error(f"terms has {term:g}; allowed: 1, 2, 2.5, 3.5")
        bits |= _TERMS[term]
    if bits == 0:
        raise Error("terms is empty; allowed: some of 1, 2, 2.5, 3.5")
    return bits
