"""Clusters: bodies that come, go, change and evolve, and what ends an evolution."""

import copy
import gc
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy
import pytest

import kyoho

# The shared step of order 2, and the accuracy of the others.
CHOICES = {2: {"dt_max": 1 / 1024}, 4: {"eta": 0.01}, 6: {"eta": 0.05}, 8: {"eta": 0.05}}


def circle(order, **choices):
    """Two bodies on a circle of radius 1/2 with period 2 pi."""
    cluster = kyoho.Cluster(order, **{**CHOICES[order], **choices})
    cluster.add([[0.5, 0, 0], [-0.5, 0, 0]], [0.5, 0.5], [[0, 0.5, 0], [0, -0.5, 0]], identifiers=[7, -3])
    return cluster


def off(cluster):
    """How far the first body is from where it should be."""
    there = 0.5 * numpy.array([numpy.cos(cluster.time), numpy.sin(cluster.time), 0])
    return numpy.linalg.norm(cluster.get([7]).positions[0] - there)


@pytest.mark.parametrize("order", CHOICES)
def test_bodies_reach_any_time(order):
    with circle(order) as cluster:
        for end in (0.3, 1.0, 2.5):
            evolution = cluster.evolve(end)
            assert evolution.end == "time" and evolution.time == cluster.time == end
            assert evolution.block_steps > 0 and evolution.encounters == [] and off(cluster) < 1e-5
        assert abs(cluster.energies.total + 0.125) < 1e-5
        if order == 2:
            assert evolution.closest is None
        else:
            assert evolution.closest[1:3] == (7, -3) and abs(evolution.closest.distance - 1) < 1e-3
            assert 1.0 < evolution.closest_time <= 2.5
        assert cluster.integration.steps == 2 * cluster.integration.block_steps


def test_the_criterion_of_the_steps_can_be_chosen():
    steps = {}
    for criterion in ("usual", "order", "average"):
        with circle(6, eta=0.3, criterion=criterion, precision="double") as cluster:
            cluster.evolve(2.0)
            steps[criterion] = cluster.integration.steps
    # On a circle the criterion of order 4 wants a third of the step that 0.3 gives order 6.
    assert steps["usual"] == steps["order"] < steps["average"]
    with pytest.raises(kyoho.Error, match="criterion is 'aarseth'; allowed: 'usual', 'order', 'average'"):
        kyoho.Cluster(6, criterion="aarseth")
    with pytest.raises(kyoho.Error, match="criterion is 'average'; allowed: average in orders 6 and 8"):
        kyoho.Cluster(4, criterion="average")


def test_a_cluster_keeps_its_energy(bodies):
    for order in (4, 6, 8):
        with kyoho.Cluster(order, eps=0.05) as cluster:
            cluster.add(bodies.positions, bodies.masses, 0.3 * bodies.velocities)
            before = cluster.energies
            _, potentials = bodies.gravity(eps=0.05)
            assert abs(before.potential / (0.5 * bodies.masses @ potentials) - 1) < 1e-12
            cluster.evolve(0.5)
            assert abs(cluster.energies.total / before.total - 1) < 1e-5
            assert abs(cluster.energies.kinetic / before.kinetic - 1) > 1e-2


def test_a_tree_gives_the_forces_of_order_2(many):
    with kyoho.Cluster(2, "single", eps=0.1, dt_max=0.01, accuracy=1e-3) as cluster:
        cluster.add(many.positions, many.masses)
        before = cluster.energies.total
        cluster.evolve(0.03)
        assert cluster.integration.block_steps == 3
        assert abs(cluster.energies.total / before - 1) < 1e-4


def test_bodies_are_known_by_identifiers():
    with kyoho.Cluster(gravity=2.0, time=1.0) as cluster:
        assert len(cluster) == 0 and cluster.get().positions.shape == (0, 3)
        assert list(cluster.add(numpy.eye(3), numpy.ones(3), radii=[0.1, 0.2, 0.3])) == [0, 1, 2]
        assert list(cluster.add([[9, 9, 9]], [4.0], identifiers=[20])) == [20]
        assert list(cluster.add([[8, 9, 9]], [5.0])) == [21]
        cluster.set([20, 1], velocities=[[1, 2, 3], [4, 5, 6]])
        cluster.set([1], masses=[7.0], radii=[0.7], positions=[[0, -1, 0]])
        found = cluster.get([1, 20])
        assert found.velocities.tolist() == [[4, 5, 6], [1, 2, 3]]
        assert found.masses.tolist() == [7, 4] and found.radii.tolist() == [0.7, 0]
        assert found.positions.tolist() == [[0, -1, 0], [9, 9, 9]]
        cluster.remove([0, 20])
        assert cluster.identifiers.tolist() == [1, 2, 21] and cluster.masses.tolist() == [7, 1, 5]
        assert len(cluster) == 3 and cluster.time == 1.0
        for call in (
            lambda: cluster.get([0]),
            lambda: cluster.remove([1, 0]),
            lambda: cluster.set([0], masses=[1.0]),
            lambda: cluster.add([[1, 1, 1]], [1.0], identifiers=[2]),
        ):
            with pytest.raises(kyoho.Error, match="the identifier"):
                call()
        assert cluster.identifiers.tolist() == [1, 2, 21]


