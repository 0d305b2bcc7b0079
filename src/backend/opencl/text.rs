//! The GPU text that the library embeds, put together for an OpenCL compiler.

use std::fmt::Write;

use crate::backend::gpu::shapes::{SHAPES, Shape, WIDE_SHAPES};
use crate::catalogue::Descriptor;
use crate::error::{Error, Result};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// The files of `kernels/` that units are made of.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../kernels/", $name)))),*];
    };
}

files![
    "prelude_opencl.h",
    "prelude_wide.h",
    "unit.h",
    "unit_wide.h",
    "body.h",
    "pair.h",
    "wide.h",
    "wide_pair.h",
    "step.h",
    "fetch.h",
    "sources.h",
    "wide_sources.h",
    "parts.h",
    "wide_parts.h",
    "force.h",
    "wide_sums.h",
    "wide_force.h",
];

/// What every OpenCL compiler is told: the language of all vendors, numbers below the normal ones as CUDA has them, and no
/// warnings, which some print.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-denorms-are-zero -w";

/// The kernels of an order and a precision for a family of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Groups of many threads.
    Groups,
    /// One thread a group, with so many sinks in the lanes of a vector.
    Wide(usize),
}

impl Unit {
    /// The text.
    pub fn text(self) -> Result<String> {
        let unit = match self {
            Unit::Groups => "unit.h",
            Unit::Wide(_) => "unit_wide.h",
        };
        let mut text = String::new();
        expand("prelude_opencl.h", &mut text)?;
        expand(unit, &mut text)?;
        Ok(text)
    }

    /// The compiler's options.
    pub fn options(self, descriptor: &Descriptor) -> String {
        let (order, precision) = (descriptor.order as i32, descriptor.precision as i32);
        let mut options = format!("{OPTIONS} -DORDER={order} -DPRECISION={precision}");
        if let Unit::Wide(width) = self {
            // Writing to a text does not fail.
            let _ = write!(options, " -DWIDTH={width}");
        }
        options
    }

    /// The launch shapes that it has kernels of.
    pub fn shapes(self) -> &'static [Shape] {
        match self {
            Unit::Groups => &SHAPES,
            Unit::Wide(_) => &WIDE_SHAPES,
        }
    }

    /// What it is, for people.
    pub fn name(self, descriptor: &Descriptor) -> String {
        let what = format!("order {} {}", descriptor.order as i32, descriptor.precision.name());
        match self {
            Unit::Groups => what,
            Unit::Wide(width) => format!("{what}, vectors of {width}"),
        }
    }
}

/// Appends the lines of a file, those that include another replaced by that.
fn expand(name: &str, text: &mut String) -> Result<()> {
    let missing = || Error::Internal { what: format!("there is no GPU text {name}") };
    let (_, file) = FILES.iter().find(|(known, _)| *known == name).ok_or_else(missing)?;
    for line in file.lines() {
        match line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(included) => expand(included, text)?,
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_one_text_with_a_kernel_of_each_shape() {
        for unit in [Unit::Groups, Unit::Wide(8)] {
            let (text, shapes) = (unit.text().unwrap(), unit.shapes());
            assert!(!text.contains("#include"));
            for shape in shapes {
                assert_eq!(text.matches(&format!("#define FORCE_NAME {}\n", shape.name)).count(), 1, "{}", shape.name);
            }
            assert_eq!(text.matches("#define FORCE_NAME ").count(), shapes.len());
            for kernel in ["fetch", "predict_sources", "end_block", "find_neighbours"] {
                assert_eq!(text.matches(&format!("\n{kernel}(")).count(), 1, "{kernel}");
            }
        }
    }

    #[test]
    fn every_file_is_of_some_unit() {
        let both = [Unit::Groups, Unit::Wide(4)].map(|unit| unit.text().unwrap()).concat();
        for (name, file) in FILES {
            let first = file.lines().find(|line| !line.starts_with("#include")).unwrap();
            assert!(both.contains(first), "{name}");
        }
    }
}
