"""Calls of several threads on one object wait for one another, also where one call of Python is
several calls of the library.
"""

import sys
import threading

import numpy
import pytest

import kyoho


@pytest.fixture(autouse=True)
def threads_that_change_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*works):
    """Does several works, each on a thread of its own, and raises what one of them raised."""
    raised = []

    def done(work):
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=done, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_a_system_finds_the_neighbours_of_each_thread():
    positions = numpy.random.default_rng(1).normal(size=(1000, 3))
    with kyoho.System(order=2, backend="cpu", threads=1) as system:
        system.set_sources(positions, numpy.ones(1000))
        asked = [(positions[:50], numpy.full(50, 0.1)), (positions[50:100], numpy.full(50, 0.4))]
        expected = [system.find_neighbours(*sinks, indices=None) for sinks in asked]

        def find(number):
            for _ in range(150):
                for found, wanted in zip(system.find_neighbours(*asked[number], indices=None), expected[number]):
                    assert numpy.array_equal(found, wanted)

        at_once(lambda: find(0), lambda: find(1))


def test_a_pair_sums_the_sinks_of_each_thread():
    text = "pair p\ni x: f64\nj x: f64, m: f64\nresult s: f64 sum\nbody\ns += j.m * (j.x - i.x)\n"
    with kyoho.pair(text, backend="cpu", threads=1) as pair:
        sources = {"x": numpy.arange(40.0), "m": numpy.ones(40)}

        def call(count):
            for _ in range(300):
                found = pair(i={"x": numpy.zeros(count)}, j=sources)["s"]
                assert found.shape == (count,) and (found == 780.0).all()

        at_once(lambda: call(3), lambda: call(5))


def test_a_cluster_is_whole_while_another_thread_changes_it():
    with kyoho.Cluster(eps=0.1, backend="cpu", threads=1) as cluster:
        first = cluster.add(numpy.random.default_rng(1).normal(size=(20, 3)), numpy.full(20, 0.05))

        def change():
            for _ in range(300):
                cluster.remove(cluster.add([[5, 5, 5]], [0.0]))

        def read():
            for _ in range(100):
                found = cluster.identifiers
                assert numpy.array_equal(found[:20], first) and len(found) in (20, 21)
                assert all(len(cluster.positions) in (20, 21) for _ in range(3))
                assert set(cluster.nearest[:20]) <= set(range(cluster._next))

        at_once(change, read, read)


def test_bodies_without_identifiers_get_different_ones():
    with kyoho.Cluster(backend="cpu", threads=1) as cluster:

        def add():
            for _ in range(200):
                cluster.add([[1, 2, 3]], [1.0])

        at_once(add, add, add)
        assert sorted(cluster.identifiers) == list(range(600))


def test_a_thread_waits_for_the_end_of_an_evolution():
    with kyoho.Cluster(eps=0.1, backend="cpu", threads=1) as cluster:
        cluster.add([[0.5, 0, 0], [-0.5, 0, 0]], [0.5, 0.5], [[0, 0.5, 0], [0, -0.5, 0]])
        begun, times = threading.Event(), []

        def read():
            begun.wait()
            times.append(cluster.time)

        at_once(lambda: cluster.evolve(2.0, progress=lambda *_: begun.set(), progress_seconds=0), read)
        assert times == [2.0]


@pytest.mark.parametrize("function", ["progress", "field"])
def test_a_function_of_an_ensemble_is_told_that_it_may_not_call_it(function):
    with kyoho.Clusters(2, eps=0.1, backend="cpu") as clusters:
        for cluster in clusters:
            cluster.add([[0.5, 0, 0], [-0.5, 0, 0]], [0.5, 0.5], [[0, 0.5, 0], [0, -0.5, 0]])

        def call(*_):
            return clusters[1].time

        if function == "field":
            clusters[0].add_field(call, jerk=call)
        with pytest.raises(kyoho.Error, match="may not call it"):
            clusters.evolve(1.0, progress=call if function == "progress" else None, progress_seconds=0)
