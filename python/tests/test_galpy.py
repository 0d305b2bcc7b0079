"""Orbits in fields against galpy's own (galpy_reference.py)."""

import json
import pathlib

import numpy
from galpy_reference import POSITION, VELOCITY

import kyoho

REFERENCE = json.loads(pathlib.Path(__file__).with_name("galpy_reference.json").read_text())


def test_an_orbit_in_the_milky_way_is_the_same_after_10_gyr():
    star = kyoho.Cluster(order=8, eta=0.1, backend="cpu", threads=1)
    star.add([POSITION], [1e-9], [VELOCITY])
    star.add_field("milky_way_2014", radius=1.0, speed=1.0)
    star.evolve(REFERENCE["time"])
    assert numpy.allclose(star.positions[0], REFERENCE["position"], rtol=0, atol=1e-10)
    assert numpy.allclose(star.velocities[0], REFERENCE["velocity"], rtol=0, atol=1e-10)
