//! Imports run downward: each folder of `src/` uses only those below it.

mod common;

use std::path::{Path, PathBuf};

use common::root;

/// The floors from the lowest to the highest.
const FLOORS: [&str; 9] = ["data", "law", "simd", "hal", "method", "engine", "config", "integrator", "abi"];

/// Returns the floor of a folder of `src/`.
fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| *floor == name)
}

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

/// Returns the folders of `src/` that a line of code names: `crate::NAME`, also inside braces.
fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap())
}

/// Returns the lines of a file on a floor that name a floor above.
fn upward(own: usize, text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter(move |(_, line)| named(line).any(|name| floor(name).is_none_or(|floor| floor > own)))
}

#[test]
fn every_file_is_on_a_floor() {
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "lib.rs" || floor(&name).is_some(), "src/{name} is on no floor; allowed: {FLOORS:?}");
    }
}

#[test]
fn no_import_runs_upward() {
    let mut found = Vec::new();
    for (own, name) in FLOORS.iter().enumerate() {
        for path in rust_files(&root().join("src").join(name)) {
            let text = std::fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root()).unwrap().display();
            found.extend(upward(own, &text).map(|(number, line)| format!("{path}:{}: {}", number + 1, line.trim())));
        }
    }
    assert!(found.is_empty(), "these lines name a floor above their own:\n{}", found.join("\n"));
}

#[test]
fn the_search_finds_what_runs_upward() {
    let law = floor("law").unwrap();
    for line in ["use crate::engine::System;", "    let x = crate::simd::f();", "use crate::System;"] {
        assert_eq!(upward(law, line).count(), 1, "{line}");
    }
    for line in ["use crate::data::{Error, Result};", "// use crate::engine::System;", "use super::pair::Second;"] {
        assert_eq!(upward(law, line).count(), 0, "{line}");
    }
}

/// The places of `unsafe` below `src/`: folders, whose names end so, and a file.
const UNSAFE: [&str; 6] = ["abi/", "hal/", "simd/", "law/lanes.rs", "method/arrays/", "/gpu/"];

#[test]
fn unsafe_stands_where_memory_meets_callers_machines_and_launches() {
    let src = root().join("src");
    for path in rust_files(&src) {
        let name = path.strip_prefix(&src).unwrap().display().to_string();
        let is_allowed = UNSAFE.iter().any(|place| name.starts_with(place) || name.contains(place));
        let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
        let code = std::fs::read_to_string(&path).unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let words = |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "unsafe");
        let found = lines.clone().find(|line| words(line));
        assert!(is_allowed || is_test || found.is_none(), "src/{name}: {found:?}; allowed in {UNSAFE:?}");
    }
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, paragraph) = text.split_once("**`unsafe`**").unwrap();
    let paragraph = paragraph.split("\n- ").next().unwrap();
    let missing = UNSAFE.iter().find(|place| !paragraph.contains(place.trim_start_matches('/')));
    assert!(missing.is_none(), "CONTRIBUTING.md does not say that unsafe stands in {missing:?}");
}

#[test]
fn the_picture_has_every_floor() {
    let picture = std::fs::read_to_string(root().join("docs/architecture.svg")).unwrap();
    for name in FLOORS {
        assert!([format!(">{name}<"), format!(">src/{name}<")].iter().any(|text| picture.contains(text)), "{name}");
    }
    assert!(picture.contains("tree") && !picture.contains("to come"));
}

/// Files that the guide names are there. Names that begin with a floor are below its folder.
#[test]
fn the_guide_names_files_of_the_repository() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let spans = text.split('`').skip(1).step_by(2).filter(|span| !span.contains([' ', '*', '{', '<', '\n']));
    let place = |span: &str| {
        let (top, _) = span.split_once('/')?;
        let is_path = ["src", "crates", "include", "kernels", "docs", "tests"].contains(&top);
        is_path.then(|| root().join(span)).or_else(|| floor(top).map(|_| root().join("src").join(span)))
    };
    let places: Vec<(&str, PathBuf)> = spans.filter_map(|span| Some((span, place(span)?))).collect();
    let missing: Vec<&str> = places.iter().filter(|(_, path)| !path.exists()).map(|(span, _)| *span).collect();
    assert!(places.len() > 30 && missing.is_empty(), "CONTRIBUTING.md names {missing:?}, which are not there");
}
