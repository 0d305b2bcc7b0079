"""Functions that need no system of the caller's."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy

from . import _structures as structures
from ._arrays import numbers
from ._devices import device_array, numbers_like
from ._errors import Error, chosen
from ._numbers import integer, integer_or_none, is_single, number, number_or_none, text_or_none
from ._results import Forces, Sources, TreeErrors
from ._system import DEVICES, System
from ._units import gravitational_constant, has_unit, in_unit, quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[numpy.float64]

# The words of callers for arrays of sinks.
_WORDS = {"softening2_each": "eps"}
_WORDS_AT = {"positions": "at", **_WORDS}
_WORDS_OF_SOURCES = {"softening2_each": "source_eps"}
# As many systems a thread keeps, of different options.
_KEPT = 4


class _Kept(threading.local):
    """The systems of a thread, for its next calls: making one takes longer than small sums, and on
    a GPU longer than large ones.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.systems: dict[tuple[object, ...], System] = {}
        self.numbers = numpy.empty(0, numpy.int32)

    def system(self, *options: Any, is_new: bool = False, softened: bool = False) -> System:
        """The system with these options: order, precision, backend, devices, threads, accuracy,
        theta. A new one has no sources. Those whose sources have softenings are others.
        """
        if self.process != os.getpid():
            self.__init__()  # type: ignore[misc]
        order, precision, backend, devices, threads, accuracy, theta = options
        # Words and numbers of any type, such as arrays without axes, which cannot be looked up.
        options = (
            integer("order", order),
            precision if chosen("precision", precision, structures.PRECISIONS) else None,
            backend if chosen("backend", backend, structures.BACKENDS) else None,
            devices if text_or_none("devices", devices, DEVICES) else None,
            integer_or_none("threads", threads, least=1),
            number_or_none("accuracy", accuracy),
            number_or_none("theta", theta),
            softened,
        )
        system = self.systems.pop(options, None) if is_new else self.systems.get(options)
        if system is not None and is_new:
            system.close()
            system = None
        if system is None:
            if len(self.systems) == _KEPT:
                self.systems.pop(next(iter(self.systems))).close()
            order, precision, backend, devices, threads, accuracy, theta, _ = options
            system = self.systems[options] = System(
                order,
                precision,
                backend=backend,
                devices=devices,
                threads=threads,
                accuracy=accuracy,
                theta=theta,
            )
        return system

    def numbers_below(self, count: int) -> Any:
        """The numbers from 0 on, as indices of bodies."""
        if len(self.numbers) < count:
            self.numbers = numpy.arange(count, dtype=numpy.int32)
        return self.numbers[:count]


_kept = _Kept()


def release() -> None:
    """Frees the systems that the functions of this module keep for the calling thread, with their
    memory and devices. They are made again when they are needed.
    """
    while _kept.systems:
        _kept.systems.popitem()[1].close()
    _kept.numbers = numpy.empty(0, numpy.int32)


