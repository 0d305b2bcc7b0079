//! Runs of several files at the same time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use kyoho::System;
use kyoho::config::Settings;
use kyoho_core::{Order, Precision};
use kyoho_integrators::cluster::{Change, Choices, Cluster, EvolutionEnd};

use crate::common::{folder, kyoho, run};
use crate::{failure, json, number, rows};

/// Makes models of these numbers of bodies in a folder, and returns their files.
fn models(folder: &Path, bodies: &[usize]) -> Vec<String> {
    let model = |(place, bodies): (usize, &usize)| {
        let file = folder.join(format!("stars-{place}.txt")).display().to_string();
        assert!(run(&format!("model plummer {bodies} --seed {place} --output {file}")).status.success());
        file
    };
    bodies.iter().enumerate().map(model).collect()
}

/// Returns the files below a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let inside = contents(&path).into_iter();
            found.extend(inside.map(|(inside, content)| (Path::new(path.file_name().unwrap()).join(inside), content)));
        } else {
            found.insert(path.file_name().unwrap().into(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Returns what a run prints, which must succeed and be silent otherwise.
fn printed(arguments: &str) -> String {
    let output = run(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_of_several_files_has_the_bits_of_a_run_by_itself() {
    let folder = folder("several-alone");
    let files = models(&folder, &[40, 5, 150, 64, 2]);
    let settings = "--backend cpu --t-end 0.5 --interval 0.125";
    let kinds =
        ["--eps 0.01", "--order 6 --subsystems", "--order 2 --dt 0.0625 --eps 0.01 --accuracy 1e-3 --format hdf5"];
    for (place, options) in kinds.iter().enumerate() {
        let alone = folder.join(format!("alone-{place}"));
        let mut reports = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let output = alone.join(format!("stars-{number}"));
            reports.push(json(&format!("run {file} {settings} {options} --output {}", output.display())));
        }
        for threads in [1, 2, 12] {
            let together = folder.join(format!("together-{place}-{threads}"));
            let words = format!("{} {settings} {options} --threads {threads}", files.join(" "));
            let report = json(&format!("run {words} --output {}", together.display()));
            assert_eq!(contents(&together).len(), 25);
            assert!(contents(&together) == contents(&alone), "other snapshots: {options}, {threads} threads");
            let found = report["files"].as_array().unwrap();
            assert_eq!(found.len(), files.len());
            for ((found, alone), file) in found.iter().zip(&reports).zip(&files) {
                assert_eq!(found["file"], Value::from(&**file));
                for name in ["energies", "final_energy", "steps", "block_steps", "closest_approach", "binaries"] {
                    assert_eq!(found[name], alone[name], "{name} of {file}");
                }
                assert_eq!(found["threads"], if threads == 12 { 2 } else { 1 });
            }
            let steps: f64 = reports.iter().map(|report| number(&report["steps"])).sum();
            assert_eq!((number(&report["steps"]), &report["failures"]), (steps, &Value::Array(Vec::new())));
        }
    }
}

#[test]
fn each_of_several_files_has_the_bits_of_a_cluster_of_an_ensemble() {
    let folder = folder("several-clusters");
    let files = models(&folder, &[60, 24, 9]);
    let output = folder.join("snapshots");
    let settings = "--backend cpu --eps 0.01 --t-end 0.5 --interval 0.125 --precision mixed";
    printed(&format!("run {} {settings} --output {}", files.join(" "), output.display()));
    let settings = Settings { backend: Some(kyoho::Backend::Cpu), ..Settings::from_environment().unwrap() };
    let setup = settings.setup(Order::Fourth, Precision::Mixed).unwrap();
    for (place, file) in files.iter().enumerate() {
        let choices = Choices { softening: 0.01, ..Choices::default() };
        let mut cluster = Cluster::new(System::new(&setup).unwrap(), choices).unwrap();
        let bodies = rows(Path::new(file)).into_iter().enumerate().map(|(name, row)| {
            let change = Change {
                mass: Some(row[0]),
                position: Some([row[1], row[2], row[3]]),
                velocity: Some([row[4], row[5], row[6]]),
                ..Change::default()
            };
            (name as i64, change)
        });
        cluster.add(&bodies.collect::<Vec<_>>()).unwrap();
        for interval in 1..=4 {
            let evolved = cluster.evolve_beside(files.len(), (0.125 * f64::from(interval), None), None).unwrap();
            assert_eq!(evolved.end, EvolutionEnd::Time);
            let snapshot = rows(&output.join(format!("stars-{place}/snapshot-{interval:06}.txt")));
            let found = cluster.bodies().iter().map(|body| [body.position, body.velocity].concat());
            let expected: Vec<Vec<f64>> = snapshot.iter().map(|row| row[1..7].to_vec()).collect();
            assert_eq!(found.collect::<Vec<_>>(), expected, "{file}, interval {interval}");
        }
    }
}

#[test]
fn rows_come_by_times_and_files_and_name_these() {
    let folder = folder("several-rows");
    let files = models(&folder, &[300, 3, 30]);
    let text = printed(&format!("run {} --backend cpu --eps 0.1 --t-end 0.5 --interval 0.25", files.join(" ")));
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<String> = ["300 bodies", "3 bodies", "30 bodies"]
        .iter()
        .zip(&files)
        .map(|(bodies, file)| format!("{file}: {bodies}, "))
        .collect();
    assert!(lines.iter().zip(&starts).all(|(line, start)| line.starts_with(start)), "{text}");
    let header = |first: &str| lines.iter().position(|line| line.trim_start().starts_with(first)).unwrap();
    let words = |line: &str| -> Vec<String> { line.split_whitespace().map(String::from).collect() };
    let found: Vec<[String; 2]> = lines[header("time ") + 1..header("bodies ")]
        .iter()
        .map(|line| words(line))
        .map(|words| [words[0].clone(), words[3].clone()])
        .collect();
    let times = ["0", "0.25", "0.5"];
    let expected: Vec<[String; 2]> =
        times.iter().flat_map(|time| files.iter().map(move |file| [time.to_string(), file.clone()])).collect();
    assert_eq!(found, expected);
    for ((line, file), bodies) in lines[header("bodies ") + 1..].iter().zip(&files).zip(["300", "3", "30"]) {
        let words = words(line);
        assert_eq!((&*words[0], &*words[1], &words[6]), (bodies, "0.5", file), "{text}");
    }
    assert!(lines.last().unwrap().starts_with("speed  "), "{text}");
    assert!(lines[..header("time ")].iter().all(|line| line.len() <= 300) && lines[header("time ")].ends_with("file"));
}

#[test]
fn a_bad_file_leaves_the_others_and_is_told_of() {
    let folder = folder("several-bad");
    let files = models(&folder, &[20, 30]);
    let path = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let wrong = path("wrong.txt", "1 0 0 0 0 0 0\n1 1 0 0 0 x 0\n");
    let same = path("same.txt", "1 0 0 0 0 0 0\n1 5 0 0 0 0 0\n1 0 0 0 0 0 0\n");
    let missing = folder.join("missing.txt").display().to_string();
    let all = format!("{} {wrong} {same} {missing} {}", files[0], files[1]);
    let settings = "--backend cpu --t-end 0.25 --interval 0.125";
    let (alone, together) = (folder.join("alone"), folder.join("together"));
    for (place, file) in files.iter().enumerate() {
        printed(&format!("run {file} {settings} --output {}", alone.join(format!("stars-{place}")).display()));
    }
    let output = run(&format!("run {all} {settings} --json --output {}", together.display()));
    let error = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = error.lines().collect();
    let reasons = [
        format!("{wrong}, line 2: 'x' is not a finite number"),
        format!("{missing}: No such file or directory (os error 2)"),
        format!("{same}: bodies 1 and 3 have the same position; allowed: different positions, or softening (--eps)"),
    ];
    let told: Vec<String> = reasons.iter().map(|reason| format!("kyoho: {reason}")).collect();
    assert_eq!(lines[..3], told[..], "{error}");
    assert_eq!((lines[3..].join("\n"), output.status.code()), ("kyoho: 3 of 5 files failed".into(), Some(1)));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failures: Vec<&str> =
        report["failures"].as_array().unwrap().iter().map(|failure| failure["reason"].as_str().unwrap()).collect();
    assert_eq!(failures, reasons);
    assert_eq!(report["files"].as_array().unwrap().len(), 2);
    let mut found = contents(&together);
    found.retain(|path, _| !path.starts_with("same"));
    assert!(found == contents(&alone) && found.len() == 6);
    // Nothing is left to run.
    let output = run(&format!("run {wrong} {missing} {settings}"));
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
}

#[test]
fn a_snapshot_that_cannot_be_written_ends_one_file() {
    let folder = folder("several-full");
    let files = models(&folder, &[3, 200]);
    // The larger snapshots do not fit.
    let script = format!(
        "trap '' XFSZ; ulimit -f 12; exec {} run {} --eps 0.1 --t-end 0.25 --interval 0.125 --backend cpu --output {}",
        env!("CARGO_BIN_EXE_kyoho"),
        files.join(" "),
        folder.join("snapshots").display()
    );
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[0].starts_with(&format!("kyoho: {}: ", files[1])) && lines[0].contains("/stars-1/snap"), "{error}");
    assert_eq!((&lines[1..], output.status.code()), (&["kyoho: 1 of 2 files failed"][..], Some(1)), "{error}");
    let found = contents(&folder.join("snapshots"));
    let expected = (0..3).map(|number| PathBuf::from(format!("stars-0/snapshot-{number:06}.txt")));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn files_whose_folders_would_be_one_are_refused_before_anything_runs() {
    let folder = folder("several-names");
    let files = models(&folder, &[3, 4]);
    let other = folder.join("stars-0.dat").display().to_string();
    std::fs::copy(&files[0], &other).unwrap();
    let output = folder.join("snapshots");
    let error = failure(2, &format!("run {} {} {other} --output {}", files[0], files[1], output.display()));
    let one = output.join("stars-0").display().to_string();
    let reason = format!("files whose names without endings differ, as those of {} and {other} do not", files[0]);
    assert_eq!(error, format!("kyoho: --output is {one} for two files; allowed: {reason}"));
    assert!(!output.exists());
    // Without folders names do not matter.
    printed(&format!("run {} {other} --eps 0.1 --backend cpu", files[0]));
}

#[test]
fn several_snapshots_go_on_each_from_its_time_in_its_folder() {
    let folder = folder("several-resumed");
    let files = models(&folder, &[20, 35, 50]);
    let settings = "--backend cpu --eps 0.02 --interval 0.125";
    let (whole, part) = (folder.join("whole"), folder.join("part"));
    printed(&format!("run {} {settings} --t-end 0.5 --output {}", files.join(" "), whole.display()));
    let mut snapshots = Vec::new();
    for (place, done) in [1, 3, 2].into_iter().enumerate() {
        let own = part.join(format!("stars-{place}"));
        let end = 0.125 * f64::from(done);
        printed(&format!("run {} {settings} --t-end {end} --output {}", files[place], own.display()));
        snapshots.push(own.join(format!("snapshot-{done:06}.txt")).display().to_string());
    }
    let resume = format!("run --backend cpu --output {} --resume {}", part.display(), snapshots.join(" "));
    let error = failure(2, &format!("{resume} --t-end 0.25"));
    let expected =
        format!("kyoho: {}: --t-end is 0.25; allowed: times after 0.375, where the run begins", snapshots[1]);
    assert_eq!(error, expected);
    let text = printed(&format!("{resume} --t-end 0.5"));
    assert!(contents(&part) == contents(&whole) && contents(&whole).len() == 15, "{text}");
    let rows = text.lines().skip_while(|line| !line.trim_start().starts_with("time ")).skip(1);
    let rows = rows.take_while(|line| !line.trim_start().starts_with("bodies "));
    let rows = rows.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let found: Vec<(f64, &str)> = rows.map(|words| (words[0].parse().unwrap(), words[3])).collect();
    let times = [(0.125, 0), (0.25, 0), (0.25, 2), (0.375, 0), (0.375, 1), (0.375, 2), (0.5, 0), (0.5, 1), (0.5, 2)];
    assert_eq!(found, times.map(|(time, place)| (time, &*snapshots[place])));
}

#[test]
fn what_several_files_cannot_have_is_refused() {
    for (arguments, parts) in [
        ("run a.txt - b.txt", ["the input is '-' among 3 files", "or - alone"]),
        ("run --resume a.txt - --t-end 2", ["--resume is '-' among 2 files", "or - alone"]),
        ("run a.txt b.txt --plot energy.svg", ["--plot is given with 2 files", "with one file"]),
        ("run a.txt b.txt --watch", ["--watch is given with 2 files", "with one file"]),
        ("run a.txt b.txt --eta 0", ["kyoho: --eta is 0", "above zero"]),
        ("run a.txt b.txt --plummer 8", ["--plummer", "cannot be used with"]),
        ("run a.txt --resume b.txt", ["--resume", "cannot be used with"]),
    ] {
        let error = failure(2, arguments);
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments}: {error}");
    }
}

#[test]
fn several_files_end_when_the_reader_goes_away() {
    let files = models(&folder("several-unread"), &[30, 40]);
    let mut command = kyoho();
    command.arg("run").args(&files).args(["--backend", "cpu", "--eps", "0.1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
