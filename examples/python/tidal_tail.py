"""A star cluster that the Milky Way pulls apart into two tidal tails, in kpc, km/s and solar masses.

    python tidal_tail.py --stars 2000 --end 1 --plot tidal_tail.png

The galaxy is the field "milky_way_2014". The script prints the part of the stars within 60 pc of the
cluster's middle, how far the tails reach round the galaxy, and the error of the energy; it draws the
stars and the orbit.
"""

import argparse

import kyoho
import numpy

GRAVITY = 4.30092e-6
# The unit of time, kpc / (km/s), in Gyr.
GYR = 0.9777922
MASS, RADIUS = 2e4, 0.008


def plummer(count, random):
    """Positions and velocities of a Plummer sphere."""
    radius = (random.uniform(0.001, 0.99, count) ** (-2 / 3) - 1) ** -0.5
    # The fraction q of the escape speed has the density q^2 (1 - q^2)^(7/2).
    q, height = random.uniform(size=(2, 40 * count))
    speed = q[0.1 * height < q**2 * (1 - q**2) ** 3.5][:count] * 2**0.5 * (1 + radius**2) ** -0.25
    vectors = []
    for length in (RADIUS * radius, (GRAVITY * MASS / RADIUS) ** 0.5 * speed):
        direction = random.normal(size=(count, 3))
        vectors.append(direction * (length / numpy.linalg.norm(direction, axis=1))[:, numpy.newaxis])
    return [vector - vector.mean(axis=0) for vector in vectors]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stars", type=int, default=2000)
    parser.add_argument("--end", type=float, default=1.0, help="the time at the end, in Gyr")
    parser.add_argument("--plot", metavar="FILE", help="draw the stars, by matplotlib")
    arguments = parser.parse_args()

    positions, velocities = plummer(arguments.stars, numpy.random.default_rng(3))
    cluster = kyoho.Cluster(order=4, gravity=GRAVITY, eps=0.002)
    cluster.add_field("milky_way_2014", radius=8.0, speed=220.0)
    masses = numpy.full(arguments.stars, MASS / arguments.stars)
    cluster.add(positions + [8.5, 0.0, 0.0], masses, velocities + [0.0, 170.0, 40.0])
    energy, orbit = cluster.energies.total, []
    print(f"{'Gyr':>6} {'inside':>7} {'degrees':>8} {'energy error':>13}")
    for time in numpy.linspace(0, arguments.end, 21):
        cluster.evolve(time / GYR)
        positions = cluster.positions
        middle = numpy.median(positions, axis=0)
        orbit.append(middle)
        inside = numpy.mean(numpy.linalg.norm(positions - middle, axis=1) < 0.06)
        along = numpy.arctan2(positions[:, 1], positions[:, 0]) - numpy.arctan2(middle[1], middle[0])
        ends = numpy.percentile((along + numpy.pi) % (2 * numpy.pi), [2, 98])
        error = cluster.energies.total / energy - 1
        print(f"{time:6.2f} {inside:7.3f} {numpy.degrees(ends[1] - ends[0]):8.2f} {error:13.1e}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(1, 2, figsize=(10, 5), layout="constrained")
        axes[0].plot(0, 0, "+k", label="centre of the galaxy")
        for shown, width in zip(axes, (11, 0.6)):
            shown.scatter(*positions[:, :2].T, s=1.5, lw=0)
            centre = (0, 0) if width > 1 else middle
            shown.set(xlim=(centre[0] - width, centre[0] + width), ylim=(centre[1] - width, centre[1] + width))
            shown.set(xlabel="x [kpc]", ylabel="y [kpc]", aspect="equal")
        axes[0].plot(*numpy.array(orbit)[-6:, :2].T, "o", ms=3, alpha=0.4, label="the cluster, every 0.05 Gyr")
        axes[0].legend(loc="upper right")
        figure.savefig(arguments.plot, dpi=100)


if __name__ == "__main__":
    main()
