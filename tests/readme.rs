//! The programs in the README and in the page on interaction lists compile as they stand and print
//! what these say, and the README's table has every variable.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::programs::{NATIVE, alone};
use common::{compiler, folder, link_library, root, succeed, text};

/// Returns the only block of code in a language on a page.
fn block(page: &str, language: &str) -> String {
    let text = text(page);
    let begin = format!("\n```{language}\n");
    let blocks: Vec<&str> = text.split(&begin).skip(1).collect();
    assert_eq!(blocks.len(), 1, "blocks of {language} in {page}");
    let (code, _) = blocks[0].split_once("\n```\n").expect("a block that ends");
    format!("{code}\n")
}

/// Builds the block of a language on a page as it stands, with warnings as errors, and returns what
/// the program prints on the CPU.
fn printed_by((page, language): (&str, &str), file: &str, command: &str, options: &[&str]) -> String {
    let folder = folder(&format!("page_{file}"));
    link_library(&folder);
    std::fs::write(folder.join(file), block(page, language)).unwrap();
    let warnings = ["-Wall", "-Wextra", "-Werror"];
    succeed(compiler(command, &folder).args(options).args(warnings).args(["-o", "program", file, "-lkyoho"]));
    let mut program = alone(Command::new(folder.join("program")));
    let output = succeed(program.current_dir(&folder).env("KYOHO_BACKEND", "cpu"));
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Two bodies of mass 1 at a distance of 2.
fn is_a_quarter_towards_the_other(printed: &str) {
    let words: Vec<&str> = printed.split_whitespace().collect();
    assert_eq!(words, ["acceleration", "of", "the", "first", "body:", "0.25", "0.00", "0.00"]);
}

#[test]
fn the_program_in_c() {
    is_a_quarter_towards_the_other(&printed_by(("docs/start.md", "c"), "two_bodies.c", "gcc", NATIVE));
}

#[test]
fn the_program_in_fortran() {
    let printed = printed_by(("docs/start.md", "fortran"), "two_bodies.f90", "gfortran", &["-std=f2018"]);
    is_a_quarter_towards_the_other(&printed);
}

/// The program has what it prints in a comment.
#[test]
fn the_program_with_interaction_lists() {
    let printed = printed_by(("docs/interfaces/lists-and-trees.md", "c"), "two_groups.c", "gcc", NATIVE);
    assert_eq!(printed, "0.50 1.44 -1.25\n");
    assert!(text("docs/interfaces/lists-and-trees.md").contains(&format!("/* {} */", printed.trim())));
}

/// Returns the names in a text that begin with `KYOHO_` and follow this prefix.
fn names_after(text: &str, before: &str) -> BTreeSet<String> {
    let name = |rest: &str| rest.chars().take_while(|letter| letter.is_ascii_uppercase() || *letter == '_').collect();
    text.split(&format!("{before}KYOHO_")).skip(1).map(name).collect()
}

#[test]
fn the_table_has_every_variable_of_the_environment() {
    let sources = std::fs::read_dir(root().join("src/config")).unwrap();
    let sources = sources.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let mut read: BTreeSet<String> = sources.flat_map(|source| names_after(&source, "\"")).collect();
    // The OpenCL backend reads it when it compiles.
    read.insert("CACHE_DIR".into());
    assert_eq!(names_after(&text("README.md"), "\n| `"), read);
}

#[test]
fn the_citation_has_the_version() {
    let version = format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"));
    assert!(text("CITATION.cff").contains(&version), "not{version}in CITATION.cff");
}
