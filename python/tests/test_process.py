"""Threads, forks, and the libraries that a process loads."""

import copy
import importlib.metadata
import multiprocessing
import os
import pathlib
import pickle
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import time
import types

import pytest
from conftest import Bodies, close

import kyoho
from kyoho import _library
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
    # The command is a package of its own, which comes if it is asked for.
    assert [line.split(">")[0] for line in metadata if "extra ==" not in line] == ["numpy"]


def test_an_installed_library_serves_a_package_that_brings_none(tmp_path):
    package = pathlib.Path(kyoho.__file__).parent
    shutil.copytree(package, tmp_path / "kyoho", ignore=shutil.ignore_patterns("lib"))
    code = "import kyoho; print(kyoho.__file__, kyoho.info().library)"
    told = run(code, PYTHONPATH=str(tmp_path), LD_LIBRARY_PATH=str(package / "lib")).split()
    assert told == [str(tmp_path / "kyoho" / "__init__.py"), f"libkyoho.so.{INTERFACE}"]


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


def made():
    """One of each thing that has a handle."""
    return [kyoho.System(order=2), kyoho.Cluster(), kyoho.pair("pair p\nj x: f64\nresult s: f64 sum\nbody\ns += j.x\n")]


def test_what_has_devices_cannot_be_copied():
    system, _, pair = made()
    for thing, noun in ((system, "system"), (pair, "pair interaction")):
        for function in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"a {noun} cannot be copied or pickled, .* make another one"):
                function(thing)
    system.set_sources([[0, 0, 0]], [1])
    assert pair(sinks=1, j={"x": [2.0]})["s"] == [2.0]


def test_forces_are_copied_with_their_arrays():
    for precision in ("double", "quad"):
        system = kyoho.System(order=4, precision=precision)
        system.set_sources([[0, 0, 0]], [1])
        forces = system.force([[1, 0, 0]], [[0, 1, 0]], indices=None)
        same, *others = copy.copy(forces), copy.deepcopy(forces), pickle.loads(pickle.dumps(forces))
        assert same.accelerations is forces.accelerations
        for other in others:
            before = other.accelerations.tolist()
            system.force([[2, 0, 0]], [[0, 1, 0]], indices=None, out=forces)
            assert other.accelerations.tolist() == before != forces.accelerations.tolist()
            system.force([[1, 0, 0]], [[0, 1, 0]], indices=None, out=other)
            assert other.accelerations.tolist() == before and other.nearest[0] == 0


def test_misspelt_attributes_are_errors():
    for thing in (*made(), kyoho.Forces(), kyoho.Sources([], [])):
        with pytest.raises(AttributeError):
            thing.epss = 0.5
        assert not hasattr(thing, "__dict__")
    with pytest.raises(AttributeError):
        made()[1].eps = 0.5


def test_objects_that_outlive_their_modules_say_nothing():
    code = """
import kyoho, os, sys
system, cluster = kyoho.System(), kyoho.Cluster()
pair = kyoho.pair("pair p\\nresult n: u32 count\\nbody\\nn count= true\\n")
unmade = kyoho.System.__new__(kyoho.System)
for name, module in list(sys.modules.items()):
    if name.startswith("kyoho"):
        for variable in list(vars(module)):
            if not variable.startswith("__"):
                vars(module)[variable] = None
del system, cluster, pair, unmade
print("end")
"""
    assert run(code) == "end\n"


def test_another_process_has_other_handles():
    code = "import kyoho; print([kyoho.System(order=2)._handle, kyoho.Cluster()._handle])"
    here = [thing._handle for thing in made()]
    others = [*eval(run(code)), *eval(run(code))]
    assert len(set(here) | set(others)) == len(here) + len(others)
    for name, handle in zip(("system", "integrator", "system", "integrator"), others):
        assert getattr(_library.library, f"kyoho_{name}_free")(handle) == kyoho.Result.BAD_HANDLE
    assert in_fork(lambda: kyoho.System(order=2)._handle) not in (str(kyoho.System(order=2)._handle), *map(str, here))


@pytest.mark.filterwarnings(FORKS)
def test_a_fork_does_not_wait_for_the_calls_of_its_parents_threads():
    bodies = Bodies(2000)
    system, cluster = kyoho.System(order=2, threads=2), kyoho.Cluster(threads=2)
    system.set_sources(bodies.positions, bodies.masses)
    cluster.add(bodies.positions, bodies.masses)
    ended = threading.Event()

    def sum_forces():
        while not ended.is_set():
            system.force(bodies.positions, indices=None)

    def evolve():
        cluster.evolve(1e9, progress=lambda *_: ended.is_set(), progress_seconds=0)

    def make():
        while not ended.is_set():
            kyoho.System(order=2, threads=2).close()

    def use():
        signal.alarm(30)
        said = set()
        library = _library.library
        for call in (
            lambda: library.kyoho_system_set_time(system._handle, 1.0),
            lambda: library.kyoho_integrator_free(cluster._handle),
        ):
            result = call()
            said.add(result)
            if result:
                assert "fork that was made while a call used the handle" in str(_library.failure(result))
        own = kyoho.System(order=2, threads=2)
        own.set_sources(bodies.positions[:100], bodies.masses[:100])
        found = own.force(bodies.positions[:100], indices=None)
        own.close()
        return f"{kyoho.Result.CALL_ORDER in said} {len(found.potentials)}"

    threads = [threading.Thread(target=work) for work in (sum_forces, evolve, make)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(0.2)
        for _ in range(5):
            assert in_fork(use) == "True 100"
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert system.force(bodies.positions[:1], indices=None).potentials < 0


def test_a_relative_folder_of_cargo_is_below_the_repository(monkeypatch):
    hooks = types.SimpleNamespace(BuildHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", hooks)
    for name in ("hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    root = pathlib.Path(__file__).parents[2]
    hook = runpy.run_path(str(root / "python/hatch_build.py"))
    told = types.SimpleNamespace(returncode=0, stdout="cargo 99.0.0", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: told)
    monkeypatch.setattr(shutil, "which", lambda tool: tool)
    monkeypatch.delenv("CARGO_BUILD_TARGET", raising=False)
    monkeypatch.chdir(root / "python")
    for given, folder in (("build/here", root / "build/here"), ("/tmp/there", pathlib.Path("/tmp/there"))):
        monkeypatch.setenv("CARGO_TARGET_DIR", given)
        monkeypatch.delenv("KYOHO_BUILT", raising=False)
        build = hook["CustomBuildHook"]()
        assert build.built_folder("library") == folder / "release"
        monkeypatch.setenv("KYOHO_BUILT", given)
        assert build.built_folder("library") == folder
