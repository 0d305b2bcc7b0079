//! Files of other codes, as their own layouts have them, and damaged ones.

use std::path::{Path, PathBuf};

use kyoho_files::{Bodies, read};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn error(content: &[u8], name: &str) -> String {
    read(content.to_vec(), Path::new(name)).unwrap_err().to_string()
}

/// The bodies that all files have, without units.
fn expected() -> Bodies {
    Bodies {
        masses: vec![1.0, 0.5, 0.25, 2.0],
        positions: vec![[1.0, 2.0, 3.0], [-4.0, 5.5, 6.0], [0.0, 0.0, 0.125], [7.0, -8.0, 9.0]],
        velocities: vec![[0.5, 0.0, 0.0], [0.0, -0.25, 1.0], [2.0, 3.0, 4.0], [0.0, 0.0, -1.0]],
        softenings: None,
        units: None,
    }
}

/// All files that can be read, and their units.
const FILES: [(&str, Option<&str>); 7] = [
    ("gadget2.hdf5", None),
    // Lengths and masses are divided by Hubble's parameter, which is 0.5.
    ("gadget4.hdf5", Some("6.171356e21cm 3.978e43g 1e5cm/s")),
    ("arepo.hdf5", Some("3.085678e21cm 1.989e43g 1e5cm/s")),
    ("swift.hdf5", Some("3.085678e21cm 1.989e43g 3.085678e16s")),
    ("amuse_1.hdf5", Some("3.08567758128e16m 1.98892e30kg 1e3m/s")),
    ("amuse_2.hdf5", Some("3.08567758128e16m 1.98892e30kg 1e3m/s")),
    ("amuse_nbody.hdf5", None),
];

#[test]
fn files_of_other_codes_have_their_bodies_and_units() {
    for (name, units) in FILES {
        let found = read(bytes(name), Path::new(name)).unwrap();
        assert_eq!(found, Bodies { units: units.map(String::from), ..expected() }, "{name}");
    }
}

#[test]
fn what_would_be_misread_is_refused_with_a_sentence() {
    let cosmological = error(&bytes("cosmological.hdf5"), "a.hdf5");
    let said = "it is of a cosmological run in comoving coordinates, with the scale factor 0.25; allowed: runs without \
                expansion, or a copy in physical coordinates whose velocities include Hubble's flow";
    assert_eq!(cosmological, said);
    let newest = error(&bytes("hdf5_2.hdf5"), "a.hdf5");
    assert!(newest.contains("it is in the newest format of HDF5 2.0; allowed: those up to HDF5 1.14"), "{newest}");
    let linked = error(&bytes("linked.hdf5"), "a.hdf5");
    assert_eq!(
        linked,
        "its header tells of 1 bodies of 'PartType1', which is not there; allowed: groups in the file itself, no \
         links to others"
    );
    for (beginning, what) in [
        (&b"\x1f\x8b\x08\x00"[..], "a file compressed by gzip, which `gunzip -c FILE | kyoho run -` reads"),
        (b"SIMPLE  =                    T", "a FITS file"),
        (b"\x00\x01\x00\x00\x00\x00\x00\x00", "Gadget's binary format"),
        (b"\x93NUMPY\x01\x00", "an array of numpy"),
    ] {
        let found = error(beginning, "a.dat");
        assert!(found.starts_with(&format!("it looks like {what}; allowed: HDF5 with masses (N), ")), "{found}");
        assert!(found.ends_with("a text with a line mass x y z vx vy vz for each body, or with names of columns"));
    }
    assert_eq!(error(b"1 2\n\xff\n", "a"), "line 2: it has a byte that is not text; allowed: UTF-8");
    assert_eq!(error(b"\xff\xfe1\0", "a"), "it is a text in UTF-16; allowed: UTF-8");
}

#[test]
fn a_mark_at_the_beginning_and_other_ends_of_lines_are_no_part_of_a_text() {
    let found = read(b"\xef\xbb\xbfm,x,y,z,vx,vy,vz,\r\n1,2,3,4,5,6,7,\r\n".to_vec(), Path::new("-")).unwrap();
    assert_eq!((found.masses, found.positions), (vec![1.0], vec![[2.0, 3.0, 4.0]]));
}

/// A carriage return alone would join all lines to one, of which `dat.10` would have one body.
#[test]
fn lines_may_end_as_in_old_systems() {
    for name in ["stars.txt", "dat.10"] {
        let found = read(b"# units AU Msun yr\r1 2 3 4 5 6 7\r8 2 3 4 5 6 7\r".to_vec(), Path::new(name)).unwrap();
        assert_eq!((found.masses, found.units.as_deref()), (vec![1.0, 8.0], Some("AU Msun yr")));
    }
}

#[test]
fn initial_conditions_of_nbody6_may_have_more_numbers() {
    let text = b"  0.5D+00  1. 2. 3.  4. 5. 6.  17 0.1\n  0.5D+00 -1. 2. 3.  4. 5. 6.  18 0.1\n";
    assert_eq!(read(text.to_vec(), Path::new("run/dat.10")).unwrap().masses, [0.5; 2]);
    assert!(error(text, "run/dat.txt").starts_with("line 1: it has 9 words; allowed: 7 numbers"));
}

/// Headers of groups in the formats of HDF5 1.8 and later have checksums.
#[test]
fn what_cannot_be_read_is_not_taken_for_what_is_not_there() {
    let (name, whole) = ("amuse_2.hdf5", bytes("amuse_2.hdf5"));
    let headers = whole.windows(4).enumerate().filter(|(_, bytes)| *bytes == b"OHDR").map(|(place, _)| place);
    let mut refused = 0;
    for place in headers {
        let mut changed = whole.clone();
        changed[place + 8] ^= 0x40;
        match read(changed, Path::new(name)) {
            // It is of what nobody reads.
            Ok(found) => assert_eq!((found.masses, found.units.is_some()), (expected().masses, true)),
            Err(error) => {
                let found = error.to_string();
                assert!(found.contains("cannot be read: ") || found.contains("the dataset '"), "{place}: {found}");
                refused += 1;
            }
        }
    }
    assert!(refused > 8, "{refused}");
}

/// What is cut or changed is an error or has finite bodies, and takes no more memory than it has rows.
#[test]
fn damaged_files_do_no_harm() {
    for (name, _) in FILES {
        let whole = bytes(name);
        for length in (0..whole.len()).step_by(64) {
            let found = read(whole[..length].to_vec(), Path::new(name));
            // What an HDF5 file says of its length is not met.
            assert!(found.is_err(), "{name} of {length} bytes: {found:?}");
        }
        for place in (0..whole.len()).step_by(61) {
            let mut changed = whole.clone();
            changed[place] ^= [0x01, 0x80, 0xff][place / 61 % 3];
            if let Ok(found) = read(changed, Path::new(name)) {
                let numbers = found.positions.iter().chain(&found.velocities).flatten().chain(&found.masses);
                assert!(numbers.clone().count() <= 7 * 64 && numbers.clone().all(|number| number.is_finite()));
            }
        }
    }
}