@overload
def gravity(
    positions: ArrayLike,
    masses: ArrayLike,
    eps: ArrayLike = ...,
    at: ArrayLike | None = ...,
    accuracy: float | None = ...,
    theta: float | None = ...,
    precision: str | None = ...,
    potential: Literal[True] = ...,
    *,
    backend: str | None = ...,
    devices: str | None = ...,
    threads: int | None = ...,
    G: float = ...,
    units: str | None = ...,
    source_eps: ArrayLike | None = ...,
    out: tuple[Numbers, Numbers] | None = ...,
) -> tuple[Numbers, Numbers]: ...
@overload
def gravity(
    positions: ArrayLike,
    masses: ArrayLike,
    eps: ArrayLike = ...,
    at: ArrayLike | None = ...,
    accuracy: float | None = ...,
    theta: float | None = ...,
    precision: str | None = ...,
    *,
    potential: Literal[False],
    backend: str | None = ...,
    devices: str | None = ...,
    threads: int | None = ...,
    G: float = ...,
    units: str | None = ...,
    source_eps: ArrayLike | None = ...,
    out: Numbers | None = ...,
) -> Numbers: ...
@overload
def gravity(
    positions: Any,
    masses: Any,
    eps: Any = ...,
    at: Any = ...,
    accuracy: float | None = ...,
    theta: float | None = ...,
    precision: str | None = ...,
    potential: bool = ...,
    *,
    backend: str | None = ...,
    devices: str | None = ...,
    threads: int | None = ...,
    G: float = ...,
    units: str | None = ...,
    source_eps: Any = ...,
    out: Any = ...,
) -> Any: ...
def gravity(
    positions: Any,
    masses: Any,
    eps: Any = 0.0,
    at: Any = None,
    accuracy: float | None = None,
    theta: float | None = None,
    precision: str | None = None,
    potential: bool = True,
    *,
    backend: str | None = None,
    devices: str | None = None,
    threads: int | None = None,
    G: float = 1.0,
    units: str | None = None,
    source_eps: Any = None,
    out: Any = None,
) -> Any:
    """Gravitational accelerations and potentials of bodies, with G = 1 unless you say otherwise.

    Parameters
    ----------
    positions : (n, 3)
        The positions of the bodies, in any unit of length.
    masses : (n,)
        Their masses, in any unit; they may be zero or negative.
    eps : float or (m,)
        The softening length, in the potential ``-m / sqrt(r**2 + eps**2)``: one for all, or one for
        each body (on a device: one for all). The square of that of a pair is the mean of the squares
        of both bodies. With ``at``: one for all places, or one for each place (by a tree on a device:
        one for all). Trees of several lengths are summed by CPU threads.
    at : (m, 3)
        The places at which the results are wanted, and at which every body counts. None: those of
        the bodies, each of which leaves itself out.
    accuracy : float
        Sums by a tree with this error of the accelerations, relative to them or to half of the sum
        of the sizes of all pulls, whichever is more, 1e-6 to 1e-2: half of them have at most this.
        Few pairs are summed directly anyhow. None: direct sums, or ``theta``.
    theta : float
        The opening angle of a tree, 0.1 to 1.5, in the place of ``accuracy``.
    precision : "single", "mixed" or "double"
        None: what the environment says (``KYOHO_PRECISION``), else ``"double"`` for direct sums and
        ``"mixed"``, which is exact enough for any accuracy, by a tree.
    potential : bool
        Whether potentials are wanted too.
    backend, devices, threads
        As for :class:`kyoho.System`.
    G : float
        The gravitational constant.
    units : str
        In its place, the units of the arrays: see :func:`kyoho.gravitational_constant`.
    source_eps : float or (n,)
        With ``at``: the softening length of the bodies, beside ``eps``, that of the places. The square
        of that of a pair is the mean of the squares of both. None: a pair has that of the place.
    out : array, or tuple of two
        The accelerations, ``(m, 3)``, and the potentials, ``(m,)``, to write to.

    Returns
    -------
    accelerations : (m, 3) of float64
        In the unit of mass divided by the square of the unit of length.
    potentials : (m,) of float64
        Negative, in the unit of mass divided by the unit of length. Only if ``potential`` is true.

    Arrays of a CUDA device (cupy, torch, numba, or any with ``__cuda_array_interface__`` or DLPack)
    stay there, and the results are of the same kind.

    Quantities of astropy are taken where positions and masses both are some. Then the accelerations
    are in ``km2 / (s2 unit)``, where ``unit`` is that of the positions, and the potentials in
    ``km2 / s2``.

    Raises
    ------
    kyoho.Error
        An argument has a value that is not allowed, or the device failed.

    >>> import kyoho
    >>> accelerations, potentials = kyoho.gravity([[0, 0, 0], [2, 0, 0]], [1.0, 1.0])
    >>> accelerations
    array([[ 0.25,  0.  ,  0.  ],
           [-0.25,  0.  ,  0.  ]])
    >>> potentials
    array([-0.5, -0.5])
    >>> kyoho.gravity([[0, 0, 0]], [3.0], at=[[0, 0, 4]], potential=False)
    array([[ 0.    ,  0.    , -0.1875]])
    """
    if has_unit(positions) or has_unit(masses) or has_unit(eps) or has_unit(at) or has_unit(source_eps):
        if G != 1 or units is not None or out is not None:
            raise Error("G, units or out is given; allowed: none of them where arrays have units")
        positions, masses, eps, at, source_eps, G, given = _without_units(positions, masses, eps, at, source_eps)
        machine: dict[str, Any] = {"backend": backend, "devices": devices, "threads": threads}
        machine["source_eps"] = source_eps
        found = gravity(positions, masses, eps, at, accuracy, theta, precision, G=G, **machine)
        results = tuple(result * unit for result, unit in zip(found, given))
        return results if potential else results[0]
    constant = number("G", G, above=0) if units is None else gravitational_constant(units)
    if units is not None and G != 1:
        raise Error("G and units are given; allowed: one of them")
    softening2 = _squared("eps", eps)
    of_sources = None if source_eps is None else _squared("source_eps", source_eps)
    if at is None:
        if of_sources is not None:
            raise Error("source_eps is given without at; allowed: eps, the softening lengths of the bodies")
        if type(softening2) is not float:
            softening2, of_sources = _of_each(positions, softening2)
    elif of_sources is None and (accuracy is not None or theta is not None):
        softening2, of_sources = _of_each_place(positions, softening2)
    forces = None if out is None else _as_forces(out, potential)
    options = (precision, backend, devices, threads, accuracy, theta)
    system, nj, indices, places = _written(positions, masses, at, options, of_sources)
    if at is None and type(places) is numpy.ndarray and type(softening2) is float:
        forces = system.force_all(softening2, nj=nj, out=forces)
    else:
        given = (places, None, None, None, indices, softening2)
        forces = system._force(given, nj, forces, _WORDS if at is None else _WORDS_AT)
    if constant != 1:
        scaled = (forces.accelerations, forces.potentials) if potential else (forces.accelerations,)
        try:
            for result in scaled:
                result *= constant
        except TypeError as error:
            raise Error(f"G is {constant}; allowed: 1 where results are arrays without products: {error}") from error
    return (forces.accelerations, forces.potentials) if potential else forces.accelerations


