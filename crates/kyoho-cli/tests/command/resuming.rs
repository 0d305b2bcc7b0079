//! Runs that are interrupted and resumed.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::common::{folder, run};
use crate::{json, number, rows};

#[test]
fn a_resumed_run_has_the_same_bits() {
    let orders = [
        "--order 4 --eta 0.02 --precision mixed",
        "--order 2 --dt 0.01 --precision double",
        "--backend cpu --order 6 --precision mixed --eta4 0.02",
        "--backend cpu --order 8",
    ];
    for (place, order) in orders.iter().enumerate() {
        let (whole, part) = (folder(&format!("whole-{place}")), folder(&format!("part-{place}")));
        let settings = format!("--plummer 100 --seed 4 --eps 0.02 --interval 0.1 {order}");
        let uninterrupted = json(&format!("run {settings} --t-end 0.5 --output {}", whole.display()));
        json(&format!("run {settings} --t-end 0.2 --output {}", part.display()));
        // The snapshot has the settings, but not the number of threads, which has no effect on the
        // results.
        let resumed = json(&format!(
            "run --resume {} --t-end 0.5 --threads 3 --output {} {}",
            part.join("snapshot-000002.txt").display(),
            part.display(),
            if order.contains("cpu") { "--backend cpu" } else { "" }
        ));
        for quantity in ["initial_energy", "final_energy", "relative_error"] {
            let bits = |report: &Value| number(&report[quantity]).to_bits();
            assert_eq!(bits(&uninterrupted), bits(&resumed), "{quantity}: {order}");
        }
        let last = "snapshot-000005.txt";
        assert_eq!(rows(&whole.join(last)), rows(&part.join(last)), "{order}");
        assert_eq!(rows(&whole.join(last)).len(), 100);
    }
}

/// Returns the lines of a run's table.
fn table(output: Output) -> Vec<String> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().skip_while(|line| !line.trim_start().starts_with("time "));
    lines.skip(1).take_while(|line| !line.starts_with("initial")).map(String::from).collect()
}

#[test]
fn an_interrupted_run_prints_the_same_lines_and_writes_the_same_files() {
    // Sums of these intervals are rounded.
    let settings = "--plummer 20 --seed 4 --eps 0.02 --backend cpu --interval 0.01";
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        let (whole, part) = (folder(&format!("uninterrupted-{format}")), folder(&format!("interrupted-{format}")));
        let lines = table(run(&format!("run {settings} --t-end 0.06 --format {format} --output {}", whole.display())));
        table(run(&format!("run {settings} --t-end 0.02 --format {format} --output {}", part.display())));
        for (number, end) in [(2, "0.03"), (3, "0.06")] {
            let snapshot = part.join(format!("snapshot-{number:06}.{extension}"));
            let resume = format!("run --resume {} --t-end {end} --backend cpu", snapshot.display());
            let resumed = table(run(&format!("{resume} --format {format} --output {}", part.display())));
            assert_eq!(resumed, lines[number..][..resumed.len()]);
        }
        for number in 0..=6 {
            let [whole, part] = [&whole, &part]
                .map(|folder| std::fs::read(folder.join(format!("snapshot-{number:06}.{extension}"))).unwrap());
            assert!(whole == part, "snapshot {number} in {format} has other bytes");
        }
    }
    // With another interval, times are counted from the time of the change.
    let (whole, part) = (folder("changed"), folder("changed-interrupted"));
    let first = whole.with_file_name("uninterrupted-text").join("snapshot-000003.txt");
    let resume = |from: &Path, end: &str, folder: &Path| {
        let from = format!("run --resume {} --backend cpu --interval 0.007", from.display());
        table(run(&format!("{from} --t-end {end} --output {}", folder.display())))
    };
    let lines = resume(&first, "0.065", &whole);
    resume(&first, "0.044", &part);
    assert_eq!(resume(&part.join("snapshot-000005.txt"), "0.065", &part), lines[2..]);
    let [whole, part] = [whole, part].map(|folder| std::fs::read(folder.join("snapshot-000008.txt")).unwrap());
    assert!(whole == part);
}

#[test]
fn a_run_resumed_with_other_forces_begins_anew() {
    let folder = folder("other-forces");
    let settings = "--interval 0.1 --precision double";
    json(&format!(
        "run --plummer 100 --seed 4 --eps 0.02 --order 2 --dt 0.01 {settings} --t-end 0.1 --output {}",
        folder.display()
    ));
    let resume = format!("run --resume {} --t-end 0.2 {settings}", folder.join("snapshot-000001.txt").display());
    // The leapfrog's snapshot has no jerks, and its steps do not suit a Hermite scheme.
    let hermite = json(&format!("{resume} --order 4"));
    let error = |report: &Value, place: usize| number(&report["energies"][place]["relative_error"]);
    assert!((error(&hermite, 1) - error(&hermite, 0)).abs() < 1e-7, "{hermite}");
    // A change of the softening does not count as an error of the integration.
    let softer = json(&format!("{resume} --order 4 --eps 0.1"));
    assert_eq!(error(&softer, 0), 0.0);
    assert!(error(&softer, 1).abs() < 1e-7, "{softer}");
}
