"""A star cluster in core collapse and past it, by a Hermite scheme of order 6 with block time steps.

    python core_collapse.py --bodies 128 --end 100 --plot core_collapse.svg

The core of a Plummer model in standard units collapses until binaries form there, which move by
regularised motion. The script prints the radii round the densest place that hold parts of the mass,
and the number and the binding energy of binaries, and draws them.
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
    parser.add_argument("--end", type=float, default=100.0, help="the time at the end")
    parser.add_argument("--rows", type=int, default=100, help="the number of times that are printed")
    parser.add_argument("--plot", metavar="FILE", help="draw the radii, by matplotlib")
    arguments = parser.parse_args()

    positions, velocities = plummer(arguments.bodies, numpy.random.default_rng(3))
    cluster = kyoho.Cluster(order=6, eta=0.1, subsystems=True)
    cluster.add(positions, numpy.full(arguments.bodies, 1 / arguments.bodies), velocities)
    energy = cluster.energies.total
    rows = [(0.0, *radii(positions), 0.0)]
    print("    time  energy error       2%      10%      50% binaries  their energy")
    for time in numpy.linspace(0, arguments.end, arguments.rows + 1)[1:]:
        cluster.evolve(time)
        binaries = [binary for binary in cluster.binaries if sum(map(len, binary.members)) == 2]
        bound = sum(1 / (2 * arguments.bodies**2 * binary.semi_major_axis) for binary in binaries)
        rows.append((time, *radii(cluster.positions), bound))
        error = cluster.energies.total / energy - 1
        numbers = (f"{radius:8.4f}" for radius in rows[-1][1:4])
        print(f"{time:8.2f} {error:13.1e}", *numbers, f"{len(binaries):8} {bound:13.4f}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        times, *lines, bound = numpy.array(rows).T
        figure, (above, below) = pyplot.subplots(2, sharex=True, height_ratios=(3, 1), layout="constrained")
        for part, line in zip(PARTS, lines):
            above.semilogy(times, line, label=f"{part:.0%} of the mass")
        above.legend()
        above.set(ylabel="radius", title=f"Plummer model of {arguments.bodies} bodies, order 6")
        below.plot(times, bound, "C3")
        below.set(xlabel="time", ylabel="energy in binaries")
        figure.savefig(arguments.plot)


if __name__ == "__main__":
    main()
