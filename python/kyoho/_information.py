"""Information about the library and its backends."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from . import _structures as structures
from ._library import PATH, __version__, check, failure, library
from ._results import Interaction, interaction_of


class Backend(NamedTuple):
    """A kind of machine: how many devices it has here, and if none, why."""

    devices: int
    reason: str


class Information(NamedTuple):
    """The version and the file of the library, the backends, and the interactions that all of them
    compute.
    """

    version: str
    library: str
    backends: dict[str, Backend]
    interactions: list[Interaction]

    def __str__(self) -> str:
        lines = [f"kyoho {self.version}, {self.library}"]
        for name, backend in self.backends.items():
            said = f"devices: {backend.devices}" if backend.devices else backend.reason
            lines.append(f"{name:7} {said}")
        for entry in self.interactions:
            lines.append(f"order {entry.order}, {entry.precision}, {entry.scope}: {entry.description}")
        return "\n".join(lines)


def info() -> Information:
    """Says what the library is and which backends can be used here, which loads their drivers.

    >>> import kyoho
    >>> kyoho.info().backends["cpu"].devices
    1
    """
    backends = {}
    for name, number in structures.BACKENDS.items():
        count = ctypes.c_int32()
        result = library.kyoho_backend_available(number, ctypes.byref(count))
        backends[name] = Backend(count.value, str(failure(result)) if result else "")
    interactions = []
    for number in range(library.kyoho_interaction_count()):
        entry = structures.Interaction(ctypes.sizeof(structures.Interaction))
        check(library.kyoho_interaction_describe(number, entry))
        interactions.append(interaction_of(entry))
    return Information(__version__, PATH, backends, interactions)
