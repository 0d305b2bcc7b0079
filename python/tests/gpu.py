"""Arrays on a CUDA device, with numpy and the driver alone: run this on a machine with a GPU.

    python gpu.py

It prints a line for each promise that it kept, and fails at the first that is broken. Where cupy or
torch are installed, it tries their arrays too.
"""

import ctypes
import importlib
import pathlib
import re

import numpy

import kyoho


class Driver:
    """The CUDA driver, in its first device's primary context."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", ctypes.c_uint(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        assert result == 0, f"{name} gives {result}"


class DeviceArray:
    """An array of numpy that was copied to the device."""

    def __init__(self, driver, array):
        self.driver, self.array = driver, numpy.ascontiguousarray(array)
        address = ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(self.array.nbytes, 1)))
        self.address = address.value
        driver.call(
            "cuMemcpyHtoD_v2", address, ctypes.c_void_p(self.array.ctypes.data), ctypes.c_size_t(self.array.nbytes)
        )

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": 1,
        }

    def get(self):
        """Its numbers, on the host."""
        host = numpy.empty_like(self.array)
        self.driver.call(
            "cuMemcpyDtoH_v2", ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(self.address),
            ctypes.c_size_t(host.nbytes),
        )  # fmt: skip
        return host


def bodies(count):
    random = numpy.random.RandomState(1)
    return random.normal(size=(count, 3)), random.normal(size=(count, 3)), numpy.full(count, 1 / count)


def with_the_driver_alone():
    driver, count = Driver(), 4096
    positions, velocities, masses = bodies(count)
    indices = numpy.arange(count, dtype=numpy.int32)
    there = {"positions": positions, "velocities": velocities, "masses": masses, "indices": indices}
    there = {name: DeviceArray(driver, array) for name, array in there.items()}
    for order, velocity in ((2, ()), (4, ("velocities",))):
        with kyoho.System(order=order, backend="cuda", devices="0,", crossover=-1) as system:
            host = {"positions": positions, "velocities": velocities}
            system.set_sources(positions, masses, *(host[name] for name in velocity))
            expected = system.force(positions, *(host[name] for name in velocity), indices=indices)
            system.set_sources(there["positions"], there["masses"], *(there[name] for name in velocity))
            names = [
                name
                for name in ("potentials", "accelerations", "jerks", "nearest")
                if getattr(expected, name) is not None
            ]
            out = {name: DeviceArray(driver, numpy.zeros_like(getattr(expected, name))) for name in names}
            system.force(
                there["positions"], *(there[name] for name in velocity),
                indices=there["indices"], out=kyoho.Forces(**out),
            )  # fmt: skip
            for name in names:
                assert (out[name].get() == getattr(expected, name)).all(), (order, name)
            out = {name: DeviceArray(driver, numpy.zeros_like(getattr(expected, name))) for name in names}
            system.force_all(out=kyoho.Forces(**out))
            for name in names:
                assert (out[name].get() == getattr(expected, name)).all(), (order, name)
                assert (getattr(system.force_all(), name) == getattr(expected, name)).all(), (order, name)
        print(f"order {order}: forces on the device have the bits of those on the host")
    places = DeviceArray(driver, positions[:100])
    out = DeviceArray(driver, numpy.zeros((100, 3))), DeviceArray(driver, numpy.zeros(100))
    kyoho.gravity(there["positions"], there["masses"], 0.1, at=places, out=out)
    expected = kyoho.gravity(positions, masses, 0.1, at=positions[:100], backend="cpu")
    for found, array in zip(out, expected):
        assert numpy.allclose(found.get(), array, rtol=1e-10)
    print("gravity at other places writes to arrays on the device")
    lists = dict(sink_offsets=numpy.array([0, 50, 100], "i4"), source_offsets=numpy.array([0, 1000, count], "i8"))
    lists["addresses"] = indices
    lists = {name: DeviceArray(driver, array) for name, array in lists.items()}
    with kyoho.System(order=2, backend="cuda", devices="0,") as system:
        system.set_sources(there["positions"], there["masses"])
        system.force_lists(places, indices=None, **lists, out=kyoho.Forces(accelerations=out[0]))
    expected = kyoho.gravity(positions[:1000], masses[:1000], at=positions[:50], backend="cpu", potential=False)
    assert numpy.allclose(out[0].get()[:50], expected, rtol=1e-10)
    print("lists on the device choose their sources")
    try:
        with kyoho.System(order=2, backend="cpu") as system:
            system.set_sources(there["positions"], there["masses"])
    except kyoho.Error as error:
        print(f"a system of the CPU refuses them: {error}")
    else:
        raise AssertionError("a system of the CPU took arrays of the device")
    pairs(lambda array: DeviceArray(driver, array), None, None)
    print("pairs of sources on the device have the same bits")


def pairs(there, here, kind):
    """Pair interactions on arrays of a device; only where results can be made there the sinks too."""
    positions, _, masses = bodies(3000)
    law = kyoho.pair(kyoho.pair_gravity(2), backend="cuda", devices="0,")
    identifiers = numpy.arange(3000, dtype=numpy.int32)
    sides = {"pos": positions, "id": identifiers}, {"pos": positions, "mass": masses, "id": identifiers}
    expected = law(*sides, eps2=1e-4)
    sinks, sources = ({name: there(array) for name, array in side.items()} for side in sides)
    found = law(sides[0], sources)
    assert all((found[name] == expected[name]).all() for name in expected)
    if kind is not None:
        found = law(sinks)
        assert all(isinstance(found[name], kind) and (here(found[name]) == expected[name]).all() for name in expected)


def with_cupy(cupy):
    pairs(cupy.asarray, cupy.asnumpy, cupy.ndarray)
    compare("cupy", cupy.asarray, cupy.asnumpy, cupy.ndarray)


def with_torch(torch):
    pairs(lambda array: torch.from_numpy(array).cuda(), lambda array: array.cpu().numpy(), torch.Tensor)
    compare("torch", lambda array: torch.from_numpy(array).cuda(), lambda array: array.cpu().numpy(), torch.Tensor)


def compare(name, there, here, kind):
    positions, _, masses = bodies(100_000)
    for more in ({}, {"accuracy": 1e-3}):
        found = kyoho.gravity(there(positions), there(masses), 0.01, **more)
        expected = kyoho.gravity(positions, masses, 0.01, backend="cuda", **more)
        for array, right in zip(found, expected):
            assert isinstance(array, kind) and (here(array) == right).all(), more
    print(f"gravity of arrays of {name} gives arrays of {name}, with the same bits")
    with kyoho.System(2, "single", accuracy=1e-3, backend="cuda", devices="0,") as system:
        system.set_sources(there(positions), there(masses))
        out = kyoho.Forces(accelerations=there(numpy.zeros_like(positions)))
        system.force_all(0.01 * 0.01, out=out)
        assert (here(out.accelerations) == expected[0]).all()
        assert (system.force_all(0.01 * 0.01).accelerations == expected[0]).all()
    print(f"sources of {name} on one another have the same bits by a tree")


def page(name, module):
    """The blocks of the page on arrays of the GPU that begin with a module."""
    text = (pathlib.Path(__file__).parents[2] / "docs/guides/gpu-arrays.md").read_text()
    for block in re.findall(r"^```python gpu\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if block.startswith(f"import {name},"):
            exec(block, {name: module})
    print(f"the page on arrays of {name} does what it says")


if __name__ == "__main__":
    print(kyoho.info())
    with_the_driver_alone()
    for name, test in (("cupy", with_cupy), ("torch", with_torch)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed")
        else:
            test(module)
            page(name, module)
