"""Systems of sources, whose forces on sinks are computed block by block."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int32, c_void_p, sizeof
from typing import TYPE_CHECKING, Any

import numpy

from . import _structures as structures
from ._arrays import Arrays, LimbArrays
from ._devices import device_array
from ._errors import Error, Result, chosen
from ._handle import Handle, taking_turns
from ._library import check, failure, library
from ._numbers import integer, integer_or_none, is_single, limbs_of, number, number_or_none, text_or_none
from ._ranks import ranks_of
from ._results import (
    Forces,
    Interaction,
    Predictions,
    Sources,
    Statistics,
    TreeErrors,
    forces_for,
    interaction_of,
    kinds_of,
    new_forces,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

DEVICES = "'all', a count such as '2', a list such as '0,2' or '3,'"
_SINKS = sizeof(structures.Sinks)
_SOURCES = sizeof(structures.Sources)
_PREDICTED = {
    2: ("positions",),
    4: ("positions", "velocities"),
    6: ("positions", "velocities", "accelerations"),
    8: ("positions", "velocities", "accelerations", "jerks"),
}
_OTHERS = Sources._fields[2:]
_force = library.kyoho_system_force


@taking_turns
class System(Handle):
    """A system of sources, and the devices that sum their forces.

    Parameters
    ----------
    order : 2, 4, 6 or 8
        2 for potentials and accelerations; 4 for jerks and nearest sources too; 6 for snaps too;
        8 for crackles too.
    precision : "single", "mixed", "double" or "quad"
        None: what the environment says (``KYOHO_PRECISION``), else ``"double"``. In ``"quad"`` every
        real number may have two doubles, see below.
    scope : "full" or "regular"
        ``"regular"`` leaves out the neighbours of each sink (order 4).
    backend : "cuda", "opencl" or "cpu"
        None: what ``KYOHO_BACKEND`` says, else the first that has a device.
    devices : str
        ``"all"``, a count such as ``"2"``, or a list such as ``"0,2"`` (of one: ``"3,"``).
    threads : int
        Threads of the CPU. None: what the environment says, else all cores.
    crossover : int
        The number of pairs below which the CPU computes a block in the place of a GPU; -1: none.
    accuracy : float
        The error of accelerations by a tree, relative to them or to half of the sum of the sizes of
        all pulls, whichever is more, 1e-6 to 1e-2, in order 2. Half of the sinks have at most this.
    theta : float
        The opening angle of a tree, 0.1 to 1.5, in the place of ``accuracy``.
    communicator
        A communicator of mpi4py, such as ``MPI.COMM_WORLD``, whose ranks all make the system: it is
        one, in which each rank has sources and sinks of its own, any number. All ranks call
        :meth:`force`, :meth:`force_all`, :meth:`force_lists`, :meth:`start`, :meth:`start_all`,
        :meth:`start_lists` and :meth:`wait`, and get the forces of the sources of all ranks on their
        own sinks; an error on one is that of all.

    Lengths, masses and times have the caller's own units, with G = 1. Arrays of bodies have a row
    for each: vectors are of shape ``(n, 3)``, scalars of shape ``(n,)``. Arrays of numpy of type
    float64 (indices and addresses: int32) are read where they are, as long as the three numbers of
    a row follow one another. Arrays of CUDA devices stay there. Everything else is copied, or
    refused with a :class:`kyoho.Error`.

    In precision ``"quad"`` real numbers are unevaluated sums of two doubles, about 32 digits. What is
    given may have a last axis of 2 for the high and the low limb, ``(n, 3, 2)`` and ``(n, 2)``, or be
    of plain numbers; results have that axis. Such systems have no lists, no batches and no trees.

    Several threads may use several systems at once; calls on one system wait for one another. A
    system belongs to the process that made it: in a fork of that process it is an error.

    >>> import kyoho
    >>> with kyoho.System(order=4) as system:
    ...     system.set_sources([[0, 0, 0], [2, 0, 0]], [1.0, 1.0], indices=[1, 2])
    ...     forces = system.force([[0, 0, 0]], [[0, 0, 0]], indices=[1])
    >>> forces.accelerations
    array([[0.25, 0.  , 0.  ]])
    >>> forces.nearest
    array([2], dtype=int32)
    """

    __slots__ = ("_interaction", "_kinds", "_made", "_nj", "_ranks", "_started")

    _noun = "system"
    _again = ", and write the sources again"
    _free = "kyoho_system_free"

    def __init__(
        self,
        order: int = 4,
        precision: str | None = None,
        *,
        scope: str | None = None,
        backend: str | None = None,
        devices: str | None = None,
        threads: int | None = None,
        crossover: int = 0,
        accuracy: float | None = None,
        theta: float | None = None,
        communicator: Any = None,
    ) -> None:
        super().__init__()
        # The library calls its functions as long as there is the system.
        self._ranks = None if communicator is None else ranks_of(communicator)
        ranks = None if self._ranks is None else ctypes.addressof(self._ranks)
        handle = c_void_p()
        try:
            options = _options(order, precision, scope, backend, devices, threads, crossover, accuracy, theta)
        except Exception:
            if ranks is not None:
                # No such order: the call fails on all ranks.
                wrong = structures.Options(sizeof(structures.Options), -1, communicator=ranks)
                library.kyoho_system_create(byref(wrong), byref(handle))
            raise
        options.communicator = ranks
        check(library.kyoho_system_create(byref(options), byref(handle)))
        self._handle = handle.value or 0
        self._interaction = self._described()[0]
        self._kinds = kinds_of(self._interaction)
        self._made = LimbArrays if self._interaction.precision == "quad" else Arrays
        # The addresses below this may have sources.
        self._nj: int | None = 0
        # The number of sinks of the call that was started, and the arrays that it reads until it is waited for.
        self._started: tuple[int, Arrays, list[object]] | None = None

    def __repr__(self) -> str:
        if not self._handle:
            return "<kyoho.System, closed>"
        order, precision, scope = self._interaction[:3]
        return f"<kyoho.System of order {order}, {precision}, {scope}, on {self.backend}>"

    @property
    def interaction(self) -> Interaction:
        """Its order, precision and scope, and what these compute."""
        return self._interaction

    @property
    def backend(self) -> str:
        """The backend in use now: ``"cuda"``, ``"opencl"``, ``"cpu"``, or ``"none"`` where devices
        were lost and no others could be had.
        """
        return self._described()[1]

    @property
    def devices(self) -> list[str]:
        """The names of its devices, for people."""
        handle, count, text = self._own(), c_int32(), ctypes.create_string_buffer(256)
        check(library.kyoho_system_device_count(handle, byref(count)))
        names = []
        for device in range(count.value):
            result = library.kyoho_system_device_name(handle, device, text, len(text))
            if result != Result.BUFFER_TOO_SMALL:
                check(result)
            names.append(text.value.decode(errors="replace"))
        return names

    @property
    def statistics(self) -> Statistics:
        """Counts of its work since it was made."""
        counts = structures.Statistics(sizeof(structures.Statistics))
        check(library.kyoho_system_statistics(self._own(), byref(counts)))
        return Statistics(*(getattr(counts, name) for name in Statistics._fields))

    def _described(self) -> tuple[Interaction, str]:
        interaction = structures.Interaction(sizeof(structures.Interaction))
        backend = c_int32()
        check(library.kyoho_system_describe(self._own(), byref(interaction), byref(backend)))
        return interaction_of(interaction), word(structures.BACKENDS, backend.value)

    def move(
        self,
        *,
        backend: str | None = None,
        devices: str | None = None,
        threads: int | None = None,
        crossover: int = 0,
        accuracy: float | None = None,
        theta: float | None = None,
    ) -> None:
        """Goes on with other devices, or with the same ones opened anew. Sources and time stay.

        The parameters are those of the constructor.
        """
        options = _options(0, None, None, backend, devices, threads, crossover, accuracy, theta)
        check(library.kyoho_system_move(self._own(), byref(options)))

    def set_crossover(self, pairs: int) -> None:
        """Sets the number of pairs (sinks times sources) below which the CPU computes a block in
        the place of a GPU. -1: it computes none. 0: what the environment says, else a constant of
        the device's model.
        """
        check(library.kyoho_system_set_crossover(self._own(), _pairs("pairs", pairs)))

    def set_time(self, time: Any) -> None:
        """Sets the time to which the sources of the next blocks are predicted; it is 0 until then. In
        precision ``"quad"`` it may also be a ``Fraction``, a ``Decimal``, a text or two limbs.
        """
        if self._made is Arrays or type(time) is float:
            check(library.kyoho_system_set_time(self._own(), number("time", time)))
            return
        if is_single(time):
            high, low = limbs_of("time", time)
        elif len(time) == 2:
            high, low = number("time[0]", time[0]), number("time[1]", time[1])
        else:
            raise Error(f"time is {time!r}; allowed: a number, or the two of a number of two doubles")
        check(library.kyoho_system_set_time_dd(self._own(), high, low))

    def set_sources(
        self,
        positions: Any,
        masses: Any,
        velocities: Any = None,
        accelerations: Any = None,
        jerks: Any = None,
        snaps: Any = None,
        crackles: Any = None,
        sixth_derivatives: Any = None,
        seventh_derivatives: Any = None,
        *,
        times: Any = None,
        indices: Any = None,
        addresses: Any = None,
        first_address: int = 0,
        softening2: Any = None,
    ) -> None:
        """Writes sources at their addresses, replacing what was there. On an error in what was
        given nothing is written.

        Parameters
        ----------
        positions : (n, 3)
        masses : (n,)
        velocities, accelerations, jerks, snaps, crackles, sixth_derivatives, seventh_derivatives : (n, 3)
            Time derivatives of the positions, not divided by factorials, for the prediction: order 4
            reads those up to the jerks, order 6 up to the crackles, order 8 all, order 2 none. None
            means 0.
        times : (n,)
            The time to which each source belongs. None means 0.
        indices : (n,) of int32
            A name for each source: it exerts no force on sinks of the same index, and neighbours are
            told by it. None: its address.
        addresses : (n,) of int32
            The address of each source, 0 or more. None: from ``first_address`` on.
        softening2 : float or (n,)
            The square of the softening length of all, or of each. That of a pair is then the mean of
            those of its source and its sink. All sources of a system have one, or none has: to change
            that write all anew. They are summed directly, without regular forces, lists and ranks,
            and in double precision also in a system of less. None: a pair has that of its sink.
        """
        first_address = integer("first_address", first_address)
        sources = (
            positions,
            masses,
            velocities,
            accelerations,
            jerks,
            snaps,
            crackles,
            sixth_derivatives,
            seventh_derivatives,
            times,
            indices,
        )
        self._write(sources, addresses, first_address, softening2)

    def _write(
        self,
        sources: tuple[Any, ...],
        addresses: Any = None,
        first_address: int = 0,
        softening2: Any = None,
        words: Mapping[str, str] = Arrays.words,
    ) -> Arrays:
        """Writes sources, the first arrays of a ``Sources``, and returns their arrays."""
        structure, arrays = _sources(sources, addresses, made=self._made)
        structure.first_address = first_address
        if softening2 is not None:
            arrays.words = words
            if is_single(softening2):
                softening2 = numpy.full(structure.count, number("softening2", softening2))
            arrays.elements("softening2_each", softening2)
        self._check_place(arrays)
        result = library.kyoho_system_set_sources(self._own(), structure)
        if result:
            raise failure(result)
        if addresses is None:
            end: int | None = first_address + structure.count
        elif arrays.device_array is None:
            end = int(numpy.max(numpy.asarray(addresses), initial=-1)) + 1
        else:
            # They are not looked at here.
            end = None
        if self._nj is not None:
            self._nj = None if end is None else max(self._nj, end)
        return arrays

    def predict(self, first_address: int = 0, count: int | None = None) -> Predictions:
        """The sources at ``count`` addresses from ``first_address`` on, predicted to the system's
        time: positions, and the derivatives that forces of the system's order need. Rows of
        addresses that were never written are NaN. ``count=None``: up to the last one.
        """
        first_address = integer("first_address", first_address)
        if count is None:
            count = max(self._sources_below(None) - first_address, 0)
        count = integer("count", count, least=0)
        structure = structures.Predictions(sizeof(structures.Predictions))
        arrays = self._made(structure, count)
        shape = (count, 3) if self._made is Arrays else (count, 3, 2)
        made = {}
        for name in _PREDICTED[self._interaction.order]:
            made[name] = numpy.empty(shape)
            arrays.results(name, made[name], 3)
        check(library.kyoho_system_predict(self._own(), first_address, count, structure))
        return Predictions(**made)

    def force(
        self,
        positions: Any,
        velocities: Any = None,
        accelerations: Any = None,
        jerks: Any = None,
        *,
        indices: Any,
        softening2: Any = 0.0,
        radii2: Any = None,
        steps: Any = None,
        neighbour_criterion: str | None = None,
        nj: int | None = None,
        out: Forces | None = None,
    ) -> Forces:
        """The forces of the sources, predicted to the system's time, on ``n`` sinks.

        Parameters
        ----------
        positions, velocities, accelerations, jerks : (n, 3)
            At the system's time. Order 2 needs positions, order 4 velocities too, order 6
            accelerations too, order 8 jerks too.
        indices : (n,) of int32, or None
            Sources with the index of a sink exert no force on it. None: every source counts, as for
            points that are no bodies.
        softening2 : float or (n,)
            The square of the softening length, in the potential ``-m / sqrt(r**2 + softening2)``.
        radii2 : (n,)
            The square of the radius of each sink's neighbour list; None: no lists. Regular forces
            leave out the sources within.
        steps : (n,)
            In regular forces the step of each sink, over which a source that comes near is a
            neighbour.
        neighbour_criterion : "by mass" or "plain"
            In regular forces: whether a source's mass counts. None: by mass.
        nj : int
            Only the sources at addresses below it act. None: all.
        out : Forces
            Arrays to write to, also fewer than there are results. None: new ones.

        Returns
        -------
        Forces
            ``out``, or all that the system computes, on the device if the sinks are there.
        """
        given = (
            positions,
            velocities,
            accelerations,
            jerks,
            indices,
            softening2,
            radii2,
            steps,
            neighbour_criterion,
        )
        return self._force(given, nj, out)

    def _force(
        self, given: tuple[Any, ...], nj: int | None, out: Forces | None, words: Mapping[str, str] = Arrays.words
    ) -> Forces:
        """As :meth:`force`, with the words of its caller for arrays."""
        try:
            sinks, arrays, count = _sinks(*given, made=self._made, words=words)
            self._check_place(arrays)
            handle = self._own()
            nj = self._sources_below(nj)
            if out is None:
                out = new_forces(self._kinds, count, arrays)
            elif type(out) is not Forces or out._count != count:
                _check_out(out, count)
        except Exception:
            self._tell_ranks()
            raise
        result = _force(handle, nj, sinks, out._structure)
        if result:
            raise failure(result)
        return out

    def force_all(self, softening2: float = 0.0, *, nj: int | None = None, out: Forces | None = None) -> Forces:
        """The forces of the sources at addresses below ``nj`` on one another, predicted to the system's
        time. The sinks are these sources, each of which leaves out those with its index. It takes
        less time than to hand them over once more, above all by a tree.

        Parameters
        ----------
        softening2 : float
            The square of the softening length; 0 where sources have their own.
        nj : int
            None: all sources.
        out : Forces
            Arrays to write to, also fewer than there are results. None: new ones of numpy.

        >>> import kyoho
        >>> with kyoho.System(order=2) as system:
        ...     system.set_sources([[0, 0, 0], [2, 0, 0]], [1.0, 3.0])
        ...     forces = system.force_all()
        >>> forces.accelerations
        array([[ 0.75,  0.  ,  0.  ],
               [-0.25,  0.  ,  0.  ]])
        """
        try:
            handle = self._own()
            count = self._sources_below(nj)
            made = self._made(structures.Forces())
            out = new_forces(self._kinds, count, made) if out is None else _check_out(out, count)
            softening2 = number("softening2", softening2)
        except Exception:
            self._tell_ranks()
            raise
        check(library.kyoho_system_force_all(handle, count, softening2, out._structure))
        return out

    def start_all(self, softening2: float = 0.0, *, nj: int | None = None) -> None:
        """Begins what :meth:`force_all` does, and returns while devices may be at work; :meth:`wait`
        gives the forces.
        """
        try:
            count = self._sources_below(nj)
            softening2 = number("softening2", softening2)
        except Exception:
            self._tell_ranks()
            raise
        check(library.kyoho_system_start_all(self._own(), count, softening2))
        self._started = (count, self._made(structures.Forces()), [])

    def start(
        self,
        positions: Any,
        velocities: Any = None,
        accelerations: Any = None,
        jerks: Any = None,
        *,
        indices: Any,
        softening2: Any = 0.0,
        radii2: Any = None,
        steps: Any = None,
        neighbour_criterion: str | None = None,
        nj: int | None = None,
    ) -> None:
        """Begins what :meth:`force` does, and returns while devices may be at work; :meth:`wait`
        gives the forces. Sources that are written in between do not change them.
        """
        try:
            sinks, arrays, count = _sinks(
                positions,
                velocities,
                accelerations,
                jerks,
                indices,
                softening2,
                radii2,
                steps,
                neighbour_criterion,
                made=self._made,
            )
            self._check_place(arrays)
            nj = self._sources_below(nj)
        except Exception:
            self._tell_ranks()
            raise
        check(library.kyoho_system_start(self._own(), nj, sinks))
        self._started = (count, arrays, [])

    def wait(self, out: Forces | None = None) -> Forces:
        """The forces of what :meth:`start`, :meth:`start_lists` or :meth:`start_batch` began."""
        handle = self._own()
        if self._started is None:
            check(library.kyoho_system_wait(handle, structures.Forces(sizeof(structures.Forces))))
            raise Error("nothing was started on this system; call start first", Result.CALL_ORDER)
        count, arrays, _ = self._started
        try:
            out = new_forces(self._kinds, count, arrays) if out is None else _check_out(out, count)
        except Exception:
            if self._ranks is not None:
                self._started = None
                library.kyoho_system_wait(handle, None)
            raise
        result = library.kyoho_system_wait(handle, out._structure)
        if self._ranks is not None or result not in (Result.NULL_ARGUMENT, Result.BAD_OPTION):
            self._started = None
        check(result)
        return out

    def find_neighbours(
        self, positions: Any, radii2: Any, *, indices: Any, nj: int | None = None
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32]]:
        """The sources within a radius of each of ``n`` sinks, found by a tree, in a system of order 2:
        those with ``|r|**2 < radii2[sink]``, softening not included.

        Parameters
        ----------
        positions : (n, 3)
        radii2 : (n,)
            The square of each sink's radius.
        indices : (n,) of int32, or None
            Sources with the index of a sink are left out. None: every source counts.
        nj : int
            Only the sources at addresses below it are looked at. None: all.

        Returns
        -------
        offsets : (n + 1,) of int64
            The addresses for sink ``i`` are those from ``offsets[i]`` to below ``offsets[i + 1]``.
        addresses : (offsets[n],) of int32
            Those of a sink are ascending. :meth:`force_lists` takes both.

        >>> import kyoho
        >>> with kyoho.System(order=2) as system:
        ...     system.set_sources([[0, 0, 0], [2, 0, 0], [9, 0, 0]], [1, 1, 1])
        ...     offsets, addresses = system.find_neighbours([[1, 0, 0], [8, 0, 0]], [4, 4], indices=None)
        >>> offsets, addresses
        (array([0, 2, 3]), array([0, 1, 2], dtype=int32))
        """
        sinks, _, count = _sinks(positions, None, None, None, indices, 0.0, radii2)
        handle = self._own()
        nj = self._sources_below(nj)
        offsets: NDArray[numpy.int64] = numpy.empty(count + 1, numpy.int64)
        check(library.kyoho_system_find_neighbours(handle, nj, byref(sinks), offsets.ctypes.data))
        addresses: NDArray[numpy.int32] = numpy.empty(int(offsets[-1]), numpy.int32)
        check(library.kyoho_system_copy_found_neighbours(handle, len(addresses), addresses.ctypes.data))
        return offsets, addresses

    def neighbours(self, sink: int) -> NDArray[numpy.int32]:
        """The neighbours of one sink of the last block, counted from 0: the indices, ascending, of
        the sources with ``|r|**2 < radii2[sink]``; in a system of regular forces those that the
        force leaves out.
        """
        sink = integer("sink", sink)
        handle, count = self._own(), c_int32()
        found: NDArray[numpy.int32] = numpy.empty(256, numpy.int32)
        while True:
            result = library.kyoho_system_neighbours(handle, sink, len(found), found.ctypes.data, byref(count))
            if result != Result.BUFFER_TOO_SMALL:
                check(result)
                return found[: count.value]
            found = numpy.empty(count.value, numpy.int32)

    def tree_error(
        self, positions: Any, *, indices: Any, samples: int = 1000, softening2: Any = 0.0, nj: int | None = None
    ) -> TreeErrors:
        """The errors of the accelerations of ``samples`` sinks, evenly chosen, by the tree that the
        system was made with, against direct sums. They are 0 where the block has so few pairs that
        it is summed directly anyhow. The parameters are those of :meth:`force`.
        """
        given = (positions, None, None, None, indices, softening2)
        return self._tree_error(given, samples, nj)

    def _tree_error(
        self, given: tuple[Any, ...], samples: int, nj: int | None, words: Mapping[str, str] = Arrays.words
    ) -> TreeErrors:
        """As :meth:`tree_error`, with the words of its caller for arrays."""
        sinks, arrays, _ = _sinks(*given, words=words)
        self._check_place(arrays)
        samples = integer("samples", samples)
        errors = structures.TreeErrors(sizeof(structures.TreeErrors))
        nj = self._sources_below(nj)
        check(library.kyoho_system_tree_error(self._own(), nj, sinks, samples, byref(errors)))
        return TreeErrors(errors.median, errors.percentile_90, errors.percentile_99, errors.worst)

    def force_lists(
        self,
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
        sources: Sources | None = None,
        softening2: Any = 0.0,
        out: Forces | None = None,
    ) -> Forces:
        """The forces on groups of sinks, on each of which act the sources of its own list alone.

        ``sink_offsets``, of shape ``(groups + 1,)``, has the first sink of each group and, behind
        the last one, the number of sinks. The sources of the groups are given in one of three
        forms:

        - ranges of the system's sources: ``first_addresses`` and ``source_counts``, ``(groups,)``;
        - lists of the system's sources: ``addresses``, divided by ``source_offsets``,
          ``(groups + 1,)``;
        - sources of this call: ``sources``, divided by ``source_offsets``.

        Over ranks there is no ``sources``, and addresses are those of all ranks: the first one's, up to
        the highest that was written, then the second's and so on. The other parameters, and what is
        returned, are as in :meth:`force`.
        """
        lists, sinks, arrays, kept = self._lists(
            (positions, velocities, accelerations, jerks, indices, softening2),
            sink_offsets,
            source_offsets,
            addresses,
            first_addresses,
            source_counts,
            sources,
            out,
        )
        out = new_forces(self._kinds, sinks.count, arrays) if out is None else out
        check(library.kyoho_system_force_lists(self._own(), lists, sinks, out._structure))
        del kept
        return out

    def start_lists(
        self,
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
        sources: Sources | None = None,
        softening2: Any = 0.0,
    ) -> None:
        """Begins what :meth:`force_lists` does; :meth:`wait` gives the forces. Arrays on a device
        are read until then.
        """
        lists, sinks, arrays, kept = self._lists(
            (positions, velocities, accelerations, jerks, indices, softening2),
            sink_offsets,
            source_offsets,
            addresses,
            first_addresses,
            source_counts,
            sources,
        )
        check(library.kyoho_system_start_lists(self._own(), lists, sinks))
        self._started = (sinks.count, arrays, kept)

    def force_batch(self, bodies: Sources, offsets: Any, *, softening2: Any = 0.0, out: Forces | None = None) -> Forces:
        """The forces on the bodies of many systems, in which each body feels the others of its own.

        Parameters
        ----------
        bodies : Sources
            The bodies of one system after the other. The library does not keep them. Bodies with
            the same index do not feel one another.
        offsets : (systems + 1,) of int32
            The first body of each system and, behind the last one, the number of bodies.
        softening2 : float or (n,)
            The square of the softening length, for all bodies or for each.
        out : Forces
            Arrays to write to. None: new ones.

        >>> import kyoho
        >>> pairs = kyoho.Sources([[0, 0, 0], [1, 0, 0], [0, 0, 0], [2, 0, 0]], [1, 1, 1, 1])
        >>> kyoho.System(order=2).force_batch(pairs, [0, 2, 4]).accelerations[:, 0]
        array([ 1.  , -1.  ,  0.25, -0.25])
        """
        batch, sources, arrays, kept = self._batch(bodies, offsets, softening2)
        out = new_forces(self._kinds, sources.count, arrays) if out is None else _check_out(out, sources.count)
        check(library.kyoho_system_force_batch(self._own(), batch, sources, out._structure))
        del kept
        return out

    def start_batch(self, bodies: Sources, offsets: Any, *, softening2: Any = 0.0) -> None:
        """Begins what :meth:`force_batch` does; :meth:`wait` gives the forces. Arrays on a device
        are read until then.
        """
        batch, sources, arrays, kept = self._batch(bodies, offsets, softening2)
        check(library.kyoho_system_start_batch(self._own(), batch, sources))
        self._started = (sources.count, arrays, kept)

    def _tell_ranks(self, start_lists: Callable[..., int] | None = None) -> None:
        """Lets a call of all ranks fail on all of them, where it fails here before the library knows."""
        if self._ranks is None or not self._handle:
            return
        if start_lists is None:
            library.kyoho_system_start(self._handle, 0, None)
        else:
            start_lists(self._handle, None, None)

    def _sources_below(self, nj: int | None) -> int:
        if nj is not None:
            return integer("nj", nj, least=0)
        if self._nj is None:
            raise Error("nj is None, and addresses on a device were not looked at; allowed: nj=")
        return self._nj

    def _check_place(self, arrays: Arrays) -> None:
        """Refuses arrays of a device that the system cannot read."""
        if arrays.device_array is None:
            return
        arrays.finish()
        if self.backend != "cuda":
            raise Error(
                f"{arrays.first} is in memory of CUDA device {arrays.place}, and the system computes on "
                f"{self.backend}; allowed: arrays of numpy, or a system of backend 'cuda'"
            )

    def _lists(self, *given: Any) -> tuple[structures.Lists, structures.Sinks, Arrays, list[object]]:
        """What :meth:`_listed` gives, which fails on all ranks if it fails here."""
        try:
            return self._listed(*given)
        except Exception:
            self._tell_ranks(library.kyoho_system_start_lists)
            raise

    def _listed(
        self,
        sink_arrays: tuple[Any, ...],
        sink_offsets: Any,
        source_offsets: Any,
        addresses: Any,
        first_addresses: Any,
        source_counts: Any,
        sources: Sources | None,
        out: Forces | None = None,
    ) -> tuple[structures.Lists, structures.Sinks, Arrays, list[object]]:
        sinks, arrays, count = _sinks(*sink_arrays)
        self._check_place(arrays)
        lists = structures.Lists(sizeof(structures.Lists))
        offsets = Arrays(lists)
        offsets.integers("sink_offsets", sink_offsets)
        groups = _groups("sink_offsets", offsets)
        if source_offsets is not None:
            offsets.long_integers("source_offsets", source_offsets)
        offsets.count = groups
        if first_addresses is not None:
            offsets.integers("first_addresses", first_addresses)
        if source_counts is not None:
            offsets.integers("source_counts", source_counts)
        if addresses is not None:
            offsets.count = None
            offsets.integers("addresses", addresses)
            _check_end("source_offsets", source_offsets, "addresses", offsets.count)
        _check_end("sink_offsets", sink_offsets, "positions", count)
        kept: list[object] = [sink_arrays, arrays, offsets]
        if sources is not None:
            structure, source_arrays = _sources(sources, label="sources")
            self._check_place(source_arrays)
            _check_end("source_offsets", source_offsets, "sources", structure.count)
            lists.sources = ctypes.pointer(structure)
            kept += [sources, structure, source_arrays]
        lists.group_count = groups
        self._check_place(offsets)
        if out is not None:
            _check_out(out, count)
        return lists, sinks, arrays, kept

    def _batch(
        self, bodies: Sources, offsets: Any, softening2: Any
    ) -> tuple[structures.Batch, structures.Sources, Arrays, list[object]]:
        structure, arrays = _sources(bodies, label="bodies")
        self._check_place(arrays)
        batch = structures.Batch(sizeof(structures.Batch))
        of_batch = Arrays(batch)
        of_batch.integers("offsets", offsets)
        batch.system_count = _groups("offsets", of_batch)
        _check_end("offsets", offsets, "bodies", structure.count)
        of_batch.count = structure.count
        _soften(of_batch, batch, softening2)
        self._check_place(of_batch)
        return batch, structure, arrays, [bodies, arrays, of_batch]


def _options(
    order: int,
    precision: str | None,
    scope: str | None,
    backend: str | None,
    devices: str | None,
    threads: int | None,
    crossover: int,
    accuracy: float | None,
    theta: float | None,
) -> structures.Options:
    return structures.Options(
        sizeof(structures.Options),
        integer("order", order, allowed="2, 4, 6, 8"),
        chosen("precision", precision, structures.PRECISIONS),
        chosen("scope", scope, structures.SCOPES),
        chosen("backend", backend, structures.BACKENDS),
        integer_or_none("threads", threads, least=1) or 0,
        text_or_none("devices", devices, DEVICES),
        _pairs("crossover", crossover),
        number_or_none("accuracy", accuracy) or 0.0,
        number_or_none("theta", theta) or 0.0,
    )


def _pairs(name: str, crossover: int) -> int:
    return integer(name, crossover, least=-1, most=2**63 - 1)


def _sources(
    sources: tuple[Any, ...], addresses: Any = None, label: str = "", made: type[Arrays] = Arrays
) -> tuple[structures.Sources, Arrays]:
    """The structure of some sources, which are the first arrays of a ``Sources``."""
    structure = structures.Sources(_SOURCES)
    arrays = made(structure)
    if label:
        if not isinstance(sources, Sources):
            raise Error(f"{label} is a {type(sources).__name__}; allowed: kyoho.Sources")
        arrays.label = f"{label}."
    arrays.rows("positions", sources[0])
    arrays.elements("masses", sources[1])
    for field, array in zip(_OTHERS, sources[2:]):
        if array is None:
            continue
        if field == "times":
            arrays.elements(field, array)
        elif field == "indices":
            arrays.integers(field, array)
        else:
            arrays.rows(field, array)
    if addresses is not None:
        arrays.integers("addresses", addresses)
    structure.count = arrays.rows_there()
    return structure, arrays


def _sinks(
    positions: Any,
    velocities: Any,
    accelerations: Any,
    jerks: Any,
    indices: Any,
    softening2: Any,
    radii2: Any = None,
    steps: Any = None,
    neighbour_criterion: str | None = None,
    *,
    made: type[Arrays] = Arrays,
    words: Mapping[str, str] = Arrays.words,
) -> tuple[structures.Sinks, Arrays, int]:
    """The structure of some sinks, its arrays, and the number of sinks."""
    sinks = structures.Sinks(_SINKS)
    arrays = made(sinks)
    arrays.words = words
    arrays.rows("positions", positions)
    if velocities is not None:
        arrays.rows("velocities", velocities)
    if accelerations is not None:
        arrays.rows("accelerations", accelerations)
    if jerks is not None:
        arrays.rows("jerks", jerks)
    if indices is None:
        sinks.exclusion = structures.EXCLUDE_NOTHING
    else:
        arrays.integers("indices", indices)
    _soften(arrays, sinks, softening2)
    if radii2 is not None:
        arrays.elements("radii2", radii2)
    if steps is not None:
        arrays.elements("steps", steps)
    if neighbour_criterion is not None:
        sinks.neighbour_criterion = chosen("neighbour_criterion", neighbour_criterion, structures.CRITERIA)
    count = sinks.count = arrays.rows_there()
    return sinks, arrays, count


def _soften(arrays: Arrays, structure: Any, softening2: Any) -> None:
    """Puts the softening of all bodies, or of each."""
    if type(softening2) is float or is_single(softening2):
        structure.softening2 = number(arrays.words["softening2_each"], softening2)
    else:
        arrays.elements("softening2_each", softening2)


def _groups(name: str, offsets: Arrays) -> int:
    if not offsets.count:
        raise Error(f"{name} is empty; allowed: one number more than there are groups", Result.BAD_COUNT)
    return offsets.count - 1


def _check_end(name: str, offsets: Any, of: str, count: int | None) -> None:
    """Refuses offsets that end beyond the arrays that they divide. Those on a device are compared
    with the memory there, by the library.
    """
    if offsets is None or device_array(name, offsets) is not None:
        return
    last = int(numpy.asarray(offsets)[-1])
    if last != count:
        raise Error(f"{name} ends with {last}; allowed: {count}, the number of {of}", Result.BAD_COUNT)


def _check_out(out: object, count: int) -> Forces:
    forces = forces_for(out)
    if forces.count != count:
        raise Error(f"out has rows for {forces.count} sinks; allowed: {count}", Result.BAD_COUNT)
    return forces
