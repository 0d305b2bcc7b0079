"""The structures and numbers of the package are those of the header."""

import ctypes
import pathlib
import re

import pytest

import kyoho
from kyoho import _library, _structures

HEADER = (pathlib.Path(__file__).parents[2] / "include/kyoho.h").read_text()
TYPES = {
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
    "const char *": ctypes.c_char_p,
    "struct kyoho_cuda": _structures.Cuda,
    "const struct kyoho_sources *": ctypes.POINTER(_structures.Sources),
    "void *": ctypes.c_void_p,
    "const struct kyoho_communicator *": ctypes.c_void_p,
    "kyoho_all_gather_callback": _structures.AllGatherCallback,
    "kyoho_all_to_all_callback": _structures.AllToAllCallback,
    "kyoho_abort_callback": _structures.AbortCallback,
    "kyoho_progress_callback": _structures.ProgressCallback,
    "kyoho_field_function": _structures.FieldFunction,
}


def fields_of(name):
    """The fields of a structure, with those of its arrays."""
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", HEADER, re.DOTALL).group(1)
    for line in re.sub(r"//.*", "", body).split(";"):
        if line.strip():
            type, field = re.fullmatch(r"\s*(.*?) ?(\w+)\s*", line).groups()
            if re.fullmatch(r"struct kyoho_\w*(reals|integers)", type):
                yield field, ctypes.c_void_p
                yield f"{field}_stride", ctypes.c_int64
            else:
                # Enumerations are integers.
                yield field, TYPES.get(type, ctypes.c_int32)


@pytest.mark.parametrize("name", [n for n, c in vars(_structures).items() if hasattr(c, "_fields_")])
def test_structures(name):
    header_name = "kyoho_" + re.sub(r"(?<=.)([A-Z])", r"_\1", name).lower()
    assert list(getattr(_structures, name)._fields_) == list(fields_of(header_name))


def test_functions():
    declared = set(re.findall(r"^\w[\w ]*?\*?(kyoho_\w+)\(", HEADER, re.MULTILINE))
    # Systems, pair interactions and integrators keep their own text of the last error, which the
    # thread's is here, and the log goes where the environment says.
    left = {f"kyoho_{name}_last_error" for name in ("system", "pair", "integrator")} | {"kyoho_set_log"}
    others = {"kyoho_version", "kyoho_last_error", "kyoho_result_text"}
    others |= {"kyoho_library_version", "kyoho_interaction_count", "kyoho_pair_gravity"}
    assert declared - left == set(_library._RESULTS) | others


def test_numbers():
    assert _library.VERSION == int(re.search(r"#define KYOHO_VERSION_NUMBER (\d+)", HEADER).group(1))
    numbers = {name: int(value) for name, value in re.findall(r"^    KYOHO_(\w+) = (\d+),", HEADER, re.MULTILINE)}
    for result in kyoho.Result:
        assert numbers.pop(result.name) == result
    words = {
        "PRECISION": _structures.PRECISIONS,
        "SCOPE": _structures.SCOPES,
        "BACKEND": _structures.BACKENDS,
        "NEIGHBOUR_CRITERION": _structures.CRITERIA,
        "EVOLUTION_END": _structures.EVOLUTION_ENDS,
        "FIELD_VALUE": _structures.FIELD_VALUES,
        "FEW_BODY_END": _structures.FEW_BODY_ENDS,
        "STEP_CRITERION": _structures.STEP_CRITERIA,
        "ENCOUNTER": _structures.ENCOUNTERS,
        "ON_COLLISION": _structures.ON_COLLISION,
    }
    for group, allowed in words.items():
        for word, value in allowed.items():
            assert numbers.pop(f"{group}_{word.upper().replace(' ', '_')}") == value
    assert numbers.pop("MEMORY_HOST") == _structures.HOST and numbers.pop("MEMORY_CUDA") == _structures.CUDA
    assert numbers.pop("EXCLUDE_BY_INDEX") == _structures.EXCLUDE_BY_INDEX
    assert numbers.pop("EXCLUDE_NOTHING") == _structures.EXCLUDE_NOTHING
    assert all(name.startswith(("LOG_", "NUMBER_TYPE_")) for name in numbers)
