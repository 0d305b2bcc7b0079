"""Writes pytreegrav_reference.json: results and signatures of pytreegrav itself, which takes numba
and its compilation.

    pip install pytreegrav==1.5.0 && python pytreegrav_reference.py
"""

import inspect
import json
import pathlib

import numpy

VERSION = "1.5.0"
COUNT, LARGE = 24, 5000
SOFTENING = 0.1


def bodies(count):
    """Positions, masses and other places, the same in every version of numpy."""
    random = numpy.random.RandomState(20)
    return random.normal(size=(count, 3)), random.uniform(0.5, 1.5, count) / count, random.normal(size=(7, 3))


def cases(functions):
    """Results of the four functions, by name; ``functions`` is pytreegrav, or what stands in for it."""
    positions, masses, places = bodies(COUNT)
    softening = numpy.full(COUNT, SOFTENING)
    # Only bodies far from one another, where all softenings are the same.
    far = 40 * numpy.arange(1, 4)[:, None] * numpy.array([[1.0, 0.5, -0.25]])
    # One target is at the place of a source.
    both = numpy.concatenate([places, positions[:1]])
    return {
        "Accel": functions.Accel(positions, masses, G=2.0),
        "Potential": functions.Potential(positions, masses, G=2.0),
        "AccelTarget": functions.AccelTarget(places, positions, masses, G=2.0),
        "PotentialTarget": functions.PotentialTarget(places, positions, masses, G=2.0),
        "AccelTarget far": functions.AccelTarget(far, positions, masses, numpy.full(3, 0.1), softening),
        "PotentialTarget far": functions.PotentialTarget(far, positions, masses, numpy.full(3, 0.1), softening),
        "PotentialTarget of bodies": functions.PotentialTarget(both, positions, masses),
    }


def main():
    import pytreegrav

    names = ["Accel", "Potential", "AccelTarget", "PotentialTarget"]
    signatures = {}
    for name in names:
        parameters = inspect.signature(getattr(pytreegrav, name)).parameters.values()
        signatures[name] = [[p.name, None if p.default is p.empty else repr(p.default)] for p in parameters]
    positions, masses, _ = bodies(LARGE)
    exact = pytreegrav.Accel(positions, masses, method="bruteforce")
    tree = pytreegrav.Accel(positions, masses, method="tree")
    error = numpy.linalg.norm(tree - exact, axis=1) / numpy.linalg.norm(exact, axis=1)
    reference = {
        "version": VERSION,
        "signatures": signatures,
        "results": {name: result.tolist() for name, result in cases(pytreegrav).items()},
        "large": exact[::250].tolist(),
        "median error of the tree": float(numpy.median(error)),
    }
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