def falling(order, **choices):
    """Two bodies that fall towards each other from rest."""
    cluster = kyoho.Cluster(order, **{**CHOICES[order], "eta": 0.01, **choices})
    cluster.add([[0.5, 0, 0], [-0.5, 0, 0]], [0.5, 0.5], radii=[0.1, 0.05])
    return cluster


@pytest.mark.parametrize("order", CHOICES)
def test_collisions_end_an_evolution(order):
    with falling(order) as cluster:
        evolution = cluster.evolve(10.0)
        assert evolution.end == "encounter" and evolution.time == cluster.time < 10
        [(kind, first, second, distance, when)] = evolution.encounters
        assert evolution.time - 0.1 < when <= evolution.time
        assert (kind, first, second) == ("collision", 0, 1) and 0.1 < distance < 0.15
        # The two become one.
        cluster.remove([0, 1])
        cluster.add([[0, 0, 0]], [1.0], identifiers=[0], radii=[0.12])
        assert cluster.evolve(10.0).end == "time"


@pytest.mark.parametrize("order", CHOICES)
def test_approaches_end_an_evolution(order):
    with falling(order, approach_distance=0.3) as cluster:
        evolution = cluster.evolve(10.0)
        [(kind, _, _, distance, _)] = evolution.encounters
        assert kind == "approach" and 0.25 < distance < 0.3


@pytest.mark.parametrize("order", CHOICES)
def test_block_steps_and_progress_end_an_evolution(order):
    with circle(order) as cluster:
        evolution = cluster.evolve(2.0, block_steps=10)
        assert evolution.end == "block steps" and evolution.block_steps in (10, 11)
        told = []
        evolution = cluster.evolve(2.0, progress=lambda *now: told.append(now) or now[0] > 1.0, progress_seconds=0)
        assert evolution.end == "progress" and told[-1][0] == evolution.time > 1.0 >= told[-2][0]
        assert [steps for _, steps in told] == list(range(1, len(told) + 1))
        assert cluster.evolve(2.0).end == "time" and off(cluster) < 1e-5


def test_an_error_of_progress_is_the_callers():
    def fail(*_):
        raise ValueError("no")

    with circle(4) as cluster:
        with pytest.raises(ValueError, match="no"):
            cluster.evolve(2.0, progress=fail, progress_seconds=0)
        assert 0 < cluster.time < 2 and off(cluster) < 1e-5
        with pytest.raises(kyoho.Error, match="may not call it"):
            cluster.evolve(2.0, progress=lambda *_: cluster.time, progress_seconds=0)
        with pytest.raises(kyoho.Error, match="may not call it"):
            cluster.evolve(3.0, progress=lambda *_: cluster.close(), progress_seconds=0)
        assert cluster.time > 0
        with pytest.raises(kyoho.Error, match="progress is 3; allowed: a function"):
            cluster.evolve(4.0, progress=3)


def test_a_cluster_that_nobody_names_goes_at_once():
    """Its memory and its devices do not wait for Python's collector."""
    cluster = kyoho.Cluster(eps=0.1)
    cluster.add([[1, 0, 0], [0, 1, 0]], [1.0, 1.0])
    gone = weakref.ref(cluster)
    gc.disable()
    try:
        cluster.evolve(0.01, progress=lambda time, steps: None)
        del cluster
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("order", [4, 6, 8])
def test_a_passage_that_changes_an_energy_is_told(order):
    with kyoho.Cluster(order) as cluster:
        cluster.add([[0.5, 0.1, 0], [-0.5, 0.1, 0]], [0.5, 0.5], identifiers=[7, -3])
        cluster.evolve(1.0)
        assert cluster.integration.energy_jumps == 0 and cluster.integration.last_jump is None
        cluster.evolve(2.0)
        jump = cluster.integration.last_jump
        assert cluster.integration.energy_jumps >= 1 and jump[:2] == (7, -3)
        assert abs(jump.time - 1.11) < 0.01 and jump.distance < 1e-3 and jump.step < 1e-3
        assert abs(jump.energy) > 10


def test_time_that_has_gone_ends_an_evolution():
    with circle(4, eta=1e-6) as cluster:
        begun = time.monotonic()
        evolution = cluster.evolve(1e6, seconds=0.2)
        assert evolution.end == "seconds" and 0.2 <= time.monotonic() - begun < 10
        assert evolution.block_steps > 1


