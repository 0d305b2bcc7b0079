"""Groups of bodies: softening of each, and who feels whom."""

import copy
import pickle

import numpy
import pytest

import kyoho

CHOICES = {2: {"dt_max": 1 / 256}, 4: {}, 6: {}, 8: {}}
ORDERS = pytest.mark.parametrize("order", [2, 4, 6, 8])


def bodies(count, seed=1):
    random = numpy.random.default_rng(seed)
    return random.normal(size=(count, 3)), random.uniform(0.5, 1, count) / count, 0.3 * random.normal(size=(count, 3))


def forces(positions, masses, eps, groups, feels):
    """Potentials and accelerations by a sum over all pairs."""
    apart = positions[None] - positions[:, None]
    distance = numpy.sqrt((apart**2).sum(-1) + (eps[:, None] ** 2 + eps[None] ** 2) / 2)
    pull = numpy.where(feels[groups[:, None], groups[None]], masses[None], 0)
    numpy.fill_diagonal(pull, 0)
    return -(pull / distance).sum(1), ((pull / distance**3)[..., None] * apart).sum(1)


@ORDERS
def test_softenings_of_bodies_are_those_of_sums_over_pairs(order):
    x, m, v = bodies(40)
    eps = numpy.array([0.1, 0.02, 0.3])[numpy.arange(40) % 3]
    with kyoho.Cluster(order, eps=0.02, **CHOICES[order]) as cluster:
        cluster.add(x, m, v, eps=eps)
        assert cluster.eps.tolist() == eps.tolist()
        assert cluster.groups.tolist() == [[1, 0, 2][place % 3] for place in range(40)]
        before = cluster.energies.total
        for time in (0, 0.25):
            cluster.evolve(time)
            potentials, accelerations = forces(cluster.positions, m, eps, cluster.groups, numpy.ones((3, 3), bool))
            assert numpy.allclose(cluster.potentials, potentials, rtol=1e-13)
            assert numpy.allclose(cluster.accelerations, accelerations, rtol=1e-11, atol=1e-13)
            assert abs(cluster.energies.potential / (0.5 * (m * potentials).sum()) - 1) < 1e-13
        assert abs(cluster.energies.total / before - 1) < 1e-4
        cluster.set([0, 3], eps=0.3)
        assert cluster.groups[:4].tolist() == [2, 0, 2, 2]
        cluster.set([0, 1], groups=[1, 0])
        assert cluster.get([0, 1]).eps.tolist() == [0.1, 0.02]


@ORDERS
def test_each_body_may_have_another_softening(order, tmp_path):
    x, m, v = bodies(40)
    eps = numpy.random.default_rng(5).uniform(0.02, 0.4, 40)
    with kyoho.Cluster(order, eps=0.02, **CHOICES[order]) as cluster:
        cluster.add(x, m, v, eps=eps)
        assert (cluster.eps == eps).all() and (cluster.groups == 0).all()
        before = cluster.energies.total
        for time in (0, 0.25):
            cluster.evolve(time)
            potentials, accelerations = forces(cluster.positions, m, eps, cluster.groups, numpy.ones((1, 1), bool))
            assert numpy.allclose(cluster.potentials, potentials, rtol=1e-13)
            assert numpy.allclose(cluster.accelerations, accelerations, rtol=1e-11, atol=1e-13)
            assert abs(cluster.energies.potential / (0.5 * (m * potentials).sum()) - 1) < 1e-13
        assert abs(cluster.energies.total / before - 1) < 1e-4
        cluster.save(tmp_path / "cluster")
        others = [copy.copy(cluster), pickle.loads(pickle.dumps(cluster)), kyoho.Cluster.load(tmp_path / "cluster")]
        cluster.evolve(0.375)
        for other in others:
            other.evolve(0.375)
            for have, want in zip(other.get(), cluster.get()):
                assert (have == want).all()
        cluster.set([3], eps=0.7)
        cluster.set([4], groups=0)
        assert cluster.eps[2:5].tolist() == [eps[2], 0.7, 0.02]


