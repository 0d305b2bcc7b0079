"""The scripts of examples/python at small sizes."""

import math
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parents[2] / "examples/python"


def run(name, tmp_path, *arguments):
    """The rows of numbers that a script prints. It draws a picture too."""
    script = FOLDER / name
    assert len(script.read_text().splitlines()) <= 80
    picture = tmp_path / "picture.png"
    command = [sys.executable, script, *arguments, "--plot", picture]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert picture.read_bytes().startswith(b"\x89PNG")
    return [[float(word) for word in line.split()] for line in said.stdout.splitlines()[1:]]


def test_core_collapse(tmp_path):
    rows = run("core_collapse.py", tmp_path, "--bodies", "64", "--end", "1", "--rows", "2")
    assert [row[0] for row in rows] == [0.5, 1.0]
    for _, error, inner, middle, half, binaries, bound in rows:
        assert abs(error) < 1e-6 and 0 < inner < middle < half < 2 and (binaries > 0) == (bound > 0)


def test_colliding_galaxies(tmp_path):
    rows = run("colliding_galaxies.py", tmp_path, "--bodies", "300", "--step", "0.125")
    assert len(rows) == 6 and rows[0][1] > 5
    # They have met.
    assert min(row[1] for row in rows) < 2.5
    assert all(abs(error) < 0.2 for _, _, error in rows)


def test_loop_integral(tmp_path):
    rows = run("loop_integral.py", tmp_path, "--points", "20", "40")
    assert [row[:2] for row in rows] == [[points, square] for points in (20, 40) for square in (1e-4, 1e-6, 1e-8)]
    errors = {tuple(row[:2]): row[3] for row in rows}
    assert errors[40, 1e-4] < 1e-3 and all(errors[40, square] < errors[20, square] / 5 for square in (1e-4, 1e-6))


def test_photon_mass(tmp_path):
    *rows, (without_mass, limit) = run("photon_mass.py", tmp_path, "--points", "120", "--masses", "5")
    rests = [row[2] for row in rows]
    assert len(rests) == 5 and all(abs(after) < 0.55 * abs(rest) for rest, after in zip(rests, rests[1:]))
    assert without_mass == 0 and abs(limit) < abs(rests[-1]) / 30


def test_star_cluster(tmp_path):
    rows = run("star_cluster.py", tmp_path, "--stars", "60", "--end", "0.5")
    assert len(rows) == 21 and all(abs(error) < 1e-5 and 0 < heavy < 3 for _, heavy, _, error in rows)


def test_primordial_binaries(tmp_path):
    rows = run("primordial_binaries.py", tmp_path, "--stars", "40", "--end", "0.03")
    assert len(rows) == 7 and all(count > 5 and axis < 5000 and abs(error) < 1e-5 for _, count, axis, error in rows)


def test_tidal_tail(tmp_path):
    rows = run("tidal_tail.py", tmp_path, "--stars", "60", "--end", "0.3")
    assert len(rows) == 21 and all(abs(error) < 1e-5 for *_, error in rows)
    # Stars leave the cluster for tails.
    assert rows[0][1] > 0.9 > 0.8 > rows[-1][1] and rows[0][2] < 1 and rows[-1][2] > 3


def test_planetary_gap(tmp_path):
    rows = run("planetary_gap.py", tmp_path, "--bodies", "300", "--orbits", "10")
    assert len(rows) == 11 and rows[0][1:] == [0, 1, 1, 1]
    _, hit, near, shared, far = rows[-1]
    assert hit > 10 and near < 0.5 and shared > 0.8 and far > 0.9


def test_rotation_curve(tmp_path):
    rows = run("rotation_curve.py", tmp_path, "--bodies", "20000")
    assert len(rows) == 10 and all(abs(halo / formula - 1) < 0.1 for _, _, halo, formula, _ in rows[1:])


def test_three_bodies(tmp_path):
    options = ("--points", "10", "--steps", "200", "--end", "0.8")
    [(systems, median, largest, error)] = run("three_bodies.py", tmp_path, *options)
    assert systems > 50 and median < largest and error < 0.1


def test_exchange_cross_sections(tmp_path):
    options = ("--systems", "600", "--speeds", "0.8", "2", "--time", "3000")
    slow, fast = run("exchange_cross_sections.py", tmp_path, *options)
    speed, exchange, error, fit, ionised, _, still_open = slow
    # The fit is good to 25 per cent, and there is no energy for ionisation.
    assert speed == 0.8 and fit == 3.91 and ionised == 0 < error
    assert 0.75 * fit - 3 * error - still_open < exchange < 1.25 * fit + 3 * error
    _, exchange, error, limit, ionised, ionised_limit, still_open = fast
    # Stars of twice the critical speed are not fast enough for the whole limit.
    assert 0 < exchange < limit + 3 * error and 0.3 < ionised / ionised_limit < 0.9 and still_open < 0.5


def test_kozai(tmp_path):
    low, high = run("kozai.py", tmp_path, "--inclinations", "30", "60", "--end", "4")
    assert low[1] < 0.03 and low[3] == 0 and low[6] < 0.01
    _, largest, theory, formula, when, when_by_theory, change = high
    assert formula == 0.7638 and max(abs(largest - theory), abs(theory - formula)) < 0.01
    assert abs(when - when_by_theory) < 0.2 and change < 0.02


def test_black_holes(tmp_path):
    options = ("--stars", "8", "--axis", "0.006", "--light", "100", "--end", "1")
    *rows, (time, bodies, *orbit) = run("black_holes.py", tmp_path, *options)
    assert len(rows) > 20 and all(row[1] == 10 for row in rows) and bodies == 9 and all(map(math.isnan, orbit))
    # Their speed is a seventh of that of light, so Peters' time has an error of a tenth.
    assert all(abs(merger / time - 1) < 0.15 for *_, merger in rows) and abs(rows[-1][-1] / time - 1) < 0.02
    assert rows[-1][2] < rows[0][2] / 2


def test_merging_black_holes(tmp_path):
    options = ("--stars", "30", "--axis", "0.03", "--eccentricity", "0.9", "--rows", "8")
    *rows, (time, bodies, _, _, expected) = run("merging_black_holes.py", tmp_path, *options)
    # The stars hardly change when Peters says that they merge.
    assert bodies == 31 and abs(time / expected - 1) < 1e-2
    assert len(rows) >= 7 and all(row[1] == 32 and abs(row[4] / time - 1) < 1e-2 for row in rows)
    assert all(one[2] > other[2] and one[3] > other[3] for one, other in zip(rows, rows[1:]))
