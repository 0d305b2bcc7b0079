"""The ranks of a system, by a communicator of mpi4py."""

from __future__ import annotations

import ctypes
from ctypes import sizeof
from typing import TYPE_CHECKING, Any

import numpy

from . import _structures as structures
from ._errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_METHODS = ("Get_rank", "Get_size", "Allgatherv", "Alltoallv", "Abort")


def ranks_of(communicator: Any) -> structures.Communicator:
    """The structure of a communicator, which has to live as long as the system."""
    missing = [name for name in _METHODS if not callable(getattr(communicator, name, None))]
    if missing:
        raise Error(
            f"communicator is a {type(communicator).__name__} without {missing[0]}; allowed: a communicator of mpi4py"
        )
    rank, size = communicator.Get_rank(), communicator.Get_size()

    def all_gather(_: None, sent: int, count: int, received: int, counts: Any, offsets: Any) -> int:
        parts = (counts[:size], offsets[:size])
        to = [_bytes(received, sum(parts[0])), parts]
        return _outcome(communicator.Allgatherv, _bytes(sent, count), to)

    def all_to_all(
        _: None, sent: int, counts: Any, offsets: Any, received: int, received_counts: Any, received_offsets: Any
    ) -> int:
        parts, received_parts = (counts[:size], offsets[:size]), (received_counts[:size], received_offsets[:size])
        from_here = [_bytes(sent, sum(parts[0])), parts]
        return _outcome(communicator.Alltoallv, from_here, [_bytes(received, sum(received_parts[0])), received_parts])

    def abort(_: None) -> None:
        communicator.Abort(1)

    return structures.Communicator(
        sizeof(structures.Communicator),
        rank,
        size,
        0,
        None,
        structures.AllGatherCallback(all_gather),
        structures.AllToAllCallback(all_to_all),
        structures.AbortCallback(abort),
    )


def _bytes(address: int, count: int) -> NDArray[numpy.uint8]:
    """The bytes at an address, which are not copied."""
    if count == 0:
        return numpy.empty(0, numpy.uint8)
    return numpy.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))


def _outcome(function: Callable[..., None], *arguments: Any) -> int:
    """Calls a function of the communicator. No exception may pass through the library."""
    try:
        function(*arguments)
    except Exception as error:
        return int(getattr(error, "error_code", 0)) or -1
    return 0
