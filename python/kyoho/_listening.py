"""What ends an evolution early: the caller's function, a number of seconds, block steps, a signal."""

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

# An evolution listens to signals as often as this.
SECONDS = 0.05

# The signals that programs have functions for. To ask for all that there are takes as long as a short
# evolution.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


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
        # The signals that came, and of these those of Ctrl-C.
        self._signals: list[tuple[int, Any]] = []
        self._interrupted: list[tuple[int, Any]] = []
        self._raised: list[BaseException] = []
        # The functions that Python calls at signals.
        self._former: dict[int, Callable[[int, Any], Any]] = {}

    def _told(self, _: Any, now: float, steps: int) -> int:
        try:
            if threading.current_thread() is threading.main_thread():
                self._heed()
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

    def _heed(self) -> None:
        """Does what the signals that came are for; Ctrl-C waits for the end of the call."""
        while self._signals:
            signum, frame = self._signals.pop(0)
            if signum == signal.SIGINT:
                self._interrupted.append((signum, frame))
            else:
                self._former[signum](signum, frame)

    def _signalled(self, signum: int, frame: Any) -> None:
        self._signals.append((signum, frame))

    def __enter__(self: Self) -> Self:
        # What a function raises that Python calls at a signal would be lost in a function that the
        # library calls, at whose beginning Python does so.
        if threading.current_thread() is threading.main_thread():
            handlers = {signum: signal.getsignal(signum) for signum in _SIGNALS}
            self._former = {signum: former for signum, former in handlers.items() if callable(former)}
            for signum in self._former:
                signal.signal(signum, self._signalled)
        if self._former or self._progress is not None or self._seconds is not None:
            self.options.progress = structures.ProgressCallback(self._told)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for signum, former in self._former.items():
            # A function of the caller may have chosen another one.
            if signal.getsignal(signum) == self._signalled:
                signal.signal(signum, former)
        # It would keep this object, and the caller's function with all that is in it.
        self.options.progress = structures.ProgressCallback()

    def interrupt(self) -> None:
        """Does what signals that came meanwhile are for, Ctrl-C last."""
        self._heed()
        if self._interrupted:
            self._former[signal.SIGINT](*self._interrupted[0])

    def raise_again(self) -> None:
        """Raises what the caller's function raised."""
        if self._raised:
            raise self._raised[0]