@ORDERS
def test_a_group_that_is_not_felt_changes_no_bit(order):
    x, m, v = bodies(30)
    found = []
    for with_others in (False, True):
        cluster = kyoho.Cluster(order, eps=0.05, backend="cpu", **CHOICES[order])
        cluster.add(x, m, v)
        if with_others:
            group = cluster.add_group(eps=0.2)
            cluster.feels = [[1, 0], [1, 1]]
            cluster.add(*bodies(20, 2), groups=group)
        cluster.evolve(0.3)
        found.append((cluster.positions[:30], cluster.velocities[:30]))
    assert (found[0][0] == found[1][0]).all() and (found[0][1] == found[1][1]).all()


@ORDERS
def test_copies_and_files_have_the_groups(order, tmp_path):
    cluster = kyoho.Cluster(order, **CHOICES[order])
    first, second = cluster.add_group(0.1), cluster.add_group(eps=0.2)
    assert (first, second) == (1, 2)
    feels = [[True, True, False], [False, True, True], [True, False, False]]
    cluster.feels = feels
    cluster.add(*bodies(30), groups=numpy.arange(30) % 3)
    cluster.evolve(0.125)
    cluster.save(tmp_path / "cluster")
    others = [copy.copy(cluster), pickle.loads(pickle.dumps(cluster)), kyoho.Cluster.load(tmp_path / "cluster")]
    cluster.evolve(0.25)
    for other in others:
        assert other.feels.tolist() == feels
        other.evolve(0.25)
        for have, want in zip(other.get(), cluster.get()):
            assert (have == want).all()


def test_wrong_groups_and_softenings_are_refused():
    cluster = kyoho.Cluster(eps=0.5)
    x, m, v = bodies(20)
    for given, said in (
        ({"groups": 1}, "the group of body 0 is '1'; allowed: 0 to 0"),
        ({"groups": numpy.zeros(19, int)}, r"groups has the shape \(19,\)"),
        ({"groups": -1}, "groups is -1"),
        ({"eps": numpy.full(3, 0.1)}, r"eps has the shape \(3,\)"),
        ({"eps": -0.1}, "eps is -0.1"),
        ({"eps": numpy.full(20, -0.1)}, "the softening of body 0 is '-0.1'"),
        ({"eps": numpy.where(numpy.arange(20) == 3, numpy.nan, 0.1)}, "the softening of body 3 is 'NaN'"),
        ({"eps": 0.1, "groups": 0}, "given beside a group"),
    ):
        with pytest.raises(kyoho.Error, match=said):
            cluster.add(x, m, v, **given)
        assert len(cluster) == 0 and cluster.feels.tolist() == [[True]]
    for table, said in (
        ([[1, 0], [0, 1]], r"feels has the shape \(2, 2\); allowed: \(1, 1\)"),
        ([[2]], "feels has other numbers"),
        ([[0.5]], "feels is an array of float64"),
    ):
        with pytest.raises(kyoho.Error, match=said):
            cluster.feels = table
    assert cluster.add_group() == 1
    cluster.add(x, m, v, groups=1)
    assert (cluster.eps == 0.5).all()
    with pytest.raises(kyoho.Error, match="the number of groups with subsystems"):
        kyoho.Cluster(6, subsystems=True).add_group(eps=0.1)


def test_softenings_may_be_quantities():
    u = pytest.importorskip("astropy.units")
    cluster = kyoho.Cluster(units="pc Msun Myr", eps=1000 * u.AU)
    group = cluster.add_group(eps=2000 * u.AU)
    cluster.add([[0, 0, 0], [1, 0, 0]] * u.pc, [1, 1] * u.Msun, eps=[1000, 3000] * u.AU)
    assert group == 1 and cluster.groups.tolist() == [0, 2]
    assert numpy.allclose(cluster.eps.to_value(u.AU), [1000, 3000])
