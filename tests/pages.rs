//! The programs in C and Fortran on all pages compile as they stand and print what these say. The
//! page on the environment has every variable, and links lead to what is there.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::programs::{NATIVE, alone};
use common::{compiler, folder, link_library, root, succeed, text};

/// Returns the pages below a folder, with their names from the root on. The list of changes tells of
/// older versions.
fn pages(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            let is_ours = name != "target" && !name.starts_with('.');
            found.extend(is_ours.then(|| pages(&path)).into_iter().flatten());
        } else if name.ends_with(".md") && name != "CHANGELOG.md" {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            found.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Returns the blocks of code of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let begin = format!("\n```{language}\n");
    let block = |rest: &str| format!("{}\n", rest.split_once("\n```\n").expect("a block that ends").0);
    page.split(&begin).skip(1).map(block).collect()
}

/// Builds a program as it stands, with warnings as errors, and returns what it prints on the CPU.
fn printed_by(code: &str, name: &str, extension: &str, command: &str, options: &[&str]) -> String {
    let folder = folder(&format!("page_{name}"));
    link_library(&folder);
    let file = format!("program.{extension}");
    std::fs::write(folder.join(&file), code).unwrap();
    let warnings = ["-Wall", "-Wextra", "-Werror"];
    succeed(compiler(command, &folder).args(options).args(warnings).args(["-o", "program", &file, "-lkyoho"]));
    let mut program = alone(Command::new(folder.join("program")));
    let output = succeed(program.current_dir(&folder).env("KYOHO_BACKEND", "cpu"));
    assert!(output.stderr.is_empty(), "{name}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Builds and runs all programs of a language. Each says in a comment, which begins with `begin`,
/// what it prints to stdout.
fn all_print_what_they_say(language: &str, extension: &str, command: &str, options: &[&str], begin: &str) -> usize {
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let mut count = 0;
    for (page, text) in pages(root()) {
        for code in blocks(&text, language) {
            let name = format!("{}_{language}_{count}", page.replace(['/', '.'], "_"));
            let said = printed_by(&code, &name, extension, command, options);
            let printing = code.split_once("print").unwrap_or_else(|| panic!("{page}: a program that prints")).1;
            let (_, promise) = printing.rsplit_once(begin).unwrap_or_else(|| panic!("{page}: what it prints"));
            let promise = promise.lines().next().unwrap().trim_end_matches("*/");
            assert_eq!(words(&said), words(promise), "{page}");
            count += 1;
        }
    }
    count
}

#[test]
fn programs_in_c() {
    assert!(all_print_what_they_say("c", "c", "gcc", NATIVE, "/*") >= 3);
}

#[test]
fn programs_in_fortran() {
    assert!(all_print_what_they_say("fortran", "f90", "gfortran", &["-std=f2018"], "!") >= 1);
}

/// Lines of a compiler build what their page names, against an installation below `$HOME/kyoho`.
#[test]
fn lines_of_compilers() {
    for page in ["docs/start.md", "docs/mpi.md", "examples/README.md"] {
        let folder = folder(&format!("lines_{}", page.replace(['/', '.'], "_")));
        let prefix = folder.join("kyoho");
        std::fs::create_dir_all(prefix.join("lib/pkgconfig")).unwrap();
        link_library(&prefix.join("lib"));
        for (name, link) in [("include", prefix.join("include")), ("examples", folder.join("examples"))] {
            std::os::unix::fs::symlink(root().join(name), link).unwrap();
        }
        let module = text("packaging/kyoho.pc.in").replace("@PREFIX@", prefix.to_str().unwrap());
        std::fs::write(prefix.join("lib/pkgconfig/kyoho.pc"), module.replace("@VERSION@", "0")).unwrap();
        let code = text(page);
        for (language, file) in [("c", "program.c"), ("fortran", "program.f90")] {
            std::fs::write(folder.join(file), blocks(&code, language).first().map_or("", String::as_str)).unwrap();
        }
        std::fs::write(folder.join("old_code.f"), "      call g6_open(0)\n      end\n").unwrap();
        let shell = blocks(&code, "sh").concat();
        let is_run = |line: &&str| ["export", "cc", "gfortran", "mpicc"].contains(&line.split(' ').next().unwrap());
        let lines: Vec<&str> = shell.lines().filter(is_run).collect();
        assert!(lines.len() > 1, "{page}: {lines:?}");
        let mut command = Command::new("sh");
        command.args(["-e", "-c", &lines.join("\n")]).current_dir(&folder).env("HOME", &folder);
        succeed(command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    }
}

/// Returns the anchors that a page has for links: its headings as GitHub names them, and those that
/// are written out.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> =
        page.split("<a id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().into()).collect();
    let mut is_code = false;
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let heading = heading.trim().to_lowercase();
        let kept: String = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect();
        found.insert(kept.replace(' ', "-"));
    }
    found
}

/// Returns the targets of the links of a page, those of pictures too, without what is code.
fn links(page: &str) -> Vec<String> {
    let outside = page.split("\n```").step_by(2).collect::<String>();
    let prose = outside.split('`').enumerate().map(|(place, part)| if place % 2 == 0 { part } else { "x" });
    let prose = prose.collect::<String>();
    prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect()
}

/// The site's own tests find the same where pages are those of the site; these are all pages.
#[test]
fn links_lead_to_what_is_there() {
    let pages: BTreeMap<String, String> = pages(root()).into_iter().collect();
    let (mut dead, mut count) = (Vec::new(), 0);
    for (name, page) in &pages {
        let here = root().join(name);
        for link in links(page) {
            count += 1;
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { here.clone() } else { here.parent().unwrap().join(path) };
            let is_there = target.canonicalize().ok().is_some_and(|file: PathBuf| {
                let name = file.strip_prefix(root()).map(|file| file.display().to_string()).unwrap_or_default();
                anchor.is_empty() || pages.get(&name).is_some_and(|page| anchors(page).contains(anchor))
            });
            if !is_there {
                dead.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(count > 100 && dead.is_empty(), "of {count} links these lead nowhere: {dead:#?}");
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
    assert_eq!(names_after(&text("docs/environment.md"), "\n| `"), read);
}

#[test]
fn the_citation_has_the_version() {
    let version = format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"));
    assert!(text("CITATION.cff").contains(&version), "not{version}in CITATION.cff");
}

#[test]
fn the_readme_is_short() {
    let count = text("README.md").lines().count();
    assert!(count <= 90, "README.md has {count} lines; allowed: 90");
}