def test_seconds_and_interrupts_do_not_wait_for_the_next_call_of_progress():
    told, begun = [], time.monotonic()
    with circle(4, eta=1e-6) as cluster:
        evolution = cluster.evolve(1e6, seconds=0.2, progress=lambda *now: told.append(now), progress_seconds=30)
        assert evolution.end == "seconds"
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            cluster.evolve(1e6, progress=lambda *now: told.append(now), progress_seconds=30)
        timer.join()
    assert told == [] and time.monotonic() - begun < 20


@pytest.mark.parametrize("pause", [0.01, 0.15])
def test_as_many_seconds_pass_between_two_calls_of_progress(pause):
    told, begun = [], time.monotonic()
    with circle(4, eta=1e-6) as cluster:
        cluster.evolve(1e6, progress=lambda *now: told.append(now) or len(told) == 3, progress_seconds=pause)
    assert len(told) == 3 and time.monotonic() - begun >= 3 * pause


def test_an_interrupt_ends_an_evolution():
    def interrupt(*_):
        os.kill(os.getpid(), signal.SIGINT)

    with circle(4, eta=1e-6) as cluster:
        with pytest.raises(KeyboardInterrupt):
            cluster.evolve(1e6, progress=interrupt)
        assert 0 < cluster.time < 1e6 and off(cluster) < 1e-5
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_functions_of_other_signals_are_called_and_what_they_raise_ends_an_evolution():
    came = []

    def ends(number, _):
        came.append(number)
        raise SystemExit(3)

    def signalled(*_):
        os.kill(os.getpid(), signal.SIGUSR1)

    former = [signal.signal(signal.SIGTERM, ends), signal.signal(signal.SIGUSR1, lambda number, _: came.append(number))]
    try:
        with circle(4) as cluster:
            assert cluster.evolve(1.0, progress=signalled, progress_seconds=0).end == "time"
            assert set(came) == {signal.SIGUSR1} and signal.getsignal(signal.SIGTERM) is ends
        came.clear()
        with circle(4, eta=1e-6) as cluster:
            timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGTERM])
            timer.start()
            with pytest.raises(SystemExit):
                cluster.evolve(1e6)
            timer.join()
            assert came == [signal.SIGTERM] and 0 < cluster.time < 1e6
    finally:
        signal.signal(signal.SIGTERM, former[0])
        signal.signal(signal.SIGUSR1, former[1])


def test_threads_evolve_clusters_at_once():
    ends = []

    def evolve():
        with circle(6) as cluster:
            cluster.evolve(1.0)
            ends.append(cluster.positions.tobytes())

    threads = [threading.Thread(target=evolve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ends) == 3 and len(set(ends)) == 1


def test_what_is_wrong_is_named():
    for words, call in (
        ("dt_max is '0'", lambda: kyoho.Cluster(2)),
        ("eps is -1.0; allowed: 0 or more", lambda: kyoho.Cluster(eps=-1.0)),
        ("gravity is 0", lambda: kyoho.Cluster(gravity=0)),
        ("order", lambda: kyoho.Cluster(3)),
        ("precision is 'half'", lambda: kyoho.Cluster(precision="half")),
    ):
        with pytest.raises(kyoho.Error, match=words):
            call()
    cluster = circle(4)
    for words, call in (
        (r"positions has the shape \(3,\)", lambda: cluster.add([1, 2, 3], [1.0])),
        (r"masses has the shape \(2,\)", lambda: cluster.add([[1, 2, 3]], [1.0, 2.0])),
        ("the mass of body 8 is '-1'", lambda: cluster.add([[1, 2, 3]], [-1.0])),
        ("the velocity of body 7 is NaN", lambda: cluster.set([7], velocities=[[0, numpy.nan, 0]])),
        ("the time to evolve to is '-1'", lambda: cluster.evolve(-1)),
        ("block_steps is -1", lambda: cluster.evolve(1, block_steps=-1)),
    ):
        with pytest.raises(kyoho.Error, match=words):
            call()
    cluster.set([7], positions=cluster.get([-3]).positions)
    with pytest.raises(kyoho.Error, match="bodies 7 and -3 have the same position"):
        cluster.evolve(1)
    cluster.close()
    cluster.close()
    with pytest.raises(kyoho.Error, match="closed"):
        cluster.evolve(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_gets_an_error():
    cluster = circle(4)

    def child(sender):
        try:
            cluster.evolve(1)
        except kyoho.Error as error:
            sender.send(str(error))

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(sender,))
    process.start()
    assert "is a fork of process" in receiver.recv()
    process.join()
    assert cluster.evolve(1).end == "time"


def restart(order):
    """A cluster in the middle of its way, some of whose bodies were changed and removed."""
    random = numpy.random.default_rng(2)
    choices = {"accuracy": 1e-3, "dt_max": 1 / 64} if order == 2 else {}
    cluster = kyoho.Cluster(order, eps=0.05, gravity=1.5, time=0.5, approach_distance=1e-3, threads=1, **choices)
    cluster.add(random.normal(size=(60, 3)), numpy.full(60, 1 / 60), random.normal(size=(60, 3)) / 2, radii=[1e-3] * 60)
    cluster.evolve(0.75)
    cluster.remove([3, 17])
    cluster.evolve(0.875)
    return cluster


def bits(cluster):
    return [array.tobytes() for array in cluster.get()] + [cluster.time]


@pytest.mark.parametrize("order", CHOICES)
def test_copies_of_a_cluster_go_on_with_the_same_bits(order):
    cluster = restart(order)
    changed = restart(order)
    changed.set([5], velocities=[[0, 0, 1]])
    for original in (cluster, changed):
        made = [copy.copy(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))]
        before = bits(original)
        assert all(bits(other) == before for other in made)
        # The first one goes, and takes nothing of the others along.
        made.pop(0).close()
        with pytest.raises(kyoho.Error, match="closed"):
            copy.copy(original.close() or original)
        for other in made:
            assert other.evolve(1.25).end == "time"
            assert list(other.add([[9, 9, 9]], [1.0])) == [60]
        assert bits(made[0]) == bits(made[1]) != before


