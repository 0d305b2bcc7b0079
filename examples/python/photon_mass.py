"""The one-loop box integral in the limit of no photon mass, by extrapolation.

    python photon_mass.py --points 240 --masses 9

The integral grows as the logarithm of the photon mass lambda, with a factor that is known, and what
is left goes to zero as lambda, lambda^2, ... The script sums the integral in double-double precision
for masses each half of the one before, extrapolates what is left by the epsilon algorithm (Wynn
1956, Mathematical Tables and Other Aids to Computation 10, 91); the last row has the limit, which
is known to be 0.
"""

import argparse
import decimal
import time

import kyoho

from double_exponential import simplex
from loop_integral import KINEMATICS, TEXT


def logarithm(lambda2):
    """The part of the integral that grows as lambda goes to zero (s, t < 0)."""
    s, t, me2, mf2 = (decimal.Decimal(KINEMATICS[name]) for name in ("s", "t", "me2", "mf2"))
    masses = (me2 * mf2).sqrt()
    beta = (1 - 4 * masses / (t - me2 - mf2 + 2 * masses)).sqrt()
    k = (beta - 1) / (beta + 1)
    return k / (masses * (1 - k * k) * -s) * 2 * abs(k).ln() * (lambda2 / -s).ln()


def extrapolated(terms):
    """The limit of a sequence, by the epsilon algorithm."""
    before, last = [decimal.Decimal(0)] * (len(terms) + 1), list(terms)
    while len(last) > 2:
        for _ in range(2):
            differences = [after - term for term, after in zip(last, last[1:])]
            before, last = last, [term + 1 / difference for term, difference in zip(before[1:], differences)]
    return last[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=240, help="on each axis")
    parser.add_argument("--masses", type=int, default=9, help="of the photon")
    parser.add_argument("--plot", metavar="FILE", help="draw what is left of the integral, by matplotlib")
    arguments = parser.parse_args()

    decimal.getcontext().prec = 40
    pair = kyoho.pair(TEXT.read_text(), f64_as_dd=True)
    sinks, sources, weight = simplex(arguments.points)
    squares, rest = [], []
    print(f"{'lambda^2':>14} {'integral':>18} {'less its logarithm':>18} {'seconds':>8}")
    for number in range(arguments.masses):
        lambda2 = decimal.Decimal("1e-3") / 4**number
        began = time.perf_counter()
        found = pair(sinks, sources, lambda2=lambda2, **KINEMATICS)["integral"]
        seconds = time.perf_counter() - began
        integral = sum(w * sum(map(decimal.Decimal, row)) for w, row in zip(weight, found.tolist()))
        squares.append(float(lambda2))
        rest.append(integral - logarithm(lambda2))
        print(f"{lambda2:14.7e} {integral:18.13f} {rest[-1]:18.13f} {seconds:8.4f}", flush=True)
    print(f"{0:14.7e} {'':18} {extrapolated(rest):18.13f}")

    if arguments.plot:
        from matplotlib import pyplot

        pyplot.loglog(squares, [abs(float(term)) for term in rest], "o-")
        pyplot.xlabel("lambda^2")
        pyplot.ylabel("the integral less its logarithm")
        pyplot.savefig(arguments.plot)


if __name__ == "__main__":
    main()
