//! The names that other codes give to what Kyoho reads. The Python package has a copy of these
//! tables, which the test `names` writes.

/// The names of the columns of texts, in small letters: of the mass, of three coordinates and of three
/// velocities. The first of each is the one in messages.
pub const COLUMNS: [&[&str]; 7] = [
    &["mass", "m"],
    &["x", "pos_x", "x1"],
    &["y", "pos_y", "x2"],
    &["z", "pos_z", "x3"],
    &["vx", "vel_x", "v_x", "v1", "xdot"],
    &["vy", "vel_y", "v_y", "v2", "ydot"],
    &["vz", "vel_z", "v_z", "v3", "zdot"],
];

/// Those of the column of softening lengths, which a text may have, and the name of the dataset in
/// Kyoho's HDF5.
pub const SOFTENINGS: &[&str] = &["eps"];

/// What stands in the place of a unit behind the name of a column that has none, in small letters.
pub const NO_UNITS: &[&str] = &["", "-", "1", "nbody", "n-body", "nb", "internal"];

/// The groups of bodies of Gadget, SWIFT and AREPO.
pub const GADGET_TYPES: [&str; 7] =
    ["PartType0", "PartType1", "PartType2", "PartType3", "PartType4", "PartType5", "PartType6"];
/// The datasets of positions in such a group.
pub const GADGET_POSITIONS: &[&str] = &["Coordinates"];
/// Those of velocities.
pub const GADGET_VELOCITIES: &[&str] = &["Velocities", "Velocity"];
/// Those of masses.
pub const GADGET_MASSES: &[&str] = &["Masses", "Mass", "DynamicalMasses"];

/// Those of identifiers, which the Python package returns.
pub const GADGET_IDENTIFIERS: &[&str] = &["ParticleIDs"];

/// Where the units of a length, of a mass, and of a time or a speed are in grams, centimetres and
/// seconds: a group, its three attributes, and the last unit.
pub const GADGET_UNITS: &[[&str; 5]] = &[
    ["Units", "Unit length in cgs (U_L)", "Unit mass in cgs (U_M)", "Unit time in cgs (U_t)", "s"],
    ["Units", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "cm/s"],
    ["Parameters", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "cm/s"],
    ["Header", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "cm/s"],
];
/// Where a file says whether the run is cosmological: a group and its attribute.
pub const GADGET_COSMOLOGICAL: &[[&str; 2]] = &[
    ["Cosmology", "Cosmological run"],
    ["Parameters", "ComovingIntegrationOn"],
    ["Header", "ComovingIntegrationOn"],
    ["RuntimePars", "ComovingIntegrationOn"],
];
/// Where a file has Hubble's constant in units of 100 km/s/Mpc, by which units are divided.
pub const GADGET_HUBBLE: &[[&str; 2]] = &[["Header", "HubbleParam"], ["Parameters", "HubbleParam"]];

/// The groups of sets of particles of AMUSE, in its versions 2 and 1.
pub const AMUSE_SETS: &[&str] = &["data", "particles"];
/// The datasets of the mass, of three coordinates and of three velocities in the group `attributes`.
pub const AMUSE_ATTRIBUTES: [&str; 7] = ["mass", "x", "y", "z", "vx", "vy", "vz"];

/// How files begin that have bodies of other kinds, or none, and what they look like.
pub const OTHERS: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a file compressed by gzip, which `gunzip -c FILE | kyoho run -` reads"),
    (b"BZh", "a file compressed by bzip2"),
    (b"\xfd7zXZ", "a file compressed by xz"),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd"),
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
];
