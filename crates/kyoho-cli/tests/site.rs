//! `make site` makes the site of the documents with this build.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::folder;

/// Warnings are errors, such as links that lead nowhere and docstrings that are no text.
#[test]
fn the_site_is_built() {
    if std::env::var_os("KYOHO_SKIP_SITE").is_some_and(|value| value == "1") {
        eprintln!("KYOHO_SKIP_SITE=1: the site was not built");
        return;
    }
    let (site, built) = (folder("site"), folder("site_built"));
    let library = std::env::current_exe().expect("this test").with_file_name("libkyoho.so");
    for (file, link) in [(library, "libkyoho.so"), (PathBuf::from(env!("CARGO_BIN_EXE_kyoho")), "kyoho")] {
        std::os::unix::fs::symlink(file, built.join(link)).expect("a link");
    }
    let mut make = Command::new("make");
    make.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    make.arg("site").arg(format!("SITE={}", site.display())).arg(format!("BUILT={}", built.display()));
    let output = make.output().expect("make");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = text_of_pages(&site);
    assert!((20..=40).contains(&pages.len()), "{} pages", pages.len());
    for (name, page) in &pages {
        let asks = ["src=\"http", "<link rel=\"stylesheet\" href=\"http", "url(http", "@import"];
        assert!(asks.iter().all(|word| !page.contains(word)), "{name} asks another address for something");
    }
    let has = |name: &str, word: &str| pages.iter().any(|(page, text)| page.ends_with(name) && text.contains(word));
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/kyoho.h");
    let header = std::fs::read_to_string(header).expect("the header");
    let declared =
        header.lines().filter(|line| !line.starts_with("//") && line.contains(" *kyoho_") | line.contains(" kyoho_"));
    let functions: Vec<&str> = declared
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("kyoho_"))
        .collect();
    let missing: Vec<&&str> =
        functions.iter().filter(|name| !has("kyoho-h.html", &format!("id=\"c.{name}\""))).collect();
    assert!(functions.len() > 50 && missing.is_empty(), "of {} functions these lack: {missing:?}", functions.len());
    assert!(has("old-headers.html", "g6calc_firsthalf") && has("old-headers.html", "gpunb_regf_"));
    assert!(has("reference/python.html", "id=\"kyoho.gravity\"") && has("reference/command.html", "--report-error"));
}

/// Returns the pages of a built site, without its index, search and lists of sources.
fn text_of_pages(site: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(site).expect("a file").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name().into_string().expect("a file"));
        if entry.file_type().expect("a file").is_dir() {
            found.extend(if name.starts_with('_') { Vec::new() } else { text_of_pages(&path) });
        } else if name.ends_with(".html") && !["genindex.html", "search.html", "py-modindex.html"].contains(&&*name) {
            found.push((path.display().to_string(), std::fs::read_to_string(path).expect("a file")));
        }
    }
    found
}
