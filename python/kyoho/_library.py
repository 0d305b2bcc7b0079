"""The shared library that comes with the package, or is installed."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p

from . import _structures as structures
from ._errors import Error, Result

# The version whose structures these are; the library may be newer.
VERSION = 200
# Before version 1 the number of the binary interface is that of the minor version.
INTERFACE = f"0.{VERSION // 100}" if VERSION < 10000 else str(VERSION // 10000)


def _find() -> str:
    """The library that the wheel brings; without it that of Python's prefix, as conda has it, or the loader's."""
    name = f"libkyoho.so.{INTERFACE}"
    places = (os.path.dirname(os.path.abspath(__file__)), sys.prefix)
    paths = [os.path.join(place, "lib", name) for place in places]
    return next(filter(os.path.exists, paths), name)


PATH = _find()

_SYSTEM = c_void_p
_PAIR = c_void_p
_INTEGRATOR = c_void_p
_RESULTS = {
    "kyoho_backend_available": (c_int32, POINTER(c_int32)),
    "kyoho_interaction_describe": (c_int32, POINTER(structures.Interaction)),
    "kyoho_system_create": (POINTER(structures.Options), POINTER(c_void_p)),
    "kyoho_system_move": (_SYSTEM, POINTER(structures.Options)),
    "kyoho_system_set_crossover": (_SYSTEM, c_int64),
    "kyoho_system_free": (_SYSTEM,),
    "kyoho_system_describe": (_SYSTEM, POINTER(structures.Interaction), POINTER(c_int32)),
    "kyoho_system_device_count": (_SYSTEM, POINTER(c_int32)),
    "kyoho_system_device_name": (_SYSTEM, c_int32, c_char_p, c_int32),
    "kyoho_system_statistics": (_SYSTEM, POINTER(structures.Statistics)),
    "kyoho_system_set_sources": (_SYSTEM, POINTER(structures.Sources)),
    "kyoho_system_set_time": (_SYSTEM, c_double),
    "kyoho_system_set_time_dd": (_SYSTEM, c_double, c_double),
    "kyoho_system_predict": (_SYSTEM, c_int32, c_int32, POINTER(structures.Predictions)),
    "kyoho_system_force": (_SYSTEM, c_int32, POINTER(structures.Sinks), POINTER(structures.Forces)),
    "kyoho_system_force_all": (_SYSTEM, c_int32, c_double, POINTER(structures.Forces)),
    "kyoho_system_start_all": (_SYSTEM, c_int32, c_double),
    "kyoho_system_start": (_SYSTEM, c_int32, POINTER(structures.Sinks)),
    "kyoho_system_wait": (_SYSTEM, POINTER(structures.Forces)),
    "kyoho_system_find_neighbours": (_SYSTEM, c_int32, POINTER(structures.Sinks), c_void_p),
    "kyoho_system_copy_found_neighbours": (_SYSTEM, c_int64, c_void_p),
    "kyoho_system_neighbours": (_SYSTEM, c_int32, c_int32, c_void_p, POINTER(c_int32)),
    "kyoho_system_force_lists": (
        _SYSTEM,
        POINTER(structures.Lists),
        POINTER(structures.Sinks),
        POINTER(structures.Forces),
    ),
    "kyoho_system_start_lists": (_SYSTEM, POINTER(structures.Lists), POINTER(structures.Sinks)),
    "kyoho_system_force_batch": (
        _SYSTEM,
        POINTER(structures.Batch),
        POINTER(structures.Sources),
        POINTER(structures.Forces),
    ),
    "kyoho_system_start_batch": (_SYSTEM, POINTER(structures.Batch), POINTER(structures.Sources)),
    "kyoho_system_tree_error": (
        _SYSTEM,
        c_int32,
        POINTER(structures.Sinks),
        c_int32,
        POINTER(structures.TreeErrors),
    ),
    "kyoho_pair_compile": (c_char_p, POINTER(structures.PairOptions), POINTER(c_void_p)),
    "kyoho_pair_describe": (_PAIR, c_int32, c_int32, POINTER(structures.PairVariable)),
    "kyoho_pair_set": (_PAIR, c_char_p, c_int32, c_void_p, c_int64, c_int64),
    "kyoho_pair_set_parameter": (_PAIR, c_char_p, c_int32, c_void_p, c_int64),
    "kyoho_pair_run": (_PAIR, c_int64, c_int64),
    "kyoho_pair_run_lists": (_PAIR, POINTER(structures.Lists), c_int64),
    "kyoho_pair_start": (_PAIR, c_int64, c_int64),
    "kyoho_pair_start_lists": (_PAIR, POINTER(structures.Lists), c_int64),
    "kyoho_pair_wait": (_PAIR,),
    "kyoho_pair_result": (_PAIR, c_char_p, c_int32, c_void_p, c_int64, c_int64),
    "kyoho_pair_set_on_device": (_PAIR, c_char_p, c_int32, c_void_p, c_int64, c_int64, c_void_p),
    "kyoho_pair_result_on_device": (_PAIR, c_char_p, c_int32, c_void_p, c_int64, c_int64, c_void_p),
    "kyoho_pair_explain": (_PAIR, c_char_p, c_int64, POINTER(c_int64)),
    "kyoho_pair_source": (_PAIR, c_int32, c_char_p, c_int64, POINTER(c_int64)),
    "kyoho_pair_free": (_PAIR,),
    "kyoho_integrator_create": (
        POINTER(structures.Options),
        POINTER(structures.IntegratorOptions),
        POINTER(c_void_p),
    ),
    "kyoho_integrator_add_bodies": (_INTEGRATOR, POINTER(structures.Bodies)),
    "kyoho_integrator_set_bodies": (_INTEGRATOR, POINTER(structures.Bodies)),
    "kyoho_integrator_get_bodies": (_INTEGRATOR, POINTER(structures.BodyStates)),
    "kyoho_integrator_remove_bodies": (_INTEGRATOR, c_int32, c_void_p),
    "kyoho_integrator_identifiers": (_INTEGRATOR, c_int32, c_void_p),
    "kyoho_integrator_evolve": (
        _INTEGRATOR,
        c_double,
        POINTER(structures.EvolveOptions),
        POINTER(structures.Evolution),
    ),
    "kyoho_integrators_evolve": (
        c_int32,
        c_void_p,
        POINTER(c_double),
        POINTER(structures.EvolveOptions),
        c_void_p,
        POINTER(c_int32),
    ),
    "kyoho_integrator_encounters": (_INTEGRATOR, POINTER(structures.Encounters)),
    "kyoho_integrator_binary_count": (_INTEGRATOR, POINTER(c_int32)),
    "kyoho_integrator_binaries": (_INTEGRATOR, POINTER(structures.Binaries)),
    "kyoho_integrator_add_group": (_INTEGRATOR, c_double, POINTER(c_int32)),
    "kyoho_integrator_set_feels": (_INTEGRATOR, c_int32, c_int32, c_int32),
    "kyoho_integrator_group": (_INTEGRATOR, c_int32, POINTER(c_double), c_int32, c_void_p),
    "kyoho_integrator_add_field": (_INTEGRATOR, c_char_p, c_char_p, c_int32, POINTER(c_double)),
    "kyoho_integrator_add_moving_field": (
        _INTEGRATOR,
        c_char_p,
        c_char_p,
        c_int32,
        POINTER(c_double),
        c_int32,
        c_void_p,
        c_void_p,
        c_void_p,
    ),
    "kyoho_integrator_add_field_function": (_INTEGRATOR, structures.FieldFunction, c_void_p, c_int32),
    "kyoho_integrator_field_energy": (_INTEGRATOR, POINTER(c_double)),
    "kyoho_integrator_add_law": (
        _INTEGRATOR,
        c_char_p,
        c_char_p,
        c_int32,
        POINTER(c_double),
        c_int32,
        c_int32,
    ),
    "kyoho_integrator_law_energy": (_INTEGRATOR, POINTER(c_double)),
    "kyoho_gravitational_constant": (c_char_p, POINTER(c_double)),
    "kyoho_integrator_energies": (_INTEGRATOR, POINTER(c_double), POINTER(c_double)),
    "kyoho_integrator_state": (_INTEGRATOR, c_void_p, c_int64, POINTER(c_int64)),
    "kyoho_integrator_set_state": (_INTEGRATOR, c_void_p, c_int64),
    "kyoho_integrator_describe": (_INTEGRATOR, POINTER(structures.Integration)),
    "kyoho_integrator_free": (_INTEGRATOR,),
    "kyoho_model_make": (
        c_char_p,
        c_char_p,
        c_int32,
        c_uint64,
        POINTER(c_double),
        POINTER(c_double),
        POINTER(c_double),
    ),
    "kyoho_model_two_clusters": (
        c_char_p,
        c_char_p,
        c_int32,
        c_int32,
        POINTER(c_double),
        POINTER(c_double),
        POINTER(c_double),
    ),
    "kyoho_few_body_evolve": (
        POINTER(structures.FewBodyOptions),
        POINTER(structures.FewBodySystems),
        POINTER(structures.FewBodyOutcomes),
    ),
}


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(PATH)
    except OSError as error:
        raise ImportError(f"{PATH} cannot be loaded, which a wheel or an installation brings: {error}") from error
    for name, arguments in _RESULTS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int32
    for name in ("kyoho_version", "kyoho_last_error"):
        function = getattr(library, name)
        function.argtypes = ()
        function.restype = c_char_p
    for name in ("kyoho_result_text", "kyoho_pair_gravity"):
        function = getattr(library, name)
        function.argtypes = (c_int32,)
        function.restype = c_char_p
    for name in ("kyoho_library_version", "kyoho_interaction_count"):
        getattr(library, name).argtypes = ()
    if library.kyoho_library_version() < VERSION:
        version = library.kyoho_version().decode()
        raise ImportError(f"{PATH} has the version {version}, which is older than this package")
    return library


library = _load()
__version__: str = library.kyoho_version().decode()


def failure(number: int) -> Error:
    """The error of the call that the calling thread made last."""
    text = library.kyoho_last_error() or library.kyoho_result_text(number)
    try:
        result: int = Result(number)
    except ValueError:
        result = number
    return Error(text.decode(errors="replace"), result)


def check(number: int) -> None:
    """Raises the error of a call that failed."""
    if number:
        raise failure(number)
