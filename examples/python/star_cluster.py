"""An open cluster in parsecs, solar masses and millions of years: heavy stars sink to its centre.

    python star_cluster.py --stars 500 --end 20 --plot star_cluster.png

Masses follow Kroupa's law from 0.3 to 20 solar masses. The script prints the radii that hold half
of the mass of the heaviest tenth and of the other stars, and draws them beside the cluster.
"""

import argparse

import kyoho
import numpy

G = 0.0044985022  # parsec^3 / (solar mass x million years^2)


def masses(count, random, low=0.3, high=20.0, slope=2.3):
    """Masses by Kroupa's law above half a solar mass."""
    ends = numpy.array([low, high]) ** (1 - slope)
    return (ends[0] + random.uniform(size=count) * (ends[1] - ends[0])) ** (1 / (1 - slope))


def plummer(count, radius, mass, random):
    """Positions and velocities of a Plummer model of this scale radius."""
    r = (random.uniform(0.001, 0.99, count) ** (-2 / 3) - 1) ** -0.5
    # The fraction q of the escape speed has the density q^2 (1 - q^2)^(7/2).
    q, height = random.uniform(size=(2, 40 * count))
    speed = q[0.1 * height < q**2 * (1 - q**2) ** 3.5][:count] * 2**0.5 * (1 + r**2) ** -0.25
    vectors = []
    for length in (radius * r, (G * mass / radius) ** 0.5 * speed):
        direction = random.normal(size=(count, 3))
        vectors.append(direction * (length / numpy.linalg.norm(direction, axis=1))[:, numpy.newaxis])
    return [vector - vector.mean(axis=0) for vector in vectors]


def half_mass_radius(positions, mass, chosen):
    """The radius that holds half of the mass of some of the stars, round the centre of all."""
    offsets = positions - numpy.average(positions, axis=0, weights=mass)
    radius, mass = numpy.linalg.norm(offsets[chosen], axis=1), mass[chosen]
    order = numpy.argsort(radius)
    return radius[order][numpy.searchsorted(numpy.cumsum(mass[order]), mass.sum() / 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stars", type=int, default=500)
    parser.add_argument("--end", type=float, default=20.0, help="the age at the end, in Myr")
    parser.add_argument("--plot", metavar="FILE", help="draw the cluster, by matplotlib")
    arguments = parser.parse_args()

    random = numpy.random.default_rng(2)
    mass = masses(arguments.stars, random)
    cluster = kyoho.Cluster(order=4, gravity=G, eps=0.005)  # 1000 astronomical units
    positions, velocities = plummer(len(mass), 0.6, mass.sum(), random)
    cluster.add(positions, mass, velocities)
    heavy = mass > numpy.quantile(mass, 0.9)
    energy, rows = cluster.energies.total, []
    print(f"{'Myr':>8} {'heavy, pc':>10} {'others, pc':>10} {'energy error':>13}")
    for age in numpy.linspace(0, arguments.end, 21):
        cluster.evolve(age)
        rows.append((age, *(half_mass_radius(cluster.positions, mass, part) for part in (heavy, ~heavy))))
        print("{:8.2f} {:10.3f} {:10.3f}".format(*rows[-1]), f"{cluster.energies.total / energy - 1:13.1e}")

    if arguments.plot:
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
        offsets = cluster.positions - numpy.average(cluster.positions, axis=0, weights=mass)
        left.scatter(*offsets[:, :2].T, s=mass * 2, c=numpy.where(heavy, "C1", "C0"), linewidths=0)
        left.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xlabel=f"pc, after {arguments.end:.0f} Myr")
        age, *radii = numpy.array(rows).T
        for radius, name, colour in zip(radii, ("heaviest tenth", "other stars"), ("C1", "C0")):
            right.plot(age, radius, colour, label=name)
        right.set(xlabel="age, Myr", ylabel="half-mass radius, pc", ylim=(0, None))
        right.legend()
        figure.savefig(arguments.plot, dpi=110)


if __name__ == "__main__":
    main()
