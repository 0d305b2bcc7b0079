"""Threads, forks, and the libraries that a process loads."""

import importlib.metadata
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading

import pytest
from conftest import Bodies, close

import kyoho
from kyoho._library import INTERFACE

FORKS = "ignore:This process .* is multi-threaded:DeprecationWarning"


def run(code, **variables):
    """The output of a program."""
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def in_fork(function):
    """Calls a function in a fork of this process, and gives its result as a text."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(there, str(function()).encode())
        finally:
            os._exit(0)
    os.close(there)
    with open(here) as answer:
        text = answer.read()
    assert os.waitpid(child, 0) == (child, 0)
    return text


def test_no_library_of_a_gpu_is_loaded_before_it_is_used():
    loaded = run("import kyoho; print(open('/proc/self/maps').read())")
    assert f"libkyoho.so.{INTERFACE}" in loaded
    for name in ("libcuda", "libnvidia", "libOpenCL"):
        assert name not in loaded


def test_nothing_but_numpy_is_needed():
    metadata = importlib.metadata.requires("kyoho")
    assert [line.split(">")[0] for line in metadata] == ["numpy"]


def test_systems_that_are_left_at_the_end_say_nothing():
    code = "import kyoho; s = kyoho.System(); kyoho.gravity([[0, 0, 0]], [1]); print('end')"
    assert run(code) == "end\n"


def test_threads_use_systems_at_once():
    bodies, wrong = Bodies(300), []
    expected = bodies.gravity(eps=0.1)[0]
    shared = kyoho.System(order=2)
    shared.set_sources(bodies.positions, bodies.masses)

    def work():
        with kyoho.System(order=4) as system:
            system.set_sources(bodies.positions, bodies.masses)
            for _ in range(10):
                of_its_own = system.force(
                    bodies.positions, bodies.velocities, indices=bodies.indices, softening2=0.1**2
                )
                of_all = shared.force(bodies.positions, indices=bodies.indices, softening2=0.1**2)
                of_none = kyoho.gravity(bodies.positions, bodies.masses, 0.1)
                found = of_its_own.accelerations, of_all.accelerations, of_none[0]
                wrong.extend(name for name, array in zip("abc", found) if not close(array, expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.filterwarnings(FORKS)
def test_a_fork_is_told_that_a_system_is_its_parents():
    system = kyoho.System(order=2)
    system.set_sources([[0, 0, 0]], [1])

    def use():
        try:
            system.force([[1, 0, 0]], indices=None)
        except kyoho.Error as error:
            return f"{error.result.name}: {error}"

    said = in_fork(use)
    assert said.startswith("CALL_ORDER: process ")
    assert f"is a fork of process {os.getpid()}, which made this system; make one in this process" in said
    assert system.force([[1, 0, 0]], indices=None).accelerations[0, 0] == -1


@pytest.mark.filterwarnings(FORKS)
def test_a_fork_has_systems_of_its_own():
    at = [[1, 0, 0]]
    before = kyoho.gravity([[0, 0, 0]], [1], at=at, potential=False)

    def use():
        own = kyoho.System(order=2)
        own.set_sources([[0, 0, 0]], [3])
        forces = own.force(at, indices=None)
        again = kyoho.gravity([[0, 0, 0]], [2], at=at, potential=False)
        return [float(again[0, 0]), float(forces.accelerations[0, 0])]

    assert in_fork(use) == "[-2.0, -3.0]"
    assert (kyoho.gravity([[0, 0, 0]], [1], at=at, potential=False) == before).all()


def square(number):
    accelerations = kyoho.gravity([[0, 0, 0]], [number**2], at=[[1, 0, 0]], potential=False)
    return float(-accelerations[0, 0])


@pytest.mark.filterwarnings(FORKS)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_processes(method):
    square(1)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(square, range(8)) == [number**2 for number in range(8)]


def test_the_forwards_find_the_library_beside_them():
    folder = pathlib.Path(kyoho.info().library).parent
    names = {path.name for path in folder.iterdir()}
    forwards = {f"libkyoho_{name}.so.{INTERFACE}" for name in ("sapporo6", "yebisu", "nbody6", "nbody6pp")}
    assert {f"libkyoho.so.{INTERFACE}"} | forwards <= names
    code = "import ctypes, sys\nfor path in sys.argv[1:]: ctypes.CDLL(path)"
    subprocess.run([sys.executable, "-c", code, *(str(folder / name) for name in forwards)], check=True)
