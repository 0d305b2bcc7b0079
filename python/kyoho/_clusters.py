"""Clusters that evolve at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from ctypes import byref, c_double, c_int32, c_void_p, sizeof
from typing import TYPE_CHECKING, Any, overload

from . import _structures as structures
from ._cluster import Cluster
from ._errors import Error, Result
from ._handle import Closing, at_work
from ._library import failure, library
from ._listening import SECONDS, Listening
from ._numbers import function_or_none, integer, is_single

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._evolution import Evolution


def _in_a_thread(call: Callable[[], int]) -> Error | None:
    """The failure of a call of the library, which calls functions on threads of its own: Python sees
    signals on the main one, which waits.
    """
    failures: list[Error] = []

    def work() -> None:
        result = call()
        if result:
            failures.append(failure(result))

    thread = threading.Thread(target=work, name="kyoho")
    thread.start()
    while thread.is_alive():
        thread.join(SECONDS)
    return failures[0] if failures else None


class Clusters(Closing, Sequence[Cluster]):
    """Small clusters, each with its own bodies, steps and time, that evolve at the same time.

    On a GPU up to 128 at a time share it, and take little longer than one. On CPUs each has a thread.
    None changes the bits of another. A GPU makes the steps of 16 bodies and more here, of a
    :class:`Cluster` alone those of 512 and more: between these last digits differ.

    Parameters
    ----------
    clusters : int or clusters
        Their number, or clusters that you have made, in which case there are no further parameters.
    **options
        Those of each :class:`Cluster`, but ``threads`` is 1 unless you give it.
    """

    def __init__(self, clusters: int | Iterable[Cluster], **options: Any) -> None:
        if is_single(clusters) or not isinstance(clusters, Iterable):
            count = integer("clusters", clusters, least=0, allowed="an integer, or a list of clusters")
            if options.get("communicator") is not None:
                raise Error("communicator is given; allowed: None, as clusters over ranks do not evolve together")
            options.setdefault("threads", 1)
            self._clusters: list[Cluster] = []
            try:
                for _ in range(count):
                    self._clusters.append(Cluster(**options))
            except Exception:
                self.close()
                raise
            return
        self._clusters = list(clusters)
        if options:
            raise Error(f"{min(options)} is given; allowed: options only with a number of clusters")
        for place, cluster in enumerate(self._clusters):
            if not isinstance(cluster, Cluster):
                raise Error(f"clusters[{place}] is {cluster!r}; allowed: a kyoho.Cluster")

    def __len__(self) -> int:
        return len(self._clusters)

    @overload
    def __getitem__(self, place: int) -> Cluster: ...

    @overload
    def __getitem__(self, place: slice) -> Clusters: ...

    def __getitem__(self, place: Any) -> Any:
        return Clusters(self._clusters[place]) if isinstance(place, slice) else self._clusters[place]

    def __repr__(self) -> str:
        return f"<kyoho.Clusters, {len(self)} of them>"

    def close(self) -> None:
        """Closes all of them."""
        for cluster in self._clusters:
            cluster.close()

    def evolve(
        self,
        time: Any,
        *,
        block_steps: int | None = None,
        seconds: float | None = None,
        progress: Callable[[float, int], Any] | None = None,
        progress_seconds: float = 0.1,
    ) -> list[Evolution]:
        """Advances all clusters, each to a time or until something ends its evolution earlier, as
        :meth:`Cluster.evolve` does one. An error of one leaves the others as they are.

        Parameters
        ----------
        time : float or array of shape (clusters,)
            For all, or of each.
        block_steps : int
            The number of block steps after which an evolution ends. 0 or None: no limit.
        seconds : float
            The seconds of real time after which all end, at the ends of block steps.
        progress : function
            It is called with the time and the number of block steps of some cluster; all evolutions end
            if it returns a true value. It may not call the clusters.
        progress_seconds : float
            The seconds between two calls of ``progress`` for a cluster, at least.

        Returns
        -------
        list of Evolution
        """
        times = [time] * len(self) if is_single(time) else list(time)
        if len(times) != len(self):
            raise Error(f"time has {len(times)} elements; allowed: one, or {len(self)}", Result.BAD_COUNT)
        with ExitStack() as turns:
            # In one order, so that two such calls do not wait for one another.
            for cluster in sorted(self, key=id):
                turns.enter_context(cluster._turn())
            return self._evolve(times, (block_steps, seconds, progress, progress_seconds))

    def _evolve(self, times: list[Any], listened: tuple[Any, ...]) -> list[Evolution]:
        block_steps, seconds, progress, progress_seconds = listened
        progress = function_or_none("progress", progress)
        times = [cluster._evolution_time(given) for cluster, given in zip(self, times)]
        handles = (c_void_p * len(self))(*(cluster._own() for cluster in self))
        evolutions = (structures.Evolution * len(self))()
        for evolution in evolutions:
            evolution.structure_size = sizeof(structures.Evolution)
        results = (c_int32 * len(self))()

        working = [cluster._working for cluster in self]

        def told(now: float, steps: int) -> Any:
            with at_work(*working):
                return None if progress is None else progress(now, steps)

        for cluster in self:
            cluster._beside.extend(working)
        try:
            with Listening(block_steps, seconds, progress and told, progress_seconds) as listening:
                given = (c_double * len(self))(*times)
                error = _in_a_thread(
                    lambda: library.kyoho_integrators_evolve(
                        len(self), handles, given, byref(listening.options), evolutions, results
                    )
                )
        finally:
            for cluster in self:
                cluster._beside.clear()
        listening.interrupt()
        for cluster in self:
            cluster._raise_of_functions()
        listening.raise_again()
        if error is not None:
            failed = [place for place, code in enumerate(results) if code]
            raise Error(f"clusters[{failed[0]}]: {error}", error.result) if failed else error
        ended = zip(self, evolutions)
        return [cluster._evolution(evolution, listening.end) for cluster, evolution in ended]
