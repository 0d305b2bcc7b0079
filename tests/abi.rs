//! Programs that were linked with the last release run with this library, as the number in its name
//! promises. The descriptions in `packaging/abi/` are those of releases.

mod common;

use std::path::Path;
use std::process::Command;

use common::{folder, interface_number, root, succeed};

const LIBRARIES: [&str; 5] = ["kyoho", "kyoho_sapporo6", "kyoho_yebisu", "kyoho_nbody6", "kyoho_nbody6pp"];

/// Describes the interface of the headers of a folder in another folder.
fn describe(include: &Path, made: &Path) {
    succeed(Command::new(root().join("packaging/abi/describe")).arg(include).arg(made));
}

/// Returns what programs that know one description would miss in another one.
fn missed(before: &Path, now: &Path) -> String {
    let mut command = Command::new("abidiff");
    command.arg("--no-added-syms").arg("--suppressions").arg(root().join("packaging/abi/allowed.ini"));
    let output = command.arg(before).arg(now).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    if output.status.success() { String::new() } else { String::from_utf8(output.stdout).unwrap() }
}

#[test]
fn programs_of_the_last_release_find_what_they_were_compiled_with() {
    let released = root().join("packaging/abi").join(interface_number());
    if !released.exists() {
        // A new interface has no release yet: its library has another name.
        return;
    }
    let now = folder("abi");
    describe(&root().join("include"), &now);
    for library in LIBRARIES {
        let file = format!("{library}.abi");
        let missed = missed(&released.join(&file), &now.join(&file));
        assert!(missed.is_empty(), "lib{library}.so.{} changes:\n{missed}", interface_number());
    }
}

/// The comparison sees what breaks programs.
#[test]
fn changes_that_break_programs_are_seen() {
    let folder = folder("abi_changed");
    let (include, before) = (folder.join("include"), folder.join("before"));
    describe(&root().join("include"), &before);
    let header = std::fs::read_to_string(root().join("include/kyoho.h")).unwrap();
    for (what, from, to) in [
        (
            "a type",
            "kyoho_system_set_time(struct kyoho_system *system, double",
            "kyoho_system_set_time(struct kyoho_system *system, float",
        ),
        ("a field", "int32_t structure_size;\n", "int32_t structure_size, more;\n"),
        ("a function", "kyoho_system_set_time(", "kyoho_system_set_the_time("),
    ] {
        assert!(header.contains(from), "{from} is not in kyoho.h");
        succeed(Command::new("cp").arg("-r").arg(root().join("include")).arg(&include));
        std::fs::write(include.join("kyoho.h"), header.replace(from, to)).unwrap();
        describe(&include, &folder.join("now"));
        let missed = missed(&before.join("kyoho.abi"), &folder.join("now/kyoho.abi"));
        assert!(!missed.is_empty(), "{what}");
        std::fs::remove_dir_all(&include).unwrap();
    }
}
