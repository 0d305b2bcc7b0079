"""What ends an evolution early: the caller's function, a number of seconds, block steps, Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time as clock
from ctypes import sizeof
from typing import TYPE_CHECKING, Any, TypeVar

from . import _structures as structures
from ._numbers import integer_or_none, number, number_or_none

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Self = TypeVar("Self", bound="Listening")

# An evolution listens to Ctrl-C as often as this.
SECONDS = 0.05


class Listening:
    """The options of an evolution, and while this is entered what listens for its end."""

    def __init__(
        self,
        block_steps: int | None,
        seconds: float | None,
        progress: Callable[[float, int], Any] | None,
        progress_seconds: float,
    ) -> None:
        self.options = structures.EvolveOptions(sizeof(structures.EvolveOptions))
        self.end: str | None = None
        self._progress = progress
        self._seconds = seconds
        if type(seconds) is not float or seconds != float("inf"):
            self._seconds = number_or_none("seconds", seconds)
        self.options.block_steps = integer_or_none("block_steps", block_steps, least=0, most=2**63 - 1) or 0
        pause = number("progress_seconds", progress_seconds, least=0)
        self.options.progress_seconds = SECONDS if progress is None else min(pause, SECONDS)
        # The library keeps shorter ones.
        self._pause = pause if pause > SECONDS else 0.0
        self._begun = clock.monotonic()
        # When the caller's function was last called on each thread, which has one cluster at a time.
        self._last: dict[int, float] = {}
        self._interrupted: list[tuple[Any, ...]] = []
        self._raised: list[BaseException] = []
        self._former: Any = None

    def _told(self, _: Any, now: float, steps: int) -> int:
        try:
            if self._seconds is not None and clock.monotonic() - self._begun >= self._seconds:
                self.end = self.end or "seconds"
            elif self._progress is not None and self._is_due() and self._progress(now, steps):
                self.end = self.end or "progress"
        except BaseException as error:
            self._raised.append(error)
        return bool(self._interrupted or self._raised or self.end)

    def _is_due(self) -> bool:
        """Whether the seconds between two calls of the caller's function are over."""
        now, thread = clock.monotonic(), threading.get_ident()
        if now - self._last.get(thread, self._begun) < self._pause:
            return False
        self._last[thread] = now
        return True

    def __enter__(self: Self) -> Self:
        # A signal would be lost in a function that the library calls, so it is kept until the call
        # is over.
        if threading.current_thread() is threading.main_thread():
            self._former = signal.getsignal(signal.SIGINT)
            if callable(self._former):
                signal.signal(signal.SIGINT, lambda *given: self._interrupted.append(given))
        if callable(self._former) or self._progress is not None or self._seconds is not None:
            self.options.progress = structures.ProgressCallback(self._told)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if callable(self._former):
            signal.signal(signal.SIGINT, self._former)
        # It would keep this object, and the caller's function with all that is in it.
        self.options.progress = structures.ProgressCallback()

    def interrupt(self) -> None:
        """Does what a signal that came meanwhile is for."""
        if self._interrupted and callable(self._former):
            self._former(*self._interrupted[0])

    def raise_again(self) -> None:
        """Raises what the caller's function raised."""
        if self._raised:
            raise self._raised[0]