def test_a_copy_goes_on_as_the_original_does():
    for order in CHOICES:
        cluster = restart(order)
        other = pickle.loads(pickle.dumps(cluster))
        for end in (1.0, 1.1):
            assert cluster.evolve(end)[:3] == other.evolve(end)[:3]
            assert bits(cluster) == bits(other)


@pytest.mark.parametrize("order", CHOICES)
def test_a_saved_cluster_goes_on_with_the_same_bits(order, tmp_path):
    class Named(kyoho.Cluster):
        """A class of the caller."""

    cluster, path = restart(order), tmp_path / "cluster"
    cluster.set([5], masses=[0.02])
    cluster.save(path)
    other = Named.load(path, threads=2)
    assert type(other) is Named and os.listdir(tmp_path) == ["cluster"]
    for end in (1.0, 1.1):
        assert cluster.evolve(end)[:3] == other.evolve(end)[:3]
        assert bits(cluster) == bits(other)
    assert list(other.add([[9, 9, 9]], [1.0])) == [60]
    # It is copied as it was made.
    assert len(copy.copy(other)) == 59


def test_a_file_that_is_no_clusters_is_refused(tmp_path):
    path = tmp_path / "cluster"
    restart(4).save(path)
    whole = path.read_bytes()
    for bad in (b"", b"kyoho cluster 2\n", whole[:-1], whole[:-9] + b"x" + whole[-8:], whole[:30]):
        path.write_bytes(bad)
        with pytest.raises(kyoho.Error, match="cluster is no file of a cluster"):
            kyoho.Cluster.load(path)
    with pytest.raises(FileNotFoundError):
        kyoho.Cluster.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        restart(4).save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["cluster"]


def test_clusters_of_other_versions_are_refused(tmp_path):
    path = tmp_path / "cluster"
    restart(4).save(path)
    content = path.read_bytes()
    for before, after, words in (
        (b'"order": 4', b'"order": 4, "colour": 3', "the saved cluster differs in 'colour'; allowed: one that this"),
        (b'"next": ', b'"next": Infinity, "n": ', "is no file of a cluster: cannot convert float infinity"),
    ):
        assert content.count(before) == 1
        path.write_bytes(content.replace(before, after))
        with pytest.raises(kyoho.Error, match=words):
            kyoho.Cluster.load(path)
    with pytest.raises(kyoho.Error, match="the saved cluster differs in 'state'"):
        kyoho.Cluster.__new__(kyoho.Cluster).__setstate__({"options": {}})


def test_identifiers_end_at_64_bits():
    cluster = kyoho.Cluster()
    cluster.add([[1, 0, 0]], [1], identifiers=[2**63 - 2])
    assert cluster.add([[2, 0, 0]], [1]).tolist() == [2**63 - 1]
    for _ in range(2):
        with pytest.raises(kyoho.Error, match=f"the next identifier is {2**63}; allowed: identifiers of yours"):
            cluster.add([[3, 0, 0]], [1])
    assert cluster.add(numpy.zeros((0, 3)), []).tolist() == []
    assert cluster.add([[3, 0, 0]], [1], identifiers=[5]).tolist() == [5]


def test_texts_that_have_no_bytes_are_refused():
    for call in (
        lambda text: kyoho.Cluster(units=text),
        lambda text: kyoho.Cluster().add_field(text),
        lambda text: kyoho.Cluster(devices=text),
        lambda text: kyoho.pair(text),
    ):
        with pytest.raises(kyoho.Error, match=r"'\\ud800'"):
            call("\ud800")


