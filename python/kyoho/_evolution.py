"""What a cluster tells of its bodies and of its evolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


class Bodies(NamedTuple):
    """Bodies of a cluster, at its time.

    ===============  ============  =================================
    attribute        shape
    ===============  ============  =================================
    ``identifiers``  ``(n,)``      int64, in the order of the bodies
    ``masses``       ``(n,)``
    ``positions``    ``(n, 3)``
    ``velocities``   ``(n, 3)``
    ``radii``        ``(n,)``      for collisions
    ``groups``       ``(n,)``      int32
    ``eps``          ``(n,)``      the softening lengths: their own, or those of the groups
    ===============  ============  =================================
    """

    identifiers: NDArray[numpy.int64]
    masses: NDArray[numpy.float64]
    positions: NDArray[numpy.float64]
    velocities: NDArray[numpy.float64]
    radii: NDArray[numpy.float64]
    groups: NDArray[numpy.int32]
    eps: NDArray[numpy.float64]


class Encounter(NamedTuple):
    """Two bodies that came near each other."""

    kind: str
    """``"collision"``: they are nearer than the sum of their radii; ``"approach"``: they are nearer
    than ``approach_distance``; ``"merger"``: they have reached the innermost stable orbit around one
    another, and are one body."""
    first: int
    """The identifier of the body that was added earlier."""
    second: int
    """The identifier of the other one. Where they have become one, that of the lighter one has no body any
    more."""
    distance: float
    """Their distance, softening not included: of a collision the least one in the step in which it was
    found, of an approach the one at the end of a block step, of a merger the one at which they merged."""
    time: float
    """The time at which they had this distance."""


class Binary(NamedTuple):
    """Two parts of a cluster's subsystem that are bound to one another: bodies, or binaries."""

    members: tuple[tuple[int, ...], tuple[int, ...]]
    """The identifiers of the bodies of each part."""
    semi_major_axis: float
    """The semi-major axis of the orbit of both parts around one another."""
    eccentricity: float
    """Its eccentricity."""
    period: float
    """Its period."""


class Evolution(NamedTuple):
    """How :meth:`Cluster.evolve` ended."""

    end: str
    """``"time"``: it was reached; ``"encounter"``; ``"block steps"``: as many were made; ``"seconds"``:
    as many have gone; ``"progress"``: the caller's function ended it."""
    time: float
    """The time of the bodies."""
    block_steps: int
    """The number of block steps."""
    encounters: list[Encounter]
    """The encounters that ended it, and those after which two bodies were one."""
    closest: Encounter | None
    """The closest approach of two bodies in the course of it; None in order 2, which finds none."""
    closest_time: float
    """The time of the closest approach; NaN if there is none."""


class Energies(NamedTuple):
    """The energies of the bodies of a cluster."""

    kinetic: float
    potential: float
    """Each pair of which one body feels the other counts once, and softening is included; so is
    :attr:`Cluster.field_energy`."""

    @property
    def total(self) -> float:
        """The sum of both, which is conserved in fields without time and velocities, where bodies that
        are felt feel too."""
        return self.kinetic + self.potential


class EnergyJump(NamedTuple):
    """A close passage of two bodies that changed their energy, by the errors of the steps."""

    first: int
    """The identifier of the body that was added earlier."""
    second: int
    """The identifier of the other one."""
    time: float
    """The time at which they were nearest."""
    distance: float
    """Their distance then, softening not included."""
    step: float
    """The shortest step that one of them took."""
    energy: float
    """The change of their energy, that of their motion round each other."""
    limited_steps: int
    """How many of their steps should have been shorter than the shortest."""


class Integration(NamedTuple):
    """Counts of the work of a cluster since it was made."""

    body_count: int
    """The number of bodies it has now."""
    time: float
    """Their time."""
    steps: int
    """Steps of single bodies."""
    block_steps: int
    """Blocks of bodies that stepped together."""
    limited_steps: int
    """Steps that should have been shorter than the shortest."""
    interactions: int
    """Pairs whose forces were computed."""
    energy_jumps: int
    """Close passages of two bodies that changed their energy by more than a hundredth, or in which
    steps should have been shorter than the shortest. A smaller ``eta``, a shorter ``dt_min`` or
    softening helps. Order 2 looks for none."""
    last_jump: EnergyJump | None
    """The last one of them."""
