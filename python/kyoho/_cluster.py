"""Clusters of bodies that evolve in time."""

from __future__ import annotations

import json
import os
import zlib
from ctypes import addressof, byref, c_double, c_int32, c_int64, c_void_p, create_string_buffer, sizeof
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from . import _structures as structures
from ._arrays import Arrays, integers
from ._errors import Error, Result, chosen
from ._evolution import Binary, Bodies, Encounter, Energies, EnergyJump, Evolution, Integration
from ._handle import Handle, at_work, taking_turns
from ._library import check, failure, library
from ._listening import Listening
from ._numbers import (
    FLOAT64,
    INT64,
    function_or_none,
    integer,
    is_single,
    number,
    number_or_none,
    plain,
    readable,
    text_or_none,
)
from ._ranks import ranks_of
from ._results import word
from ._system import _options
from ._units import Units, has_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Self = TypeVar("Self", bound="Cluster")

# A file of a cluster begins with this.
_FILE = b"kyoho cluster 1\n"

# What another cluster is not made with.
_NOT_KEPT = ("self", "__class__", "communicator")


# What the results of forces are.
_KINDS = {"accelerations": "acceleration", "potentials": "potential", "nearest_distances": "length"}


def _group(name: str, value: Any) -> Any:
    return numpy.int32(integer(name, value, least=0, most=2**31 - 1))


def _group_bits(name: str, groups: Any) -> int:
    """A bit for each group; 0 for all."""
    if groups is None:
        return 0
    given = [groups] if is_single(groups) else list(groups)
    if not given:
        raise Error(f"{name} is {groups!r}; allowed: a group, several, or None for all")
    return sum({1 << integer(name, group, least=0, most=15) for group in given})


def _nodes(centre: Any) -> list[Any]:
    """The times, the positions and the velocities of a centre that moves."""
    if not isinstance(centre, (tuple, list)) or len(centre) not in (2, 3):
        raise Error("centre has no such parts; allowed: (times, positions) or (times, positions, velocities)")
    names = ("times", "positions", "velocities")
    arrays: list[Any] = [
        None if array is None else numpy.ascontiguousarray(readable(f"the {name} of centre", array, FLOAT64))
        for name, array in zip(names, (*centre, None))
    ]
    for name, array in zip(names, arrays):
        count = arrays[0].size
        wanted = (count,) if name == "times" else (count, 3)
        if array is not None and array.shape != wanted:
            raise Error(f"the {name} of centre have the shape {array.shape}; allowed: {wanted}", Result.BAD_COUNT)
    return arrays


# The powers of a length, a mass and a time in the parameters of built-in fields; others are plain numbers.
_POWERS = {
    **dict.fromkeys(("radius", "height", "core"), (1, 0, 0)),
    "mass": (0, 1, 0),
    "speed": (1, 0, -1),
    "density": (-3, 1, 0),
    **dict.fromkeys(("oort_a", "oort_b"), (0, 0, -1)),
    **dict.fromkeys(("xx", "yy", "zz", "xy", "xz", "yz"), (0, 0, -2)),
}


