"""Thousands of three-body problems at once: how far three bodies part that fall from rest.

    python three_bodies.py --points 80 --plot three_bodies.png

Two bodies of mass 1 begin at (-0.5, 0) and (0.5, 0), the third at any place of the region of Agekian
and Anosova (1967), which has each shape of a triangle once. All systems are one call for each step.
"""

import argparse

import kyoho
import numpy


def begin(points):
    """Which places of a grid are in the region, and the three bodies of the system of each."""
    x, y = numpy.meshgrid(*[(numpy.arange(points) + 0.5) / points * side for side in (0.5, 0.87)])
    is_inside = (x + 0.5) ** 2 + y**2 < 1
    systems = numpy.zeros((is_inside.sum(), 3, 3))
    systems[:, 0, 0], systems[:, 1, 0] = -0.5, 0.5
    systems[:, 2, 0], systems[:, 2, 1] = x[is_inside], y[is_inside]
    return is_inside, systems - systems.mean(axis=1, keepdims=True)


def spread(systems):
    """The largest distance of two bodies of each system."""
    return numpy.linalg.norm(systems - systems[:, [1, 2, 0]], axis=2).max(axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=80, help="along each side of the region")
    parser.add_argument("--end", type=float, default=4.0, help="the time at the end")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--plot", metavar="FILE", help="draw the region, by matplotlib")
    arguments = parser.parse_args()

    is_inside, systems = begin(arguments.points)
    offsets = numpy.arange(0, systems.size // 3 + 1, 3)
    masses, step = numpy.ones(len(systems) * 3), arguments.end / arguments.steps
    bodies, velocities = systems.reshape(-1, 3).copy(), numpy.zeros((len(masses), 3))

    def forces():
        return kyoho.forces_in_batch(kyoho.Sources(bodies, masses), offsets, order=2, softening2=0.1**2)

    def energy():
        potential = (masses * forces().potentials).reshape(-1, 3).sum(axis=1) / 2
        return (velocities**2).reshape(-1, 9).sum(axis=1) / 2 + potential

    before = energy()
    pulls = forces().accelerations
    for _ in range(arguments.steps):
        velocities += step / 2 * pulls
        bodies += step * velocities
        pulls = forces().accelerations
        velocities += step / 2 * pulls
    largest = spread(bodies.reshape(-1, 3, 3))
    error = numpy.median(abs(energy() / before - 1))
    print(f"{'systems':>8} {'median size':>12} {'largest':>8} {'median error':>13}")
    print(f"{len(systems):8} {numpy.median(largest):12.3f} {largest.max():8.2f} {error:13.1e}")

    if arguments.plot:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(5, 5), layout="constrained")
        picture = numpy.full((arguments.points, arguments.points), numpy.nan)
        picture[is_inside] = largest
        dots = axes.imshow(picture, extent=(0, 0.5, 0, 0.87), origin="lower", cmap="inferno")
        axes.set(xlabel="x of the third body", ylabel="y of the third body", aspect="equal")
        figure.colorbar(dots, label="largest distance of two bodies at the end")
        figure.savefig(arguments.plot, dpi=110)


if __name__ == "__main__":
    main()
