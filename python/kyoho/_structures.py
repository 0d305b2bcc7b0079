"""The structures of ``kyoho.h``, field by field."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p

HOST = 0
CUDA = 1
# The number type of two doubles.
DD = 4

EXCLUDE_BY_INDEX = 0
EXCLUDE_NOTHING = 1

PRECISIONS = {"single": 1, "mixed": 2, "double": 3, "quad": 4}
SCOPES = {"full": 1, "regular": 2}
BACKENDS = {"cpu": 1, "cuda": 2, "opencl": 3}
CRITERIA = {"by mass": 1, "plain": 2}
STEP_CRITERIA = {"usual": 0, "order": 1, "average": 2}
ON_COLLISION = {"end": 0, "merge": 1}
FIELD_VALUES = {"potential": 0, "acceleration": 1, "jerk": 2}
EVOLUTION_ENDS = {"time": 0, "encounter": 1, "block steps": 2, "caller": 3}
FEW_BODY_ENDS = {"time": 0, "escape": 1, "exchange": 2, "collision": 3, "steps": 4, "no step": 5, "merger": 6}
ENCOUNTERS = {"approach": 1, "collision": 2, "merger": 3}

_COUNTS = ctypes.POINTER(c_int32)
AllGatherCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_int32, c_void_p, _COUNTS, _COUNTS)
AllToAllCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, _COUNTS, _COUNTS, c_void_p, _COUNTS, _COUNTS)
AbortCallback = ctypes.CFUNCTYPE(None, c_void_p)
ProgressCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, c_double, c_uint64)
_NUMBERS = ctypes.POINTER(c_double)
FieldFunction = ctypes.CFUNCTYPE(c_int32, c_void_p, c_int32, c_double, c_int32, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)


def _arrays(*names: str) -> list[tuple[str, type]]:
    """The fields of arrays: each is a pointer and a stride."""
    return [field for name in names for field in ((name, c_void_p), (f"{name}_stride", c_int64))]


class Cuda(ctypes.Structure):
    _fields_ = [("device", c_int32), ("reserved", c_int32), ("stream", c_void_p)]


class Options(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("order", c_int32),
        ("precision", c_int32),
        ("scope", c_int32),
        ("backend", c_int32),
        ("threads", c_int32),
        ("devices", c_char_p),
        ("crossover", c_int64),
        ("accuracy", c_double),
        ("theta", c_double),
        ("communicator", c_void_p),
    ]


class Communicator(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("rank", c_int32),
        ("size", c_int32),
        ("reserved", c_int32),
        ("context", c_void_p),
        ("all_gather", AllGatherCallback),
        ("all_to_all", AllToAllCallback),
        ("abort", AbortCallback),
    ]


class Interaction(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("order", c_int32),
        ("precision", c_int32),
        ("scope", c_int32),
        ("n_coefficients", c_int32),
        ("n_derivatives", c_int32),
        ("n_outputs", c_int32),
        ("has_nearest", c_int32),
        ("has_neighbours", c_int32),
        ("flops_per_pair", c_int32),
        ("tolerance", c_double),
        ("description", c_char_p),
    ]


class Statistics(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("reserved", c_int32),
        ("sources", c_uint64),
        ("writes", c_uint64),
        ("blocks", c_uint64),
        ("sinks", c_uint64),
        ("interactions", c_uint64),
        ("bytes", c_uint64),
    ]


class Sources(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("memory", c_int32),
        ("count", c_int32),
        ("first_address", c_int32),
        *_arrays(
            "addresses",
            "indices",
            "masses",
            "times",
            "positions",
            "velocities",
            "accelerations",
            "jerks",
            "snaps",
            "crackles",
            "sixth_derivatives",
            "seventh_derivatives",
        ),
        ("cuda", Cuda),
        ("number_type", c_int32),
        ("reserved", c_int32),
        *_arrays("softening2_each"),
    ]


class Predictions(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("memory", c_int32),
        *_arrays("positions", "velocities", "accelerations", "jerks"),
        ("number_type", c_int32),
        ("reserved", c_int32),
    ]


class Sinks(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("memory", c_int32),
        ("count", c_int32),
        ("exclusion", c_int32),
        *_arrays("indices", "positions", "velocities", "accelerations", "jerks"),
        ("softening2", c_double),
        *_arrays("softening2_each", "radii2", "steps"),
        ("neighbour_criterion", c_int32),
        ("number_type", c_int32),
        ("cuda", Cuda),
    ]


class Forces(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("memory", c_int32),
        *_arrays("potentials", "accelerations", "jerks", "snaps", "crackles", "nearest", "nearest_distance2"),
        ("cuda", Cuda),
        ("number_type", c_int32),
        ("reserved", c_int32),
    ]


class Lists(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("memory", c_int32),
        ("group_count", c_int32),
        ("reserved", c_int32),
        *_arrays("sink_offsets", "source_offsets", "addresses", "first_addresses", "source_counts"),
        ("sources", ctypes.POINTER(Sources)),
        ("cuda", Cuda),
    ]


class PairOptions(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("f64_as_dd", c_int32),
        ("threads", c_int32),
        ("backend", c_int32),
        ("devices", c_char_p),
    ]


class PairVariable(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("number_type", c_int32),
        ("width", c_int32),
        ("table_size", c_int32),
        ("name", c_char_p),
    ]


class Batch(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("memory", c_int32),
        ("system_count", c_int32),
        ("reserved", c_int32),
        *_arrays("offsets"),
        ("softening2", c_double),
        *_arrays("softening2_each"),
        ("cuda", Cuda),
    ]


class TreeErrors(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("reserved", c_int32),
        ("median", c_double),
        ("percentile_90", c_double),
        ("percentile_99", c_double),
        ("worst", c_double),
    ]


class IntegratorOptions(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("criterion", c_int32),
        ("softening", c_double),
        ("gravity", c_double),
        ("eta", c_double),
        ("dt_max", c_double),
        ("dt_min", c_double),
        ("time", c_double),
        ("approach_distance", c_double),
        ("subsystem_radius", c_double),
        ("speed_of_light", c_double),
        ("on_collision", c_int32),
        ("reserved", c_int32),
    ]


class Bodies(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("count", c_int32),
        *_arrays("identifiers", "masses", "positions", "velocities", "radii"),
        *_arrays("groups", "softenings"),
    ]


class BodyStates(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("count", c_int32),
        *_arrays("identifiers", "masses", "positions", "velocities", "radii"),
        *_arrays("accelerations", "potentials", "nearest", "nearest_distances"),
        *_arrays("groups", "softenings"),
    ]


class FewBodyOptions(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("threads", c_int32),
        ("time", c_double),
        ("gravity", c_double),
        ("tolerance", c_double),
        ("max_steps", c_int64),
        ("speed_of_light", c_double),
        ("terms", c_int32),
        ("stops_at_collision", c_int32),
        ("escape_distance", c_double),
        ("devices", c_char_p),
        ("backend", c_int32),
        ("reserved", c_int32),
    ]


class FewBodySystems(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("system_count", c_int32),
        *_arrays("offsets", "masses", "positions", "velocities", "radii"),
    ]


class FewBodyOutcomes(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("reserved", c_int32),
        *_arrays(
            "ends",
            "times",
            "first_touching",
            "second_touching",
            "companions",
            "semi_major_axes",
            "eccentricities",
        ),
    ]


class EvolveOptions(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("reserved", c_int32),
        ("block_steps", c_int64),
        ("progress", ProgressCallback),
        ("context", c_void_p),
        ("progress_seconds", c_double),
    ]


class Evolution(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("end", c_int32),
        ("time", c_double),
        ("block_steps", c_uint64),
        ("encounter_count", c_int32),
        ("reserved", c_int32),
        ("approach_first", c_int64),
        ("approach_second", c_int64),
        ("approach_distance", c_double),
        ("approach_time", c_double),
    ]


class Encounters(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("capacity", c_int32),
        *_arrays("kinds", "first", "second", "distances", "times"),
    ]


class Binaries(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("capacity", c_int32),
        *_arrays("first", "second", "first_counts", "second_counts"),
        *_arrays("semi_major_axes", "eccentricities", "periods"),
    ]


class Integration(ctypes.Structure):
    _fields_ = [
        ("structure_size", c_int32),
        ("body_count", c_int32),
        ("time", c_double),
        ("steps", c_uint64),
        ("block_steps", c_uint64),
        ("limited_steps", c_uint64),
        ("interactions", c_uint64),
        ("energy_jumps", c_uint64),
        ("jump_first", c_int64),
        ("jump_second", c_int64),
        ("jump_time", c_double),
        ("jump_distance", c_double),
        ("jump_step", c_double),
        ("jump_energy", c_double),
        ("jump_limited_steps", c_uint64),
        ("group_count", c_int64),
    ]
