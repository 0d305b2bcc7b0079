"""Kozai-Lidov cycles: a far star on an inclined orbit makes the orbit of a planet eccentric.

    python kozai.py --inclinations 30 50 60 70 80 --plot kozai.png

A planet without mass goes round a star of mass 1 at the distance 1, and so does a second star of mass 1
at the distance 20. The secular theory (Kozai 1962, Lidov 1962, in the form of Innanen et al. 1997)
averages the quadrupole over both orbits. By it sqrt(1 - e^2) cos i stays as it is, and an orbit that
begins as a circle inclined by more than 39 degrees reaches e = sqrt(1 - 5/3 cos^2 i). The script prints
the largest e, the time when it is reached to a hundredth, and the change of what the theory conserves.
"""

import argparse

import kyoho
import numpy

RATIO, START = 20.0, 0.01  # of the orbits, and the eccentricity at the beginning


def advance(state, conserved, time):
    """The averaged motion of eccentricities and arguments of pericentre, by a scheme of order 2."""
    slope, step = 0.0, time / 50
    for _ in range(50):
        for part in (0, 1 / 2):
            e, pericentre = state + part * step * slope
            rest = 1 - e**2
            square_of_sine = 1 - conserved**2 / rest
            growth = 15 / 8 * e * rest**0.5 * numpy.sin(2 * pericentre) * square_of_sine
            turn = 3 / 4 / rest**0.5 * (2 * rest + 5 * numpy.sin(pericentre) ** 2 * (e**2 - square_of_sine))
            slope = numpy.array((growth, turn))
        state = state + step * slope
    return state


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inclinations", type=float, nargs="+", default=[30.0, 50.0, 60.0, 70.0, 80.0])
    parser.add_argument("--end", type=float, default=12.0, help="the time at the end, in units of 20^3")
    parser.add_argument("--plot", metavar="FILE", help="draw the eccentricities, by matplotlib")
    arguments = parser.parse_args()

    count, angles = len(arguments.inclinations), numpy.radians(arguments.inclinations)
    places, speeds = numpy.zeros((2, count, 3, 3))
    speeds[:, 1, 1:] = ((1 + START) / (1 - START)) ** 0.5 * numpy.array((numpy.cos(angles), numpy.sin(angles))).T
    places[:, 1, 0], places[:, 2, 1], speeds[:, 2, 0] = 1 - START, RATIO, -((2 / RATIO) ** 0.5)
    bodies = places.reshape(-1, 3), speeds.reshape(-1, 3)
    masses, offsets = numpy.tile([1.0, 0.0, 1.0], count), numpy.arange(0, 3 * count + 1, 3)
    conserved, change = (1 - START**2) ** 0.5 * numpy.cos(angles), numpy.zeros(count)
    state = numpy.array((numpy.full(count, START), numpy.zeros(count)))
    times, found = numpy.linspace(0, arguments.end, round(25 * arguments.end) + 1), [(state[0], state[0])]
    for _ in times[1:]:
        end = kyoho.few_body(*bodies, masses, times[1] * RATIO**3, offsets=offsets, tolerance=1e-10)
        bodies = end.positions, end.velocities
        state = advance(state, conserved, times[1])
        found.append((end.eccentricities[1::3], state[0]))
        separations, velocities = (of_all[1::3] - of_all[::3] for of_all in bodies)
        change = numpy.maximum(change, abs(numpy.cross(separations, velocities)[:, 2] - conserved))

    limits = numpy.maximum(0, 1 - 5 / 3 * numpy.cos(angles) ** 2) ** 0.5
    rows = list(zip(arguments.inclinations, *numpy.array(found).transpose(1, 2, 0), limits, change))
    print("inclination largest e   theory  formula  at time   theory   change")
    for angle, one, other, limit, most in rows:
        first = [times[(values > 0.99 * values.max()).argmax()] for values in (one, other)]
        print(f"{angle:11.1f} ", *(f"{number:8.4f}" for number in (one.max(), other.max(), limit, *first, most)))

    if arguments.plot:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")
        for number, (angle, one, other, limit, _) in enumerate(rows):
            axes.plot(times, one, f"C{number}", label=f"{angle:g} degrees")
            axes.plot(times, other, "k:", label="theory" if number == count - 1 else None)
            axes.axhline(limit, c=f"C{number}", lw=0.5)
        axes.set(xlabel="time, in units of 20^3", ylabel="eccentricity", ylim=(0, 1))
        axes.legend(loc="upper left")
        figure.savefig(arguments.plot, dpi=70)


if __name__ == "__main__":
    main()