@taking_turns
class Cluster(Handle):
    """Bodies that evolve in time under their own gravity.

    They step by a Hermite scheme of order 4, 6 or 8 with block time steps, or all together by a
    leapfrog of order 2, whose forces a tree may give.

    Parameters
    ----------
    order : 2, 4, 6 or 8
    precision : "single", "mixed", "double" or "quad"
        That of the forces. None: what ``KYOHO_PRECISION`` says, else ``"double"``.
    eps : float
        The softening length, that of group 0; see :meth:`add_group`.
    eta : float
        The accuracy parameter of the time steps. None: 0.02 in order 4, whose criterion takes its
        square root, 0.2 in order 6 and 0.3 with the average, 0.3 in order 8.
    criterion : "usual", "order" or "average"
        That of the time steps in orders 6 and 8: that of the order, or its average with that of
        order 4. ``"usual"`` is the average in order 6 with forces less precise than double.
    dt_max : float
        The longest step. None: no limit. Order 2 needs it: it is the step that all bodies share.
    dt_min : float
        The shortest step.
    gravity : float
        The gravitational constant, in the units of the bodies.
    units : str
        In its place, these units: ``"SI"``, or a length, a mass and a time or a speed, such as
        ``"pc Msun Myr"`` or ``"kpc 1e10Msun km/s"``. With them all lengths, masses, times and velocities
        may be quantities of astropy; if positions that are added are some, what the cluster returns
        are quantities too.
    time : float
        The time at the start.
    approach_distance : float
        The distance below which two bodies have an approach, which ends an evolution.
    subsystems : bool
        Whether close bodies move together: hard binaries, triples and close encounters by regularised
        motion, of which all others see the centre of mass and what is beyond it. Without softening,
        in orders 4, 6 and 8. See :attr:`binaries`.
    subsystem_radius : float
        The distance below which bodies form subsystems. None: one that is chosen from the ``N`` bodies
        with mass whenever bodies were changed, ``r / (2 N)`` with the radius ``r`` of the inner half of
        them, or of all up to nine; of more than 1024 it is ``0.005 r`` over the cube root of ``N``.
    speed_of_light : float
        That in the units of the bodies. With it those of a subsystem have the post-Newtonian terms 1, 2
        and 2.5. Two that come nearer than ``6 G M / c^2`` become one, which is an encounter: the heavier
        one, or that which was added earlier, has their mass, momentum and volume, and the other one is
        removed. None: no such terms, which no other bodies have.
    on_collision : "end" or "merge"
        What becomes of bodies that collide: they end an evolution and stay as they are; or they become
        one in the same way, and evolutions go on after that and after mergers by relativity.
    accuracy, theta, backend, devices, threads, crossover
        As for :class:`kyoho.System`.
    communicator
        A communicator of mpi4py, such as ``MPI.COMM_WORLD``, whose ranks all make the cluster and give
        it the same bodies. Each has all of them and advances them as the others do, with the same bits,
        and they share the sums of the forces, without trees. :meth:`evolve`, :attr:`energies`,
        :attr:`accelerations`, :attr:`potentials`, :attr:`nearest` and :attr:`nearest_distances` are
        calls of all ranks. An error on one rank is that of all. No file has it: see :meth:`load`.

    Masses, lengths and times have the caller's own units, in which ``gravity`` is the gravitational
    constant. Arrays have a row for each body: vectors are of shape ``(n, 3)``, scalars of shape
    ``(n,)``, in the host's memory. Bodies have identifiers, integers of 64 bits.

    Several threads may use several clusters at once; calls on one wait for one another. A cluster
    belongs to the process that made it: in a fork of that process it is an error.

    >>> import kyoho
    >>> with kyoho.Cluster(order=6) as cluster:
    ...     _ = cluster.add([[0.5, 0, 0], [-0.5, 0, 0]], [0.5, 0.5], [[0, 0.5, 0], [0, -0.5, 0]])
    ...     evolution = cluster.evolve(3.141592653589793)    # half a circle
    ...     energies = cluster.energies
    >>> evolution.end
    'time'
    >>> round(energies.total, 6)
    -0.125
    """

    __slots__ = (
        "_beside",
        "_functions",
        "_has_quantities",
        "_next",
        "_options",
        "_order",
        "_raised",
        "_ranks",
        "_units",
    )

    _noun = "cluster"
    _again = ", and add the bodies again"
    _free = "kyoho_integrator_free"

    def __init__(
        self,
        order: int = 4,
        precision: str | None = None,
        *,
        eps: float = 0.0,
        eta: float | None = None,
        criterion: str = "usual",
        dt_max: float | None = None,
        dt_min: float | None = None,
        gravity: float = 1.0,
        units: str | None = None,
        time: float = 0.0,
        approach_distance: float | None = None,
        subsystems: bool = False,
        subsystem_radius: float | None = None,
        speed_of_light: float | None = None,
        on_collision: str = "end",
        accuracy: float | None = None,
        theta: float | None = None,
        backend: str | None = None,
        devices: str | None = None,
        threads: int | None = None,
        crossover: int = 0,
        communicator: Any = None,
    ) -> None:
        super().__init__()
        # The library calls its functions as long as there is the cluster.
        self._ranks = None if communicator is None else ranks_of(communicator)
        # Functions of fields, which have to stay, and what one of them raised.
        self._functions: list[Any] = []
        self._raised: list[BaseException] = []
        # The threads at work on the clusters that evolve at the same time.
        self._beside: list[set[int]] = []
        # What another one is made with.
        self._options = {name: value for name, value in locals().items() if name not in _NOT_KEPT}
        try:
            if units is not None and gravity != 1.0:
                raise Error("gravity and units are given; allowed: one of them")
            self._units = None if units is None else Units(units)
            # Whether numbers are returned with their units, as they came.
            self._has_quantities = False
            eps = self._plain("eps", eps, "length")
            approach_distance = self._plain("approach_distance", approach_distance, "length")
            subsystem_radius = self._plain("subsystem_radius", subsystem_radius, "length")
            speed_of_light = self._plain("speed_of_light", speed_of_light, "speed")
            dt_max, dt_min = self._plain("dt_max", dt_max, "time"), self._plain("dt_min", dt_min, "time")
            time = self._plain("time", time, "time")
            plain = {"eps": eps, "approach_distance": approach_distance, "subsystem_radius": subsystem_radius}
            self._options.update(plain, dt_max=dt_max, dt_min=dt_min, time=time, speed_of_light=speed_of_light)
            radius = float("inf")
            if subsystem_radius is not None:
                radius = number("subsystem_radius", subsystem_radius, above=0)
            if not subsystems and subsystem_radius is not None:
                raise Error("subsystem_radius is given without subsystems; allowed: subsystems=True")
            light = 0.0
            if speed_of_light is not None:
                light = number("speed_of_light", speed_of_light, above=0)
            if not subsystems and speed_of_light is not None:
                allowed = "subsystems=True, whose bodies alone have relativistic terms"
                raise Error(f"speed_of_light is given without subsystems; allowed: {allowed}")
            options = _options(order, precision, None, backend, devices, threads, crossover, accuracy, theta)
            given = structures.IntegratorOptions(
                sizeof(structures.IntegratorOptions),
                chosen("criterion", criterion, structures.STEP_CRITERIA),
                number("eps", eps, least=0),
                number("gravity", gravity, above=0) if self._units is None else self._units.gravity,
                number_or_none("eta", eta) or 0.0,
                number_or_none("dt_max", dt_max) or 0.0,
                number_or_none("dt_min", dt_min) or 0.0,
                number("time", time),
                number_or_none("approach_distance", approach_distance) or 0.0,
                radius if subsystems else 0.0,
                light,
                chosen("on_collision", on_collision, structures.ON_COLLISION),
            )
        except Exception:
            self._tell_ranks(lambda: library.kyoho_integrator_create(byref(self._refused()), None, byref(c_void_p())))
            raise
        options.communicator = None if self._ranks is None else addressof(self._ranks)
        handle = c_void_p()
        check(library.kyoho_integrator_create(byref(options), byref(given), byref(handle)))
        self._handle = handle.value or 0
        self._order = integer("order", order)
        self._next = 0

    def _refused(self) -> structures.Options:
        """Options that the library refuses on all ranks."""
        ranks = None if self._ranks is None else addressof(self._ranks)
        return structures.Options(sizeof(structures.Options), -1, communicator=ranks)

    def _tell_ranks(self, call: Callable[[], int]) -> None:
        """Makes a call that fails on all ranks, where others would wait for this one."""
        if self._ranks is not None:
            call()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return object.__reduce_ex__(self, max(protocol, 2))

    def __getstate__(self) -> dict[str, Any]:
        more = getattr(self, "__dict__", {})
        kept = {"options": self._options, "state": self._state(), "next": self._next, "more": dict(more)}
        return {**kept, "has_quantities": self._has_quantities}

    def _state(self) -> bytes:
        state, needed = create_string_buffer(1), c_int64()
        while result := library.kyoho_integrator_state(self._own(), state, len(state), byref(needed)):
            if result != Result.BUFFER_TOO_SMALL:
                check(result)
            state = create_string_buffer(needed.value)
        return state.raw

    @staticmethod
    def _check_kept(given: dict[str, Any]) -> None:
        known = ("order", "precision", *(Cluster.__init__.__kwdefaults__ or ()))
        other = [name for name in given.get("options", ()) if name not in known]
        other += [name for name in ("options", "state", "next", "has_quantities", "more") if name not in given]
        if other:
            raise Error(f"the saved cluster differs in '{other[0]}'; allowed: one that this version of kyoho saved")

    def __setstate__(self, given: dict[str, Any]) -> None:
        self._check_kept(given)
        Cluster.__init__(self, **given["options"])
        state = given["state"]
        check(library.kyoho_integrator_set_state(self._handle, state, len(state)))
        self._next = given["next"]
        self._has_quantities = given["has_quantities"]
        for name, value in given["more"].items():
            setattr(self, name, value)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the cluster to a file, with which :meth:`load` goes on with the same bits on the same
        kind of device, by the same version of the library. A file of that name is replaced at once, when
        all is written. Counts of work are not saved, nor attributes of a class of yours.
        """
        state = self._state()
        options = json.dumps(self._options, default=lambda value: value.item())
        kept = {"next": self._next, "has_quantities": self._has_quantities}
        head = json.dumps({**kept, "bytes": len(state), "crc": zlib.crc32(state)})
        part = f"{os.fspath(path)}.part"
        try:
            with open(part, "wb") as file:
                file.write(_FILE + f"{options}\n{head}\n".encode() + state)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise

    @classmethod
    def load(
        cls: type[Self],
        path: str | os.PathLike[str],
        *,
        backend: str | None = None,
        devices: str | None = None,
        threads: int | None = None,
        communicator: Any = None,
    ) -> Self:
        """The cluster that :meth:`save` wrote to a file. What is None is as it was saved. The ranks of a
        communicator, any number, load the same file.

        >>> import kyoho, os, tempfile
        >>> cluster = kyoho.Cluster(eps=0.1)
        >>> _ = cluster.add([[1, 0, 0], [2, 0, 0]], [1.0, 1.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cluster.save(os.path.join(folder, "cluster"))
        ...     other = kyoho.Cluster.load(os.path.join(folder, "cluster"))
        >>> cluster.evolve(0.5).time == other.evolve(0.5).time
        True
        >>> bool((cluster.positions == other.positions).all())
        True
        """
        try:
            options, kept = cls._saved(path)
            kept = {"options": options, "more": {}, **kept}
            cls._check_kept(kept)
        except Exception:
            if communicator is not None:
                # This fails on all ranks, where others would wait for this one.
                ranks = ranks_of(communicator)
                refused = structures.Options(sizeof(structures.Options), -1, communicator=addressof(ranks))
                library.kyoho_integrator_create(byref(refused), None, byref(c_void_p()))
            raise
        names = ("backend", backend), ("devices", devices), ("threads", threads)
        options.update({name: value for name, value in names if value is not None})
        if communicator is not None:
            options["communicator"] = communicator
        cluster = cls.__new__(cls)
        Cluster.__setstate__(cluster, kept)
        return cluster

    @staticmethod
    def _saved(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options of a cluster that was saved, and what else was kept."""
        with open(path, "rb") as file:
            found = file.read()
        try:
            if not found.startswith(_FILE):
                raise ValueError("it begins otherwise")
            given, head, state = found[len(_FILE) :].split(b"\n", 2)
            options, about = json.loads(given), json.loads(head)
            if len(state) != about["bytes"] or zlib.crc32(state) != about["crc"]:
                raise ValueError("it is damaged")
            kept = {"next": int(about["next"]), "has_quantities": bool(about["has_quantities"])}
            return dict(options.items()), {"state": state, **kept}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            told = f"{os.fspath(path)} is no file of a cluster: {error}; allowed: one that Cluster.save wrote"
            raise Error(told) from error

    def __repr__(self) -> str:
        if not self._handle:
            return "<kyoho.Cluster, closed>"
        return f"<kyoho.Cluster of order {self._order}>"

    def _own(self) -> int:
        handle = super()._own()
        self._check_idle()
        return handle

    def _plain(self, name: str, value: Any, kind: str) -> Any:
        """The numbers of a quantity in the units of the cluster, if it has some."""
        return value if value is None or self._units is None else self._units.number(name, value, kind)

    def _given(self, value: Any, kind: str) -> Any:
        """A number or an array as the caller has them: with its unit where positions had one."""
        return self._units.quantity(value, kind) if self._units is not None and self._has_quantities else value

    def _given_jump(self, jump: EnergyJump) -> EnergyJump:
        kinds = (("time", "time"), ("distance", "length"), ("step", "time"), ("energy", "energy"))
        return jump._replace(**{name: self._given(getattr(jump, name), kind) for name, kind in kinds})

    def _check_calling(self, call: Callable[[], int]) -> None:
        """Raises what a call of the library, in which functions of fields are called, ends with."""
        with at_work(self._working):
            result = call()
            error = failure(result) if result else None
        self._raise_of_functions()
        if error is not None:
            raise error

    def _raise_of_functions(self) -> None:
        if self._raised:
            raised = self._raised[0]
            self._raised.clear()
            raise raised

    def add(
        self,
        positions: Any,
        masses: Any,
        velocities: Any = None,
        *,
        radii: Any = None,
        identifiers: Any = None,
        groups: Any = None,
        eps: Any = None,
    ) -> NDArray[numpy.int64]:
        """Adds bodies, at the time of the cluster, and returns their identifiers. On an error none
        is added.

        Parameters
        ----------
        positions : (n, 3)
        masses : (n,)
        velocities : (n, 3)
            None: they are at rest.
        radii : (n,)
            Bodies that are nearer than the sum of their radii collide, at any time in a step, which
            ends an evolution at the end of that block step, or makes them one there, as
            ``on_collision`` says. None: 0. Two bodies whose radii are 0 never collide.
        identifiers : (n,) of int64
            None: numbers above all that were used before, from 0 on.
        groups : int or (n,) of int32
            Their groups, see :meth:`add_group`. None: 0.
        eps : float or (n,)
            In place of groups, softening lengths. Bodies go to the first group that has theirs, feels
            all groups and is felt by all; if there is none, one is made. Where that would make more
            than 16, none is made, and bodies have their softenings in the first group of that kind.

        >>> import kyoho
        >>> cluster = kyoho.Cluster()
        >>> cluster.add([[1, 0, 0], [2, 0, 0]], [1.0, 1.0])
        array([0, 1])
        """
        has_quantities = has_unit(positions) and self._units is not None
        positions, masses, velocities, radii = self._plain_bodies(positions, masses, velocities, radii)
        structure = structures.Bodies(sizeof(structures.Bodies))
        arrays = Arrays(structure)
        arrays.rows("positions", positions)
        count = arrays.rows_there()
        if identifiers is None:
            if count and self._next + count > 2**63:
                allowed = "identifiers of yours, where one was as large as this"
                raise Error(f"the next identifier is {self._next}; allowed: {allowed}")
            identifiers = min(self._next, 2**63 - 1) + numpy.arange(count, dtype=numpy.int64)
        arrays.elements("masses", masses)
        known = numpy.array(integers("identifiers", identifiers, INT64))
        self._put(arrays, known, None, None, velocities, radii)
        self._put_groups(arrays, groups, eps)
        check(library.kyoho_integrator_add_bodies(self._own(), structure))
        self._next = max(self._next, int(known.max(initial=-1)) + 1)
        self._has_quantities |= has_quantities
        return known

    def _plain_bodies(self, *given: Any) -> Iterator[Any]:
        kinds = (("positions", "length"), ("masses", "mass"), ("velocities", "speed"), ("radii", "length"))
        return (self._plain(name, value, kind) for (name, kind), value in zip(kinds, given))

    def set(
        self,
        identifiers: Any,
        *,
        positions: Any = None,
        masses: Any = None,
        velocities: Any = None,
        radii: Any = None,
        groups: Any = None,
        eps: Any = None,
    ) -> None:
        """Changes bodies, at the time of the cluster: what is None stays. On an error none is
        changed. After other changes than of radii the next evolution begins with new forces of all
        bodies. Those whose forces are nearly as before keep their steps: a small change of a mass
        costs one force of all in order 4, and two in orders 6 and 8.

        Parameters
        ----------
        identifiers : (n,) of int64
        positions, velocities : (n, 3)
        masses, radii : (n,)
        groups, eps
            As for :meth:`add`.
        """
        positions, masses, velocities, radii = self._plain_bodies(positions, masses, velocities, radii)
        structure = structures.Bodies(sizeof(structures.Bodies))
        arrays = Arrays(structure)
        self._put(arrays, identifiers, positions, masses, velocities, radii)
        self._put_groups(arrays, groups, eps)
        check(library.kyoho_integrator_set_bodies(self._own(), structure))

    @staticmethod
    def _put(arrays: Arrays, identifiers: Any, positions: Any, masses: Any, velocities: Any, radii: Any) -> None:
        arrays.long_integers("identifiers", identifiers)
        for name, array in (("positions", positions), ("velocities", velocities)):
            if array is not None:
                arrays.rows(name, array)
        for name, array in (("masses", masses), ("radii", radii)):
            if array is not None:
                arrays.elements(name, array)
        if arrays.device_array is not None:
            raise Error(f"{arrays.first} is in memory of a CUDA device; allowed: memory of the host")
        arrays.structure.count = arrays.rows_there()

    def _put_groups(self, arrays: Arrays, groups: Any, eps: Any) -> None:
        arrays.words = {"softenings": "eps"}
        if groups is not None:
            one = is_single(groups)
            arrays.integers("groups", numpy.full(arrays.rows_there(), _group("groups", groups)) if one else groups)
        if eps is not None:
            eps = self._plain("eps", eps, "length")
            one = is_single(eps)
            arrays.elements("softenings", numpy.full(arrays.rows_there(), number("eps", eps, least=0)) if one else eps)

    def add_group(self, eps: Any = None) -> int:
        """Adds a group of bodies and returns its number. It feels all groups, itself too, and all feel
        it, until :attr:`feels` is set. Group 0 is always there, with the softening of the cluster.

        Two bodies have the mean of the squares of their softenings. Each group costs a sum of its own
        in every step; there are at most 16. Clusters with subsystems have one.

        Parameters
        ----------
        eps : float
            The softening length. None: that of group 0.

        >>> import kyoho
        >>> cluster = kyoho.Cluster(eps=0.01)
        >>> halo = cluster.add_group(eps=0.1)
        >>> _ = cluster.add([[1, 0, 0], [2, 0, 0]], [1.0, 1.0])
        >>> _ = cluster.add([[5, 0, 0]], [9.0], groups=halo)
        >>> cluster.eps
        array([0.01, 0.01, 0.1 ])
        """
        given = self._options["eps"] if eps is None else self._plain("eps", eps, "length")
        group = c_int32()
        check(library.kyoho_integrator_add_group(self._own(), number("eps", given, least=0), byref(group)))
        return group.value

    @property
    def feels(self) -> NDArray[numpy.bool_]:
        """Which group feels which, ``(groups, groups)``: the bodies of group ``i`` feel those of group
        ``j`` if ``feels[i, j]``. It may be set, also to a table that is not symmetric; then the next
        evolution begins with new forces. Where a group is felt by one that it does not feel itself,
        the energy is not conserved.

        >>> import kyoho
        >>> cluster = kyoho.Cluster()
        >>> cluster.add_group()
        1
        >>> cluster.feels = [[True, False], [True, False]]    # nobody feels the tracers
        >>> cluster.feels.tolist()
        [[True, False], [True, False]]
        """
        handle, count = self._own(), self._group_count()
        table = numpy.zeros((count, count), dtype=numpy.int32)
        for group in range(count):
            check(library.kyoho_integrator_group(handle, group, None, count, table[group].ctypes.data))
        found: NDArray[numpy.bool_] = table != 0
        return found

    @feels.setter
    def feels(self, table: Any) -> None:
        handle, count = self._own(), self._group_count()
        given = plain("feels", table)
        if given.shape != (count, count):
            shape = f"allowed: {(count, count)}, as there are groups"
            raise Error(f"feels has the shape {given.shape}; {shape}", Result.BAD_COUNT)
        if given.dtype != numpy.bool_:
            given = readable("feels", given, INT64)
        if ((given != 0) & (given != 1)).any():
            raise Error("feels has other numbers than 0 and 1; allowed: these, False and True")
        for group in range(count):
            for other in range(count):
                check(library.kyoho_integrator_set_feels(handle, group, other, int(given[group, other])))

    def _group_count(self) -> int:
        found = structures.Integration(sizeof(structures.Integration))
        check(library.kyoho_integrator_describe(self._own(), byref(found)))
        count: int = found.group_count
        return count

    def remove(self, identifiers: Any) -> None:
        """Removes the bodies with these identifiers, ``(n,)`` of int64; none if one is not there."""
        given = numpy.ascontiguousarray(integers("identifiers", identifiers, INT64))
        check(library.kyoho_integrator_remove_bodies(self._own(), given.size, given.ctypes.data))

    def get(self, identifiers: Any = None) -> Bodies:
        """Bodies at the time of the cluster: those with these identifiers, ``(n,)`` of int64, or
        all, in the order in which they were added.

        >>> import kyoho
        >>> cluster = kyoho.Cluster()
        >>> _ = cluster.add([[1, 0, 0], [2, 0, 0]], [1.0, 3.0], identifiers=[7, 5])
        >>> cluster.get([5]).masses
        array([3.])
        """
        handle = self._own()
        structure = structures.BodyStates(sizeof(structures.BodyStates))
        known = self.identifiers if identifiers is None else numpy.array(integers("identifiers", identifiers, INT64))
        arrays = Arrays(structure)
        arrays.long_integers("identifiers", known)
        count = structure.count = arrays.rows_there()
        masses, radii, eps = (numpy.empty(count) for _ in range(3))
        positions, velocities = (numpy.empty((count, 3)) for _ in range(2))
        bodies = Bodies(known, masses, positions, velocities, radii, numpy.empty(count, dtype=numpy.int32), eps)
        for name, array in (("masses", masses), ("radii", radii), ("softenings", eps)):
            arrays.results(name, array)
        arrays.results("groups", bodies.groups, integers=True)
        for name in ("positions", "velocities"):
            arrays.results(name, getattr(bodies, name), 3)
        check(library.kyoho_integrator_get_bodies(handle, structure))
        given = {"masses": "mass", "positions": "length", "velocities": "speed", "radii": "length", "eps": "length"}
        return bodies._replace(**{name: self._given(getattr(bodies, name), kind) for name, kind in given.items()})

    @property
    def identifiers(self) -> NDArray[numpy.int64]:
        """The identifiers of all bodies, ``(n,)``, in the order in which they were added."""
        known = numpy.empty(len(self), dtype=numpy.int64)
        check(library.kyoho_integrator_identifiers(self._own(), known.size, known.ctypes.data))
        return known

    @property
    def masses(self) -> NDArray[numpy.float64]:
        """The masses of all bodies, ``(n,)``."""
        return self.get().masses

    @property
    def positions(self) -> NDArray[numpy.float64]:
        """The positions of all bodies, ``(n, 3)``, at the time of the cluster."""
        return self.get().positions

    @property
    def velocities(self) -> NDArray[numpy.float64]:
        """The velocities of all bodies, ``(n, 3)``, at the time of the cluster."""
        return self.get().velocities

    @property
    def radii(self) -> NDArray[numpy.float64]:
        """The radii of all bodies, ``(n,)``."""
        return self.get().radii

    @property
    def groups(self) -> NDArray[numpy.int32]:
        """The groups of all bodies, ``(n,)``."""
        return self.get().groups

    @property
    def eps(self) -> NDArray[numpy.float64]:
        """The softening lengths of all bodies, ``(n,)``, those of their groups."""
        return self.get().eps

    @property
    def accelerations(self) -> NDArray[numpy.float64]:
        """The accelerations of all bodies by each other, laws and fields, ``(n, 3)``, in double precision;
        in order 2 by the tree if there is one. One force on all bodies is computed for them.
        """
        return self._forces(("accelerations", 3))

    @property
    def potentials(self) -> NDArray[numpy.float64]:
        """The potentials at all bodies, ``(n,)``, as for :attr:`accelerations`."""
        return self._forces(("potentials", 0))

    @property
    def nearest(self) -> NDArray[numpy.int64]:
        """The identifiers of the bodies that are nearest to each, ``(n,)``, softening not included; its
        own for a body alone. A sum over all pairs is made for them.
        """
        found = numpy.empty(len(self), dtype=numpy.int64)
        structure = structures.BodyStates(sizeof(structures.BodyStates), found.size)
        Arrays(structure, found.size).long_results("nearest", found)
        check(library.kyoho_integrator_get_bodies(self._own(), structure))
        return found

    @property
    def nearest_distances(self) -> NDArray[numpy.float64]:
        """The distances of :attr:`nearest`, ``(n,)``; infinite for a body alone."""
        return self._forces(("nearest_distances", 0))

    def _forces(self, wanted: tuple[str, int]) -> NDArray[numpy.float64]:
        name, columns = wanted
        count = len(self)
        found = numpy.empty((count, columns) if columns else count)
        structure = structures.BodyStates(sizeof(structures.BodyStates), count)
        Arrays(structure, count).results(name, found, columns)
        handle = self._own()
        self._check_calling(lambda: library.kyoho_integrator_get_bodies(handle, structure))
        given: NDArray[numpy.float64] = self._given(found, _KINDS[name])
        return given

    @property
    def time(self) -> float:
        """The time of the bodies."""
        return self.integration.time

    def __len__(self) -> int:
        return self.integration.body_count

    @property
    def integration(self) -> Integration:
        """Counts of its work since it was made."""
        found = structures.Integration(sizeof(structures.Integration))
        check(library.kyoho_integrator_describe(self._own(), byref(found)))
        jump = EnergyJump(*(getattr(found, f"jump_{name}") for name in EnergyJump._fields))
        counts = (getattr(found, name) for name in Integration._fields[:-1])
        made = Integration._make((*counts, self._given_jump(jump) if found.energy_jumps else None))
        return made._replace(time=self._given(made.time, "time"))

    @property
    def energies(self) -> Energies:
        """The energies of the bodies, in double precision; in order 2 the potential energy is by
        the tree if there is one. Those in fields and by laws are part of it.
        """
        kinetic, potential, handle = c_double(), c_double(), self._own()
        self._check_calling(lambda: library.kyoho_integrator_energies(handle, byref(kinetic), byref(potential)))
        return Energies(self._given(kinetic.value, "energy"), self._given(potential.value, "energy"))

    @property
    def field_energy(self) -> float:
        """The potential energy of the bodies in fields: the sum of each mass times the potential. Fields
        that are written as an acceleration alone have none.
        """
        energy, handle = c_double(), self._own()
        self._check_calling(lambda: library.kyoho_integrator_field_energy(handle, byref(energy)))
        found: float = self._given(energy.value, "energy")
        return found

    def add_field(self, field: str | Callable[..., Any], *, centre: Any = None, **parameters: Any) -> None:
        """Adds a field, which acts on all bodies beside their own gravity from now on. Several fields
        add up. The next evolution begins with new forces of all bodies.

        Parameters
        ----------
        field : str or function
            A built-in name, such as ``"plummer"`` or ``"milky_way_2014"``, or a text of the language of
            pairs. Or, in orders 2 and 4, a function of ``(positions, velocities, time)``, arrays of shape
            ``(n, 3)`` and a number, that returns accelerations, ``(n, 3)``.
        centre : (times, positions) or (times, positions, velocities)
            Nodes through which the centre of the field moves, ``(n,)`` and ``(n, 3)``: on a cubic spline
            with these velocities, or on a natural one. None: it is the origin. A function has none.
        parameters
            The parameters of the field by their names: a number, or those of a vector. Of a function they
            are ``jerk``, a function of ``(positions, velocities, accelerations, time)``, which order 4
            needs, and ``potential``, one of ``(positions, velocities, time)``.

        >>> import kyoho
        >>> cluster = kyoho.Cluster()
        >>> _ = cluster.add([[1, 0, 0]], [2.0])
        >>> cluster.add_field("point_mass", mass=3.0)
        >>> cluster.field_energy
        -6.0
        """
        if callable(field):
            if centre is not None:
                raise Error("centre is given; allowed: None, for a field that is a function")
            self._add_function(field, **parameters)
            return
        if field is None:
            raise Error("field is None; allowed: a name, a text or a function")
        text = text_or_none("field", field, "a name, a text or a function")
        is_built_in = isinstance(field, str) and field.strip().isidentifier()
        described = (self._own(), text, *self._described(parameters, is_built_in))
        if centre is None:
            check(library.kyoho_integrator_add_field(*described))
            return
        kinds = (("times", "time"), ("positions", "length"), ("velocities", "speed"))
        if self._units is not None and isinstance(centre, (tuple, list)):
            parts = zip(kinds, centre)
            centre = tuple(self._plain(f"the {name} of centre", value, kind) for (name, kind), value in parts)
        nodes = _nodes(centre)
        addresses = [None if array is None else array.ctypes.data for array in nodes]
        check(library.kyoho_integrator_add_moving_field(*described, len(nodes[0]), *addresses))

    def _described(self, parameters: dict[str, Any], is_built_in: bool = False) -> tuple[Any, int, Any]:
        """The names of parameters, the count of their numbers, and these, as the library takes them."""
        numbers: list[float] = []
        for name, value in parameters.items():
            if self._units is not None:
                value = self._units.any_number(name, value, _POWERS.get(name, (0, 0, 0)) if is_built_in else None)
            one = is_single(value)
            found = [number(name, value)] if one else [float(x) for x in readable(name, value, FLOAT64).ravel()]
            if is_built_in and len(found) != 1:
                raise Error(f"{name} has {len(found)} numbers; allowed: one")
            numbers.extend(found)
        names = text_or_none("a name of the parameters", " ".join(parameters), "names")
        return names, len(numbers), (c_double * len(numbers))(*numbers)

    def add_law(self, law: str, *, on: Any = None, by: Any = None, **parameters: Any) -> None:
        """Adds a law between bodies beside their gravity, from now on. Several laws add up. The next
        evolution begins with new forces of all bodies.

        Parameters
        ----------
        law : str
            A text of the language of pairs, whose sinks and sources have ``pos``, ``vel`` and ``mass``.
        on, by : int or sequence of int
            The groups of the bodies on which the law acts, and of those that make it, see
            :meth:`add_group`. None: all.
        parameters
            The parameters of the law by their names: a number, or those of a vector.

        >>> import kyoho
        >>> cluster = kyoho.Cluster()
        >>> _ = cluster.add([[1, 0, 0], [-1, 0, 0]], [2.0, 3.0])
        >>> cluster.add_law('''pair spring
        ... i      pos: vec3<f64>
        ... j      pos: vec3<f64>, mass: f64
        ... param  stiffness: f64
        ... result potential: f64 sum
        ... body
        ...   potential += 0.5 * stiffness * j.mass * norm2(j.pos - i.pos)
        ... ''', stiffness=0.5)
        >>> cluster.law_energy
        6.0
        """
        text = text_or_none("law", law, "a text")
        if text is None:
            raise Error("law is None; allowed: a text")
        groups = (_group_bits("on", on), _group_bits("by", by))
        check(library.kyoho_integrator_add_law(self._own(), text, *self._described(parameters), *groups))

    @property
    def law_energy(self) -> float:
        """The energy of the bodies by laws: each mass times the potential, in which a pair counts once.
        Laws that are written as an acceleration alone have none.
        """
        energy, handle = c_double(), self._own()
        check(library.kyoho_integrator_law_energy(handle, byref(energy)))
        found: float = self._given(energy.value, "energy")
        return found

    def _add_function(self, acceleration: Any, *, jerk: Any = None, potential: Any = None, **others: Any) -> None:
        for name in others:
            raise Error(f"{name} is a parameter of a field that is a function; allowed: jerk, potential")
        for name, function in (("jerk", jerk), ("potential", potential)):
            if function is not None and not callable(function):
                raise Error(f"{name} is {function!r}; allowed: a function or None")
        if jerk is None and self._order == 4:
            raise Error("jerk is None; allowed: a function, which order 4 needs, or order 2")
        raised, working, beside = self._raised, self._working, self._beside
        functions = {"potential": potential, "acceleration": acceleration, "jerk": jerk}

        def told(_: Any, value: int, time: float, count: int, *rows: Any) -> int:
            try:
                with at_work(working, *beside):
                    given: list[Any]
                    found: Any
                    *given, found = (numpy.ctypeslib.as_array(row, (count, 3)) if row else None for row in rows)
                    known = [array.copy() for array in given if array is not None]
                    function = functions[word(structures.FIELD_VALUES, value)]
                    values = readable("the values of a field's function", function(*known, time), FLOAT64)
                    wanted = (count, 3) if value else (count,)
                    if values.shape != wanted:
                        what = f"the values of a field's function have the shape {values.shape}"
                        raise Error(f"{what}; allowed: {wanted}", Result.BAD_COUNT)
                    found.ravel()[: values.size] = values.ravel()
            except BaseException as error:
                raised.append(error)
                return 1
            return 0

        callback = structures.FieldFunction(told)
        check(library.kyoho_integrator_add_field_function(self._own(), callback, None, potential is not None))
        self._functions.append(callback)

    def evolve(
        self,
        time: float,
        *,
        block_steps: int | None = None,
        seconds: float | None = None,
        progress: Callable[[float, int], Any] | None = None,
        progress_seconds: float = 0.1,
    ) -> Evolution:
        """Advances all bodies to a time, which may not lie before theirs, or until something ends it
        earlier: a collision or a merger, an approach, or one of the parameters. Whatever the reason, all bodies
        are at one time then, from which a further call goes on. In the main thread Ctrl-C ends it,
        and what a function raises that Python calls at SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2 or
        SIGXCPU; all bodies are at one time then too. Over ranks, what ends it on one ends it on all,
        after the same block step; where only others ended it, ``end`` is ``"caller"``.

        Parameters
        ----------
        time : float
        block_steps : int
            The number of block steps after which it ends; one more may bring all bodies to one
            time. 0 or None: no limit.
        seconds : float
            The seconds of real time after which it ends, at the end of a block step.
        progress : function
            It is called with the time and the number of block steps so far; it ends the evolution
            if it returns a true value. It may not call the cluster.
        progress_seconds : float
            The seconds between two calls of ``progress``, at least. 0: it is called after every
            block step.
        """
        handle = self._own()
        try:
            time = self._evolution_time(time)
            progress = function_or_none("progress", progress)
            told = progress and (lambda now, steps: progress(self._given(now, "time"), steps))
            listening = Listening(block_steps, seconds, told, progress_seconds)
        except Exception:
            options = structures.EvolveOptions(sizeof(structures.EvolveOptions), -1)
            self._tell_ranks(lambda: library.kyoho_integrator_evolve(handle, 0.0, byref(options), None))
            raise
        outcome = structures.Evolution(sizeof(structures.Evolution))
        with listening, at_work(self._working):
            result = library.kyoho_integrator_evolve(handle, time, byref(listening.options), byref(outcome))
            error = failure(result) if result else None
        listening.interrupt()
        self._raise_of_functions()
        listening.raise_again()
        if error is not None:
            raise error
        return self._evolution(outcome, listening.end)

    def _evolution_time(self, time: Any) -> float:
        return number("time", self._plain("time", time, "time"))

    def _evolution(self, outcome: structures.Evolution, listened: str | None) -> Evolution:
        """How an evolution ended, which a listener may have ended."""
        end = word(structures.EVOLUTION_ENDS, outcome.end)
        closest, when = None, float("nan")
        if outcome.approach_distance != float("inf"):
            when = outcome.approach_time
            pair = (outcome.approach_first, outcome.approach_second)
            closest = self._encounter("approach", *pair, outcome.approach_distance, when)
        return Evolution(
            listened if end == "caller" and listened else end,
            self._given(outcome.time, "time"),
            outcome.block_steps,
            self._encounters(outcome.encounter_count),
            closest,
            self._given(when, "time"),
        )

    @property
    def binaries(self) -> list[Binary]:
        """The bound pairs of the subsystems, and pairs of pairs, innermost first in each."""
        count = c_int32()
        check(library.kyoho_integrator_binary_count(self._own(), byref(count)))
        structure = structures.Binaries(sizeof(structures.Binaries), count.value)
        arrays = Arrays(structure, count.value)
        first, second = (numpy.empty(count.value, dtype=numpy.int64) for _ in range(2))
        counts = [numpy.empty(count.value, dtype=numpy.int32) for _ in range(2)]
        axes, eccentricities, periods = (numpy.empty(count.value) for _ in range(3))
        arrays.long_results("first", first)
        arrays.long_results("second", second)
        arrays.results("first_counts", counts[0], integers=True)
        arrays.results("second_counts", counts[1], integers=True)
        arrays.results("semi_major_axes", axes)
        arrays.results("eccentricities", eccentricities)
        arrays.results("periods", periods)
        check(library.kyoho_integrator_binaries(self._own(), structure))
        # The bodies of the largest part so far that has each body.
        parts: dict[int, tuple[int, ...]] = {}
        found = []
        for row in range(count.value):
            members = tuple(parts.get(int(name), (int(name),)) for name in (first[row], second[row]))
            for name in members[0] + members[1]:
                parts[name] = members[0] + members[1]
            axis, period = self._given(float(axes[row]), "length"), self._given(float(periods[row]), "time")
            shape = (axis, float(eccentricities[row]), period)
            found.append(Binary((members[0], members[1]), *shape))
        return found

    def _encounter(self, kind: str, first: int, second: int, distance: float, time: float) -> Encounter:
        return Encounter(kind, first, second, self._given(distance, "length"), self._given(time, "time"))

    def _encounters(self, count: int) -> list[Encounter]:
        """The encounters of the last evolution."""
        if count == 0:
            return []
        structure = structures.Encounters(sizeof(structures.Encounters), count)
        arrays = Arrays(structure, count)
        kinds = numpy.empty(count, dtype=numpy.int32)
        first, second = (numpy.empty(count, dtype=numpy.int64) for _ in range(2))
        distances, times = numpy.empty(count), numpy.empty(count)
        arrays.results("kinds", kinds, integers=True)
        arrays.long_results("first", first)
        arrays.long_results("second", second)
        arrays.results("distances", distances)
        arrays.results("times", times)
        check(library.kyoho_integrator_encounters(self._own(), structure))
        rows = zip(kinds.tolist(), first.tolist(), second.tolist(), distances.tolist(), times.tolist())
        return [self._encounter(word(structures.ENCOUNTERS, kind), *others) for kind, *others in rows]
