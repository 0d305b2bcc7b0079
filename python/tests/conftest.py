"""Bodies for the tests, and sums of their forces that numpy computes."""

import numpy
import pytest


class Bodies:
    """A ball of bodies, the same for every test."""

    def __init__(self, count):
        random = numpy.random.RandomState(3)
        self.count = count
        self.positions = random.uniform(-1, 1, (count, 3))
        self.velocities = random.uniform(-1, 1, (count, 3))
        self.masses = random.uniform(0.5, 1.5, count) / count
        self.indices = numpy.arange(count, dtype=numpy.int32)

    def gravity(self, at=None, eps=0.0, source_eps=None):
        """Accelerations and potentials. The squared softening of a pair is the mean of both, if there are."""
        places = self.positions if at is None else at
        r = self.positions[numpy.newaxis] - places[:, numpy.newaxis]
        eps2 = numpy.broadcast_to(eps, len(places))[:, numpy.newaxis] ** 2
        distance2 = (r**2).sum(axis=2) + (eps2 if source_eps is None else (eps2 + source_eps**2) / 2)
        if at is None:
            numpy.fill_diagonal(distance2, numpy.inf)
        weight = self.masses / distance2**1.5
        return (weight[..., numpy.newaxis] * r).sum(axis=1), -(self.masses / distance2**0.5).sum(axis=1)


@pytest.fixture
def bodies():
    return Bodies(100)


@pytest.fixture
def many():
    """Enough bodies for a tree."""
    return Bodies(5000)


def close(found, expected):
    """Whether numbers agree but for rounding."""
    return numpy.allclose(found, expected, rtol=1e-12, atol=0)
