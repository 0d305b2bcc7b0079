"""Makes the files of this folder: with h5py those of other codes' layouts, and with AMUSE its own.

    python make.py [amuse]
"""

import sys

import numpy

# The bodies of all files: the mass, the position and the velocity are exact in single precision.
MASSES = numpy.array([1.0, 0.5, 0.25, 2.0])
POSITIONS = numpy.array([[1, 2, 3], [-4, 5.5, 6], [0, 0, 0.125], [7, -8, 9]])
VELOCITIES = numpy.array([[0.5, 0, 0], [0, -0.25, 1], [2, 3, 4], [0, 0, -1]])
IDENTIFIERS = numpy.array([11, 7, 5, 2**40], dtype="u8")


def bodies(file, name, rows, dtype="f4", masses="Masses", attributes=(), **filters):
    """Writes some bodies as a group."""
    group = file.create_group(name)
    columns = {"Coordinates": POSITIONS, "Velocities": VELOCITIES, masses: MASSES}
    for column, values in columns.items():
        if column:
            dataset = group.create_dataset(column, data=values[rows], dtype=dtype, **filters)
            dataset.attrs.update(dict(attributes).get(column, {}))
    group.create_dataset("ParticleIDs", data=IDENTIFIERS[rows], **filters)
    return group


def header(file, table, time, **more):
    group = file.create_group("Header")
    group.attrs["MassTable"] = table
    group.attrs["Time"] = time
    group.attrs["NumFilesPerSnapshot"] = 1
    group.attrs.update({"Redshift": 0.0, "Omega0": 0.0, "HubbleParam": 1.0, **more})


def with_h5py():
    import h5py

    packed = {"compression": "gzip", "shuffle": True, "fletcher32": True, "chunks": True}
    with h5py.File("gadget2.hdf5", "w") as file:
        header(file, [0, 0, 0.5, 0, 0, 0], 0.75)
        bodies(file, "PartType1", slice(0, 1))
        bodies(file, "PartType2", slice(1, 2), masses=None)
        bodies(file, "PartType4", slice(2, 4), **packed)
    cgs = {"UnitLength_in_cm": 3.085678e21, "UnitMass_in_g": 1.989e43, "UnitVelocity_in_cm_per_s": 1e5}
    with h5py.File("gadget4.hdf5", "w") as file:
        header(file, numpy.zeros(2), 0.75, HubbleParam=0.5)
        file.create_group("Parameters").attrs.update({**cgs, "ComovingIntegrationOn": 0, "HubbleParam": 0.5})
        scaled = {"Coordinates": {"h_scaling": -1.0, "a_scaling": 1.0}}
        bodies(file, "PartType1", slice(0, 4), "f8", attributes=scaled)
    with h5py.File("arepo.hdf5", "w") as file:
        header(file, numpy.zeros(6), 0.75, **cgs)
        bodies(file, "PartType0", slice(0, 3), "f8")
        file.create_group("PartType3")["TracerID"] = [1, 2]
        bodies(file, "PartType5", slice(3, 4), "f8")
    with h5py.File("swift.hdf5", "w") as file:
        counts = numpy.array([0, 2, 0, 0, 1, 1, 0])
        header(file, numpy.zeros(7), numpy.array([0.75]), Redshift=numpy.array([0.0]), NumPart_ThisFile=counts)
        names = {"length": "U_L", "mass": "U_M", "time": "U_t"}
        sizes = {"length": 3.085678e21, "mass": 1.989e43, "time": 3.085678e16}
        units = file.create_group("Units")
        for kind, name in names.items():
            units.attrs[f"Unit {kind} in cgs ({name})"] = numpy.array([sizes[kind]])
        file.create_group("Cosmology").attrs["Cosmological run"] = numpy.array([0])
        bodies(file, "PartType1", slice(0, 2), "f8")
        bodies(file, "PartType4", slice(2, 3), "f8")
        bodies(file, "PartType5", slice(3, 4), "f8", masses="DynamicalMasses")
        for name, place in {"DMParticles": 1, "StarsParticles": 4, "BHParticles": 5}.items():
            file[name] = h5py.SoftLink(f"/PartType{place}")
    with h5py.File("linked.hdf5", "w", libver=("v110", "v110")) as file:
        header(file, numpy.zeros(6), 0.75, NumPart_ThisFile=[3, 1, 0, 0, 0, 0])
        bodies(file, "PartType0", slice(0, 3), "f8")
        bodies(file, "Others", slice(3, 4), "f8")
        file["PartType1"] = h5py.SoftLink("/Others")
    with h5py.File("cosmological.hdf5", "w") as file:
        header(file, numpy.zeros(6), 0.25, Redshift=3.0, Omega0=0.3, HubbleParam=0.7)
        bodies(file, "PartType1", slice(0, 4))


def with_amuse():
    import h5py
    from amuse.io import store_v2
    from amuse.lab import Particles, nbody_system, units, write_set_to_file

    def particles(mass, length, speed):
        made = Particles(keys=IDENTIFIERS)
        made.mass, made.position, made.velocity = MASSES | mass, POSITIONS | length, VELOCITIES | speed
        return made

    def write(set_of_bodies, name, version="2.0", append=False):
        write_set_to_file(
            set_of_bodies, name, "amuse", version=version, overwrite_file=not append, append_to_file=append
        )

    stars = particles(units.MSun, units.parsec, units.kms)
    moved = stars.copy()
    moved.position += 1 | units.parsec
    # As HDF5 2.0 has it, where that is here.
    write(stars, "hdf5_2.hdf5")

    class Older:
        """The newest format of HDF5 1.14, which AMUSE has written for years."""

        @staticmethod
        def File(name, mode, libver):
            return h5py.File(name, mode, libver=("v114", "v114"))

        def __getattr__(self, name):
            return getattr(h5py, name)

    store_v2.h5py = Older()
    write(stars.savepoint(0.75 | units.Myr), "amuse_1.hdf5", "1.0")
    write(moved, "amuse_2.hdf5")
    write(stars.savepoint(0.75 | units.Myr), "amuse_2.hdf5", append=True)
    write(particles(nbody_system.mass, nbody_system.length, nbody_system.speed), "amuse_nbody.hdf5")


if sys.argv[1:] == ["amuse"]:
    with_amuse()
else:
    with_h5py()
