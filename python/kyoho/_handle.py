"""What the library makes for a process and frees again."""

from __future__ import annotations

import functools
import os
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._errors import Error, Result
from ._library import check, library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType

    Self = TypeVar("Self", bound="Closing")
    Kind = TypeVar("Kind", bound="type[Handle]")


_PROCESS = os.getpid

# Methods with such names are called by users too.
_CALLED = ("__call__", "__getstate__")


def _in_turn(method: Any) -> Any:
    @functools.wraps(method)
    def in_turn(self: Handle, *given: Any, **named: Any) -> Any:
        with self._turn():
            return method(self, *given, **named)

    return in_turn


def taking_turns(kind: Kind) -> Kind:
    """Lets public methods and properties of one object wait for one another: each may be several calls
    of the library, between which no other thread may change the object.
    """
    for name, found in list(vars(kind).items()):
        if name.startswith("_") and name not in _CALLED:
            continue
        if isinstance(found, property):
            setter = found.fset and _in_turn(found.fset)
            setattr(kind, name, property(_in_turn(found.fget), setter, doc=found.__doc__))
        elif callable(found):
            setattr(kind, name, _in_turn(found))
    return kind


@contextmanager
def at_work(*working: set[int]) -> Iterator[None]:
    """Meanwhile this thread is one of those on which some objects are at work."""
    here = threading.get_ident()
    fresh = [threads for threads in working if here not in threads]
    for threads in fresh:
        threads.add(here)
    try:
        yield
    finally:
        for threads in fresh:
            threads.discard(here)


class Closing:
    """Something that is closed at the end of a ``with`` statement."""

    __slots__ = ()

    def close(self) -> None:
        """Frees its memory and devices. It is no error if that was done before."""
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Handle(Closing):
    """Something of the library that belongs to the process that made it. What could not be made can
    go too.
    """

    __slots__ = ("__weakref__", "_handle", "_lock", "_process", "_release", "_working")

    # Its name in messages, what a fork does after making one, and the library's function that frees it.
    _noun: ClassVar[str]
    _again: ClassVar[str]
    _free: ClassVar[str]

    def __init__(self) -> None:
        self._handle = 0
        self._process = _PROCESS()
        self._lock = threading.RLock()
        # The threads on which the library may call functions of the user now, which may not call this.
        self._working: set[int] = set()
        # Modules may have gone before the last of their objects.
        self._release: Any = getattr(library, self._free)

    def _freed(self, getpid: Callable[[], int] = _PROCESS) -> int:
        """Frees it in the process that made it: in a fork it belongs to the parent."""
        handle, self._handle = self._handle, 0
        found: int = self._release(handle) if handle and self._process == getpid() else 0
        return found

    def close(self) -> None:
        """Frees its memory and devices. It is no error if that was done before."""
        self._check_idle()
        with self._turn():
            check(self._freed())

    def __del__(self) -> None:
        try:
            self._check_idle()
            self._freed()
        except Exception:
            # It was never made, or the process ends and has lost what this needs: nobody is there
            # to be told.
            return

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {self._noun} cannot be copied or pickled, as it has devices and memory of its own; "
            f"make another one{self._again}"
        )

    def _turn(self) -> AbstractContextManager[Any]:
        """What a thread enters for its turn. It does not wait where its calls are an error: in a fork,
        and in functions that the library calls.
        """
        is_error = self._process != os.getpid() or threading.get_ident() in self._working
        return nullcontext() if is_error else self._lock

    def _check_idle(self) -> None:
        """Fails in functions that the library calls while it is at work on this."""
        if threading.get_ident() in self._working:
            raise Error(f"the {self._noun} is at work; the functions that it calls may not call it", Result.CALL_ORDER)

    def _own(self) -> int:
        """The handle, for calls of the process that made it."""
        if self._process != os.getpid():
            raise Error(
                f"process {os.getpid()} is a fork of process {self._process}, which made this {self._noun}; "
                f"make one in this process{self._again}",
                Result.CALL_ORDER,
            )
        if not self._handle:
            raise Error(f"the {self._noun} was closed; make another one", Result.BAD_HANDLE)
        return self._handle