def test_forces_and_nearest_bodies_are_attributes(bodies):
    with kyoho.Cluster(4, eps=0.05) as cluster:
        cluster.add(bodies.positions, bodies.masses, identifiers=numpy.arange(len(bodies.masses)) + 2**40)
        accelerations, potentials = bodies.gravity(eps=0.05)
        assert numpy.allclose(cluster.accelerations, accelerations, rtol=1e-12, atol=1e-12)
        assert numpy.allclose(cluster.potentials, potentials, rtol=1e-13)
        apart = numpy.linalg.norm(bodies.positions[:, None] - bodies.positions, axis=2)
        numpy.fill_diagonal(apart, numpy.inf)
        assert (cluster.nearest - 2**40 == apart.argmin(axis=1)).all()
        assert numpy.allclose(cluster.nearest_distances, apart.min(axis=1), rtol=1e-14)
        cluster.remove(cluster.identifiers[1:])
        assert cluster.nearest.tolist() == [2**40] and cluster.nearest_distances.tolist() == [numpy.inf]


def test_debris_that_meets_between_the_ends_of_steps_collides():
    with kyoho.Cluster(4) as cluster:
        star = cluster.add([[0, 0, 0]], [1.0])
        cluster.add([[1, 0, 0], [-1, 0, 0]], [0, 0], [[0, 1, 0], [0, 1, 0]], radii=[1e-4, 1e-4])
        evolution = cluster.evolve(2.0)
        [found] = evolution.encounters
        assert (found.kind, found.first, found.second) == ("collision", 1, 2) and found.distance < 2e-4
        assert abs(found.time - numpy.pi / 2) < 1e-3 and found.time <= evolution.time < 2
        assert list(star) == [0] and cluster.evolve(4.0).end == "time"


def test_a_pickled_cluster_goes_on_in_another_process():
    cluster = restart(4)
    code = (
        "import pickle, sys\n"
        "cluster = pickle.load(sys.stdin.buffer)\n"
        "cluster.evolve(1.0)\n"
        "sys.stdout.write(cluster.positions.tobytes().hex())\n"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(cluster), stdout=subprocess.PIPE, timeout=60
    )
    cluster.evolve(1.0)
    assert there.returncode == 0 and bytes.fromhex(there.stdout.decode()) == cluster.positions.tobytes()


def test_a_state_that_is_none_is_refused():
    function, state = kyoho.Cluster.__reduce_ex__(restart(4), 2)[:3:2]
    assert function.__name__ == "__newobj__"
    for change, said in (
        ({"state": state["state"][:-1]}, "the state is"),
        ({"state": state["state"][:-224]}, "the state is"),
        ({"state": b"x" * 40}, "the state is"),
        ({"state": b""}, "the state is"),
        ({"options": {**state["options"], "order": 6}}, "the order of the state is '4'; allowed: 6, as here"),
        ({"state": state["state"][:-24] + b"\xff" * 8 + state["state"][-16:]}, "the state of body 59 is 'damaged'"),
        ({"state": state["state"][:-8] + b"\xff" * 8}, "the groups of the state is 'damaged'"),
    ):
        other = kyoho.Cluster.__new__(kyoho.Cluster)
        with pytest.raises(kyoho.Error, match=said):
            other.__setstate__({**state, **change})
        assert len(other) == 0


PUSH = """pair push
i      vel: vec3<f64>
param  strength: vec3<f64>, rate: f64, time: f64
result acceleration: vec3<f64> sum
body
  acceleration += strength * cos(rate * time) - rate * i.vel
"""


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_fields_act_on_bodies_and_are_part_of_their_energy(order):
    cluster = kyoho.Cluster(order, gravity=4.0, dt_max=1 / 1024, backend="cpu", threads=1)
    cluster.add([[1, 0, 0]], [2.0], [[0, 2, 0]])
    assert cluster.field_energy == 0
    cluster.add_field("point_mass", mass=1)
    before = cluster.energies
    assert cluster.field_energy == before.potential == -8
    cluster.evolve(numpy.pi / 4)
    assert numpy.allclose(cluster.positions, [[0, 1, 0]], atol=1e-4)
    assert abs(cluster.energies.total - before.total) < 1e-4
    cluster.add_field(PUSH, rate=numpy.float32(0.5), strength=numpy.array([0, 0, 3]))
    # What was pickled has its fields, and goes on with the same bits.
    other = pickle.loads(pickle.dumps(cluster))
    for one in (cluster, other):
        one.evolve(0.8)
    assert cluster.positions.tobytes() == other.positions.tobytes() and cluster.positions[0, 2] > 0
    assert cluster.field_energy == other.field_energy


