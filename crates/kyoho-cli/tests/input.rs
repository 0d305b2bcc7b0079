//! What the command reads: files, the standard input, texts as other programs write them, and counts.

mod common;

use std::io::Write;
use std::process::{Output, Stdio};

use common::{folder, kyoho, run};

/// Runs the command with a text on its standard input.
fn run_with(arguments: &str, input: &[u8]) -> Output {
    let mut command = kyoho();
    command.args(arguments.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    // A command that refuses its options ends without reading.
    let _ = child.stdin.take().expect("its input").write_all(input);
    child.wait_with_output().expect("it ends")
}

fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn error(output: Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("text").trim_end().to_string()
}

/// Returns the lines of a run's report that have no times of this machine in them.
fn lines(report: &str) -> Vec<&str> {
    report.lines().filter(|line| !line.starts_with("block step") && !line.starts_with("speed")).collect()
}

const TWO: &[u8] = b"1 -1 0 0 0 -0.5 0\n1 1 0 0 0 0.5 0\n";

#[test]
fn every_subcommand_with_files_reads_the_standard_input_too() {
    let folder = folder("standard-input");
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("two.txt"), TWO).unwrap();
    let options = "--t-end 0.5 --backend cpu";
    let of_file = printed(run(&format!("run {} {options}", path("two.txt"))));
    let of_input = printed(run_with(&format!("run - {options}"), TWO));
    assert_eq!(lines(&of_input), lines(&of_file));
    printed(run(&format!("run {} {options} --output {}", path("two.txt"), path("snapshots"))));
    let snapshot = std::fs::read(path("snapshots/snapshot-000016.txt")).unwrap();
    let resumed = printed(run_with("run --resume - --t-end 1 --interval 0.25 --backend cpu", &snapshot));
    assert!(resumed.contains("\n             1  "), "{resumed}");
    printed(run_with(&format!("picture - --output {}", path("two.png")), TWO));
    assert!(folder.join("two.png").exists());

    let text = "pair p\ni x: f64\nj x: f64\nresult s: f64 sum\nbody\ns += i.x * j.x\n";
    std::fs::write(path("p.pair"), text).unwrap();
    std::fs::write(path("x.txt"), "1\n2\n").unwrap();
    let (pair, x) = (path("p.pair"), path("x.txt"));
    let expected = "# s\n3e0\n6e0\n";
    assert_eq!(printed(run_with(&format!("pair run {pair} --i {x} --j -"), b"1\n2\n")), expected);
    assert_eq!(printed(run_with(&format!("pair run - --i {x} --j {x}"), text.as_bytes())), expected);
    assert!(printed(run_with("pair explain -", text.as_bytes())).contains("i.x * j.x"));
}

#[test]
fn mistakes_on_the_standard_input_are_named_so() {
    let options = "--t-end 0.5 --backend cpu";
    assert_eq!(
        error(run_with(&format!("run - {options}"), b"")),
        "kyoho: the standard input: there are no bodies in it"
    );
    let wrong = error(run_with(&format!("run - {options}"), b"1 2 3\n"));
    assert!(wrong.starts_with("kyoho: the standard input, line 1: it has 3 words; allowed: 7 numbers"), "{wrong}");
    let picture = error(run_with("picture -", TWO));
    assert!(picture.starts_with("kyoho: --output is not given; allowed: the name of the picture"), "{picture}");
    let twice = error(run_with("pair run examples/pairs/gravity.pair --i - --j -", b""));
    assert!(twice.contains("- more than once; allowed: the standard input for one of the files"), "{twice}");
}

#[test]
fn a_text_may_begin_with_a_byte_order_mark() {
    let mark = b"\xef\xbb\xbf";
    let options = "run - --t-end 0.5 --backend cpu";
    let marked = printed(run_with(options, &[mark, TWO].concat()));
    assert_eq!(lines(&marked), lines(&printed(run_with(options, TWO))));
    let wide: Vec<u8> =
        [0xfeff].into_iter().chain(TWO.iter().map(|byte| u16::from(*byte))).flat_map(u16::to_le_bytes).collect();
    assert_eq!(error(run_with(options, &wide)), "kyoho: the standard input: it is a text in UTF-16; allowed: UTF-8");
}

