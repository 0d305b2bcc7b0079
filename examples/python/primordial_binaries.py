"""A star cluster with primordial binaries: which of them survive in the crowd.

    python primordial_binaries.py --stars 100 --end 0.5 --plot primordial_binaries.png

The cluster is King's model with masses by Kroupa's law, in parsecs, solar masses and millions of
years. Hard binaries move by regularised motion. The script prints the number of binaries, the median of
their semi-major axes, and the error of the energy, and draws the cluster and its binaries.
"""

import argparse

import kyoho
import numpy

UNITS = "pc Msun Myr"
AU = 1 / 206264.8  # parsec


def orbits(positions, velocities, masses, gravity):
    """The semi-major axes and eccentricities of pairs of nearest neighbours that are bound."""
    distances = numpy.linalg.norm(positions[:, numpy.newaxis] - positions, axis=2)
    numpy.fill_diagonal(distances, numpy.inf)
    nearest = distances.argmin(axis=1)
    first = numpy.array([body for body, other in enumerate(nearest) if nearest[other] == body and body < other])
    second = nearest[first]
    x, v = positions[second] - positions[first], velocities[second] - velocities[first]
    mass, r = gravity * (masses[first] + masses[second]), distances[first, second]
    axis = 1 / (2 / r - (v**2).sum(axis=1) / mass)
    bound = (axis > 0) & (axis < 10000 * AU)
    x, v, mass, r, axis = (of_all[bound] for of_all in (x, v, mass, r, axis))
    return axis / AU, numpy.sqrt((1 - r / axis) ** 2 + (x * v).sum(axis=1) ** 2 / (mass * axis))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stars", type=int, default=100)
    parser.add_argument("--end", type=float, default=0.5, help="the age at the end, in Myr")
    parser.add_argument("--plot", metavar="FILE", help="draw the cluster, by matplotlib")
    arguments = parser.parse_args()

    stars = kyoho.model.king(
        arguments.stars,
        w0=6,
        seed=2,
        radius=0.15,
        units=UNITS,
        masses=kyoho.model.kroupa(0.2, 10),
        binaries=kyoho.model.binaries(0.5, least=20 * AU, most=5000 * AU),
    )
    cluster = kyoho.Cluster(order=6, units=UNITS, subsystems=True)
    cluster.add(*stars)
    gravity = kyoho.gravitational_constant(UNITS)
    energy, found = cluster.energies.total, []
    print(f"{'Myr':>8} {'binaries':>9} {'axis, AU':>9} {'energy error':>13}")
    for age in numpy.linspace(0, arguments.end, 7):
        cluster.evolve(age)
        found.append(orbits(cluster.positions, cluster.velocities, cluster.masses, gravity))
        error = cluster.energies.total / energy - 1
        print(f"{age:8.2f} {len(found[-1][0]):9} {numpy.median(found[-1][0]):9.0f} {error:13.1e}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
        left.scatter(*cluster.positions[:, :2].T, s=12 * cluster.masses, c="C0", linewidths=0)
        left.set(xlim=(-0.5, 0.5), ylim=(-0.5, 0.5), aspect="equal", xlabel=f"pc, after {arguments.end:g} Myr")
        for (axes, eccentricities), name, mark in ((found[0], "at the start", "C7o"), (found[-1], "at the end", "C3.")):
            right.semilogx(axes, eccentricities, mark, label=name, fillstyle="none" if mark == "C7o" else "full")
        right.set(xlabel="semi-major axis, AU", ylabel="eccentricity", ylim=(0, 1))
        right.legend()
        figure.savefig(arguments.plot, dpi=110)


if __name__ == "__main__":
    main()