SPRING = """pair spring
i      pos: vec3<f64>
j      pos: vec3<f64>, mass: f64
param  stiffness: f64
result potential: f64 sum
body
  potential += 0.5 * stiffness * j.mass * norm2(j.pos - i.pos)
"""


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_laws_act_between_bodies_of_groups(order):
    cluster = kyoho.Cluster(order, gravity=1e-9, dt_max=1 / 1024, backend="cpu", threads=1)
    far = cluster.add_group()
    cluster.add([[1, 0, 0], [-1, 0, 0]], [1.0, 1.0], [[0, 2, 0], [0, -2, 0]])
    cluster.add([[0, 9, 0]], [1.0], groups=far)
    assert cluster.law_energy == 0
    cluster.add_law(SPRING, on=0, by=[0], stiffness=2)
    before = cluster.energies
    assert cluster.law_energy == 4 and before.potential == pytest.approx(4, abs=1e-8)
    assert numpy.allclose(cluster.accelerations, [[-4, 0, 0], [4, 0, 0], [0, 0, 0]], atol=1e-8)
    # Half of a circle, of which the angular velocity is 2.
    cluster.evolve(numpy.pi / 2)
    assert numpy.allclose(cluster.positions, [[-1, 0, 0], [1, 0, 0], [0, 9, 0]], atol=1e-3)
    assert abs(cluster.energies.total - before.total) < 1e-4
    # What was pickled has its laws, and goes on with the same bits.
    other = pickle.loads(pickle.dumps(cluster))
    for one in (cluster, other):
        one.evolve(1.7)
    assert cluster.positions.tobytes() == other.positions.tobytes() and cluster.law_energy == other.law_energy


def test_a_wrong_law_is_named():
    cluster = kyoho.Cluster(backend="cpu", threads=1)
    for law, groups, parameters, words in (
        (None, {}, {}, "law is None; allowed: a text"),
        (7, {}, {}, "law is 7; allowed: a text"),
        ("plummer", {}, {}, "line 1"),
        (SPRING, {}, {}, "the parameter 'stiffness' of the law 'spring' is 'not given'; allowed: one number"),
        (SPRING, {}, {"stiffness": 1, "mass": 1}, "a parameter of the law 'spring' is 'mass'; allowed: stiffness"),
        (SPRING, {"on": 1}, {"stiffness": 1}, "a group on which a law acts is '1'; allowed: 0 to 0"),
        (SPRING, {"by": [0, 16]}, {"stiffness": 1}, "by is 16; allowed: 0 to 15"),
        (SPRING, {"by": []}, {"stiffness": 1}, "by is []; allowed: a group, several, or None for all"),
        (SPRING.replace("j ", "j charge: f64, "), {}, {"stiffness": 1}, "the value 'charge: f64' of the source"),
    ):
        with pytest.raises(kyoho.Error, match=re.escape(words)):
            cluster.add_law(law, **groups, **parameters)
    assert cluster.law_energy == 0


def _pull(positions, velocities, time):
    return -positions / numpy.linalg.norm(positions, axis=1, keepdims=True) ** 3


def _jerk(positions, velocities, accelerations, time):
    r = numpy.linalg.norm(positions, axis=1, keepdims=True)
    along = 3 * (positions * velocities).sum(axis=1, keepdims=True) / r**2
    return -(velocities - along * positions) / r**3


# The functions of the field of a point.
POINT = (_pull, _jerk, lambda positions, velocities, time: -1 / numpy.linalg.norm(positions, axis=1))


@pytest.mark.parametrize("order", [2, 4])
def test_a_function_is_a_field(order):
    clusters = [kyoho.Cluster(order, dt_max=1 / 256, backend="cpu", threads=1) for _ in range(2)]
    for cluster in clusters:
        cluster.add([[1, 0, 0], [0, 2, 0]], [2e-3, 1e-3], [[0, 1, 0], [0.7, 0, 0]])
    pull, jerk, potential = POINT
    clusters[0].add_field(pull, potential=potential, jerk=jerk if order == 4 else None)
    clusters[1].add_field("point_mass", mass=1)
    for cluster in clusters:
        cluster.evolve(3.0)
    assert numpy.allclose(clusters[0].positions, clusters[1].positions, rtol=0, atol=1e-12)
    assert abs(clusters[0].field_energy / clusters[1].field_energy - 1) < 1e-12
    assert clusters[0].energies.potential < clusters[0].field_energy
    with pytest.raises(kyoho.Error, match="'a function'; allowed: built-in fields and texts"):
        pickle.dumps(clusters[0])


