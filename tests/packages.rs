//! What packages of Kyoho are made of: recipes, workflows, the list of what is linked in, and what
//! a build says where tools are missing.

mod common;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use common::{folder, interface_number, root, succeed, text};

#[test]
fn the_recipe_for_conda_has_the_version() {
    let recipe = text("packaging/conda/recipe.yaml");
    for (name, value) in [("version", env!("CARGO_PKG_VERSION")), ("interface", &interface_number())] {
        assert!(recipe.contains(&format!("\n  {name}: \"{value}\"\n")), "{name} is not {value}");
    }
}

#[test]
fn workflows_call_what_is_there() {
    let makefile = text("Makefile");
    let mut called = 0;
    for entry in std::fs::read_dir(root().join(".github/workflows")).unwrap() {
        let path = entry.unwrap().path();
        let workflow = std::fs::read_to_string(&path).unwrap();
        for command in workflow.lines().filter_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix("run: ")) {
            let words: Vec<&str> = command.split_whitespace().collect();
            if words[0] == "make" {
                assert!(makefile.contains(&format!("\n{}:", words[1])), "{}: {command}", path.display());
                called += 1;
            } else if words[0].starts_with("packaging/") {
                let script =
                    std::fs::metadata(root().join(words[0])).unwrap_or_else(|error| panic!("{command}: {error}"));
                assert!(script.permissions().mode() & 0o100 != 0, "{command}");
                called += 1;
            }
        }
    }
    assert!(called >= 8, "{called}");
}

#[test]
fn the_bill_has_all_that_is_linked_in_and_its_licences() {
    let folder = folder("bill");
    succeed(Command::new(root().join("packaging/release/bill")).arg("x86_64-unknown-linux-gnu").arg(&folder));
    let bill = std::fs::read_to_string(folder.join("kyoho.cdx.json")).unwrap();
    for name in ["bytemuck", "cudarc", "clap_builder", "libc"] {
        assert!(bill.contains(&format!("\"purl\": \"pkg:cargo/{name}@")), "{name}");
    }
    // Their code runs in the compiler alone.
    for name in ["syn", "clap_derive", "cbindgen"] {
        assert!(!bill.contains(&format!("pkg:cargo/{name}@")), "{name}");
    }
    let licences = std::fs::read_to_string(folder.join("LICENSES.txt")).unwrap();
    assert!(licences.contains("\nbytemuck ") && licences.contains("Permission is hereby granted"));
}

/// Returns what pip says of an installation where only some tools are on the path.
fn pip_says(folder: &Path, tools: &[(&str, &str)]) -> String {
    let path = folder.join("path");
    std::fs::create_dir(&path).unwrap();
    for (tool, script) in tools {
        let file = path.join(tool);
        if script.is_empty() {
            let found = succeed(Command::new("sh").args(["-c", &format!("command -v {tool}")])).stdout;
            symlink(String::from_utf8(found).unwrap().trim(), &file).unwrap();
        } else {
            std::fs::write(&file, script).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let executable = succeed(Command::new("python3").args(["-c", "import sys; print(sys.executable)"])).stdout;
    let mut pip = Command::new(String::from_utf8(executable).unwrap().trim());
    pip.args(["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir"]).arg(folder);
    let output = pip.arg(root().join("python")).env("PATH", &path).env_remove("KYOHO_BUILT").output().unwrap();
    assert!(!output.status.success());
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn a_build_says_what_is_missing() {
    let wanted = "needs Rust 1.89 or newer, a C compiler, binutils and make.";
    let said = pip_says(&folder("without_rust"), &[("cc", ""), ("make", ""), ("sh", "")]);
    assert!(said.contains(&format!("{wanted} Not found: Rust (cargo), binutils (strip).")), "{said}");
    assert!(!said.contains("Traceback"), "{said}");
    let old = "#!/bin/sh\necho cargo 1.75.0\n";
    let said =
        pip_says(&folder("with_old_rust"), &[("cargo", old), ("cc", ""), ("make", ""), ("strip", ""), ("sh", "")]);
    assert!(said.contains(&format!("{wanted} Found: cargo 1.75.0, at ")), "{said}");
}
