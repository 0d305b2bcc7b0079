"""The rotation curve of a galaxy of bodies, by a tree: speeds of circular orbits in its plane.

    python rotation_curve.py --bodies 200000 --plot rotation_curve.svg

The galaxy is an exponential disc in a Hernquist halo, in kpc, 1e10 solar masses and km/s. The script
prints the speed by each part and by both, with that of the halo's formula.
"""

import argparse

import kyoho
import numpy

G = 43009.17  # kpc (km/s)^2 / 1e10 solar masses
DISC, HALO = (4.0, 3.0), (100.0, 30.0)  # mass and scale length


def disc(count, random):
    """Positions in an exponential disc with a thickness of a tenth of its scale length."""
    radius = DISC[1] * random.gamma(2, size=count)
    angle = random.uniform(0, 2 * numpy.pi, count)
    height = 0.1 * DISC[1] * numpy.arctanh(random.uniform(-0.999, 0.999, count))
    return numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle), height], axis=1)


def halo(count, random):
    """Positions in a Hernquist model, in which the mass within r is r^2 / (r + a)^2."""
    root = random.uniform(0, 0.98, count) ** 0.5
    direction = random.normal(size=(count, 3))
    return direction * (HALO[1] * root / (1 - root) / numpy.linalg.norm(direction, axis=1))[:, numpy.newaxis]


def speeds(positions, mass, radii, accuracy):
    """The speeds of circular orbits at these radii in the plane, the mean over 16 directions."""
    angles = numpy.linspace(0, 2 * numpy.pi, 16, endpoint=False)
    outward = numpy.stack([numpy.cos(angles), numpy.sin(angles), 0 * angles], axis=1)
    places = (radii[:, numpy.newaxis, numpy.newaxis] * outward).reshape(-1, 3)
    masses = numpy.full(len(positions), mass / len(positions))
    pulls = kyoho.gravity(positions, masses, eps=0.1, at=places, accuracy=accuracy, potential=False)
    inward = -(pulls.reshape(len(radii), 16, 3) * outward).sum(axis=2).mean(axis=1)
    return (G * inward * radii).clip(0) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=200000, help="of each part")
    parser.add_argument("--accuracy", type=float, default=1e-3, help="of the tree's accelerations")
    parser.add_argument("--plot", metavar="FILE", help="draw the curve, by matplotlib")
    arguments = parser.parse_args()

    random = numpy.random.default_rng(4)
    radii = numpy.linspace(0.5, 25, 50)
    of_disc = speeds(disc(arguments.bodies, random), DISC[0], radii, arguments.accuracy)
    of_halo = speeds(halo(arguments.bodies, random), HALO[0], radii, arguments.accuracy)
    # The sample has the inner 98 per cent of the mass, in the mass of all.
    formula = (G * HALO[0] / 0.98 * radii) ** 0.5 / (radii + HALO[1])
    both = (of_disc**2 + of_halo**2) ** 0.5
    print(f"{'kpc':>8} {'disc':>8} {'halo':>8} {'formula':>8} {'both, km/s':>11}")
    for row in list(zip(radii, of_disc, of_halo, formula, both))[::5]:
        print("{:8.1f} {:8.1f} {:8.1f} {:8.1f} {:11.1f}".format(*row))

    if arguments.plot:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
        for speed, name in ((both, "both"), (of_disc, "disc"), (of_halo, "halo")):
            axes.plot(radii, speed, label=name)
        axes.plot(radii, formula, "k:", label="halo, formula")
        axes.set(xlabel="radius, kpc", ylabel="circular speed, km/s", ylim=(0, None))
        axes.legend()
        figure.savefig(arguments.plot)


if __name__ == "__main__":
    main()
