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

from double_exponential import simplex

TEXT = pathlib.Path(__file__).parents[1] / "pairs/box_integral.pair"
KINEMATICS = {"s": "-1.5", "t": "-1", "me2": "0.25", "mf2": "0.3025"}
# The integrals for these squares of the photon mass, to the digits that are known.
KNOWN = {"1e-4": 14.954548887012, "1e-6": 22.171307668759, "1e-8": 29.355717490318}


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
        sinks, sources, weight = simplex(points)
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
