"""Two galaxies that collide and merge, by a leapfrog with forces by a tree.

    python colliding_galaxies.py --bodies 20000 --plot colliding_galaxies.png

Each galaxy is a Plummer sphere of mass 1; they meet on a parabola. The script prints the distance
of their middles and the error of the energy, and draws the projected density at six times.
"""

import argparse

import kyoho
import numpy

END = 18.0


def plummer(count, random):
    """Positions and velocities of a Plummer sphere with G = 1, mass 1 and radius 3 pi / 16."""
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


def parabola(distance, nearest):
    """Position and velocity of one of two points of mass 1 from the other, on their way in."""
    speed = (4 / distance) ** 0.5
    across = (4 * nearest) ** 0.5 / distance
    return numpy.array([distance, 0, 0]), numpy.array([-((speed**2 - across**2) ** 0.5), across, 0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=20000, help="of each galaxy")
    parser.add_argument("--accuracy", type=float, default=1e-3, help="of the tree's accelerations")
    parser.add_argument("--step", type=float, default=1 / 32)
    parser.add_argument("--plot", metavar="FILE", help="draw the galaxies, by matplotlib")
    arguments = parser.parse_args()

    random = numpy.random.default_rng(3)
    place, velocity = parabola(distance=6.0, nearest=0.5)
    cluster = kyoho.Cluster(2, "single", eps=0.05, dt_max=arguments.step, accuracy=arguments.accuracy)
    for side in (0.5, -0.5):
        positions, velocities = plummer(arguments.bodies, random)
        masses = numpy.full(arguments.bodies, 1 / arguments.bodies)
        cluster.add(positions + side * place, masses, velocities + side * velocity)
    energy, pictures = cluster.energies.total, []
    print(f"{'time':>8} {'distance':>9} {'energy error':>13}")
    for time in numpy.linspace(0, END, 6):
        cluster.evolve(time)
        positions = cluster.positions
        pictures.append((time, positions))
        one, other = numpy.median(positions.reshape(2, -1, 3), axis=1)
        error = cluster.energies.total / energy - 1
        print(f"{time:8.2f} {numpy.linalg.norm(one - other):9.3f} {error:13.1e}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        figure, places = pyplot.subplots(2, 3, figsize=(9, 6), sharex=True, sharey=True, layout="constrained")
        for (time, positions), axes in zip(pictures, places.flat):
            density, *_ = numpy.histogram2d(*positions[:, :2].T, bins=120, range=[[-4, 4]] * 2)
            axes.imshow(numpy.log10(1 + density.T), extent=(-4, 4, -4, 4), origin="lower", cmap="magma")
            axes.set_title(f"time {time:.1f}")
        figure.savefig(arguments.plot, dpi=120)


if __name__ == "__main__":
    main()
