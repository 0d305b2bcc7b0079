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
    "left_out.h",
    "wide_left_out.h",
    "parts.h",
    "wide_parts.h",
    "force.h",
    "wide_sums.h",
    "wide_force.h",
];

/// What every OpenCL compiler is told: the language of all vendors, numbers below the normal ones as CUDA has them, and
/// no warnings, which some print.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-denorms-are-zero -w";

/// The kernels of an entry of the catalogue for a family of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Groups of many threads.
    Groups {
        /// Whether NVIDIA's compiler reads it, which takes its GPUs' own instructions.
        is_nvidia: bool,
    },
    /// One thread a group, with so many sinks in the lanes of a vector.
    Wide(usize),
}

impl Unit {
    /// The text.
    pub fn text(self) -> Result<String> {
        let unit = match self {
            Unit::Groups { .. } => "unit.h",
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
        if descriptor.is_regular() {
            options.push_str(" -DREGULAR=1");
        }
        match self {
            Unit::Groups { is_nvidia: true } => options.push_str(" -DNVIDIA"),
            Unit::Groups { is_nvidia: false } => {}
            // Writing to a text does not fail.
            Unit::Wide(width) => _ = write!(options, " -DWIDTH={width}"),
        }
        options
    }

    /// The launch shapes that it has kernels of.
    pub fn shapes(self) -> &'static [Shape] {
        match self {
            Unit::Groups { .. } => &SHAPES,
            Unit::Wide(_) => &WIDE_SHAPES,
        }
    }

    /// What it is, for people.
    pub fn name(self, descriptor: &Descriptor) -> String {
        let what = descriptor.name();
        match self {
            Unit::Groups { .. } => what,
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
    use super::super::kernels::{FETCH_THREADS, MOST_THREADS};
    use super::*;
    use crate::catalogue::{CATALOGUE, Precision};

    const GROUPS: Unit = Unit::Groups { is_nvidia: false };

    #[test]
    fn a_unit_is_one_text_with_a_kernel_of_each_shape() {
        for unit in [GROUPS, Unit::Wide(8)] {
            let (text, shapes) = (unit.text().unwrap(), unit.shapes());
            assert!(!text.contains("#include"));
            for shape in shapes {
                assert_eq!(text.matches(&format!("#define FORCE_NAME {}\n", shape.name)).count(), 1, "{}", shape.name);
            }
            assert_eq!(text.matches("#define FORCE_NAME ").count(), shapes.len());
            for kernel in ["fetch", "predict_sources", "end_block", "find_neighbours", "find_left_out"] {
                assert_eq!(text.matches(&format!("\n{kernel}(")).count(), 1, "{kernel}");
            }
        }
    }

    /// The number that a text gives a name, after some other text.
    fn number(text: &str, after: &str, name: &str) -> usize {
        let rest = &text[text.find(after).unwrap()..];
        let (_, rest) = rest.split_once(&format!("#define {name} ")).unwrap();
        rest.lines().next().unwrap().parse().unwrap()
    }

    #[test]
    fn numbers_are_those_of_the_text() {
        let wide = Unit::Wide(8).text().unwrap();
        for descriptor in CATALOGUE {
            for shape in WIDE_SHAPES {
                assert_eq!(shape.group_sinks(descriptor), number(&wide, shape.name, "SINKS"), "{}", shape.name);
            }
            let strands = if descriptor.precision == Precision::Double { 1 } else { 4 };
            assert_eq!(WIDE_SHAPES.map(|shape| shape.strands(descriptor)), [strands; 2]);
        }
        assert_eq!(number(&wide, "", "FETCH_THREADS"), FETCH_THREADS);
        assert_eq!(number(&GROUPS.text().unwrap(), "", "MOST_THREADS"), MOST_THREADS);
        assert!(wide.contains("#define END_SINKS WIDTH\n"));
    }

    #[test]
    fn every_file_is_of_some_unit() {
        let both = [GROUPS, Unit::Wide(4)].map(|unit| unit.text().unwrap()).concat();
        for (name, file) in FILES {
            let first = file.lines().find(|line| !line.starts_with("#include")).unwrap();
            assert!(both.contains(first), "{name}");
        }
    }
}
