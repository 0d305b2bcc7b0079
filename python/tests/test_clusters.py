"""Clusters that evolve at the same time."""

import signal
import threading
import time

import numpy
import pytest

import kyoho

SIZES = (40, 0, 1, 25, 2, 64)


def times_of(clusters):
    return numpy.array([cluster.time for cluster in clusters])


def filled(seed=5, **options):
    random = numpy.random.default_rng(seed)
    clusters = kyoho.Clusters(len(SIZES), eps=0.05, **options)
    for cluster, count in zip(clusters, SIZES):
        cluster.add(random.normal(size=(count, 3)), numpy.full(count, 1 / max(count, 1)))
    return clusters


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_each_gets_the_bits_that_it_gets_alone(order):
    options = {"order": order, "dt_max": 1 / 64 if order == 2 else None}
    times = 0.1 + 0.01 * numpy.arange(len(SIZES))
    with filled(**options) as together, filled(**options) as alone:
        evolutions = together.evolve(times)
        for cluster, other, evolution, time in zip(together, alone, evolutions, times):
            expected = other.evolve(time)
            assert (evolution.end, evolution.time, evolution.block_steps) == expected[:3]
            assert numpy.array_equal(cluster.positions, other.positions)
            assert numpy.array_equal(cluster.velocities, other.velocities)
        assert times_of(together) == pytest.approx(times)
        assert [evolution.time for evolution in together.evolve(0.25)] == [0.25] * len(SIZES)


def test_they_are_a_sequence_of_clusters():
    with kyoho.Clusters(3, order=6, threads=2) as clusters:
        assert len(clusters) == 3
        assert isinstance(clusters[1], kyoho.Cluster)
        assert repr(clusters) == "<kyoho.Clusters, 3 of them>"
        assert list(clusters[1:]) == [clusters[1], clusters[2]]
        assert len(kyoho.Clusters([clusters[0], clusters[2]])) == 2
        assert list(kyoho.Clusters(cluster for cluster in clusters)) == list(clusters)
        assert [evolution.time for evolution in clusters.evolve(time for time in (0.5, 1.0, 2.0))] == [0.5, 1.0, 2.0]
    with kyoho.Clusters(0) as none:
        assert none.evolve(1.0) == []


def test_what_is_given_for_one_evolution_holds_for_each():
    with filled() as clusters:
        ended = clusters.evolve(1.0, block_steps=2)
        assert [evolution.end for evolution, size in zip(ended, SIZES) if size > 1] == ["block steps"] * 4
        ended = clusters.evolve(1e7, seconds=0.0)
        assert {evolution.end for evolution, size in zip(ended, SIZES) if size > 1} == {"seconds"}
        ended = clusters.evolve(2e7, progress=lambda time, steps: True, progress_seconds=0)
        assert {evolution.end for evolution, size in zip(ended, SIZES) if size > 1} == {"progress"}
        told, begun = [], time.monotonic()
        ended = clusters.evolve(3e7, seconds=0.2, progress=lambda *now: told.append(now), progress_seconds=30)
        assert {evolution.end for evolution, size in zip(ended, SIZES) if size > 1} == {"seconds"}
        assert told == [] and time.monotonic() - begun < 20


def test_what_the_function_raises_ends_all():
    def fails(time, steps):
        raise RuntimeError("no further")

    with filled() as clusters, pytest.raises(RuntimeError, match="no further"):
        clusters.evolve(100.0, progress=fails, progress_seconds=0)


def test_the_function_may_not_call_a_cluster():
    with filled() as clusters, pytest.raises(kyoho.Error, match="the cluster is at work"):
        clusters.evolve(100.0, progress=lambda time, steps: clusters[0].time, progress_seconds=0)


def test_ctrl_c_ends_all():
    with filled() as clusters:
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                clusters.evolve(float(times_of(clusters).max()) + 1000.0)
        timer.join()
        # Each is at a time of its own, and goes on.
        times = times_of(clusters) + 0.01
        clusters.evolve(times)
        assert numpy.array_equal(times_of(clusters), times)


def test_an_error_names_its_cluster_and_leaves_the_others():
    with filled() as clusters:
        clusters[3].add([[0.0] * 3, [0.0] * 3], [1.0, 1.0])
        clusters[3].evolve(0.01)
        times = [0.02] * len(SIZES)
        times[3] = 0.005
        with pytest.raises(kyoho.Error, match=r"clusters\[3\]: the time to evolve to is '0.005'") as raised:
            clusters.evolve(times)
        assert raised.value.result == kyoho.Result.BAD_OPTION
        assert times_of(clusters).tolist() == [0.02, 0.02, 0.02, 0.01, 0.02, 0.02]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda clusters: clusters.evolve([1.0]), "time has 1 elements; allowed: one, or 6"),
        (lambda clusters: clusters.evolve("soon"), "time is 'soon'"),
        (lambda clusters: kyoho.Clusters(-1), "clusters is -1"),
        (lambda clusters: kyoho.Clusters(None), "clusters is None; allowed: an integer, or a list of clusters"),
        (
            lambda clusters: kyoho.Clusters(clusters[0]),
            "clusters is <kyoho.Cluster .*an integer, or a list of clusters",
        ),
        (lambda clusters: kyoho.Clusters(clusters, eps=0.1), "eps is given"),
        (lambda clusters: kyoho.Clusters([None]), r"clusters\[0\] is None; allowed: a kyoho.Cluster"),
        (lambda clusters: kyoho.Clusters(2, communicator=object()), "communicator is given"),
    ],
)
def test_whatever_is_wrong_is_named(call, words):
    with filled() as clusters, pytest.raises(kyoho.Error, match=words):
        call(clusters)


def test_units_are_those_of_each():
    with kyoho.Clusters(2, units="pc Msun Myr", eps=0.1) as clusters:
        for cluster in clusters:
            cluster.add([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [10.0, 10.0])
        assert [evolution.time for evolution in clusters.evolve([0.5, 1.0])] == [0.5, 1.0]
