"""Writes galpy_reference.json: an orbit of 10 Gyr in MWPotential2014 by galpy itself.

    pip install galpy==1.12.1 && python galpy_reference.py
"""

import json
import pathlib

import numpy

VERSION = "1.12.1"
# In galpy's natural units: lengths in 8 kpc, speeds in 220 km/s.
POSITION, VELOCITY = [1.0, 0.0, 0.05], [0.1, 1.1, 0.3]
GYR = 10.0


def main():
    from galpy.orbit import Orbit
    from galpy.potential import MWPotential2014
    from galpy.util import conversion

    time = GYR / conversion.time_in_Gyr(220.0, 8.0)
    orbit = Orbit([POSITION[0], VELOCITY[0], VELOCITY[1], POSITION[2], VELOCITY[2], 0.0])
    orbit.integrate(numpy.linspace(0.0, time, 11), MWPotential2014, method="dop853_c", rtol=1e-14, atol=1e-14)
    state = {
        "position": [float(axis(time)) for axis in (orbit.x, orbit.y, orbit.z)],
        "velocity": [float(axis(time)) for axis in (orbit.vx, orbit.vy, orbit.vz)],
    }
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps({"version": VERSION, "time": time, **state}, indent=1) + "\n")


if __name__ == "__main__":
    main()
