"""Systems over ranks: threads that have the methods of mpi4py's communicators, and mpi4py itself."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy
import pytest
from conftest import Bodies, close

import kyoho


class Rank:
    """One of several ranks, each a thread, with the methods of a communicator of mpi4py."""

    def __init__(self, rank, size, sent, barrier):
        self.rank, self.size, self.sent, self.barrier = rank, size, sent, barrier
        self.failing = False

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def exchange(self, parts):
        """What each rank has for this one."""
        if self.failing:
            self.barrier.abort()
        self.sent[self.rank] = parts
        self.barrier.wait(60)
        received = [parts[self.rank] for parts in self.sent]
        self.barrier.wait(60)
        return received

    def Allgatherv(self, sent, received):
        self.Alltoallv([sent, ([len(sent)] * self.size, [0] * self.size)], received)

    def Alltoallv(self, sent, received):
        data, (counts, offsets) = sent
        parts = [data[first : first + count].copy() for count, first in zip(counts, offsets)]
        data, (counts, offsets) = received
        for part, count, first in zip(self.exchange(parts), counts, offsets):
            assert len(part) == count
            data[first : first + count] = part

    def Abort(self, code):
        self.barrier.abort()


def on_ranks(size, work):
    """Calls a function with the communicator of each rank, and returns what each returns or raises."""
    sent, barrier, found = [None] * size, threading.Barrier(size), [None] * size

    def run(rank):
        try:
            found[rank] = work(Rank(rank, size, sent, barrier))
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return found


def own(array, communicator):
    return array[communicator.Get_rank() :: communicator.Get_size()]


def system_of(bodies, communicator):
    system = kyoho.System(order=4, backend="cpu", threads=1, communicator=communicator)
    of_rank = [own(array, communicator) for array in (bodies.positions, bodies.masses, bodies.velocities)]
    system.set_sources(*of_rank, indices=own(bodies.indices, communicator))
    return system


def forces_of(bodies, communicator):
    """The forces on the bodies of this rank, three times, and the neighbours of one."""
    with system_of(bodies, communicator) as system:
        sinks = [own(array, communicator) for array in (bodies.positions, bodies.velocities)]
        given = {"indices": own(bodies.indices, communicator), "softening2": 0.01}
        first = system.force(*sinks, radii2=numpy.full(len(sinks[0]), 0.2), **given)
        neighbours = system.neighbours(0)
        system.start(*sinks, **given)
        return first, system.wait(), system.force_all(0.01), neighbours


def check_forces(bodies, communicator, found):
    accelerations, potentials = bodies.gravity(eps=0.1)
    for forces in found[:3]:
        assert close(forces.accelerations, own(accelerations, communicator))
        assert close(forces.potentials, own(potentials, communicator))
    at = own(bodies.positions, communicator)[0]
    near = ((bodies.positions - at) ** 2).sum(axis=1) < 0.2
    near[own(bodies.indices, communicator)[0]] = False
    assert found[3].tolist() == numpy.flatnonzero(near).tolist() and near.any()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ranks_get_the_forces_of_all(bodies, size):
    def work(communicator):
        check_forces(bodies, communicator, forces_of(bodies, communicator))

    assert on_ranks(size, work) == [None] * size


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ranks_get_the_forces_of_interaction_lists_of_all_sources(bodies, size):
    count = len(bodies.masses)
    _, potentials = bodies.gravity(eps=0.1)

    def work(communicator):
        # All sources act on the first half of the sinks, none on the others.
        with system_of(bodies, communicator) as system:
            sinks = [own(array, communicator) for array in (bodies.positions, bodies.velocities)]
            half, end = len(sinks[0]) // 2, len(sinks[0])
            given = {"indices": own(bodies.indices, communicator), "softening2": 0.01, "sink_offsets": [0, half, end]}
            system.start_lists(*sinks, addresses=range(count), source_offsets=[0, count, count], **given)
            found = [system.wait()]
            found.append(system.force_lists(*sinks, first_addresses=[0, 0], source_counts=[count, 0], **given))
        for forces in found:
            assert close(forces.potentials[:half], own(potentials, communicator)[:half])
            assert not forces.potentials[half:].any()

    assert on_ranks(size, work) == [None] * size


@pytest.mark.parametrize("size", [1, 2, 3])
def test_sources_of_all_ranks_have_softenings_of_their_own(bodies, size):
    softening2 = numpy.linspace(0, 0.1, len(bodies.masses))
    distances2 = ((bodies.positions[:, None] - bodies.positions) ** 2).sum(axis=2)
    distances2 += (softening2[:, None] + softening2) / 2
    numpy.fill_diagonal(distances2, numpy.inf)
    potentials = -(bodies.masses / numpy.sqrt(distances2)).sum(axis=1)

    def work(communicator):
        with kyoho.System(order=2, backend="cpu", threads=1, communicator=communicator) as system:
            places, masses, indices, own_softening2 = (
                own(array, communicator) for array in (bodies.positions, bodies.masses, bodies.indices, softening2)
            )
            system.set_sources(places, masses, indices=indices, softening2=own_softening2)
            assert close(system.force_all().potentials, own(potentials, communicator))
            forces = system.force(places, indices=indices, softening2=own_softening2)
            assert close(forces.potentials, own(potentials, communicator))

    assert on_ranks(size, work) == [None] * size


def test_an_error_on_one_rank_is_that_of_all(bodies):
    def work(communicator):
        wrong = communicator.Get_rank() == 1
        nothing = "nothing" if wrong else None
        with pytest.raises(kyoho.Error) as error:
            kyoho.System(order=4, precision=nothing, communicator=communicator)
        texts = [str(error.value)]
        system = system_of(bodies, communicator)
        place, sinks = [[0, 0, 0]], ([[0, 0, 0]], [[0, 0, 0]])
        not_finite = [[0, 0, numpy.nan if wrong else 0]]
        one_group = {"indices": [7], "sink_offsets": [0, 1], "first_addresses": [0], "source_counts": [1]}
        calls = (
            lambda: system.force(not_finite, place, indices=[7]),
            lambda: system.force(nothing or place, place, indices=[7]),
            lambda: system.start(place, nothing or place, indices=[7]),
            lambda: system.force_all(nothing or 0.0),
            lambda: system.start_all(nothing or 0.0),
            lambda: system.force_lists(place, place, **one_group, softening2=nothing or 0.0),
            lambda: system.start_lists(place, nothing or place, **one_group),
            lambda: (system.start(*sinks, indices=[7]), system.wait(nothing)),
        )
        for call in calls:
            with pytest.raises((kyoho.Error, TypeError, ValueError)) as error:
                call()
            texts.append(str(error.value))
        check_forces(bodies, communicator, forces_of(bodies, communicator))
        return texts

    texts = on_ranks(2, work)
    assert all(isinstance(of_rank, list) for of_rank in texts), texts
    assert all(text.startswith("rank 1: ") for text in texts[0]), texts
    assert texts[1][1] == texts[0][1] == "rank 1: the position of sink 0 is NaN; allowed: finite numbers"


def test_no_communicator_and_one_that_fails(bodies):
    with pytest.raises(kyoho.Error, match="communicator is a int without Get_rank; allowed: .* mpi4py"):
        kyoho.System(communicator=3)

    is_made = threading.Event()

    def work(communicator):
        system = system_of(bodies, communicator)
        communicator.failing = communicator.Get_rank() == 0
        # None fails while another one is still making its system.
        assert is_made.wait(60) if communicator.failing else not is_made.set()
        for _ in range(2):
            with pytest.raises(kyoho.Error, match="the communicator's function 'all_gather' returned -1"):
                system.force_all()

    assert on_ranks(2, work) == [None] * 2


def cluster_of(bodies, communicator):
    cluster = kyoho.Cluster(4, "double", eps=0.1, backend="cpu", threads=1, communicator=communicator)
    cluster.add(bodies.positions, bodies.masses, bodies.velocities)
    return cluster


def evolved(bodies, communicator):
    """What a cluster has after some time, with the error of a call that one rank makes otherwise."""
    with cluster_of(bodies, communicator) as cluster:
        evolution = cluster.evolve(0.125)
        found = [cluster.positions, cluster.velocities, cluster.accelerations, cluster.potentials]
        found += [cluster.nearest, cluster.nearest_distances, numpy.array(cluster.energies)]
        return evolution, [array.tolist() for array in found]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_cluster_over_ranks_has_the_bits_of_one_process(size):
    bodies = Bodies(300)
    expected = evolved(bodies, None)
    assert on_ranks(size, lambda communicator: evolved(bodies, communicator)) == [expected] * size


def test_what_ends_an_evolution_on_one_rank_ends_it_on_all(bodies, tmp_path):
    def work(communicator):
        is_one = communicator.Get_rank() == 1
        cluster = cluster_of(bodies, communicator)
        texts = []
        for calls in (
            lambda: cluster.evolve("soon" if is_one else 1.0),
            lambda: cluster.evolve(2.0 if is_one else 1.0),
            lambda: kyoho.Cluster(order=4, eta=-1.0 if is_one else 0.1, communicator=communicator),
        ):
            with pytest.raises((kyoho.Error, TypeError)) as error:
                calls()
            texts.append(str(error.value))
        progress = (lambda time, steps: steps == 3) if is_one else None
        evolution = cluster.evolve(1.0, progress=progress, progress_seconds=0)
        if communicator.Get_rank() == 0:
            cluster.save(tmp_path / "cluster")
            saved = (tmp_path / "cluster").read_bytes()
            (tmp_path / "newer").write_bytes(saved.replace(b'"order"', b'"newer"', 1))
        communicator.barrier.wait(60)
        # A rank that cannot read the file tells the others, which would wait for it.
        for name, wrong in (("nothing", FileNotFoundError), ("newer", kyoho.Error)):
            with pytest.raises(wrong if is_one else kyoho.Error):
                kyoho.Cluster.load(tmp_path / (name if is_one else "cluster"), communicator=communicator)
        other = kyoho.Cluster.load(tmp_path / "cluster", communicator=communicator)
        state = (other.evolve(evolution.time + 0.01).time, other.positions.tolist())
        assert state == (cluster.evolve(evolution.time + 0.01).time, cluster.positions.tolist())
        return texts, evolution.end, evolution.time, state

    found = on_ranks(3, work)
    assert all(isinstance(of_rank, tuple) for of_rank in found), found
    assert [end for _, end, *_ in found] == ["caller", "progress", "caller"]
    assert found[0][2:] == found[1][2:] == found[2][2:] and 0.0 < found[0][2] < 1.0
    assert all(text.startswith("rank 1: ") for text in found[0][0]), found[0][0]
    assert found[0][0] == found[2][0] and found[0][0][1] == found[1][0][1]


# Debian's name for it beside another MPI.
OPEN_MPI = shutil.which("mpirun.openmpi") or "mpirun"


def by_mpi(size, *script, mpirun=OPEN_MPI, **variables):
    """What a script prints that ranks of MPI run."""
    pytest.importorskip("mpi4py")
    if shutil.which(mpirun) is None:
        pytest.skip(f"there is no {mpirun}")
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MPIEXEC_TIMEOUT": "100"}
    options = [] if mpirun.endswith("mpich") else ["--oversubscribe", "--bind-to", "none"]
    command = [mpirun, *options, "-np", str(size), sys.executable, *script]
    environment = {**os.environ, **root, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_mpi4py():
    assert by_mpi(3, __file__).count("good") == 3


def test_mpi4py_by_mpich(tmp_path):
    library = next(pathlib.Path("/usr/lib").glob("*/libmpich.so.12"), None)
    if library is None:
        pytest.skip("there is no MPICH of Debian")
    # The wheel of mpi4py asks for the name that others give it.
    (tmp_path / "libmpi.so.12").symlink_to(library)
    variables = {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(tmp_path)}
    assert by_mpi(2, __file__, mpirun="mpirun.mpich", **variables).count("good") == 2


def test_a_tree_code():
    script = pathlib.Path(__file__).parents[2] / "examples/python/tree_mpi.py"
    assert len(script.read_text().splitlines()) <= 50
    one, three = ([float(line.split()[-1]) for line in by_mpi(size, script, "300").splitlines()] for size in (1, 3))
    assert one == pytest.approx(three, rel=1e-8)
    assert one[0] == pytest.approx(-0.6, abs=0.03) and one[1] == pytest.approx(one[0], rel=1e-2)


if __name__ == "__main__":
    from mpi4py import MPI

    check_forces(Bodies(100), MPI.COMM_WORLD, forces_of(Bodies(100), MPI.COMM_WORLD))
    assert evolved(Bodies(300), MPI.COMM_WORLD)[0].end == "time"
    print("good")
