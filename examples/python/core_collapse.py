"""A star cluster in core collapse, by a Hermite scheme of order 6 with block time steps.

    python core_collapse.py --bodies 128 --end 65 --plot core_collapse.svg

The bodies of a Plummer model in standard units exchange energy until its core collapses. The
script prints the radii round the densest place that hold parts of the mass, and draws them.
"""

import argparse

import kyoho
import numpy

PARTS = (0.02, 0.1, 0.5)


def plummer(count, random):
    """Positions and velocities of a Plummer model with G = 1, mass 1 and energy -1/4."""
    radius = (random.uniform(0.001, 0.99, count) ** (-2 / 3) - 1) ** -0.5
    # The fraction q of the escape speed has the density q^2 (1 - q^2)^(7/2).
    q, height = random.uniform(size=(2, 40 * count))
    speed = q[0.1 * height < q**2 * (1 - q**2) ** 3.5][:count] * 2**0.5 * (1 + radius**2) ** -0.25
    scale = 3 * numpy.pi / 16
    vectors = []
    for length in (scale * radius, speed / scale**0.5):
        direction = random.normal(size=(count, 3))
        vectors.append(direction * (length / numpy.linalg.norm(direction, axis=1))[:, numpy.newaxis])
    return [vector - vector.mean(axis=0) for vector in vectors]


def radii(positions):
    """The radii that hold parts of the mass, round the centre of density."""
    distances = numpy.linalg.norm(positions[:, numpy.newaxis] - positions, axis=2)
    # The density at a body, by the distance of its sixth neighbour (Casertano & Hut 1985).
    density = numpy.partition(distances, 6, axis=1)[:, 6] ** -3.0
    centre = numpy.average(positions, axis=0, weights=density)
    sorted_radii = numpy.sort(numpy.linalg.norm(positions - centre, axis=1))
    return [sorted_radii[int(part * len(positions))] for part in PARTS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=128)
    parser.add_argument("--end", type=float, default=65.0, help="the time at the end")
    parser.add_argument("--rows", type=int, default=65, help="the number of times that are printed")
    parser.add_argument("--plot", metavar="FILE", help="draw the radii, by matplotlib")
    arguments = parser.parse_args()

    positions, velocities = plummer(arguments.bodies, numpy.random.default_rng(3))
    cluster = kyoho.Cluster(order=6, eta=0.1)
    cluster.add(positions, numpy.full(arguments.bodies, 1 / arguments.bodies), velocities)
    energy = cluster.energies.total
    rows = [(0.0, *radii(positions))]
    print(f"{'time':>8} {'energy error':>13}", *(f"{part:>8.0%}" for part in PARTS), "  closest")
    for time in numpy.linspace(0, arguments.end, arguments.rows + 1)[1:]:
        evolution = cluster.evolve(time)
        rows.append((time, *radii(cluster.positions)))
        error = cluster.energies.total / energy - 1
        print(f"{time:8.2f} {error:13.1e}", *(f"{radius:8.4f}" for radius in rows[-1][1:]), end="  ")
        print(f"{evolution.closest.distance:.1e}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        times, *lines = numpy.array(rows).T
        for part, line in zip(PARTS, lines):
            pyplot.semilogy(times, line, label=f"{part:.0%} of the mass")
        pyplot.xlabel("time")
        pyplot.ylabel("radius")
        pyplot.title(f"Plummer model of {arguments.bodies} bodies, order 6")
        pyplot.legend()
        pyplot.savefig(arguments.plot)


if __name__ == "__main__":
    main()
