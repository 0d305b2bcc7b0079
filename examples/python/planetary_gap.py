"""A planet clears its neighbourhood in a disk of bodies without mass round a star.

    python planetary_gap.py --bodies 2000 --orbits 100 --plot planetary_gap.png

The star has the mass 1, the planet 0.001 and an orbit of radius 1. Bodies of the disk feel both, act on
nothing, and end where they hit the planet, whose radius is 0.002. The script prints how many have hit it,
and which part keeps its semi-major axis: of bodies that began nearer to the planet's orbit than 1.3 times
the 2/7th power of its mass, where resonances overlap (Wisdom 1980, Astronomical Journal 85, 1122), of
those that share this orbit, and of those far from it.
"""

import argparse

import kyoho
import numpy

PLANET, RADIUS = 1e-3, 2e-3
ZONE = 1.3 * PLANET ** (2 / 7)


def on_circles(radii, angles):
    """Positions and velocities on circular orbits round a mass of 1 in the origin."""
    directions = numpy.column_stack([numpy.cos(angles), numpy.sin(angles), numpy.zeros_like(angles)])
    ahead = numpy.column_stack([-numpy.sin(angles), numpy.cos(angles), numpy.zeros_like(angles)])
    return radii[:, None] * directions, radii[:, None] ** -0.5 * ahead


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=2000)
    parser.add_argument("--orbits", type=int, default=100, help="the time at the end, in orbits of the planet")
    parser.add_argument("--plot", metavar="FILE", help="draw the disk, by matplotlib")
    arguments = parser.parse_args()

    random = numpy.random.default_rng(2)
    radii = numpy.append(1.0, random.uniform(0.6, 1.5, arguments.bodies))
    angles = numpy.append(0.0, random.uniform(0, 2 * numpy.pi, arguments.bodies))
    positions, velocities = on_circles(radii, angles)
    cluster = kyoho.Cluster(order=4, on_collision="merge")
    cluster.add([[0, 0, 0]], [1.0], -PLANET * velocities[:1])
    masses, sizes = numpy.zeros(len(radii)), numpy.zeros(len(radii))
    masses[0], sizes[0] = PLANET, RADIUS
    cluster.add(positions, masses, velocities, radii=sizes)

    is_near, is_shared = abs(radii - 1) < ZONE, abs(radii - 1) < 0.25 * ZONE
    parts = {"near": is_near & ~is_shared, "shared": is_shared, "far": ~is_near}
    parts["shared"][0] = False
    print(f"{'orbits':>6} {'hit':>5} {'near':>6} {'shared':>6} {'far':>6}")
    hit = 0
    for orbits in numpy.linspace(0, arguments.orbits, 11):
        hit += len(cluster.evolve(2 * numpy.pi * orbits).encounters)
        positions, velocities = cluster.positions, cluster.velocities
        places, speeds = positions - positions[0], velocities - velocities[0]
        distances = numpy.linalg.norm(places[1:], axis=1)
        axes = 1 / (2 / distances - (speeds[1:] ** 2).sum(axis=1))
        stays, numbers = numpy.zeros(len(radii), dtype=bool), cluster.identifiers[1:] - 1  # the star is 0
        stays[numbers] = abs(axes / radii[numbers] - 1) < 0.5 * ZONE
        near, shared, far = (numpy.mean(stays[part]) for part in parts.values())
        print(f"{orbits:6.0f} {hit:5} {near:6.3f} {shared:6.3f} {far:6.3f}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        figure, shown = pyplot.subplots(figsize=(6, 6), layout="constrained")
        # The planet is on the right.
        turn = numpy.exp(-1j * numpy.angle(complex(*places[1, :2])))
        x = (places[:, 0] + 1j * places[:, 1]) * turn
        shown.scatter(x[2:].real, x[2:].imag, s=2, lw=0, label="bodies without mass")
        shown.plot(0, 0, "*", color="orange", ms=12, label="star")
        shown.plot(x[1].real, x[1].imag, "o", color="black", label="planet")
        shown.set(xlim=(-1.7, 1.7), ylim=(-1.7, 1.7), aspect="equal", xlabel="x", ylabel="y")
        shown.legend(loc="upper left")
        figure.savefig(arguments.plot, dpi=100)


if __name__ == "__main__":
    main()
