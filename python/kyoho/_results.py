"""The results of calls, and the sources that calls are given."""

from __future__ import annotations

from ctypes import addressof, c_char, sizeof
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from . import _structures as structures
from ._arrays import Arrays, LimbArrays
from ._devices import empty_like
from ._errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZE = sizeof(structures.Forces)
NAMES = ("potentials", "accelerations", "jerks", "snaps", "crackles", "nearest", "nearest_distance2")
# The lowest order that has each of them.
_ORDERS = (2, 2, 4, 6, 8, 4, 4)
_VECTORS = frozenset(("accelerations", "jerks", "snaps", "crackles"))
_EMPTY = numpy.empty
_FLOAT64 = numpy.dtype(numpy.float64)
_INT32 = numpy.dtype(numpy.int32)
# Arrays are buffers; the types of older numpy do not say so.
_BYTE: Callable[[Any], c_char] = c_char.from_buffer


class Sources(NamedTuple):
    """Sources of a call, for interaction lists and batches. Each array has an element, or a row of
    3 numbers, for every source; those that are None are 0, and ``indices`` are the numbers of the
    sources from 0 on.
    """

    positions: Any
    masses: Any
    velocities: Any = None
    accelerations: Any = None
    jerks: Any = None
    snaps: Any = None
    crackles: Any = None
    sixth_derivatives: Any = None
    seventh_derivatives: Any = None
    times: Any = None
    indices: Any = None


class Forces:
    """The forces on ``count`` sinks, or the arrays that forces are to be written to (``out=``).

    ======================  ============  ==========================================================
    attribute               shape
    ======================  ============  ==========================================================
    ``potentials``          ``(n,)``      ``-sum m / sqrt(r**2 + softening2)``, negative, with G = 1
    ``accelerations``       ``(n, 3)``
    ``jerks``               ``(n, 3)``    orders 4, 6 and 8
    ``snaps``               ``(n, 3)``    orders 6 and 8
    ``crackles``            ``(n, 3)``    order 8
    ``nearest``             ``(n,)``      the index of the nearest source, int32; -1 where there is
                                          none. Orders 4, 6 and 8 with all sources.
    ``nearest_distance2``   ``(n,)``      the square of its distance, without softening
    ======================  ============  ==========================================================

    An attribute that a system does not compute, or that was not asked for, is None. Of a system in
    precision ``"quad"`` real numbers have a last axis of 2, the high and the low limb; arrays without
    it (``out=``) get the nearest doubles.

    >>> import numpy, kyoho
    >>> out = kyoho.Forces(accelerations=numpy.empty((2, 3)))
    >>> _ = kyoho.System(order=2).force([[0, 0, 0], [1, 0, 0]], indices=None, out=out)
    >>> out.accelerations
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """

    __slots__ = ("_arrays", "_count", "_kept", "_structure")

    def __init__(
        self,
        *,
        potentials: Any = None,
        accelerations: Any = None,
        jerks: Any = None,
        snaps: Any = None,
        crackles: Any = None,
        nearest: Any = None,
        nearest_distance2: Any = None,
    ) -> None:
        self._structure = structures.Forces(_SIZE)
        self._arrays: tuple[Any, ...] = (potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        in_limbs = any(
            getattr(array, "ndim", 0) == (3 if name in _VECTORS else 2)
            for name, array in zip(NAMES, self._arrays)
            if name != "nearest"
        )
        arrays = (LimbArrays if in_limbs else Arrays)(self._structure)
        arrays.label = "out."
        for name, array in zip(NAMES, self._arrays):
            if array is not None:
                arrays.results(name, array, 3 if name in _VECTORS else 0, name == "nearest")
        arrays.finish()
        self._count = arrays.count
        self._kept = arrays.kept

    @property
    def count(self) -> int | None:
        """The number of sinks; None where there is no array."""
        return self._count

    @property
    def potentials(self) -> Any:
        return self._arrays[0]

    @property
    def accelerations(self) -> Any:
        return self._arrays[1]

    @property
    def jerks(self) -> Any:
        return self._arrays[2]

    @property
    def snaps(self) -> Any:
        return self._arrays[3]

    @property
    def crackles(self) -> Any:
        return self._arrays[4]

    @property
    def nearest(self) -> Any:
        return self._arrays[5]

    @property
    def nearest_distance2(self) -> Any:
        return self._arrays[6]

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, self._arrays

    def __repr__(self) -> str:
        names = [name for name, array in zip(NAMES, self._arrays) if array is not None]
        return f"<kyoho.Forces on {self.count} sinks: {', '.join(names)}>"


def _remade(*arrays: Any) -> Forces:
    """Forces with these arrays, in the order of their names, as copies and pickles have them."""
    return Forces(**dict(zip(NAMES, arrays)))


class Kind(NamedTuple):
    """One of the arrays of forces."""

    # Its place among them.
    number: int
    name: str
    # Of a row: () for single numbers.
    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]


