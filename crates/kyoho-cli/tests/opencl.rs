//! The OpenCL backend as a caller sees it, on PoCL, whose devices are CPUs.

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::pocl::{by_opencl, on_pocl};
use common::programs::{NATIVE, OLD, Program, keeps_promises};
use common::{folder, succeed};

/// Runs `kyoho` with these arguments, in a folder without `sapporo2.config`.
fn kyoho(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho"));
    command.current_dir(env!("CARGO_TARGET_TMPDIR")).args(arguments).env("COLUMNS", "1000");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn info(variables: &[(&str, &str)]) -> Output {
    on_pocl(kyoho(&["info"]), variables).output().unwrap()
}

/// Returns the value of `POCL_DEVICES` that makes PoCL show two devices, which have other names
/// from PoCL 4 on. Both compute on all cores: PoCL 3.1 may wait for itself for ever if several
/// threads use its device for one core.
fn two_devices() -> (&'static str, &'static str) {
    let two = ["pthread pthread", "cpu cpu"].map(|names| ("POCL_DEVICES", names)).into_iter().find(|names| {
        let output = info(&[*names]);
        output.status.success() && text(&output.stdout).contains("backend opencl: 2 devices")
    });
    two.expect("PoCL shows two devices")
}

#[test]
fn a_cpu_is_taken_only_where_opencl_is_asked_for() {
    let (by_itself, asked_for) = (info(&[]), info(&[("KYOHO_BACKEND", "opencl")]));
    let (by_itself, asked_for) = (text(&by_itself.stdout), text(&asked_for.stdout));
    for line in ["backend opencl: 1 device\n", "a CPU, only where it is asked for: every order and precision"] {
        assert!(by_itself.contains(line), "{line} is not in\n{by_itself}");
    }
    let who = "in use     backend cpu (the first of cuda, opencl, cpu that has devices; CPUs and PoCL of opencl do not count)";
    assert!(by_itself.contains(who), "{by_itself}");
    assert!(asked_for.contains("in use     backend opencl (as was asked for)"), "{asked_for}");
}

#[test]
fn devices_are_counted_and_named_as_those_of_other_backends() {
    let (two, opencl) = (two_devices(), ("KYOHO_BACKEND", "opencl"));
    let chosen = |devices| text(&info(&[two, opencl, ("KYOHO_DEVICES", devices)]).stdout);
    for (devices, sentence) in [
        ("all", "KYOHO_DEVICES asks for all of 2 devices: devices 0, 1"),
        ("2", "KYOHO_DEVICES asks for 2 of 2 devices: devices 0, 1"),
        ("1,", "KYOHO_DEVICES names 1 of 2 devices: device 1"),
    ] {
        let page = chosen(devices);
        assert!(page.contains(sentence), "{devices}: {page}");
    }
    let refused = info(&[opencl, ("KYOHO_DEVICES", "2")]);
    let error = text(&refused.stderr);
    assert!(refused.stdout.is_empty() && error.contains("'2 devices of backend opencl'; allowed: 1 to 1"), "{error}");
}

/// A cluster is integrated for a while, and every digit of its bodies is compared.
fn integrated(name: &str, variables: &[(&str, &str)]) -> String {
    let snapshots = folder(name);
    let model = ["run", "--plummer", "300", "--t-end", "0.125", "--interval", "0.0625", "--eps", "0.01", "--output"];
    let output = succeed(by_opencl(kyoho(&model), variables).arg(&snapshots));
    assert!(text(&output.stdout).contains("on opencl ("), "{output:?}");
    std::fs::read_to_string(snapshots.join("snapshot-000002.txt")).unwrap()
}

#[test]
fn one_device_and_several_give_the_same_bits() {
    let two = two_devices();
    let one = integrated("opencl_one", &[]);
    for devices in ["0,0", "1,", "0,1", "1,0,1", "all"] {
        let several = integrated("opencl_several", &[two, ("KYOHO_DEVICES", devices)]);
        assert!(several == one, "the bodies are others on devices {devices}");
    }
}

#[test]
fn several_files_divide_the_devices_and_have_the_bits_of_runs_alone() {
    let two = two_devices();
    let folder = folder("opencl_files");
    let path = |name: &str| folder.join(name).display().to_string();
    let files = ["1", "2", "3"].map(|seed| {
        let file = path(&format!("stars-{seed}.txt"));
        succeed(&mut kyoho(&["model", "plummer", "300", "--seed", seed, "--output", &file]));
        file
    });
    let settings = ["--t-end", "0.0625", "--interval", "0.0625", "--eps", "0.01", "--json", "--output"];
    let run = |files: &[String], output: &str, variables: &[(&str, &str)]| -> serde_json::Value {
        let mut command = by_opencl(kyoho(&["run"]), variables);
        let output = succeed(command.args(files).args(settings).arg(output));
        serde_json::from_slice(&output.stdout).expect("a report")
    };
    let report = run(&files, &path("together"), &[two, ("KYOHO_DEVICES", "0,1")]);
    for (file, report) in files.iter().zip(report["files"].as_array().unwrap()) {
        assert_eq!((&report["backend"], report["devices"].as_array().unwrap().len()), (&"opencl".into(), 1));
        let name = Path::new(file).file_stem().unwrap().to_str().unwrap();
        let alone = run(std::slice::from_ref(file), &path(name), &[]);
        assert_eq!(report["energies"], alone["energies"]);
        let bodies = |of: &str| std::fs::read(folder.join(of).join("snapshot-000001.txt")).unwrap();
        assert!(bodies(&format!("together/{name}")) == bodies(name), "the bodies of {file} are others");
    }
}

/// Returns the energies of a report.
fn energies(output: Output) -> Vec<f64> {
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let rows = report["energies"].as_array().expect("a row for each interval").iter();
    rows.map(|row| row["total"].as_f64().expect("a number")).collect()
}

#[test]
fn softenings_of_each_body_give_the_same_bits_on_one_device_and_on_several() {
    let mut lines = String::from("m,x,y,z,vx,vy,vz,eps\n");
    for body in 0..300u32 {
        let wave = |factor: f64| (factor * f64::from(body + 1)).sin();
        let numbers = [wave(1.7), wave(2.9), wave(0.83), 0.3 * wave(3.1), 0.3 * wave(1.3), 0.3 * wave(0.37)];
        let row = numbers.map(|number| format!("{number:e}")).join(",");
        lines += &format!("{:e},{row},{:e}\n", 1.0 / 300.0, 0.02 + f64::from(body) / 4096.0);
    }
    let path = folder("opencl_softenings").join("stars.csv");
    std::fs::write(&path, lines).unwrap();
    for order in [["--order", "2", "--dt", "0.015625"], ["--order", "6", "--eta", "0.2"]] {
        let run = ["run", path.to_str().unwrap(), "--t-end", "0.0625", "--precision", "double", "--json"];
        let run = [&run[..], &order[..]].concat();
        let on = |devices| energies(succeed(&mut by_opencl(kyoho(&run), &[("KYOHO_DEVICES", devices)])));
        let (one, two) = (on("0,"), on("0,0"));
        assert_eq!(one, two);
        let cpu = energies(succeed(kyoho(&run).args(["--backend", "cpu"])));
        for (one, cpu) in one.iter().zip(&cpu) {
            assert!((one / cpu - 1.0).abs() < 1e-13, "{one}, {cpu} {order:?}");
        }
    }
}

#[test]
fn a_law_between_bodies_has_the_same_bits_on_one_device_and_on_several() {
    let law = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/laws/post_newtonian.pair,light=20");
    let run = ["run", "--plummer", "100", "--t-end", "0.0625", "--eps", "0.05", "--precision", "double", "--json"];
    let with_law = [&run[..], &["--law", law]].concat();
    let on = |devices| energies(succeed(&mut by_opencl(kyoho(&with_law), &[("KYOHO_DEVICES", devices)])));
    let (one, two) = (on("0,"), on("0,0"));
    assert_eq!(one, two);
    let cpu = energies(succeed(kyoho(&with_law).args(["--backend", "cpu"])));
    let without = energies(succeed(kyoho(&run).args(["--backend", "cpu"])));
    for ((one, cpu), without) in one.iter().zip(cpu).zip(without).skip(1) {
        assert!((one - cpu).abs() < 1e-9 && (cpu - without).abs() > 1e-9, "{one}, {cpu}, without {without}");
    }
}

#[test]
fn a_folder_for_programs_changes_no_result() {
    let place = folder("opencl_folders");
    let file = place.join("file");
    std::fs::write(&file, "the user's").unwrap();
    let with = |path: &Path| integrated("opencl_cached", &[("KYOHO_CACHE_DIR", path.to_str().unwrap())]);
    let fresh = place.join("not/there");
    let bodies = with(&fresh);
    for path in [&fresh, Path::new(""), &file, &file.join("below"), Path::new("/proc/kyoho")] {
        assert!(with(path) == bodies, "the bodies are others with KYOHO_CACHE_DIR={}", path.display());
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "the user's");
}

#[test]
fn programs_of_a_cpu_are_kept_by_its_driver_alone() {
    let program = Program::build("g6_forms", OLD, "opencl_kept");
    let fresh = program.folder.join("programs");
    let log = || {
        let variables = [("KYOHO_LOG", "debug"), ("KYOHO_CACHE_DIR", fresh.to_str().unwrap())];
        keeps_promises(&mut by_opencl(program.command(), &variables))
    };
    let first = log();
    assert!(first.contains(": built in ") && !first.contains(": loaded in "), "{first}");
    let second = log();
    assert!(second.contains(": built in ") && !second.contains(": loaded in "), "{second}");
    assert!(!fresh.exists());
}

/// A program with its arguments, and the variables of its environments.
type Run = (&'static str, &'static [&'static str], &'static [&'static [(&'static str, &'static str)]]);

const SINGLE: (&str, &str) = ("KYOHO_PRECISION", "single");
const MIXED: (&str, &str) = ("KYOHO_PRECISION", "mixed");
const DOUBLE: (&str, &str) = ("KYOHO_PRECISION", "double");
const ALL: &[&[(&str, &str)]] = &[&[SINGLE], &[MIXED], &[DOUBLE]];
/// Blocks that are larger than the block size that the caller was given.
const SMALL: (&str, &str) = ("KYOHO_NPIPES", "48");

/// Some programs are not in this list: `g6_lifecycle` counts threads, of which the driver has its
/// own; `native_threads` has thousands of systems at once, each with memory of the driver;
/// `g5_devices` and `g6_broken` compute nothing on a device.
const OF_OLD: &[Run] = &[
    ("g6_forces", &[], ALL),
    ("g6_blocks", &[], &[&[SINGLE, SMALL], &[MIXED, SMALL], &[DOUBLE, SMALL]]),
    ("g6_neighbours", &[], ALL),
    ("g6_forms", &[], ALL),
    ("g6_own_c_forms", &[], &[&[MIXED]]),
    ("g6_errors", &[], &[&[MIXED], &[DOUBLE]]),
    ("g6_fork", &["this process was forked from one that uses OpenCL"], &[&[MIXED]]),
    ("g5_forces", &[], ALL),
    ("g5_threads", &[], &[&[SINGLE], &[DOUBLE]]),
    ("g5_errors", &[], &[&[SINGLE], &[DOUBLE]]),
];
const OF_NATIVE: &[Run] = &[
    ("native_forces", &[], &[&[]]),
    ("native_hermite", &[], &[&[]]),
    ("native_neighbours", &[], &[&[]]),
    ("native_errors", &[], &[&[]]),
    ("native_environment", &["KYOHO_OK", "order 4 precision 3 backend 3"], &[&[]]),
];

/// Runs programs in all of their environments. None of them may report anything.
fn keep_their_promises(runs: &[Run], language: &[&str]) {
    for (name, arguments, environments) in runs {
        let program = Program::build(name, language, &format!("opencl_{name}"));
        for variables in *environments {
            let said = keeps_promises(by_opencl(program.command(), variables).args(*arguments));
            assert_eq!(said, "", "{name} {variables:?}");
        }
    }
}

#[test]
fn programs_on_the_old_interfaces_keep_their_promises() {
    keep_their_promises(OF_OLD, OLD);
}

#[test]
fn programs_on_the_native_interface_keep_their_promises() {
    keep_their_promises(OF_NATIVE, NATIVE);
}

#[test]
fn sapporo2_config_names_devices() {
    let program = Program::build("g6_config", OLD, "opencl_g6_config");
    assert_eq!(keeps_promises(&mut by_opencl(program.command(), &[two_devices()])), "");
}