def tree_error(
    positions: Any,
    masses: Any,
    eps: Any = 0.0,
    at: Any = None,
    accuracy: float | None = None,
    theta: float | None = None,
    precision: str | None = None,
    *,
    samples: int = 1000,
    backend: str | None = None,
    devices: str | None = None,
    threads: int | None = None,
) -> TreeErrors:
    """The relative errors of the accelerations that :func:`gravity` gives by a tree, measured at
    ``samples`` places, evenly chosen, against direct sums in double precision. The parameters are
    those of :func:`gravity`, in memory of the host; ``accuracy`` or ``theta`` is needed.

    >>> import kyoho
    >>> kyoho.tree_error([[0, 0, 0], [2, 0, 0]], [1.0, 1.0], accuracy=1e-3, precision="double")
    TreeErrors(median=0.0, percentile_90=0.0, percentile_99=0.0, worst=0.0)
    """
    if has_unit(positions) or has_unit(masses) or has_unit(eps) or has_unit(at):
        positions, masses, eps, at, *_ = _without_units(positions, masses, eps, at, None)
    if accuracy is None and theta is None:
        raise Error("accuracy and theta are None; allowed: one of them, for a tree")
    softening2, of_sources = _squared("eps", eps), None
    options = (precision, backend, devices, threads, accuracy, theta)
    if at is not None:
        at = numbers("at", at)
        softening2, of_sources = _of_each_place(positions, softening2)
    elif type(softening2) is not float:
        one, of_sources = _of_each(positions, softening2)
        softening2 = one if of_sources is None else of_sources
    system, nj, indices, places = _written(positions, masses, at, options, of_sources)
    words = _WORDS if at is None else _WORDS_AT
    samples = min(integer("samples", samples), len(places))
    return system._tree_error((places, None, None, None, indices, softening2), samples, nj, words)