/// The bodies of a snapshot begin a new run, in either format.
#[test]
fn a_snapshot_is_an_input_too() {
    let folder = folder("snapshot-as-input");
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        let output = folder.join(format);
        let settings = format!("--plummer 8 --eps 0.1 --t-end 0.1 --interval 0.1 --format {format}");
        printed(run(&format!("run {settings} --backend cpu --output {}", output.display())));
        let snapshot = output.join(format!("snapshot-000001.{extension}"));
        let again = printed(run(&format!("run {} --eps 0.1 --t-end 0.1 --backend cpu", snapshot.display())));
        assert!(again.contains("\n             0  "), "{again}");
    }
}

/// Files of other codes have the units that they tell, or else those of `--units`.
#[test]
fn files_of_other_codes_are_inputs_with_their_units() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../kyoho-files/tests/data");
    let run_of = |name: &str, options: &str| run(&format!("run {data}/{name} --t-end 0.001 --backend cpu {options}"));
    let report = |name: &str, options: &str| -> serde_json::Value {
        serde_json::from_str(&printed(run_of(name, &format!("{options} --json")))).expect("JSON")
    };
    let about = |found: &serde_json::Value, expected: f64| (found.as_f64().unwrap() / expected - 1.0).abs() < 1e-3;
    for (name, gravity, units) in [
        ("gadget2.hdf5", 1.0, None),
        ("gadget4.hdf5", 43007.1, Some("6.171356e21cm 3.978e43g 1e5cm/s")),
        ("amuse_2.hdf5", 4.3012e-3, Some("3.08567758128e16m 1.98892e30kg 1e3m/s")),
    ] {
        let found = report(name, "");
        assert!(about(&found["G"], gravity) && found["units"].as_str() == units, "{name}: {found}");
    }
    // Energies are in the units of the run.
    let [own, kpc] = ["", "--units"].map(|option| {
        let units = if option.is_empty() { String::new() } else { "--units=kpc_Msun_km/s".into() };
        let mut command = kyoho();
        command.args(["run", &format!("{data}/gadget4.hdf5"), "--t-end", "1e-9", "--backend", "cpu", "--json"]);
        command.args((!units.is_empty()).then(|| units.replace('_', " ")));
        let found: serde_json::Value = serde_json::from_str(&printed(command.output().unwrap())).expect("JSON");
        found["energies"][0]["kinetic"].as_f64().unwrap()
    });
    assert!((kpc / own / 2.0006e10 - 1.0).abs() < 1e-3, "{own} {kpc}");
    let text = printed(run_of("gadget4.hdf5", ""));
    assert!(text.contains("\nin units of 6.171356e21cm 3.978e43g 1e5cm/s, G 43021."), "{text}");

    assert!(error(run_of("cosmological.hdf5", "")).contains("it is of a cosmological run in comoving coordinates"));
    let picture = folder("other-codes").join("arepo.png");
    let line = printed(run(&format!("picture {data}/arepo.hdf5 --output {}", picture.display())));
    assert!(line.contains("4 of 4 bodies") || line.contains("of 4 bodies, mass"), "{line}");
    let systems = printed(run(&format!("few-body {data}/amuse_1.hdf5 --time 0.001 --json")));
    let systems: serde_json::Value = serde_json::from_str(&systems).expect("JSON");
    assert_eq!(systems.as_array().map(Vec::len), Some(1), "{systems}");
    let input = std::fs::read(format!("{data}/swift.hdf5")).unwrap();
    printed(run_with("run - --t-end 0.001 --backend cpu", &input));
}

#[test]
fn counts_may_be_written_with_an_exponent() {
    let model = |arguments: &str| printed(run(arguments));
    assert_eq!(model("plummer 1e2 --backend cpu"), model("plummer 100 --backend cpu"));
    assert_eq!(model("model random 1.5e2 --seed 1e1"), model("model random 150 --seed 10"));
    printed(run("bench --n 1e1,2e1 --ni 1e0 --seconds 0.0001 --backend cpu --threads 1e0"));
    for (arguments, allowed) in [
        ("plummer 1.5", "allowed: whole numbers from 2 to 1073741824, such as 1000 or 1e3"),
        ("plummer many", "allowed: whole numbers from 2 to 1073741824, such as 1000 or 1e3"),
        ("bench --n 1e10", "allowed: whole numbers from 1 to 268435456, such as 1000 or 1e3"),
        ("run --plummer 8 --eps wide", "allowed: numbers, such as 0.01 or 1e-3"),
        ("run --plummer 8 --order four", "allowed: 2, 4, 6, 8"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2));
        let error = error(output).replace("\n", " ");
        assert!(error.contains(allowed), "{arguments}: {error}");
    }
}