@pytest.mark.parametrize(
    "wrong, error, words",
    [
        (lambda *_: 1 / 0, ZeroDivisionError, "division"),
        (lambda positions, *_: positions[0], kyoho.Error, r"have the shape \(3,\); allowed: \(1, 3\)"),
        (lambda positions, *_: positions * numpy.nan, kyoho.Error, "body 7 in the field 'function' is NaN"),
    ],
)
def test_what_a_function_of_a_field_raises_ends_the_call(wrong, error, words):
    cluster = kyoho.Cluster(2, dt_max=0.1, backend="cpu", threads=1)
    cluster.add([[1, 0, 0]], [1.0], identifiers=[7])
    cluster.add_field(wrong, potential=lambda *_: cluster.time)
    with pytest.raises(error, match=words):
        cluster.evolve(1.0)
    # It may not call the cluster.
    for call in (lambda: cluster.energies, lambda: cluster.field_energy):
        with pytest.raises(kyoho.Error, match="may not call it"):
            call()


def test_a_centre_moves_and_is_pickled():
    times = numpy.linspace(0, 2, 5)
    path = numpy.column_stack([1 + 0 * times, 0.25 * times, 0 * times])
    for centre in ((times, path), (times, path, [[0, 0.25, 0]] * 5)):
        cluster = kyoho.Cluster(6, backend="cpu", threads=1)
        cluster.add([[1, 0, 0]], [2.0], [[0, 0.25, 0]])
        cluster.add_field("plummer", centre=centre, mass=3.0, radius=0.5)
        cluster.evolve(0.5)
        other = pickle.loads(pickle.dumps(cluster))
        for one in (cluster, other):
            one.evolve(1.9)
            assert numpy.allclose(one.positions, [[1, 0.475, 0]], rtol=0, atol=1e-13)
        assert cluster.positions.tobytes() == other.positions.tobytes()
        with pytest.raises(kyoho.Error, match="'plummer' is '3'; allowed: 0 to 2"):
            cluster.evolve(3.0)


def test_a_wrong_field_is_refused_and_changes_nothing():
    cluster = kyoho.Cluster(backend="cpu", threads=1)
    cluster.add([[1, 0, 0]], [2.0])
    for field, parameters, words in (
        ("plumer", {"mass": 1}, "the field is 'plumer'; allowed: a text that begins with 'pair', or point_mass"),
        ("plummer", {"mass": 1}, "the parameter 'radius' of the field 'plummer' is 'not given'"),
        ("plummer", {"mass": 1, "radius": 1, "size": 1}, "'size'; allowed: mass, radius"),
        ("plummer", {"mass": 1, "radius": [1, 2]}, "radius has 2 numbers; allowed: one"),
        ("plummer", {"mass": 1, "radius": numpy.nan}, "radius is nan; allowed: finite numbers"),
        ("plummer", {"mass": 1, "radius": "x"}, "radius is"),
        ("pair p\nj pos: vec3<f64>\nresult potential: f64 sum\nbody\n  potential += 1\n", {}, "allowed"),
        (7, {}, "field is 7; allowed: a name, a text or a function"),
        (POINT[0], {}, "jerk is None; allowed: a function, which order 4 needs"),
        (POINT[0], {"jerk": 3}, "jerk is 3; allowed: a function"),
        (POINT[0], {"jerk": POINT[1], "mass": 3}, "mass is a parameter of a field that is a function"),
        (POINT[0], {"jerk": POINT[1], "centre": 3}, "centre is given; allowed: None"),
        ("point_mass", {"mass": 1, "centre": ([0, 1],)}, "centre has no such parts"),
        ("point_mass", {"mass": 1, "centre": ([0, 1], [0, 1])}, "the positions of centre have the shape (2,)"),
        ("point_mass", {"mass": 1, "centre": ([0], [[0, 0, 0]])}, "is '1 times'; allowed: two times or more"),
        ("point_mass", {"mass": 1, "centre": ([1, 1], [[0, 0, 0]] * 2)}, "'1 after 1'; allowed: times that rise"),
    ):
        with pytest.raises(kyoho.Error, match=re.escape(words)):
            cluster.add_field(field, **parameters)
    assert cluster.field_energy == 0


def test_a_body_where_a_field_is_infinite_is_named():
    cluster = kyoho.Cluster(backend="cpu", threads=1)
    cluster.add([[0, 0, 0]], [2.0], identifiers=[12])
    cluster.add_field("point_mass", mass=1)
    with pytest.raises(kyoho.Error, match="body 12 in the field 'point_mass' is NaN; allowed: finite numbers"):
        cluster.evolve(1.0)


def with_binary(separation, **choices):
    """A ring of 16 bodies, the first two of which are a binary on a circle."""
    angles = 2 * numpy.pi * numpy.arange(16) / 16
    x = numpy.stack([numpy.cos(angles), numpy.sin(angles), 0.1 * numpy.sin(3 * angles)], axis=1)
    v = 0.6 * numpy.stack([-numpy.sin(angles), numpy.cos(angles), 0 * angles], axis=1)
    m = numpy.full(16, 1 / 16)
    speed = (2 * m[0] / separation) ** 0.5
    x[1], v[1] = x[0] + [separation, 0, 0], v[0] + [0, 0, speed]
    cluster = kyoho.Cluster(backend="cpu", threads=1, **choices)
    cluster.add(x, m, v)
    return cluster


