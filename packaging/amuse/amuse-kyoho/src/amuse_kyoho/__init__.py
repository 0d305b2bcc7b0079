"""Kyoho's codes for AMUSE.

``Kyoho`` evolves particles under their own gravity, by Hermite schemes or a leapfrog::

    from amuse_kyoho import Kyoho

    gravity = Kyoho(converter)
    gravity.parameters.order = 6
    gravity.particles.add_particles(stars)
    gravity.evolve_model(1 | units.Myr)

``KyohoField`` gives the gravity of particles at any point, in a bridge for example, where it takes
the place of FastKick::

    from amuse_kyoho import KyohoField

    field = KyohoField(converter)
    field.parameters.accuracy = 1e-3        # by a tree; without it by direct sums
    field.particles.add_particles(galaxy)
    field.get_gravity_at_point(eps, x, y, z)
"""

from .dynamics import Kyoho, KyohoInterface
from .field import KyohoField, KyohoFieldInterface

__all__ = ["Kyoho", "KyohoField", "KyohoFieldInterface", "KyohoInterface"]
