//! Assembles the GPU code that the library embeds.

use std::fmt::Write;
use std::path::Path;

/// The folder of the GPU text and of its compiled code.
const KERNELS: &str = "../../kernels";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={KERNELS}");
    let made = std::env::var_os("OUT_DIR").expect("cargo names a folder for what is made");
    let (kernels, made) = (Path::new(KERNELS), Path::new(&made));
    std::fs::write(made.join("packs.rs"), packs(&kernels.join("generated"))).expect("packs are written");
    let sources = [
        ("arrays", "arrays/unit.h"),
        ("direct", "direct/unit.h"),
        ("few_body", "few_body/unit.h"),
        ("lists", "lists/unit.h"),
        ("steps", "steps/unit.h"),
        ("tree", "tree/unit.h"),
        ("expansions", "tree/expansion_unit.h"),
    ];
    for (name, unit) in sources {
        let files = ["prelude_opencl.h", "generated/constants.h", unit];
        let source: String = files.iter().map(|file| expanded(kernels, file)).collect();
        std::fs::write(made.join(format!("{name}.cl")), source).expect("the source is written");
    }
}

/// Returns a table of the packs of compiled code in a folder.
fn packs(folder: &Path) -> String {
    let entries =
        std::fs::read_dir(folder).expect("there is generated code").map(|entry| entry.expect("a file").path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect();
    // Code for tests is no part of the library.
    paths.retain(|path| !path.file_name().expect("a pack has a name").to_string_lossy().starts_with("test_"));
    paths.sort();
    let mut table = "&[\n".to_owned();
    for path in paths {
        let path = path.canonicalize().expect("a pack is there");
        writeln!(table, "    include_bytes!({path:?}),").expect("texts take what is written");
    }
    table + "]\n"
}

/// Returns the lines of a file of kernel source, in which each line that includes a file is
/// replaced by that file.
fn expanded(folder: &Path, name: &str) -> String {
    let file = std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let included = |line: &str| Some(expanded(folder, line.strip_prefix("#include \"")?.strip_suffix('"')?));
    file.lines().map(|line| included(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}
