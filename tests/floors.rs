//! Where `unsafe` may stand, and whether the pages about the sources name what is there. The compiler
//! itself keeps imports downward: each floor is a crate, which depends on those below it.

mod common;

use std::path::{Path, PathBuf};

use common::root;

/// The crates of the library from the lowest to the highest, below the package of its interfaces.
const CRATES: [&str; 10] = [
    "kyoho-core",
    "kyoho-hal",
    "kyoho-laws",
    "kyoho-language",
    "kyoho-methods",
    "kyoho-engine",
    "kyoho-ranks",
    "kyoho-few-body",
    "kyoho-integrators",
    "kyoho-models",
];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The places of `unsafe`: folders, files, and one file with its folder.
const UNSAFE: [&str; 10] = [
    "src/abi/",
    "kyoho-hal/",
    "kyoho-laws/src/simd/",
    "kyoho-laws/src/lanes.rs",
    "kyoho-language/src/blocks",
    "kyoho-language/src/machine_code/",
    "kyoho-devices/src/arrays/",
    "kyoho-devices/src/device_arrays.rs",
    "/gpu/",
    "/gpu.rs",
];

#[test]
fn unsafe_stands_where_memory_meets_callers_machines_and_launches() {
    let folders = CRATES.iter().map(|name| root().join("crates").join(name).join("src"));
    for path in folders.chain([root().join("src")]).flat_map(|folder| rust_files(&folder)) {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let is_allowed = UNSAFE.iter().any(|place| name.contains(place));
        let is_test = name.ends_with("tests.rs") || name.ends_with("fake.rs") || name.contains("/tests/");
        let code = std::fs::read_to_string(&path).unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let words = |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "unsafe");
        let found = lines.clone().find(|line| words(line));
        assert!(is_allowed || is_test || found.is_none(), "{name}: {found:?}; allowed in {UNSAFE:?}");
    }
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, paragraph) = text.split_once("**`unsafe`**").unwrap();
    let paragraph = paragraph.split("\n- ").next().unwrap();
    let names = |place: &&&str| paragraph.contains(place.trim_matches('/'));
    let missing = UNSAFE.iter().find(|place| !names(place));
    assert!(missing.is_none(), "CONTRIBUTING.md does not say that unsafe stands in {missing:?}");
}

#[test]
fn the_picture_has_every_crate() {
    let picture = std::fs::read_to_string(root().join("docs/architecture.svg")).unwrap();
    for name in CRATES {
        assert!(picture.contains(&format!(">{name}<")), "{name}");
    }
}

/// `make test` leaves out the tests of documents in comments, for which rustdoc would read each crate.
#[test]
fn comments_have_no_programs() {
    let all = ["crates", "src"].iter().flat_map(|folder| rust_files(&root().join(folder)));
    for path in all {
        let code = std::fs::read_to_string(&path).unwrap();
        let blocks = code.lines().map(str::trim_start).filter_map(|line| {
            let line = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
            line.trim_start().strip_prefix("```")
        });
        // Every second line ends a block.
        let found = blocks.step_by(2).find(|language| *language != "text");
        assert!(found.is_none(), "{}: a block of {found:?}; allowed: text", path.display());
    }
}

/// Files that the guide names are there. Names that begin with a floor are below its folder.
#[test]
fn the_guide_names_files_of_the_repository() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let spans = text.split('`').skip(1).step_by(2).filter(|span| !span.contains([' ', '*', '{', '<', '\n']));
    let place = |span: &str| {
        let (top, _) = span.split_once('/')?;
        let is_path = ["src", "crates", "include", "kernels", "docs", "tests"].contains(&top);
        let is_crate = top.starts_with("kyoho-");
        is_path.then(|| root().join(span)).or_else(|| is_crate.then(|| root().join("crates").join(span)))
    };
    let places: Vec<(&str, PathBuf)> = spans.filter_map(|span| Some((span, place(span)?))).collect();
    let missing: Vec<&str> = places.iter().filter(|(_, path)| !path.exists()).map(|(span, _)| *span).collect();
    assert!(places.len() > 30 && missing.is_empty(), "CONTRIBUTING.md names {missing:?}, which are not there");
}
