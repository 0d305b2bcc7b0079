"""Kyoho's codes for AMUSE.

``KyohoField`` gives the gravity of particles at any point, in a bridge for example, where it takes
the place of FastKick::

    from amuse_kyoho import KyohoField

    field = KyohoField(converter)
    field.parameters.accuracy = 1e-3        # by a tree; without it by direct sums
    field.particles.add_particles(galaxy)
    field.get_gravity_at_point(eps, x, y, z)
"""

from .field import KyohoField, KyohoFieldInterface

__all__ = ["KyohoField", "KyohoFieldInterface"]
