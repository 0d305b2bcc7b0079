"""Models of star clusters, which :class:`kyoho.Cluster` evolves.

>>> import kyoho
>>> stars = kyoho.model.king(1000, w0=7, seed=3)
>>> cluster = kyoho.Cluster(eps=0.01)
>>> _ = cluster.add(*stars)
>>> round(cluster.energies.total, 2)    # eps makes it a little less than 1/4
-0.25

With ``units`` a model has any size, and masses of stars by Kroupa's law, and binaries:

>>> stars = kyoho.model.plummer(
...     500, radius=0.8, units="pc Msun Myr", seed=3,
...     masses=kyoho.model.kroupa(0.1, 50), binaries=kyoho.model.binaries(0.3, least=5e-5, most=5e-4),
... )
>>> bool(0.1 < stars.masses.min() < stars.masses.max() < 50)
True
"""

from __future__ import annotations

from ctypes import POINTER, c_double
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ._errors import Error, Result
from ._library import check, library
from ._numbers import FLOAT64, integer, number, readable
from ._units import Units, has_unit, in_unit, unit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Part",
    "Stars",
    "binaries",
    "cold_collapse",
    "hernquist",
    "king",
    "kroupa",
    "plummer",
    "two_clusters",
    "uniform_sphere",
]


_NUMBERS = POINTER(c_double)
_KINDS = {"positions": "length", "masses": "mass", "velocities": "speed"}


class Stars(NamedTuple):
    """The bodies of a model, in the order in which ``cluster.add(*stars)`` takes them."""

    positions: NDArray[numpy.float64]
    """Of shape ``(n, 3)``."""
    masses: NDArray[numpy.float64]
    """Of shape ``(n,)``."""
    velocities: NDArray[numpy.float64]
    """Of shape ``(n, 3)``."""


class Part(NamedTuple):
    """What :func:`kroupa` and :func:`binaries` return for the models that take it."""

    name: str
    numbers: dict[str, Any]


def kroupa(least: Any = 0.08, most: Any = 100.0) -> Part:
    """Masses by the law of Kroupa (2001, MNRAS 322, 231) between two limits in solar masses, 0.01 to
    1000, for the argument ``masses`` of a model.

    The number of stars per mass falls by the powers 0.3 below 0.08, 1.3 below 0.5 and 2.3 above.
    """
    given = {"least": least, "most": most}
    return Part("kroupa", {name: _in_solar_masses(name, value) for name, value in given.items()})


def binaries(fraction: Any, least: Any, most: Any) -> Part:
    """Primordial binaries, for the argument ``binaries`` of a model.

    Parameters
    ----------
    fraction : float
        The share of binaries among binaries and single stars, 0 to 1.
    least, most : float
        The limits of semi-major axes, which are uniform in their logarithm.

    Eccentricities are thermal: their squares are uniform. Orbits have any direction and phase, and
    stars are paired at random.
    """
    lengths = {"least": least, "most": most}
    kept = {name: value if has_unit(value) else number(name, value) for name, value in lengths.items()}
    return Part("binaries", {"fraction": number("fraction", fraction), **kept})


def plummer(
    n: int,
    *,
    seed: int = 1,
    masses: Part | None = None,
    binaries: Part | None = None,
    mass: Any = None,
    radius: Any = None,
    units: str | None = None,
) -> Stars:
    """Plummer's model (Aarseth, Henon & Wielen 1974, A&A 37, 183), up to 30 Plummer radii.

    Parameters
    ----------
    n : int
        The number of bodies, 2 to 2**30, both stars of a binary counted.
    seed : int
        That of the random numbers: the same bodies as those of ``kyoho model``.
    masses : Part
        :func:`kroupa`. None: all are equal.
    binaries : Part
        :func:`binaries`. Their stars come first, one after the other. None: there are none.
    mass : float
        The mass of all bodies. None: 1; with ``units`` and Kroupa's masses it is their sum.
    radius : float
        The virial radius: G times the square of the mass over twice the potential energy. None: 1.
    units : str
        Those of the model, as in ``kyoho.Cluster``: mass and radius have to be given then, and may be
        quantities of astropy, as may the limits of binaries. None: those in which G is 1.

    Without ``mass``, ``radius`` and ``units`` these are standard N-body units: the energy is -1/4
    (that of binaries in themselves left out), and the centre of mass rests in the origin. If mass or
    radius are quantities, so are the results.

    >>> import kyoho
    >>> stars = kyoho.model.plummer(4, seed=1)
    >>> stars.masses
    array([0.25, 0.25, 0.25, 0.25])
    >>> bool(abs(stars.positions.mean(axis=0)).max() < 1e-14)
    True
    """
    return _made("plummer", {}, n, seed, masses, binaries, mass, radius, units)