def forces_on_lists(
    sources: Sources,
    positions: Any,
    velocities: Any = None,
    accelerations: Any = None,
    jerks: Any = None,
    *,
    indices: Any,
    sink_offsets: Any,
    source_offsets: Any = None,
    addresses: Any = None,
    first_addresses: Any = None,
    source_counts: Any = None,
    softening2: Any = 0.0,
    order: int = 2,
    precision: str | None = None,
    backend: str | None = None,
    devices: str | None = None,
    threads: int | None = None,
    out: Forces | None = None,
) -> Forces:
    """The forces on ``g`` groups of sinks, on each of which act the sources of its own list alone.

    Parameters
    ----------
    sources : Sources
        The sources of all lists. With ``source_offsets`` alone they stand list after list; with
        ``addresses`` or ``first_addresses`` too, these choose among them.
    positions, velocities, accelerations, jerks : (n, 3)
        The sinks, group after group, with what the order needs.
    indices : (n,) of int32, or None
        Sources with the index of a sink exert no force on it; None: every source counts.
    sink_offsets : (g + 1,) of int32
        The first sink of each group and, behind the last one, the number of sinks.
    source_offsets : (g + 1,) of int64
        The same for the sources, or for the ``addresses``.
    addresses : (entries,) of int32
        The numbers of the sources in the lists, list after list.
    first_addresses, source_counts : (g,) of int32
        In their place: the first source of each group, and the number of sources.
    softening2 : float or (n,)
        The square of the softening length.
    order, precision, backend, devices, threads
        As for :class:`kyoho.System`.
    out : Forces
        Arrays to write to. None: new ones.

    >>> import kyoho
    >>> sources = kyoho.Sources([[0, 0, 0], [1, 0, 0], [2, 0, 0], [4, 0, 0]], [1, 1, 1, 4])
    >>> forces = kyoho.forces_on_lists(
    ...     sources,
    ...     [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
    ...     indices=[0, 1, 2],
    ...     sink_offsets=[0, 2, 3],
    ...     source_offsets=[0, 2, 4],
    ...     addresses=[2, 3, 0, 1],
    ... )
    >>> forces.accelerations[:, 0].round(2)
    array([ 0.5 ,  1.44, -1.25])
    """
    system = _kept.system(order, precision, backend, devices, threads, None, None)
    of_call = None
    if addresses is None and first_addresses is None:
        of_call = sources
    else:
        if not isinstance(sources, Sources):
            raise Error(f"sources is a {type(sources).__name__}; allowed: kyoho.Sources")
        # Sources of calls before would be found at addresses beyond these.
        system = _kept.system(order, precision, backend, devices, threads, None, None, is_new=True)
        system._write(sources)
    return system.force_lists(
        positions,
        velocities,
        accelerations,
        jerks,
        indices=indices,
        sink_offsets=sink_offsets,
        source_offsets=source_offsets,
        addresses=addresses,
        first_addresses=first_addresses,
        source_counts=source_counts,
        sources=of_call,
        softening2=softening2,
        out=out,
    )


def forces_in_batch(
    bodies: Sources,
    offsets: Any,
    *,
    softening2: Any = 0.0,
    order: int = 2,
    precision: str | None = None,
    backend: str | None = None,
    devices: str | None = None,
    threads: int | None = None,
    out: Forces | None = None,
) -> Forces:
    """The forces on the bodies of many systems, in which each body feels the others of its own.
    The parameters are those of :meth:`kyoho.System.force_batch` and of :class:`kyoho.System`.

    >>> import kyoho
    >>> pairs = kyoho.Sources([[0, 0, 0], [1, 0, 0], [0, 0, 0], [2, 0, 0]], [1, 1, 1, 1])
    >>> kyoho.forces_in_batch(pairs, [0, 2, 4]).potentials
    array([-1. , -1. , -0.5, -0.5])
    """
    system = _kept.system(order, precision, backend, devices, threads, None, None)
    return system.force_batch(bodies, offsets, softening2=softening2, out=out)


def _of_each(positions: Any, softening2: Any) -> tuple[float, Any]:
    """The squared softening of sinks that are the sources, and those of the sources if they differ."""
    if isinstance(softening2, numpy.ndarray):
        # Wrong positions are told of later.
        count = len(positions) if hasattr(positions, "__len__") else 0
        if softening2.shape == (count,) and count > 0 and (softening2 == softening2[0]).all():
            return float(softening2[0]), None
        if device_array("positions", positions) is None:
            return 0.0, softening2
    raise Error("eps has a length for each body, on a device; allowed: one for all, or arrays of numpy")


