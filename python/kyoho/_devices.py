"""Arrays in the memory of CUDA devices, by ``__cuda_array_interface__`` or DLPack."""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, NamedTuple

import numpy

from ._errors import Error

# The kinds of memory of DLPack.
_DLPACK_HOST = (1, 3)
_DLPACK_CUDA = (2, 13)
# CUDA's default stream, as DLPack numbers it.
_DEFAULT_STREAM = 1
# CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_DEVICE_ORDINAL = 9


class Device(NamedTuple):
    """An array on a device, as it was described."""

    address: int
    shape: tuple[int, ...]
    # In bytes; None where the numbers follow one another.
    strides: tuple[int, ...] | None
    # As numpy has it, such as "<f8".
    type: str
    read_only: bool
    device: int
    stream: int | None
    # Keeps the memory.
    owner: object


def device_array(name: str, array: Any) -> Device | None:
    """Describes an array of a CUDA device; None for any other object."""
    try:
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            return _by_interface(array, interface)
        place = getattr(array, "__dlpack_device__", None)
        if place is None:
            return None
        kind, number = place()
        if kind in _DLPACK_HOST:
            return None
        if kind in _DLPACK_CUDA:
            return _by_dlpack(array, number)
    except (RuntimeError, TypeError, BufferError, KeyError) as error:
        # Such as tensors of torch that record gradients.
        raise Error(f"{name} cannot be read, as its library says: {error}") from error
    raise Error(f"{name} is in memory of kind {kind} of DLPack; allowed: the host's and CUDA's")


def _by_interface(array: Any, interface: dict[str, Any]) -> Device:
    address, read_only = interface["data"]
    if interface.get("mask") is not None:
        raise TypeError("it has a mask")
    stream = interface.get("stream")
    if stream is None and "stream" not in interface:
        stream = _stream_of_torch(array)
    return Device(
        address or 0,
        tuple(interface["shape"]),
        interface.get("strides"),
        interface["typestr"],
        read_only,
        _ordinal(array, address),
        stream,
        array,
    )


def _stream_of_torch(array: Any) -> int | None:
    """The stream of the work on an array: torch does not tell it in the interface."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor):
        return None
    return int(torch.cuda.current_stream(array.device).cuda_stream)


def _ordinal(array: Any, address: int | None) -> int:
    """The number of the device that an array is on."""
    place = getattr(array, "__dlpack_device__", None)
    if place is not None:
        return int(place()[1])
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    number = c_int32(0)
    driver.cuPointerGetAttribute(ctypes.byref(number), c_int32(_DEVICE_ORDINAL), c_uint64(address or 0))
    return number.value


class _DlpackTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


def _by_dlpack(array: Any, number: int) -> Device:
    # The capsule keeps the memory, and gives it back when it goes, as nobody takes it over.
    capsule = array.__dlpack__(stream=_DEFAULT_STREAM)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes = (ctypes.py_object, c_char_p)
    pointer.restype = c_void_p
    tensor = _DlpackTensor.from_address(pointer(capsule, b"dltensor"))
    if tensor.lanes != 1 or tensor.bits % 8:
        raise TypeError(f"its numbers have {tensor.bits} bits, {tensor.lanes} at a time")
    size = tensor.bits // 8
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] * size for k in range(tensor.ndim)) if tensor.strides else None
    code = {0: "i", 1: "u", 2: "f"}.get(tensor.code, "V")
    address = (tensor.data or 0) + tensor.byte_offset
    return Device(address, shape, strides, f"<{code}{size}", False, number, None, capsule)


def _library_of(array: object) -> str:
    return type(array).__module__.partition(".")[0]


def empty_like(array: Any, name: str, shape: tuple[int, ...], type: str) -> Any:
    """A new array of the kind and on the device of another one."""
    kind = _library_of(array)
    if kind == "cupy":
        import cupy

        with array.device:
            return cupy.empty(shape, dtype=type)
    if kind == "torch":
        import torch

        return torch.empty(shape, dtype=getattr(torch, numpy.dtype(type).name), device=array.device)
    if kind in ("numba", "numba_cuda"):
        from numba import cuda

        return cuda.device_array(shape, dtype=type)
    raise Error(
        f"{name} is an array of {kind}, of which no results can be made; "
        "allowed: out=, or an array of cupy, torch or numba"
    )


def numbers_like(array: Any, name: str, count: int) -> Any:
    """The numbers below a count, on the device and of the kind of an array."""
    kind = _library_of(array)
    if kind == "cupy":
        import cupy

        with array.device:
            return cupy.arange(count, dtype="int32")
    if kind == "torch":
        import torch

        return torch.arange(count, dtype=torch.int32, device=array.device)
    if kind in ("numba", "numba_cuda"):
        from numba import cuda

        return cuda.to_device(numpy.arange(count, dtype="int32"))
    raise Error(
        f"{name} is an array of {kind}, on whose device no indices can be made; "
        "allowed: a kyoho.System with indices=, or an array of cupy, torch or numba"
    )
