"""The stand-in for pytreegrav against pytreegrav's own results (pytreegrav_reference.py)."""

import inspect
import json
import pathlib

import numpy
import pytest
from conftest import close
from pytreegrav_reference import COUNT, LARGE, SOFTENING, bodies, cases

import kyoho
from kyoho.compat import pytreegrav

REFERENCE = json.loads(pathlib.Path(__file__).with_name("pytreegrav_reference.json").read_text())


def test_signatures_are_the_same():
    for name, expected in REFERENCE["signatures"].items():
        parameters = inspect.signature(getattr(pytreegrav, name)).parameters.values()
        found = [[p.name, None if p.default is p.empty else repr(p.default)] for p in parameters]
        assert found == expected, name


def test_results_are_the_same():
    for name, found in cases(pytreegrav).items():
        # Far from bodies Plummer's softening is left.
        tolerance = 1e-5 if "far" in name else 1e-12
        expected = numpy.array(REFERENCE["results"][name])
        assert found.shape == expected.shape and numpy.allclose(found, expected, rtol=tolerance, atol=0), name


def test_the_tree_is_at_least_as_exact_at_the_same_angle():
    positions, masses, _ = bodies(LARGE)
    exact = pytreegrav.Accel(positions, masses, method="bruteforce")
    assert numpy.allclose(exact[::250], REFERENCE["large"], rtol=1e-10, atol=0)
    tree, none = pytreegrav.Accel(positions, masses, return_tree=True)
    error = numpy.median(numpy.linalg.norm(tree - exact, axis=1) / numpy.linalg.norm(exact, axis=1))
    assert 0 < error < REFERENCE["median error of the tree"] and none is None
    potentials = pytreegrav.Potential(positions, masses, method="tree")
    assert numpy.allclose(potentials, pytreegrav.Potential(positions, masses, method="bruteforce"), rtol=1e-2)


def test_softening_has_the_same_depth():
    positions, masses, _ = bodies(COUNT)
    pair = numpy.array([[0, 0, 0], [1e-9, 0, 0]])
    potentials = pytreegrav.Potential(pair, numpy.ones(2), numpy.full(2, SOFTENING))
    assert close(potentials, -2.8 / SOFTENING)
    # Targets at the places of sources leave these out.
    targets = pytreegrav.PotentialTarget(positions, positions, masses, softening_source=numpy.full(COUNT, SOFTENING))
    bodies_ = pytreegrav.Potential(positions, masses, SOFTENING)
    assert numpy.allclose(targets, bodies_, rtol=1e-10)


def test_forms_of_arguments():
    one = pytreegrav.Accel([1, 2, 3], 1.0)
    assert one.shape == (1, 3) and (one == 0).all()
    positions, masses, _ = bodies(COUNT)
    exact = pytreegrav.Accel(positions, masses)
    assert (pytreegrav.Accel(positions.tolist(), masses.tolist(), parallel=True, theta=0) == exact).all()
    assert (pytreegrav.AccelTarget(positions, positions, masses, theta=9.0) == exact).all()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"softening": numpy.linspace(0, 1, COUNT)}, "softening is from 0.0 to 1.0; allowed: one softening for all"),
        ({"tree": 1}, "tree is not None; allowed: None"),
        ({"method": "exact"}, "method is 'exact'; allowed: 'adaptive', 'bruteforce', 'tree'"),
        ({"device": "tpu"}, "device is 'tpu'; allowed: 'cpu', 'cuda'"),
        ({"m": [1.0]}, r"m has the shape \(1,\); allowed: \(24,\)"),
        ({"pos": [["x"]]}, "pos is an array of <U"),
    ],
)
def test_errors_name_the_argument(more, said):
    positions, masses, _ = bodies(COUNT)
    with pytest.raises(kyoho.Error, match=said):
        pytreegrav.Accel(**{"pos": positions, "m": masses, **more})
