"""KyohoField by a tree and by direct sums, and what it says of a wrong parameter."""

import numpy
from amuse.ic.plummer import new_plummer_model
from amuse.support.exceptions import CodeException
from amuse.units import nbody_system
from amuse_kyoho import KyohoField

numpy.random.seed(1)
stars = new_plummer_model(6000)
direct, tree = KyohoField(), KyohoField()
tree.parameters.accuracy = 1e-3
for field in (direct, tree):
    field.parameters.epsilon_squared = 1e-4 | nbody_system.length**2
    field.particles.add_particles(stars)
# Points may have softenings of their own.
eps = numpy.where(numpy.arange(len(stars)) % 2, 0.0, 0.1) | nbody_system.length
found = [
    numpy.stack([a.value_in(nbody_system.acceleration) for a in field.get_gravity_at_point(eps, *stars.position.T)])
    for field in (direct, tree)
]
errors = numpy.linalg.norm(found[1] - found[0], axis=0) / numpy.linalg.norm(found[0], axis=0)
print("median error", numpy.median(errors))
try:
    tree.parameters.accuracy = 0.5
except CodeException as error:
    print("accuracy of 0.5:", error)
