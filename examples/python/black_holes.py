"""Two black holes merge in a small cluster of stars, which have made their orbit narrow.

    python black_holes.py --stars 20 --plot black_holes.png

A Plummer model in standard units has a binary of black holes in its middle, each of five masses of a star.
Pairs have relativistic terms of the orders 1, 2 and 2.5, with a speed of light of 200 units, so small that
the run takes seconds. The script prints the orbit of the holes, or "nan" where they are not bound, and
when they would merge if the stars left them alone from then on (Peters 1964, equation 5.14). A star that
meets a hole becomes part of it, with its momentum. Each --seed has an end of its own.
"""

import argparse

import kyoho
import numpy


def time_left(axis, e, masses, light):
    """The time to the merger of two black holes."""
    others = (numpy.arange(10000) + 0.5) / 10000 * e
    scale = axis * (1 - e**2) / e ** (12 / 19) * (1 + 121 / 304 * e**2) ** (-870 / 2299)
    integral = others ** (29 / 19) * (1 + 121 / 304 * others**2) ** (1181 / 2299) / (1 - others**2) ** 1.5
    return 12 / 19 * scale**4 * light**5 / (64 / 5 * masses.prod() * masses.sum()) * integral.sum() * e / 10000


def merged(states, masses, first, second):
    """The bodies with two of them as one, which has the place of the first."""
    for state in states:
        state[first] = numpy.average(state[[first, second]], axis=0, weights=masses[[first, second]])
    masses[first] += masses[second]
    return [numpy.delete(state, second, axis=0) for state in states], numpy.delete(masses, second)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stars", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="that of the stars")
    parser.add_argument("--axis", type=float, default=0.1, help="the black holes' distance at the beginning")
    parser.add_argument("--light", type=float, default=200.0, help="the speed of light")
    parser.add_argument("--end", type=float, default=5.0, help="the time at the end")
    parser.add_argument("--plot", metavar="FILE", help="draw the orbit, by matplotlib")
    arguments = parser.parse_args()

    stars = kyoho.model.plummer(arguments.stars, seed=arguments.seed)
    mass = 5 / arguments.stars
    place, speed = arguments.axis / 2, (2 * mass / arguments.axis) ** 0.5 / 2
    positions = numpy.vstack(([[-place, 0, 0], [place, 0, 0]], stars.positions))
    velocities = numpy.vstack(([[0, -speed, 0], [0, speed, 0]], stars.velocities))
    states = [positions, velocities]
    masses, options = numpy.append([mass, mass], stars.masses), {"tolerance": 1e-10, "speed_of_light": arguments.light}
    now, rows = 0.0, []
    print("    time   bodies  axis of holes  eccentricity  merger by Peters")
    for _ in range(50):
        found = kyoho.few_body(*states, masses, arguments.end / 50, **options)
        states, now, orbit = [found.positions, found.velocities], now + found.times[0], [numpy.nan] * 3
        first, second = sorted(found.touching[0])
        if second > 0:
            states, masses = merged(states, masses, first, second)
        elif found.companions[0] == 1:
            orbit[:2] = found.semi_major_axes[0], found.eccentricities[0]
            orbit[2] = now + time_left(*orbit[:2], masses[:2], arguments.light)
        rows.append((now, len(masses), *orbit))
        print(f"{now:8.4f} {len(masses):8} {orbit[0]:14.6f} {orbit[1]:13.4f} {orbit[2]:17.5g}", flush=True)
        if (first, second) == (0, 1):
            break

    if arguments.plot:
        from matplotlib import pyplot

        times, _, axis, eccentricity, _ = numpy.array(rows).T
        figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
        axes.semilogy(times, axis, ".-", label="a")
        axes.semilogy(times, 1 - eccentricity, ".-", label="1 - e")
        axes.set(xlabel=f"time, up to {now:.3f}")
        axes.legend()
        figure.savefig(arguments.plot, dpi=90)


if __name__ == "__main__":
    main()
