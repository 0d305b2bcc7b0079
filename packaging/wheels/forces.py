"""Forces of the installed package beside sums of numpy, by the vectors of this processor."""

import kyoho
import numpy

random = numpy.random.default_rng(1)
count, softening = 300, 0.05
positions, velocities = random.normal(size=(2, count, 3))
masses = random.uniform(0.5, 1.5, count) / count
names = numpy.arange(count, dtype=numpy.int32)

r, v = positions - positions[:, None], velocities - velocities[:, None]
squares = (r**2).sum(axis=-1) + softening**2
pulls = masses / squares**1.5
pulls[names, names] = 0
accelerations = (pulls[:, :, None] * r).sum(axis=1)
turns = 3 * (r * v).sum(axis=-1) / squares
jerks = (pulls[:, :, None] * (v - turns[:, :, None] * r)).sum(axis=1)


def check(what, found, expected, bound):
    error = (numpy.linalg.norm(found - expected, axis=1) / numpy.linalg.norm(expected, axis=1)).max()
    assert error < bound, f"{what} are off by {error}; allowed: {bound}"


for precision, bound in {"single": 1e-4, "mixed": 2e-5, "double": 1e-12}.items():
    found, _ = kyoho.gravity(positions, masses, eps=softening, precision=precision)
    check(f"accelerations of order 2 in {precision}", found, accelerations, bound)
    system = kyoho.System(order=4, precision=precision)
    system.set_sources(positions, masses, velocities, indices=names)
    for sinks in (names, names[:3]):
        forces = system.force(positions[sinks], velocities[sinks], indices=names[sinks], softening2=softening**2)
        check(f"accelerations in {precision}", forces.accelerations, accelerations[sinks], bound)
        check(f"jerks in {precision}", forces.jerks, jerks[sinks], 10 * bound)

for order, precision in [(4, "mixed"), (6, "mixed"), (6, "double"), (8, "double")]:
    cluster = kyoho.Cluster(order=order, precision=precision, eps=softening)
    cluster.add(positions, masses, 0.3 * velocities)
    before = cluster.energies.total
    cluster.evolve(0.0625)
    error = abs(cluster.energies.total / before - 1)
    assert error < 1e-6, f"order {order} in {precision} changes the energy by {error}; allowed: 1e-6"

positions, masses = random.normal(size=(6000, 3)), numpy.full(6000, 1 / 6000)
direct, _ = kyoho.gravity(positions, masses, eps=softening)
by_tree, _ = kyoho.gravity(positions, masses, eps=softening, accuracy=1e-3)
errors = numpy.linalg.norm(by_tree - direct, axis=1) / numpy.linalg.norm(direct, axis=1)
assert 0 < numpy.median(errors) < 1e-3, f"half of the errors of a tree are above {numpy.median(errors)}"