def kinds_of(interaction: Interaction) -> tuple[Kind, ...]:
    """The arrays that an interaction has."""
    kinds = []
    for number, name in enumerate(NAMES):
        order = _ORDERS[number]
        if order <= interaction.order and (interaction.has_nearest or "nearest" not in name):
            dtype = _INT32 if name == "nearest" else _FLOAT64
            limbs = (2,) if interaction.precision == "quad" and name != "nearest" else ()
            kinds.append(Kind(number, name, ((3,) if name in _VECTORS else ()) + limbs, dtype))
    return tuple(kinds)


def new_forces(kinds: tuple[Kind, ...], count: int, arrays: Arrays) -> Forces:
    """Arrays for forces, of the kind of those that they are computed from."""
    like = arrays.device_array
    if like is not None:
        made = {}
        for _, name, shape, dtype in kinds:
            made[name] = empty_like(like, arrays.first, (count, *shape), dtype.name)
        return Forces(**made)
    # As the constructor does, without a look at arrays that are known.
    forces = Forces.__new__(Forces)
    structure = forces._structure = structures.Forces(_SIZE)
    new: list[Any] = [None] * len(NAMES)
    if type(arrays) is LimbArrays:
        structure.number_type = structures.DD
    for number, name, shape, dtype in kinds:
        array = new[number] = _EMPTY((count, *shape), dtype)
        if count:
            setattr(structure, name, addressof(_BYTE(array)))
    forces._arrays, forces._count, forces._kept = tuple(new), count, ()
    return forces


class Predictions(NamedTuple):
    """Sources as they are predicted to the system's time, in rows of 3 numbers, NaN where there is
    no source; None where the order needs none.
    """

    positions: Any
    velocities: Any = None
    accelerations: Any = None
    jerks: Any = None


class TreeErrors(NamedTuple):
    """The relative errors of accelerations by a tree."""

    median: float
    percentile_90: float
    percentile_99: float
    worst: float


class Statistics(NamedTuple):
    """Counts since a system was made."""

    sources: int
    writes: int
    blocks: int
    sinks: int
    interactions: int
    bytes: int


class Interaction(NamedTuple):
    """An interaction that can be computed: an order in a precision and scope."""

    order: int
    precision: str
    scope: str
    has_nearest: bool
    has_neighbours: bool
    flops_per_pair: int
    description: str


def interaction_of(structure: structures.Interaction) -> Interaction:
    """Reads what the library says of an interaction."""
    return Interaction(
        structure.order,
        word(structures.PRECISIONS, structure.precision),
        word(structures.SCOPES, structure.scope),
        bool(structure.has_nearest),
        bool(structure.has_neighbours),
        structure.flops_per_pair,
        structure.description.decode(),
    )


def word(words: dict[str, int], number: int) -> str:
    """The word for a number of the library."""
    for name, value in words.items():
        if value == number:
            return name
    return "none"


def forces_for(out: object) -> Forces:
    """The arrays that a caller wants forces in."""
    if not isinstance(out, Forces):
        raise Error(f"out is a {type(out).__name__}; allowed: kyoho.Forces")
    return out
