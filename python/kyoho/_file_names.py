"""The names that other codes give to what is read. The test `names` of crates/kyoho-files writes this
file from the tables there.
"""

COLUMNS = (
    ("mass", "m"),
    ("x", "pos_x", "x1"),
    ("y", "pos_y", "x2"),
    ("z", "pos_z", "x3"),
    ("vx", "vel_x", "v_x", "v1", "xdot"),
    ("vy", "vel_y", "v_y", "v2", "ydot"),
    ("vz", "vel_z", "v_z", "v3", "zdot"),
)
SOFTENINGS = ("eps",)
NO_UNITS = ("", "-", "1", "nbody", "n-body", "nb", "internal")
GADGET_TYPES = (
    "PartType0",
    "PartType1",
    "PartType2",
    "PartType3",
    "PartType4",
    "PartType5",
    "PartType6",
)
GADGET_POSITIONS = ("Coordinates",)
GADGET_VELOCITIES = ("Velocities", "Velocity")
GADGET_MASSES = ("Masses", "Mass", "DynamicalMasses")
GADGET_IDENTIFIERS = ("ParticleIDs",)
GADGET_UNITS = (
    ("Units", "Unit length in cgs (U_L)", "Unit mass in cgs (U_M)", "Unit time in cgs (U_t)", "s"),
    ("Units", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "cm/s"),
    ("Parameters", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "cm/s"),
    ("Header", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "cm/s"),
)
GADGET_COSMOLOGICAL = (
    ("Cosmology", "Cosmological run"),
    ("Parameters", "ComovingIntegrationOn"),
    ("Header", "ComovingIntegrationOn"),
    ("RuntimePars", "ComovingIntegrationOn"),
)
GADGET_HUBBLE = (("Header", "HubbleParam"), ("Parameters", "HubbleParam"))
AMUSE_SETS = ("data", "particles")
AMUSE_ATTRIBUTES = ("mass", "x", "y", "z", "vx", "vy", "vz")
OTHERS = (
    (b"\x1f\x8b", "a file compressed by gzip, which `gunzip -c FILE | kyoho run -` reads"),
    (b"BZh", "a file compressed by bzip2"),
    (b"\xfd7zXZ", "a file compressed by xz"),
    (b"(\xb5/\xfd", "a file compressed by zstd"),
    (b"PK\x03\x04", "a zip archive, such as numpy's npz"),
    (b"\x93NUMPY", "an array of numpy"),
    (b"SIMPLE  =", "a FITS file"),
    (b"SimArch", "an archive of REBOUND"),
    (b"\x80\x02", "a pickle of Python"),
    (b"\x80\x04", "a pickle of Python"),
    (b"\x80\x05", "a pickle of Python"),
    (b"\x00\x01\x00\x00", "Gadget's binary format"),
    (b"\x08\x00\x00\x00HEAD", "Gadget's binary format"),
    (b"kyoho snapshot", "a snapshot of Kyoho that was truncated"),
    (b"\x92\x0b", "a file of NEMO"),
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a document"),
)
FORMATS = (
    "HDF5 with masses (N), positions and velocities (N, 3); "
    "HDF5 of Gadget, SWIFT or AREPO with PartType0 to PartType6; "
    "HDF5 of AMUSE with particles or data; "
    "NBODY6's initial conditions, named dat.10; "
    "a text with a line mass x y z vx vy vz for each body, or with names of columns"
)
