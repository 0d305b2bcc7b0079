//! Bodies from the files that people have: texts, and HDF5 of several codes.
//!
//! [`FORMATS`] is the table of all formats. A further one is a module in `formats` and a line there.
//! Nothing that a file says is believed unchecked: files may be damaged.
//!
//! Python reads files by its own code, `python/kyoho/_files.py`, and HDF5 by h5py: with this crate
//! the library would be 1.1 MB larger, and the wheel larger than allowed. [`names`] are those of both.

pub mod content;
mod error;
mod formats;
pub mod hdf5;
pub mod names;
pub mod rows;

use std::path::Path;

pub use content::{Content, text};
pub use error::{Error, Result};

pub use formats::text::units_of;

use formats::{amuse, gadget, kyoho, nbody6, text as plain_text};
use kyoho_core::error::shown;

/// The bodies of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bodies {
    /// The masses, which are not negative.
    pub masses: Vec<f64>,
    /// The positions.
    pub positions: Vec<[f64; 3]>,
    /// The velocities.
    pub velocities: Vec<[f64; 3]>,
    /// The softening lengths, which are not negative, if the file has them.
    pub softenings: Option<Vec<f64>>,
    /// The units that the file tells: a length, a mass, and a time or a speed, as
    /// `kyoho_gravitational_constant` takes them.
    pub units: Option<String>,
}

impl Bodies {
    /// Fails if there are no bodies, or if a mass or a softening is negative.
    fn checked(self) -> Result<Bodies> {
        if self.masses.is_empty() {
            return Err(Error::file("there are no bodies in it"));
        }
        for (what, numbers) in [("mass", Some(&self.masses)), ("softening", self.softenings.as_ref())] {
            let Some(numbers) = numbers else { continue };
            if let Some(place) = numbers.iter().position(|number| *number < 0.0) {
                let (body, found) = (place + 1, shown(numbers[place]));
                return Err(Error::file(format!("the {what} of body {body} is {found}; allowed: zero and above")));
            }
        }
        Ok(self)
    }
}

/// A format.
pub struct Format {
    /// The things that a file in this format has, in errors about others.
    pub has: &'static str,
    /// Whether a file is in it.
    is_it: fn(&Content, &Path) -> Result<bool>,
    /// Reads a file.
    read: fn(&Content) -> Result<Bodies>,
}

/// All formats. The first one that a file may be in is taken.
pub const FORMATS: [Format; 5] = [
    Format { has: "HDF5 with masses (N), positions and velocities (N, 3)", is_it: kyoho::is_it, read: kyoho::read },
    Format {
        has: "HDF5 of Gadget, SWIFT or AREPO with PartType0 to PartType6",
        is_it: gadget::is_it,
        read: gadget::read,
    },
    Format { has: "HDF5 of AMUSE with particles or data", is_it: amuse::is_it, read: amuse::read },
    Format { has: "NBODY6's initial conditions, named dat.10", is_it: nbody6::is_it, read: nbody6::read },
    Format {
        has: "a text with a line mass x y z vx vy vz for each body, or with names of columns",
        is_it: plain_text::is_it,
        read: plain_text::read,
    },
];

/// Returns all formats in words.
pub fn formats() -> String {
    FORMATS.iter().map(|format| format.has).collect::<Vec<_>>().join("; ")
}

/// Reads the bodies of a file from its bytes and its name.
pub fn read(content: Vec<u8>, path: &Path) -> Result<Bodies> {
    let content = Content::of(content)?;
    for format in &FORMATS {
        if (format.is_it)(&content, path)? {
            return (format.read)(&content)?.checked();
        }
    }
    Err(Error::file(format!("{}; allowed: {}", content.found(), formats())))
}
