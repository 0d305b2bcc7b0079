//! The GPU text that the library embeds, put together for an OpenCL compiler.

use crate::data::{Descriptor, Error, Result};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// The files of `kernels/` that units are made of.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name)))),*];
    };
}

files![
    "prelude_opencl.h",
    "unit.h",
    "body.h",
    "pair.h",
    "step.h",
    "fetch.h",
    "sources.h",
    "left_out.h",
    "parts.h",
    "force.h",
];

/// What every OpenCL compiler is told: the language of all vendors, numbers below the normal ones as CUDA has them, and
/// no warnings, which some print.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-denorms-are-zero -w";

/// The text.
pub fn text() -> Result<String> {
    let mut text = String::new();
    expand("prelude_opencl.h", &mut text)?;
    expand("unit.h", &mut text)?;
    Ok(text)
}

/// The compiler's options for an entry of the catalogue; NVIDIA's takes its GPUs' own instructions.
pub fn options(descriptor: &Descriptor, is_nvidia: bool) -> String {
    let (order, precision) = (descriptor.order as i32, descriptor.precision as i32);
    let mut options = format!("{OPTIONS} -DORDER={order} -DPRECISION={precision}");
    if descriptor.is_regular() {
        options.push_str(" -DREGULAR=1");
    }
    if is_nvidia {
        options.push_str(" -DNVIDIA");
    }
    options
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
    use crate::method::direct::gpu::opencl::kernels::{FETCH_THREADS, MOST_THREADS};
    use crate::method::direct::gpu::shapes::SHAPES;

    use super::*;

    #[test]
    fn the_text_is_one_with_a_kernel_of_each_shape() {
        let text = text().unwrap();
        assert!(!text.contains("#include"));
        for shape in SHAPES {
            assert_eq!(text.matches(&format!("#define FORCE_NAME {}\n", shape.name)).count(), 1, "{}", shape.name);
        }
        assert_eq!(text.matches("#define FORCE_NAME ").count(), SHAPES.len());
        for kernel in ["fetch", "predict_sources", "end_block", "find_neighbours", "find_left_out"] {
            assert_eq!(text.matches(&format!("\n{kernel}(")).count(), 1, "{kernel}");
        }
    }

    /// The number that the text gives a name.
    fn number(name: &str) -> usize {
        let text = text().unwrap();
        let (_, rest) = text.split_once(&format!("#define {name} ")).unwrap();
        rest.lines().next().unwrap().parse().unwrap()
    }

    #[test]
    fn numbers_are_those_of_the_text() {
        assert_eq!(number("FETCH_THREADS"), FETCH_THREADS);
        assert_eq!(number("MOST_THREADS"), MOST_THREADS);
    }

    #[test]
    fn every_file_is_in_the_text() {
        let text = text().unwrap();
        for (name, file) in FILES {
            let first = file.lines().find(|line| !line.starts_with("#include")).unwrap();
            assert!(text.contains(first), "{name}");
        }
    }
}