def hernquist(
    n: int,
    *,
    seed: int = 1,
    masses: Part | None = None,
    binaries: Part | None = None,
    mass: Any = None,
    radius: Any = None,
    units: str | None = None,
) -> Stars:
    """Hernquist's model (1990, ApJ 356, 359), up to 300 scale radii. The arguments are those of
    :func:`plummer`.
    """
    return _made("hernquist", {}, n, seed, masses, binaries, mass, radius, units)


def king(
    n: int,
    w0: float = 6.0,
    *,
    seed: int = 1,
    masses: Part | None = None,
    binaries: Part | None = None,
    mass: Any = None,
    radius: Any = None,
    units: str | None = None,
) -> Stars:
    """King's model (1966, AJ 71, 64), in which ``w0`` is the central potential in squares of the
    velocity dispersion, 0.1 to 12. The other arguments are those of :func:`plummer`.
    """
    return _made("king", {"w0": number("w0", w0)}, n, seed, masses, binaries, mass, radius, units)


def uniform_sphere(
    n: int,
    *,
    seed: int = 1,
    masses: Part | None = None,
    binaries: Part | None = None,
    mass: Any = None,
    radius: Any = None,
    units: str | None = None,
) -> Stars:
    """A uniform sphere in virial balance, with velocities uniform in a sphere, which is not stationary.
    The arguments are those of :func:`plummer`.
    """
    return _made("uniform_sphere", {}, n, seed, masses, binaries, mass, radius, units)


def cold_collapse(
    n: int,
    *,
    seed: int = 1,
    masses: Part | None = None,
    binaries: Part | None = None,
    mass: Any = None,
    radius: Any = None,
    units: str | None = None,
) -> Stars:
    """A uniform sphere at rest. The arguments are those of :func:`plummer`; ``radius`` is that of a
    cluster in virial balance with the same energy, and the sphere has 12/5 of it.
    """
    return _made("cold_collapse", {}, n, seed, masses, binaries, mass, radius, units)


def two_clusters(
    first: Any,
    second: Any,
    separation: Any,
    *,
    speed: Any = None,
    impact: Any = None,
    eccentricity: Any = None,
    pericentre: Any = None,
    units: str | None = None,
) -> Stars:
    """Two clusters on an orbit round each other in the plane of x and y, as that of two points.

    Parameters
    ----------
    first, second : Stars
        The clusters, or whatever has ``positions``, ``masses`` and ``velocities``, such as a
        :class:`kyoho.Cluster`.
    separation : float
        The distance of their centres of mass at the start.
    speed : float
        Their relative speed at the start.
    impact : float
        The distance at which the straight line of the second one passes the first. None: 0.
    eccentricity : float
        In the place of ``speed``: that of the orbit, on the way to its smallest distance. 1 is a
        parabola.
    pericentre : float
        The smallest distance of this orbit.
    units : str
        Those of all numbers, which may be quantities of astropy then. None: those in which G is 1.

    The bodies of the first cluster come first. Their centre of mass rests in the origin.

    >>> import kyoho
    >>> first, second = kyoho.model.plummer(300), kyoho.model.king(200, seed=2, mass=0.5)
    >>> stars = kyoho.model.two_clusters(first, second, 10, eccentricity=1, pericentre=1)
    >>> relative = stars.positions[300:].mean(axis=0) - stars.positions[:300].mean(axis=0)
    >>> [round(float(component)) for component in relative]
    [10, 0, 0]
    """
    system = None if units is None else Units(units)
    kinds = {"separation": "length", "speed": "speed", "impact": "length", "eccentricity": "", "pericentre": "length"}
    given = {"separation": separation, "speed": speed, "impact": impact}
    given.update(eccentricity=eccentricity, pericentre=pericentre)
    orbit = ",".join(
        f"{name}={_in_units(name, value, system, kinds[name])!r}" for name, value in given.items() if value is not None
    )
    clusters = {"first": first, "second": second}
    parts = [_arrays(which, cluster, system) for which, cluster in clusters.items()]
    stars = Stars(*(numpy.concatenate(arrays) for arrays in zip(*parts)))
    counts = [len(part.masses) for part in parts]
    arrays = (_pointer(array) for array in (stars.masses, stars.positions, stars.velocities))
    check(library.kyoho_model_two_clusters(orbit.encode(), _text(units), *counts, *arrays))
    return _with_units(stars, system if has_unit(first.positions) or has_unit(second.positions) else None)


