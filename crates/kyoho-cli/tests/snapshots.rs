//! The folder of a run's snapshots: those of other runs are neither overwritten nor left among the new.

mod common;

use std::path::Path;

use common::{folder, run};

/// Makes a run of eight bodies with options, and returns its exit code and its errors.
fn outcome(options: &str) -> (Option<i32>, String) {
    let output = run(&format!("run --eps 0.1 --backend cpu {options}"));
    (output.status.code(), String::from_utf8(output.stderr).unwrap().trim_end().to_string())
}

/// Returns the names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

const RUN: &str = "--plummer 8 --t-end 0.4 --interval 0.1";

#[test]
fn a_used_folder_is_an_error_unless_its_snapshots_may_go() {
    let folder = folder("used");
    let into = |options: &str| outcome(&format!("{options} --output {}", folder.display()));
    assert_eq!(into(RUN), (Some(0), String::new()));
    std::fs::write(folder.join("notes.txt"), "mine").unwrap();
    let before = names(&folder);
    let shorter = "--plummer 8 --t-end 0.1 --interval 0.1";
    for format in ["text", "hdf5"] {
        let (code, error) = into(&format!("{shorter} --format {format}"));
        let expected = format!(
            "kyoho: --output is {}, which has snapshot-000000.txt to snapshot-000004.txt (5 files); allowed: a folder \
             without them, or --overwrite, which removes them",
            folder.display()
        );
        assert_eq!((code, error), (Some(2), expected));
        assert_eq!(names(&folder), before);
    }
    assert_eq!(into(&format!("{shorter} --format hdf5 --overwrite")), (Some(0), String::new()));
    assert_eq!(names(&folder), ["notes.txt", "snapshot-000000.h5", "snapshot-000001.h5"]);
}

/// A run that does not begin removes nothing.
#[test]
fn snapshots_go_when_the_new_run_writes_its_first() {
    let folder = folder("kept");
    let into = |options: &str| outcome(&format!("{options} --output {}", folder.display()));
    assert_eq!(into(RUN).0, Some(0));
    let before = names(&folder);
    let input = folder.with_file_name("same-place.txt");
    std::fs::write(&input, "1 0 0 0 0 0 0\n1 0 0 0 0 0 0\n").unwrap();
    for wrong in [format!("{} --eps 0", input.display()), "nowhere.txt".into(), "--plummer 8 --order 3".into()] {
        let output = run(&format!("run {wrong} --backend cpu --overwrite --output {}", folder.display()));
        assert!(!output.status.success());
        assert_eq!(names(&folder), before, "{wrong}");
    }
}

/// A run that goes on in its folder keeps what it has done, and what it would do again is in the way.
#[test]
fn a_resumed_run_keeps_its_earlier_snapshots() {
    let folder = folder("resumed");
    let into = |options: &str| outcome(&format!("{options} --output {}", folder.display()));
    assert_eq!(into(RUN).0, Some(0));
    let resume = |number: u32| format!("--resume {}/snapshot-{number:06}.txt --t-end 0.5", folder.display());
    assert_eq!(into(&resume(4)), (Some(0), String::new()));
    assert_eq!(names(&folder).len(), 6);
    let (code, error) = into(&resume(3));
    assert!(
        code == Some(2) && error.contains("which has snapshot-000004.txt to snapshot-000005.txt (2 files)"),
        "{error}"
    );
    assert_eq!(into(&format!("{} --overwrite", resume(3).replace("0.5", "0.4"))), (Some(0), String::new()));
    assert_eq!(names(&folder).last().unwrap(), "snapshot-000004.txt");
    // In a folder of another run all are in the way.
    let other = self::folder("other");
    let from = format!("{} --output {}", resume(3).replace("--t-end 0.5", "--t-end 0.6"), other.display());
    assert_eq!(outcome(&format!("{RUN} --output {}", other.display())).0, Some(0));
    let (code, error) = outcome(&from);
    assert!(code == Some(2) && error.contains("snapshot-000000.txt to snapshot-000004.txt"), "{error}");
}
