"""Files of bodies: those of other codes, which the crate kyoho-files tests too, and Kyoho's own."""

import hashlib
import os
import pathlib
import sys

import numpy
import pytest

import kyoho

try:
    import h5py
except ImportError:
    h5py = None
needs_h5py = pytest.mark.skipif(h5py is None, reason="h5py is not there")

DATA = pathlib.Path(__file__).parents[2] / "crates/kyoho-files/tests/data"
# The bodies that all files there have.
MASSES = [1.0, 0.5, 0.25, 2.0]
POSITIONS = [[1, 2, 3], [-4, 5.5, 6], [0, 0, 0.125], [7, -8, 9]]
VELOCITIES = [[0.5, 0, 0], [0, -0.25, 1], [2, 3, 4], [0, 0, -1]]
IDENTIFIERS = [11, 7, 5, 2**40]


def text(tmp_path, content, name="stars.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def error(path):
    with pytest.raises(kyoho.Error) as found:
        kyoho.read(path)
    return str(found.value).replace(str(path), "FILE")


@needs_h5py
@pytest.mark.parametrize(
    ("name", "units", "G", "time"),
    [
        ("gadget2", False, None, 0.75),
        # Lengths and masses are divided by Hubble's parameter, so that the constant is the same.
        ("gadget4", True, 43007.1, 0.75),
        ("arepo", True, 43007.1, 0.75),
        ("swift", True, 43007.1, 0.75),
        ("amuse_1", True, 4.30125e-3, 0.75 * 1.02271),
        ("amuse_2", True, 4.30125e-3, 0.75 * 1.02271),
        ("hdf5_2", True, 4.30125e-3, None),
        ("amuse_nbody", False, None, None),
    ],
)
def test_files_of_other_codes(name, units, G, time):
    if name == "hdf5_2" and h5py.version.hdf5_version_tuple < (2,):
        assert "it cannot be read as HDF5" in error(DATA / f"{name}.hdf5")
        return
    found = kyoho.read(DATA / f"{name}.hdf5")
    assert found.masses.tolist() == MASSES
    assert found.positions.tolist() == POSITIONS
    assert found.velocities.tolist() == VELOCITIES
    assert found.identifiers.tolist() == IDENTIFIERS and found.identifiers.dtype == numpy.int64
    assert found.time == (None if time is None else pytest.approx(time, rel=1e-4))
    assert (found.units is not None) == units
    if units:
        assert kyoho.gravitational_constant(found.units) == pytest.approx(G, rel=1e-3)


@needs_h5py
def test_what_would_be_misread_is_refused(tmp_path):
    assert "it is of a cosmological run in comoving coordinates, with the scale factor 0.25" in error(
        DATA / "cosmological.hdf5"
    )
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["stars/x"] = [1.0]
    assert error(tmp_path / "other.h5").startswith("FILE: it is HDF5 with stars; allowed: HDF5 with masses (N), ")
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file.create_group("Header").attrs["NumFilesPerSnapshot"] = 4
        file["PartType1/Coordinates"] = POSITIONS
    assert error(tmp_path / "part.h5") == "FILE: it is one of 4 files of a snapshot; allowed: snapshots in one file"


@needs_h5py
def test_numbers_of_other_files_are_not_taken_for_zeros(tmp_path):
    layout = h5py.VirtualLayout((4, 3), "f8")
    layout[:] = h5py.VirtualSource("elsewhere.h5", "positions", (4, 3))
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file["masses"], file["velocities"] = MASSES, VELOCITIES
        file.create_virtual_dataset("positions", layout)
    assert "'positions': its numbers are in other files" in error(tmp_path / "virtual.h5")
    with h5py.File(tmp_path / "words.h5", "w") as file:
        file["masses"] = ["a"]
    assert "the dataset 'masses': it is of object; allowed: numbers" in error(tmp_path / "words.h5")


@needs_h5py
def test_rows_that_a_file_cannot_have_are_not_asked_for(tmp_path):
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_dataset("masses", shape=(10**8,), dtype="f8", chunks=(1000,))
    assert "the dataset 'masses': it has 100000000 rows, more than a file of" in error(tmp_path / "empty.h5")


@needs_h5py
def test_groups_have_as_many_bodies_as_headers_tell(tmp_path):
    # Here links are followed.
    assert kyoho.read(DATA / "linked.hdf5").masses.tolist() == MASSES
    for counts, words in (
        ([0, 2], "the dataset 'PartType1/Coordinates' has 4 rows; allowed: 2, as NumPart_ThisFile of its header tells"),
        ([1, 4], "its header tells of 1 bodies of 'PartType0', which is not there; allowed: groups in the file itself"),
    ):
        with h5py.File(tmp_path / "counts.h5", "w") as file:
            file.create_group("Header").attrs["NumPart_ThisFile"] = counts
            group = file.create_group("PartType1")
            group["Coordinates"], group["Velocities"], group["Masses"] = POSITIONS, VELOCITIES, MASSES
        assert words in error(tmp_path / "counts.h5")


@needs_h5py
@pytest.mark.parametrize("name", [path.name for path in sorted(DATA.glob("*.hdf5"))])
def test_damaged_files_are_errors(tmp_path, name):
    whole = (DATA / name).read_bytes()
    for length in range(0, len(whole), 64):
        error(text(tmp_path, whole[:length]))


@pytest.mark.parametrize("name", ["stars.txt", pytest.param("stars.h5", marks=needs_h5py)])
@pytest.mark.parametrize("has_all", [False, True])
def test_what_is_written_is_read_with_the_same_bits(tmp_path, name, has_all):
    random = numpy.random.RandomState(5)
    positions, velocities = random.normal(size=(2, 50, 3)) * 10.0 ** random.randint(-300, 300, size=(2, 50, 3))
    masses = random.uniform(size=50)
    identifiers = numpy.arange(50) + (2**63 - 50)
    eps = random.uniform(size=50)
    more = {"identifiers": identifiers, "time": 0.1, "units": "kpc 1e10Msun km/s", "eps": eps} if has_all else {}
    kyoho.write(tmp_path / name, positions, masses, velocities, **more)
    found = kyoho.read(str(tmp_path / name))
    for array, expected in zip(found[:3], (masses, positions, velocities)):
        assert array.dtype == numpy.float64 and numpy.array_equal(array, expected)
    assert (found.time, found.units) == (more.get("time"), more.get("units"))
    assert numpy.array_equal(found.identifiers, identifiers) if has_all else found.identifiers is None
    assert numpy.array_equal(found.eps, eps) if has_all else found.eps is None
    kyoho.write(tmp_path / name, positions, masses)
    assert not kyoho.read(tmp_path / name).velocities.any()
    for given, words in (
        ((positions[:3], masses), r"positions has the shape \(3, 3\); allowed: \(50, 3\)"),
        ((positions, masses, velocities * numpy.inf), "velocities has a number that is not finite"),
        ((positions, masses), "units is 'furlong'"),
    ):
        with pytest.raises(kyoho.Error, match=words):
            kyoho.write(tmp_path / name, *given, units="furlong" if "furlong" in words else None)
    with pytest.raises(kyoho.Error, match="nowhere"):
        kyoho.write(tmp_path / "nowhere" / name, positions, masses)
    assert "No such file" in error(tmp_path / "nothing")


def test_columns_of_texts(tmp_path):
    row = [[1.5, 2, 3, 4, 5, 6, 7]]
    of_mcluster = "#Mass_[Msun]\tx_[pc]\ty_[pc]\tz_[pc]\tvx_[km/s]\tvy_[km/s]\tvz_[km/s]\n1.5 2 3 4 5 6 7 1 2\n"
    for content, units in (
        ("1.5 2 3 4 5 6 7", None),
        (b"\xef\xbb\xbfid,m,x,y,z,vx,vy,vz,\r\n12,1.5D0,2,3,4,5,6,7,\r\n", None),
        (of_mcluster, "pc Msun km/s"),
        ("# a comment\nvx vy vz x y z mass\n5 6 7 2 3 .4+1 1.5\n\n", None),
        ("# units AU Msun yr\n1.5;2;3;4;5;6;7", "AU Msun yr"),
    ):
        found = kyoho.read(text(tmp_path, content))
        assert numpy.column_stack(found[:3]).tolist() == row and found.units == units, content
        assert (found.identifiers is not None) == ("id," in str(content))
    assert kyoho.read(text(tmp_path, "1.5 2 3 4 5 6 7 8 9", "dat.10")).masses.tolist() == [1.5]


def test_texts_may_have_a_column_of_softenings(tmp_path):
    names = "m,x,y,z,eps,vx,vy,vz"
    assert kyoho.read(text(tmp_path, f"{names}\n1,2,3,4,.5,5,6,7\n1,2,3,4,0,5,6,7\n")).eps.tolist() == [0.5, 0]
    for content, words in (
        (f"{names}\n1,2,3,4,-.5,5,6,7", "FILE, line 2: the softening is -0.5; allowed: zero and above"),
        (f"{names}\n1,2,3,4,,5,6,7", "FILE, line 2: '' is not a finite number"),
        (f"{names},eps\n", "FILE, line 1: two columns have the name 'eps'; allowed: one each of"),
    ):
        assert error(text(tmp_path, content)).startswith(words)
    units = "m (kg),x (m),y (m),z (m),vx (m/s),vy (m/s),vz (m/s),eps (km)\n1,2,3,4,5,6,7,8\n"
    assert "columns are in 'm' and in 'km'; allowed: one unit of lengths" in error(text(tmp_path, units))
    found = kyoho.read(text(tmp_path, units.replace("eps (km)", "eps")))
    assert (found.eps.tolist(), found.units) == ([8], "m kg m/s")
    for wrong in ([-1.0, 1.0], [1.0]):
        with pytest.raises(kyoho.Error, match="eps has"):
            kyoho.write(tmp_path / "stars.txt", POSITIONS[:2], [1, 1], eps=wrong)


def test_lines_may_end_as_in_old_systems(tmp_path):
    for name in ("stars.txt", "dat.10"):
        found = kyoho.read(text(tmp_path, "# units AU Msun yr\r1 2 3 4 5 6 7\r8 2 3 4 5 6 7\r", name))
        assert found.masses.tolist() == [1, 8] and found.units == "AU Msun yr"


def test_identifiers_are_integers_of_64_bits(tmp_path):
    def of(*identifiers):
        lines = "".join(f"1 2 3 4 5 6 7 {one}\n" for one in identifiers)
        return text(tmp_path, f"# m x y z vx vy vz id\n{lines}")

    found = kyoho.read(of(2**64 - 1, 1)).identifiers
    assert found.dtype == numpy.uint64 and found.tolist() == [2**64 - 1, 1]
    for others in (("1_0", 2), ("a", 2), (1.5, 2)):
        assert kyoho.read(of(*others)).identifiers is None
    allowed = "allowed: integers of 64 bits, all with a sign or all without one"
    assert error(of(2**63, -1)) == f"FILE: the identifiers are from -1 to {2**63}; {allowed}"
    assert error(of(2**70)) == f"FILE: the identifiers are from {2**70} to {2**70}; {allowed}"


@needs_h5py
def test_identifiers_of_hdf5_are_one_for_each_body(tmp_path):
    def own(identifiers):
        with h5py.File(tmp_path / "stars.h5", "w") as file:
            for name, array in zip(("masses", "positions", "velocities"), (MASSES, POSITIONS, VELOCITIES)):
                file[name] = array
            file["identifiers"] = identifiers
        return tmp_path / "stars.h5"

    for shape in ((3,), (4, 2), ()):
        said = error(own(numpy.ones(shape, dtype=numpy.int64)))
        assert said == f"FILE: the dataset 'identifiers': its shape is {shape}; allowed: (4,)"
    assert kyoho.read(own(numpy.ones(4))).identifiers is None
    # Groups of bodies may have identifiers of different types.
    with h5py.File(tmp_path / "gadget.hdf5", "w") as file:
        for name, dtype in (("PartType1", numpy.int64), ("PartType4", numpy.uint64)):
            arrays = (MASSES, POSITIONS, VELOCITIES, numpy.array(IDENTIFIERS, dtype=dtype))
            for what, array in zip(("Masses", "Coordinates", "Velocities", "ParticleIDs"), arrays):
                file[f"{name}/{what}"] = array
    found = kyoho.read(tmp_path / "gadget.hdf5").identifiers
    assert found.dtype == numpy.int64 and found.tolist() == 2 * IDENTIFIERS


@pytest.mark.parametrize("name", ["stars.txt", pytest.param("stars.h5", marks=needs_h5py)])
def test_what_could_not_be_read_is_not_written(tmp_path, name):
    path = tmp_path / name
    kyoho.write(path, POSITIONS, MASSES, units=" pc\tMsun\nMyr")
    assert kyoho.read(path).units == "pc Msun Myr"
    for positions, masses, words in (
        (POSITIONS, numpy.negative(MASSES), "masses has the number -2.0; allowed: zero and above"),
        (numpy.zeros((0, 3)), [], "there are no bodies"),
    ):
        with pytest.raises(kyoho.Error, match=words):
            kyoho.write(path, positions, masses)
    assert kyoho.read(path).masses.tolist() == MASSES
    for wrong in (f"{path}\0{name}", f"{tmp_path}/\ud800{name}"):
        with pytest.raises(kyoho.Error):
            kyoho.write(wrong, POSITIONS, MASSES)
    assert sorted(os.listdir(tmp_path)) == [name]


def test_snapshots_of_the_command_are_checked(tmp_path):
    lines = "# kyoho snapshot 2\n# order 2\n# time 0.25\n# mass x y z vx vy vz ax ay az step\n1 2 3 4 5 6 7 8 9 10 1\n"
    whole = f"{lines}# end 1 bodies, sha256 {hashlib.sha256(lines.encode()).hexdigest()}\n"
    found = kyoho.read(text(tmp_path, whole))
    assert found.masses.tolist() == [1] and found.time == 0.25
    for wrong in (lines, whole.replace("1 2 3", "1 2 4")):
        assert "it was truncated or changed" in error(text(tmp_path, wrong))


def test_wrong_texts_are_named_with_the_line(tmp_path):
    seven = "allowed: 7 numbers with spaces between them, mass x y z vx vy vz"
    for content, words in (
        ("# c\n\n1 2 3\n", f"FILE, line 3: it has 3 words; {seven}"),
        ("1 2 3 4 5 6 7\n1 2 x 4 5 6 7", "FILE, line 2: 'x' is not a finite number"),
        ("1 2 nan 4 5 6 7", "FILE, line 1: 'nan' is not a finite number"),
        ("1 \u0662 3 4 5 6 7", "FILE, line 1: '\u0662' is not a finite number"),
        ("# time nan\n1 2 3 4 5 6 7", "FILE: the time is nan; allowed: finite numbers"),
        ("-1 2 3 4 5 6 7", "FILE, line 1: the mass is -1.0; allowed: zero and above"),
        ("m,x,y,z,vx,vy\n", "FILE, line 1: no column has the name 'vz'; allowed: one each of mass (or m)"),
        ("# nothing\n", "FILE: there are no bodies in it"),
        ("# units pc Msun furlong\n1 2 3 4 5 6 7", "FILE: units is 'pc Msun furlong'; allowed: SI"),
        (b"1 2\r\xff", "FILE, line 2: it has a byte that is not text; allowed: UTF-8"),
        (b"1 2\r\n\xff", "FILE, line 2: it has a byte that is not text; allowed: UTF-8"),
        (b"\xff\xfe1\0", "FILE: it is a text in UTF-16; allowed: UTF-8"),
        (b"\x1f\x8b\x08", "FILE: it looks like a file compressed by gzip"),
        (b"SIMPLE  =  T", "FILE: it looks like a FITS file; allowed: HDF5 with masses (N), positions"),
    ):
        assert error(text(tmp_path, content)).startswith(words)
    with pytest.raises(kyoho.Error, match="path is 3; allowed: the name of a file"):
        kyoho.read(3)


def test_hdf5_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert error(DATA / "swift.hdf5") == "FILE: HDF5 needs the package h5py; `pip install h5py` brings it"
