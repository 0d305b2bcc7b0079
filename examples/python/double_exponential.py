"""The double exponential rule on the simplex of three Feynman parameters, for pair interactions."""

import decimal

import numpy


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


def simplex(points):
    """Sinks, sources and the weights of sinks of the rule with this many points on each axis."""
    rule = double_exponential(points)
    x, y, weight = zip(*((x, (1 - x) * y, v * w * (1 - x) ** 2 * (1 - y)) for x, v in rule for y, w in rule))
    cnt, weights = zip(*rule)
    return {"x": limbs(x), "y": limbs(y)}, {"cnt": limbs(cnt), "weight": limbs(weights)}, weight
