"""Cross-sections for the exchange of a star of a binary, by thousands of scattering experiments.

    python exchange_cross_sections.py --systems 3000 --plot exchange_cross_sections.png

Three points of mass 1, as in Hut & Bahcall (1983, ApJ 268, 319): a star of speed v comes to a circular
binary with a = 1. At the critical speed v_c the total energy is 0. The squares of impact parameters are
uniform up to (4 v_c / v + 0.6)^2. Cross-sections are in units of pi a^2 (v_c / v)^2, beside limits:
below v_c the fit of Heggie, Hut & McMillan (1996, ApJ 467, 359) for slow stars, good to 25 per cent, and
above it those of single impulses (as Hut 1983, ApJ 268, 342): 640/81 (v_c / v)^4 for exchange, 40/9 for
ionisation. Experiments that have not ended are "open": they may add up to this to the other columns.
"""

import argparse

import kyoho
import numpy

CRITICAL = 1.5**0.5
# The fit for equal masses, with mu_1 = 1/2 and mu_2 = 1/3; either star may leave.
CUBIC = 3.7 + 7.49 / 2 - 1.89 / 3 - 15.49 / 4 - 2.93 / 6 - 2.92 / 9 + 3.07 / 8 + 13.15 / 12 - 5.23 / 18 + 3.12 / 27
SLOW = 2 * (2 / 3) ** (1 / 6) * (1 / 2) ** (7 / 2) * (3 / 2) ** (1 / 3) * (2 / 3) * numpy.exp(CUBIC)


def scatter(speed, arguments, random):
    """The cross-sections of exchange, its standard error, ionisation and experiments without an end."""
    count, distance, largest = arguments.systems, 30.0, 4 / speed + 0.6
    sideways = largest * random.uniform(size=count) ** 0.5 * speed * CRITICAL / distance
    inwards = ((speed * CRITICAL) ** 2 + 6 / distance - sideways**2) ** 0.5
    far, fast = numpy.tile([distance, 0, 0], (count, 1)), numpy.array((-inwards, sideways, 0 * inwards)).T
    # Columns of an orthogonal matrix with random signs are a binary in any direction and phase.
    axes = numpy.linalg.qr(random.normal(size=(count, 3, 3)))[0] * random.choice((-1, 1), size=(count, 1, 3))
    bodies = []
    for inner, outer in ((axes[:, :, 0], far), (2**0.5 * axes[:, :, 1], fast)):
        three = numpy.stack((-inner / 2 - outer / 3, inner / 2 - outer / 3, outer * 2 / 3), axis=1)
        bodies.append(three.reshape(-1, 3))
    options = {"offsets": numpy.arange(0, 3 * count + 1, 3), "tolerance": 1e-10, "escapes": 20}
    found = kyoho.few_body(*bodies, numpy.ones(3 * count), arguments.time, **options)
    has_ended = numpy.isin(found.ends, ("escape", "exchange"))
    companions = found.companions.reshape(-1, 3)
    exchange = (has_ended & (companions[:, 2] >= 0)).mean()
    ionisation = (has_ended & (companions < 0).all(axis=1)).mean()
    likely = (count * exchange + 1) / (count + 2)  # not 0, so that the error is not
    error = (likely * (1 - likely) / count) ** 0.5
    return (largest * speed) ** 2 * numpy.array([exchange, error, ionisation, 1 - has_ended.mean()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=300, help="experiments for each speed")
    parser.add_argument("--speeds", type=float, nargs="+", default=[0.1, 0.2, 0.4, 0.7, 0.9, 1.2, 1.5, 2, 3, 4])
    parser.add_argument("--time", type=float, default=1e4, help="experiments end then, if not before")
    parser.add_argument("--plot", metavar="FILE", help="draw the cross-sections, by matplotlib")
    arguments = parser.parse_args()

    random, rows = numpy.random.default_rng(1), []
    print("   v/vc exchange    error    limit  ionised    limit     open")
    for speed in arguments.speeds:
        exchange, error, ionisation, rest = scatter(speed, arguments, random)
        limits = (SLOW, 0.0) if speed < 1 else (640 / 81 / speed**4, 40 / 9)
        rows.append((speed, exchange, error, limits[0], ionisation, limits[1], rest))
        print(f"{speed:7.2f}", *(f"{number:8.3f}" for number in rows[-1][1:]), flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        speeds, exchange, error, _, ionisation, _, rest = numpy.array(rows).T
        figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
        axes.fill_between((0.08, 0.5), 0.75 * SLOW, 1.25 * SLOW, alpha=0.2, label="exchange of slow stars, fit")
        fast = numpy.linspace(1.4, 4.5)
        axes.plot(fast, 640 / 81 / fast**4, "C0--", fast, 40 / 9 + 0 * fast, "C3--")
        axes.errorbar(speeds, exchange, (error, error + rest), fmt="C0o", capsize=3, label="exchange")
        axes.plot(speeds, ionisation, "C3s", label="ionisation")
        axes.set(xlabel="v / v_c", ylabel="cross-section v^2 / (pi a^2 v_c^2)", ylim=(0, 6))
        axes.set(xscale="log", xticks=(0.1, 0.2, 0.5, 1, 2, 4), xticklabels=("0.1", "0.2", "0.5", "1", "2", "4"))
        axes.legend(loc="upper center", ncols=3, title="dashed: impulses")
        figure.savefig(arguments.plot, dpi=90)


if __name__ == "__main__":
    main()