def _made(
    profile: str,
    numbers: dict[str, float],
    n: int,
    seed: int,
    masses: Part | None,
    binaries: Part | None,
    mass: Any,
    radius: Any,
    units: str | None,
) -> Stars:
    system = None if units is None else Units(units)
    sizes = {"mass": _in_units("mass", mass, system, "mass"), "radius": _in_units("radius", radius, system, "length")}
    words = [_word(profile, {**numbers, **sizes})]
    for name, part, wanted in (("masses", masses, "kroupa"), ("binaries", binaries, "binaries")):
        if part is None:
            continue
        if not isinstance(part, Part) or part.name != wanted:
            raise Error(f"{name} is {part!r}; allowed: kyoho.model.{wanted}(...)")
        lengths = {key: _in_units(key, value, system, "length") for key, value in part.numbers.items()}
        words.append(_word(wanted, lengths))
    count = integer("n", n, least=2, most=2**30)
    start = integer("seed", seed, least=0, most=2**64 - 1)
    try:
        stars = Stars(numpy.empty((count, 3)), numpy.empty(count), numpy.empty((count, 3)))
    except MemoryError:
        raise Error(f"there is no memory for {count} bodies", Result.OUT_OF_MEMORY) from None
    arrays = (_pointer(array) for array in (stars.masses, stars.positions, stars.velocities))
    check(library.kyoho_model_make(" ".join(words).encode(), _text(units), count, start, *arrays))
    return _with_units(stars, system if has_unit(mass) or has_unit(radius) else None)


def _word(name: str, numbers: dict[str, float | None]) -> str:
    """A part of the text of a model."""
    return ",".join([name, *(f"{key}={value!r}" for key, value in numbers.items() if value is not None)])


def _in_units(name: str, value: Any, system: Units | None, kind: str) -> float | None:
    """A number in the units of a model; None stays."""
    if value is None:
        return None
    return number(name, system.number(name, value, kind) if system is not None and kind else value)


def _in_solar_masses(name: str, value: Any) -> float:
    return number(name, in_unit(name, value, unit_of("Msun")) if has_unit(value) else value)


def _arrays(which: str, cluster: Any, system: Units | None) -> Stars:
    """The arrays of a cluster, in the units of a model."""
    found: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        if not hasattr(cluster, name):
            raise Error(f"{which} is {cluster!r}; allowed: what has positions, masses and velocities")
        label, array = f"{which}.{name}", getattr(cluster, name)
        array = readable(label, array if system is None else system.number(label, array, kind), FLOAT64)
        count = found["positions"].shape[0] if found else (array.shape or (0,))[0]
        wanted = (count,) if name == "masses" else (count, 3)
        if array.shape != wanted:
            raise Error(f"{label} has the shape {array.shape}; allowed: {wanted}", Result.BAD_COUNT)
        found[name] = array
    return Stars(**found)


def _with_units(stars: Stars, system: Units | None) -> Stars:
    """The bodies, as quantities if there are units."""
    if system is None:
        return stars
    return Stars(**{name: system.quantity(getattr(stars, name), kind) for name, kind in _KINDS.items()})


def _pointer(array: Any) -> Any:
    return array.ctypes.data_as(_NUMBERS)


def _text(units: str | None) -> bytes | None:
    return None if units is None else units.encode()
