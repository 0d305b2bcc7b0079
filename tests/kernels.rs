//! The kernel source names no vendor, and the images that the library embeds are those that it
//! gives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// The files of a folder of kernel source and of those in it: their names and what they hold.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "h") {
            let name = path.strip_prefix(kernels()).unwrap().to_str().unwrap().to_owned();
            files.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    files
}

/// All kernel source.
fn texts() -> Vec<(String, String)> {
    let mut texts = files(&kernels());
    texts.sort();
    assert!(texts.iter().any(|(name, _)| name == "direct/force.h"));
    texts
}

fn is_prelude(name: &str) -> bool {
    name.starts_with("prelude_")
}

/// Words that exist only in CUDA or only in OpenCL, or that only one of them allows as names. Those
/// that end in `_` are beginnings of words.
#[rustfmt::skip]
const VENDORS: &[&str] = &[
    // The compilers' own names: __shared__, __syncthreads, __kernel, __local, __CUDA_ARCH__, ...
    "__", "_Pragma", "pragma", "asm",
    // CUDA
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "atomicAdd", "atomicMin", "atomicMax", "atomicCAS",
    "atomicExch", "make_", "rsqrtf", "sqrtf", "fmaf", "fabsf", "fminf", "fmaxf",
    // C++
    "extern", "template", "typename", "class", "namespace", "constexpr", "auto", "static_cast", "reinterpret_cast",
    "nullptr",
    // OpenCL
    "kernel", "global", "local", "constant", "private", "generic", "pipe", "barrier", "mem_fence", "get_",
    "work_group_", "sub_group_", "atomic_", "atom_", "native_", "half", "half_", "convert_", "as_",
];

/// Whether a line has one of these words.
fn uses(line: &str, vendor: &str) -> bool {
    let mut words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.any(|word| if vendor.ends_with('_') { word.starts_with(vendor) } else { word == vendor })
}

/// Returns the lines of a source without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    assert!(!text.contains("/*"), "comments of GPU text begin with //");
    text.lines().map(|line| line.split("//").next().unwrap()).enumerate().map(|(place, line)| (place + 1, line))
}

#[test]
fn only_preludes_name_a_vendor() {
    let mut found = Vec::new();
    for (name, text) in texts().iter().filter(|(name, _)| !is_prelude(name)) {
        for (number, line) in code(text) {
            for word in VENDORS.iter().filter(|word| uses(line, word)) {
                found.push(format!("kernels/{name}:{number}: '{word}' belongs into the preludes"));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_search_for_vendors_finds_them() {
    let found = |line: &str| VENDORS.iter().any(|word| uses(line, word));
    for line in [
        "int i=threadIdx.x;",
        "  __syncthreads();",
        "barrier(CLK_LOCAL)",
        "asm(\"\");",
        "float local;",
        "get_global_id(0)",
    ] {
        assert!(found(line), "{line}");
    }
    for line in ["int globals, was_here;", "double plasma;", "forget_(pending_get_local_id);", "GLOBAL LOCAL SYNC"] {
        assert!(!found(line), "{line}");
    }
}

#[test]
fn preludes_are_short() {
    for (name, text) in texts().iter().filter(|(name, _)| is_prelude(name)) {
        let lines = text.lines().count();
        assert!(lines < 60, "kernels/{name} has {lines} lines; what 60 lines cannot say belongs into the text itself");
    }
}

/// Runs `generate` of a folder of kernels, unless it is to be left out: `KYOHO_SKIP_KERNELS=1` is
/// for those who cannot fetch the compilers and did not touch `kernels/`.
fn generates(kernels: &Path, arguments: &[&str]) -> bool {
    if std::env::var_os("KYOHO_SKIP_KERNELS").is_some_and(|value| value == "1") {
        eprintln!("KYOHO_SKIP_KERNELS=1: the embedded GPU code was not compared with its text");
        return false;
    }
    let output = Command::new("python3")
        .arg(kernels.join("generate"))
        .args(arguments)
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap())
        .output()
        .expect("kernels/generate needs python3 with pip (Debian: python3-pip)");
    assert!(output.status.success(), "\n{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// Compiles a few units with the pinned compilers, which are fetched once. Other images have to be
/// those that were made of this text, by their checksums, as to compile all takes minutes.
#[test]
fn what_is_embedded_is_what_the_text_gives() {
    generates(&kernels(), &["--check", "--sample"]);
}

#[test]
fn units_whose_code_has_changed_are_compiled_and_others_keep_their_images() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels_that_change");
    let _ = fs::remove_dir_all(&copy);
    assert!(Command::new("cp").arg("-r").args([&kernels(), &copy]).status().unwrap().success());
    let generated = |name: &str| fs::read(copy.join("generated").join(name)).unwrap();
    let names = ["test_prefix_sum.pack", "arrays.pack", "tree.pack"];
    let before = names.map(generated);
    let change = |from: &str, to: &str| {
        let path = copy.join("tests/prefix_sum.h");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(path, text.replace(from, to)).unwrap();
        generates(&copy, &[])
    };
    if !change("\n", "\n// A comment is no code.\n") {
        return;
    }
    assert!(names.map(generated) == before);
    change("+= totals[", "+= 2 * totals[");
    let after = names.map(generated);
    assert_eq!(std::array::from_fn(|place| after[place] == before[place]), [false, true, true]);
}

#[test]
fn a_kernel_that_waits_does_each_item_of_each_letter_once() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waiting_kernel");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c_tests/waiting_kernel.c");
    // Kernels take the same memory as numbers and as bits.
    let options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fno-strict-aliasing"];
    let mut compiler = Command::new("gcc");
    compiler.args(options).arg("-I").arg(kernels()).arg("-o").arg(&program).arg(source).arg("-lpthread");
    assert!(compiler.status().expect("gcc is there").success());
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
