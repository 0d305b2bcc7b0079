"""The error of all calls."""

from __future__ import annotations

import enum


class Result(enum.IntEnum):
    """The outcome of a call, by the numbers of ``kyoho.h``."""

    OK = 0
    NULL_ARGUMENT = 10
    BAD_HANDLE = 11
    BAD_COUNT = 12
    BAD_ADDRESS = 13
    NOT_FINITE = 14
    OUT_OF_RANGE = 15
    CALL_ORDER = 16
    BAD_OPTION = 17
    BUFFER_TOO_SMALL = 18
    BAD_TEXT = 19
    NO_BACKEND = 30
    UNSUPPORTED = 31
    OUT_OF_MEMORY = 40
    DEVICE_FAILED = 41
    COMMUNICATOR_FAILED = 42
    INTERNAL = 90
    POISONED = 91


class Error(Exception):
    """A call failed; the text names the argument, its value, and what is allowed.

    ``result`` is the :class:`Result` of the library, or what it would have been where the call was
    refused before it reached the library.
    """

    def __init__(self, text: str, result: int = Result.BAD_OPTION) -> None:
        super().__init__(text)
        self.result = result

    def __reduce__(self) -> tuple[type[Error], tuple[str, int]]:
        return type(self), (str(self), self.result)


def chosen(name: str, value: object, allowed: dict[str, int]) -> int:
    """The number of an option that is given by a word; 0 for None."""
    if value is None:
        return 0
    number = allowed.get(value) if isinstance(value, str) else None
    if number is None:
        words = ", ".join(repr(word) for word in allowed)
        raise Error(f"{name} is {value!r}; allowed: {words}")
    return number