@pytest.mark.parametrize("order", [4, 6, 8])
def test_a_hard_binary_moves_as_a_subsystem(order):
    cluster = with_binary(1e-5, order=order, subsystems=True)
    cluster.evolve(0.0)
    assert cluster.binaries == []  # They are found when bodies move.
    before = cluster.energies.total
    evolution = cluster.evolve(0.25)
    assert evolution.block_steps < 2000
    (binary,) = cluster.binaries
    assert binary.members == ((0,), (1,))
    assert binary.semi_major_axis == pytest.approx(1e-5, rel=1e-6) and binary.eccentricity < 1e-3
    assert binary.period == pytest.approx(2 * numpy.pi * (1e-15 * 8) ** 0.5, rel=1e-6)
    assert cluster.energies.total == pytest.approx(before, rel=1e-6)
    other = pickle.loads(pickle.dumps(cluster))
    for one in (cluster, other):
        one.evolve(0.375)
    numpy.testing.assert_array_equal(other.positions, cluster.positions)
    assert other.binaries == cluster.binaries and other.energies == cluster.energies


def test_subsystems_need_points_and_a_hermite_scheme():
    for choices in ({"eps": 0.1}, {"order": 2, "dt_max": 0.1}, {"subsystem_radius": -1.0}, {"subsystem_radius": 0.0}):
        with pytest.raises(kyoho.Error, match="softening|orders|subsystem_radius"):
            kyoho.Cluster(backend="cpu", subsystems=True, **choices)
    with pytest.raises(kyoho.Error, match="subsystems=True"):
        kyoho.Cluster(backend="cpu", subsystem_radius=0.1)


def merging(**choices):
    """A binary that soon merges, and a body far from it."""
    cluster = kyoho.Cluster(backend="cpu", threads=1, subsystems=True, speed_of_light=1000, **choices)
    cluster.add([[4e-5, 0, 0], [-4e-5, 0, 0]], [0.5, 0.5], [[0, 55, 0], [0, -55, 0]], identifiers=[3, 8])
    cluster.add([[1, 0, 0]], [1e-3], [[0, 1, 0]])
    return cluster


def test_two_bodies_merge_by_relativity():
    for on_collision, end in (("end", "encounter"), ("merge", "time")):
        cluster = merging(on_collision=on_collision)
        cluster.evolve(0.001)
        cluster = pickle.loads(pickle.dumps(cluster))
        before = cluster.masses @ cluster.velocities
        evolution = cluster.evolve(0.0625)
        (merger,) = evolution.encounters
        assert evolution.end == end and merger[:3] == ("merger", 3, 8)
        # Peters 1964, with some per cent of the next orders.
        assert merger.time == pytest.approx(5 / 64 * 8e-5**4 * 1e15, rel=0.2)
        assert merger.distance == pytest.approx(6e-6, rel=1e-6)
        assert cluster.identifiers.tolist() == [3, 9] and cluster.masses.tolist() == [1.0, 1e-3]
        assert cluster.masses @ cluster.velocities == pytest.approx(before, abs=1e-9)
        assert cluster.evolve(0.125).encounters == []


def test_bodies_that_collide_become_one_if_they_are_to():
    cluster = kyoho.Cluster(backend="cpu", threads=1, on_collision="merge")
    cluster.add([[0.5, 0, 0], [-0.5, 0, 0]], [0.25, 0.5], [[0, 0.1, 0], [0, 0, 0]], radii=[0.01, 0.02])
    evolution = cluster.evolve(2.0)
    assert evolution.end == "time" and [found.kind for found in evolution.encounters] == ["collision"]
    assert cluster.identifiers.tolist() == [1] and cluster.masses.tolist() == [0.75]
    assert cluster.radii[0] == pytest.approx((0.01**3 + 0.02**3) ** (1 / 3))
    assert cluster.velocities[0] == pytest.approx([0, 0.1 / 3, 0], abs=1e-6)


def test_choices_of_mergers_that_mean_nothing_are_named():
    for light in (0, -1.0, float("nan"), float("inf"), "fast"):
        with pytest.raises(kyoho.Error, match="speed_of_light"):
            kyoho.Cluster(backend="cpu", subsystems=True, speed_of_light=light)
    with pytest.raises(kyoho.Error, match="without subsystems; allowed: subsystems=True, whose bodies alone"):
        kyoho.Cluster(backend="cpu", speed_of_light=100.0)
    with pytest.raises(kyoho.Error, match="on_collision"):
        kyoho.Cluster(backend="cpu", on_collision="bounce")
