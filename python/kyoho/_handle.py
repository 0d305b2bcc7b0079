"""What the library makes for a process and frees again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._errors import Error, Result
from ._library import check, library

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Self = TypeVar("Self", bound="Closing")


_PROCESS = os.getpid


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

    __slots__ = ("__weakref__", "_handle", "_process", "_release")

    # Its name in messages, what a fork does after making one, and the library's function that frees it.
    _noun: ClassVar[str]
    _again: ClassVar[str]
    _free: ClassVar[str]

    def __init__(self) -> None:
        self._handle = 0
        self._process = _PROCESS()
        # Modules may have gone before the last of their objects.
        self._release: Any = getattr(library, self._free)

    def _freed(self, getpid: Callable[[], int] = _PROCESS) -> int:
        """Frees it in the process that made it: in a fork it belongs to the parent."""
        handle, self._handle = self._handle, 0
        found: int = self._release(handle) if handle and self._process == getpid() else 0
        return found

    def close(self) -> None:
        """Frees its memory and devices. It is no error if that was done before."""
        check(self._freed())

    def __del__(self) -> None:
        try:
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
