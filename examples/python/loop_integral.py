"""The scalar one-loop box integral, by a text of pairs in double-double precision.

    python loop_integral.py --points 40 80 160 --plot loop_integral.svg

The integral of 1 / D^2 over the simplex of three Feynman parameters is summed by the double
exponential rule: x and y belong to the sinks, z to the sources. The script prints it for some photon
masses lambda, with the difference to the digits that are known, and draws how it converges.
"""

import argparse
import decimal
import pathlib
import time

import kyoho
import numpy

TEXT = pathlib.Path(__file__).parents[1] / "pairs/box_integral.pair"
KINEMATICS = {"s": "-1.5", "t": "-1", "me2": "0.25", "mf2": "0.3025"}
# The integrals for these squares of the photon mass, to the digits that are known.
KNOWN = {"1e-4": 14.954548887012, "1e-6": 22.171307668759, "1e-8": 29.355717490318}


def limbs(numbers):
    """Decimal numbers as high and low doubles."""
    high = numpy.array([float(number) for number in numbers])
    low = [float(number - decimal.Decimal(value)) for number, value in zip(numbers, high.tolist())]
    return numpy.stack([high, low], axis=1)


def double_exponential(points):
    """Nodes and weights on [0, 1] with 40 digits (Takahasi & Mori 1974)."""
    last, half_pi = decimal.Decimal("4.2"), decimal.Decimal("1.5707963267948966192313216916397514421")
    step = 2 * last / (points - 1)
    rule = []
    for number in range(points):
        e = (number * step - last).exp()
        outer = (-half_pi * (e - 1 / e)).exp()
        weight = step * half_pi * (e + 1 / e) * outer / (1 + outer) ** 2
        rule.append((1 / (1 + outer), weight))
    return rule


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[40, 80, 160], help="on each axis")
    parser.add_argument("--plot", metavar="FILE", help="draw the convergence, by matplotlib")
    arguments = parser.parse_args()

    decimal.getcontext().prec = 40
    pair = kyoho.pair(TEXT.read_text(), f64_as_dd=True)
    errors = {lambda2: [] for lambda2 in KNOWN}
    print(f"{'points':>6} {'lambda^2':>8} {'integral':>17} {'error':>8} {'seconds':>8}")
    for points in arguments.points:
        rule = double_exponential(points)
        x, y, weight = zip(*((x, (1 - x) * y, v * w * (1 - x) ** 2 * (1 - y)) for x, v in rule for y, w in rule))
        cnt, weights = zip(*rule)
        sinks, sources = {"x": limbs(x), "y": limbs(y)}, {"cnt": limbs(cnt), "weight": limbs(weights)}
        for lambda2, known in KNOWN.items():
            began = time.perf_counter()
            found = pair(sinks, sources, lambda2=lambda2, **KINEMATICS)["integral"]
            seconds = time.perf_counter() - began
            # The two limbs of each sum are added with its weight in 40 digits.
            total = sum(w * sum(map(decimal.Decimal, row)) for w, row in zip(weight, found.tolist()))
            errors[lambda2].append(abs(float(total) / known - 1))
            print(f"{points:6} {lambda2:>8} {total:17.12f} {errors[lambda2][-1]:8.1e} {seconds:8.4f}", flush=True)

    if arguments.plot:
        from matplotlib import pyplot

        for lambda2, values in errors.items():
            pyplot.semilogy(arguments.points, values, "o-", label=f"lambda^2 = {lambda2}")
        pyplot.xlabel("points on each axis")
        pyplot.ylabel("relative error")
        pyplot.legend()
        pyplot.savefig(arguments.plot)


if __name__ == "__main__":
    main()