def _of_each_place(positions: Any, softening2: Any) -> tuple[Any, float | None]:
    """The squared softenings of places for a tree, and that of the sources if places differ."""
    if type(softening2) is float:
        return softening2, None
    if isinstance(softening2, numpy.ndarray) and device_array("positions", positions) is None:
        if (softening2 == softening2.ravel()[:1]).all():
            return softening2, None
        # A tree takes one for all, or the mean of those of both sides.
        return 2 * softening2, 0.0
    raise Error("eps has a length for each place, on a device; allowed with accuracy or theta: one for all")


def _written(
    positions: Any, masses: Any, at: Any, options: tuple[Any, ...], softening2: Any = None
) -> tuple[System, int, Any, Any]:
    """The system of these bodies, their number, and the indices and the positions of the sinks."""
    precision, backend, devices, threads, accuracy, theta = options
    accuracy, theta = number_or_none("accuracy", accuracy), number_or_none("theta", theta)
    if precision is None and (accuracy or theta) and "KYOHO_PRECISION" not in os.environ:
        precision = "mixed"
    is_new = False
    if type(positions) is not numpy.ndarray:
        device = device_array("positions", positions)
        if device is None:
            # Once, as they are sources and sinks.
            positions = numbers("positions", positions)
        else:
            backend = backend or "cuda"
            devices = devices or f"{device.device},"
            # Sources on a device stay there only where they replace all that were written before.
            written = _kept.system(2, precision, backend, devices, threads, accuracy, theta)._nj or 0
            is_new = written > device.shape[0]
    softened = softening2 is not None
    system = _kept.system(2, precision, backend, devices, threads, accuracy, theta, is_new=is_new, softened=softened)
    arrays = system._write(
        (positions, masses), softening2=softening2, words=_WORDS if at is None else _WORDS_OF_SOURCES
    )
    count = arrays.count or 0
    if at is not None:
        return system, count, None, at
    if arrays.device_array is not None:
        return system, count, numbers_like(positions, "positions", count), positions
    return system, count, _kept.numbers_below(count), positions


def _without_units(positions: Any, masses: Any, eps: Any, at: Any, source_eps: Any) -> tuple[Any, ...]:
    """The numbers of quantities, the gravitational constant of their units, and the units of results."""
    from astropy import units

    for name, value in (("positions", positions), ("masses", masses)):
        if not has_unit(value):
            raise Error(f"{name} has no unit; allowed: quantities, as other arguments are some")
    length, mass = (quantity(*given).unit for given in (("positions", positions), ("masses", masses)))
    speed2 = (units.km / units.s) ** 2
    lengths = [
        None if value is None else in_unit(name, value, length)
        for name, value in (("positions", positions), ("eps", eps), ("at", at), ("source_eps", source_eps))
    ]
    constant = gravitational_constant("SI") * units.m**3 / (units.kg * units.s**2)
    try:
        factor = constant.to_value(speed2 * length / mass)
    except units.UnitConversionError:
        raise Error(f"positions and masses are in {length} and {mass}; allowed: lengths and masses") from None
    results = speed2 / length, speed2
    return lengths[0], in_unit("masses", masses, mass), *lengths[1:], factor, results


def _squared(name: str, eps: Any) -> Any:
    if is_single(eps):
        length = number(name, eps, least=0)
        return length * length
    if device_array(name, eps) is not None:
        return eps * eps
    lengths = numbers(name, eps)
    if not (lengths >= 0).all():
        raise Error(f"{name} is {lengths.min()}; allowed: 0 or more")
    return lengths * lengths


def _as_forces(out: Any, potential: bool) -> Forces:
    if not potential:
        return Forces(accelerations=out)
    if not isinstance(out, tuple) or len(out) != 2:
        raise Error("out is no tuple of two; allowed: (accelerations, potentials)")
    return Forces(accelerations=out[0], potentials=out[1])
