"""Two black holes merge by gravitational waves in a star cluster, in which they are a hard binary.

    python merging_black_holes.py --stars 100 --plot merging_black_holes.png

A Plummer model of stars of a solar mass has a close and eccentric pair of black holes in its middle. Until
they are one body, the script prints their orbit, in astronomical units, and when they would merge alone
from then on, in million years (P. C. Peters, Physical Review 136, 1964, B1224, equation 5.14). Stars that
come near change that time.
"""

import argparse

import kyoho
import numpy

AU = 4.84813681e-6  # in parsec
LIGHT = 306601.39  # in parsec per million years


def time_left(gravity, axis, e, masses):
    """The time to the merger of two black holes."""
    others = (numpy.arange(10000) + 0.5) / 10000 * e
    scale = axis * (1 - e**2) / e ** (12 / 19) * (1 + 121 / 304 * e**2) ** (-870 / 2299)
    integral = others ** (29 / 19) * (1 + 121 / 304 * others**2) ** (1181 / 2299) / (1 - others**2) ** 1.5
    decay = 64 / 5 * gravity**3 * masses.prod() * masses.sum() / LIGHT**5
    return 12 / 19 * scale**4 / decay * integral.sum() * e / 10000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stars", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="that of the stars")
    parser.add_argument("--axis", type=float, default=0.1, help="the black holes' semi-major axis")
    parser.add_argument("--eccentricity", type=float, default=0.95, help="that of their orbit")
    parser.add_argument("--rows", type=int, default=40, help="the times that are printed, up to twice as many")
    parser.add_argument("--plot", metavar="FILE", help="draw the orbit, by matplotlib")
    arguments = parser.parse_args()

    cluster = kyoho.Cluster(order=6, units="pc Msun Myr", subsystems=True, speed_of_light=LIGHT, on_collision="merge")
    stars, length, gravity = kyoho.model.plummer(arguments.stars, seed=arguments.seed), 0.1, 4.4985e-3
    speed = (gravity * arguments.stars / length) ** 0.5
    cluster.add(length * stars.positions, arguments.stars * stars.masses, speed * stars.velocities)
    axis, e, masses = arguments.axis * AU, arguments.eccentricity, numpy.array([30.0, 20.0])
    parts = numpy.array([[-0.4, 0, 0], [0.6, 0, 0]])
    fastest = (gravity * masses.sum() / axis * (1 - e) / (1 + e)) ** 0.5
    holes = cluster.add(axis * (1 + e) * parts, masses, fastest * parts[:, [1, 0, 2]])

    expected = time_left(gravity, axis, e, masses)
    rows = []
    print("    time  bodies  axis of holes  eccentricity  merger by Peters")
    for row in range(2 * arguments.rows):
        time = (row + 1) / arguments.rows * expected
        evolution = cluster.evolve(time)
        if evolution.encounters:
            merger = evolution.encounters[0]
            print(f"{merger.time:8.6f} {len(cluster):7} {0:14} {0:13} {expected:17.6f}")
            break
        pair = next(pair for pair in cluster.binaries if set(sum(pair.members, ())) == set(holes))
        axis, e = pair.semi_major_axis, pair.eccentricity
        rows.append((time, axis / AU, e))
        alone = time + time_left(gravity, axis, e, masses)
        print(f"{time:8.5f} {len(cluster):7} {axis / AU:14.6f} {e:13.6f} {alone:17.6f}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        times, axes, eccentricities = numpy.array(rows).T
        figure, picture = pyplot.subplots(figsize=(6, 3), layout="constrained")
        picture.semilogy(times, axes, ".-", label="a in AU")
        picture.semilogy(times, 1 - eccentricities, ".-", label="1 - e")
        picture.axvline(expected, color="gray", linestyle=":", label="a merger of the two alone")
        picture.set(xlabel="time in million years")
        picture.legend()
        figure.savefig(arguments.plot, dpi=90)


if __name__ == "__main__":
    main()
