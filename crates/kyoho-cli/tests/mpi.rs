//! The command over ranks, and the example of a code for many machines, run under a launcher on this
//! machine and compared with their serial versions. `KYOHO_TEST_MPI=mpich` takes MPICH in the place
//! of Open MPI.

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use common::mpi::Mpi;
use common::{compiler, fake_driver, folder, link_library, root, succeed};

/// A folder with one of the integrators, built by a compiler that treats warnings as errors.
fn build(command: &str, name: &str, folder: &Path) -> PathBuf {
    let program = folder.join(name);
    let source = root().join("examples").join(name).with_extension("c");
    let warnings = ["-std=c99", "-pedantic", "-O2", "-Wall", "-Wextra", "-Werror"];
    succeed(compiler(command, folder).args(warnings).arg("-o").arg(&program).arg(source).args(["-lkyoho", "-lm"]));
    program
}

/// Leaves it to the test to configure the library, on one thread of the CPU and in `double`.
fn configured(mut command: Command, folder: &Path) -> Command {
    for (name, _) in std::env::vars_os() {
        if ["KYOHO_", "SLURM_", "GPU_LIST"].iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).envs([("KYOHO_BACKEND", "cpu"), ("KYOHO_THREADS", "1"), ("KYOHO_PRECISION", "double")]);
    command
}

fn alone(program: impl AsRef<Path>, folder: &Path) -> Command {
    configured(Command::new(program.as_ref()), folder)
}

fn mpirun(folder: &Path) -> Command {
    configured(Mpi::chosen().launcher(), folder)
}

fn ranks(number: usize, program: &Path) -> Vec<String> {
    vec!["-np".into(), number.to_string(), program.display().to_string()]
}

fn said(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

/// The results of an integrator: bodies and steps as they were printed, the initial energy and the
/// final one.
fn found(text: &str) -> (Vec<&str>, [f64; 2]) {
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
        line[name.len()..].trim()
    };
    (
        ["bodies", "block steps", "body steps"].map(value).to_vec(),
        ["initial energy", "final energy"].map(|name| value(name).parse().unwrap()),
    )
}

/// The ranks have taken the steps of the serial program, and the energy has changed by the same
/// amount to a thousandth. A few last bits of the energy may differ, because partial sums are added
/// in another order.
fn agrees(serial: &str, parallel: &str) {
    let ((steps, [first, last]), (parallel_steps, parallel_energies)) = (found(serial), found(parallel));
    assert_eq!(parallel_steps, steps);
    let error = (last - first).abs();
    assert!(error > 1e-12 * first.abs(), "an error that tells nothing: {serial}");
    for (one, other) in [first, last].into_iter().zip(parallel_energies) {
        assert!((one - other).abs() < 1e-3 * error, "{serial}\n{parallel}");
    }
}

#[test]
fn one_rank_gives_the_bits_of_the_serial_integrator() {
    let folder = folder("mpi_one");
    link_library(&folder);
    let (serial, parallel) = (build("gcc", "hermite4", &folder), build(Mpi::chosen().c, "hermite4_mpi", &folder));
    let model = said(succeed(Command::new(env!("CARGO_BIN_EXE_kyoho")).args(["plummer", "64"])));
    std::fs::write(folder.join("model.txt"), model).unwrap();
    // After that time the encounters of so few bodies would turn a changed bit in any force into
    // another energy.
    let run = ["model.txt", "16"];
    let serial = said(succeed(alone(serial, &folder).args(run)));
    let parallel = said(succeed(mpirun(&folder).args(ranks(1, &parallel)).args(run)));
    assert!(parallel.starts_with(&serial), "{serial}\n{parallel}");
}

#[test]
fn any_number_of_ranks_takes_the_steps_of_the_serial_integrator() {
    let folder = folder("mpi_ranks");
    link_library(&folder);
    let (serial, parallel) = (build("gcc", "hermite4", &folder), build(Mpi::chosen().c, "hermite4_mpi", &folder));
    let model = root().join("examples/plummer1024.txt");
    let serial = said(succeed(alone(serial, &folder).arg(&model).arg("0.5")));
    for number in 1..=4 {
        // 1024 bodies are divided evenly among 2 and 4 ranks, and among 3 as 342, 341 and 341.
        // Blocks of more sinks than the interface takes at once are summed over the ranks as one.
        let mut command = mpirun(&folder);
        command.env("KYOHO_NPIPES", "100").args(ranks(number, &parallel));
        agrees(&serial, &said(succeed(command.arg(&model).arg("0.5"))));
    }
}

#[test]
fn ranks_may_hold_no_body() {
    let folder = folder("mpi_idle");
    link_library(&folder);
    let (serial, parallel) = (build("gcc", "hermite4", &folder), build(Mpi::chosen().c, "hermite4_mpi", &folder));
    let model = root().join("examples/pythagorean.txt");
    let serial = said(succeed(alone(serial, &folder).arg(&model)));
    agrees(&serial, &said(succeed(mpirun(&folder).args(ranks(4, &parallel)).arg(&model))));
}

#[test]
fn a_rank_that_fails_says_why_and_ends_all() {
    let folder = folder("mpi_failures");
    link_library(&folder);
    let parallel = build(Mpi::chosen().c, "hermite4_mpi", &folder);
    let fails = |arguments: &[String], lines: &[&str]| {
        let output = mpirun(&folder).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        for line in lines {
            assert_eq!(error.matches(line).count(), 1, "'{line}' is not there once:\n{error}");
        }
        assert!(!error.to_lowercase().contains("timeout"), "{error}");
    };
    let with = |number, arguments: &[&str]| {
        [ranks(number, &parallel), arguments.iter().map(|argument| argument.to_string()).collect()].concat()
    };
    fails(&with(2, &[]), &["usage: hermite4_mpi FILE [TIME]"]);
    fails(&with(2, &["bodies.txt", "0.3"]), &["hermite4_mpi: the time is 0.3; allowed: multiples of 1/8"]);
    fails(&with(2, &["nowhere.txt"]), &["hermite4_mpi: rank 0: nowhere.txt: no bodies"]);

    let pair = "1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n";
    std::fs::write(folder.join("pair.txt"), pair).unwrap();
    std::fs::write(folder.join("bodies.txt"), format!("{pair}nan 2 0 0 0 1 0\n")).unwrap();
    let refused = "kyoho: g6_set_j_particle: the mass of the source at address 0 is NaN";
    fails(&with(3, &["bodies.txt"]), &[refused, "hermite4_mpi: rank 2: g6_set_j_particle failed"]);

    let broken = Mpi::chosen().variable("KYOHO_PRECISION", "quadruple");
    let one = with(1, &["pair.txt"]);
    let mixed = [&one[..], &[":".into()], &one[..2], &broken, &one[2..]].concat();
    fails(&mixed, &["KYOHO_PRECISION is 'quadruple'", "hermite4_mpi: rank 1: g6_open failed"]);
}

#[test]
fn every_rank_has_a_board_of_its_own_and_closes_it() {
    let folder = folder("mpi_boards");
    link_library(&folder);
    let parallel = build(Mpi::chosen().c, "hermite4_mpi", &folder);
    let model = root().join("examples/pythagorean.txt");
    let log = [("KYOHO_LOG", "info"), ("KYOHO_LOG_FILE", "kyoho-%p.log")];
    succeed(mpirun(&folder).envs(log).args(ranks(2, &parallel)).arg(&model));
    let mut held: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "log") {
            let log = std::fs::read_to_string(path).unwrap();
            assert!(log.contains("g6 opened"), "{log}");
            let (_, closed) = log.split_once("g6 closed: ").unwrap_or_else(|| panic!("not closed: {log}"));
            held.push(closed.split(',').next().unwrap().into());
        }
    }
    held.sort();
    assert_eq!(held, ["1 sources", "2 sources"]);
}

/// Builds `kyoho-mpi` as `make mpi` does, once for all tests.
fn kyoho_mpi() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let compiler = format!("MPICC={}", Mpi::chosen().c);
        succeed(Command::new("make").args(["mpi", "PROFILE=dev", &compiler]).current_dir(root()));
        Path::new(env!("CARGO_BIN_EXE_kyoho")).with_file_name("kyoho-mpi")
    })
}

/// Returns a run by some ranks, or by one process for 0.
fn run_by(number: usize, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = if number == 0 { alone(env!("CARGO_BIN_EXE_kyoho"), folder) } else { mpirun(folder) };
    command.args(if number == 0 { Vec::new() } else { ranks(number, kyoho_mpi()) }).arg("run").args(arguments);
    command
}

/// Returns the snapshots in a folder, by their names.
fn snapshots(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_run_of_ranks_writes_the_snapshots_of_one_process_and_goes_on_with_others() {
    let folder = folder("mpi_command");
    let model = ["--plummer", "600", "--eps", "0.01", "--interval", "0.015625"];
    for (order, more) in [("4", &[][..]), ("2", &["--dt", "0.00390625", "--field", "plummer,mass=1,radius=2"])] {
        let run = [&model[..], &["--order", order, "--t-end", "0.03125"], more].concat();
        let go_on = |from: &str| {
            let snapshot = format!("{from}/snapshot-000001.txt");
            ["--resume", &snapshot, "--t-end", "0.03125", "--output"].map(String::from).to_vec()
        };
        for number in 0..=3 {
            let name = format!("by-{number}-in-{order}");
            let said = said(succeed(&mut run_by(number, &folder, &[&run[..], &["--output", &name]].concat())));
            assert_eq!(said.matches("final energy").count(), 1, "{said}");
            assert_eq!(
                said.matches(&format!("on {number} ranks, each cpu")).count(),
                usize::from(number > 0),
                "{said}"
            );
        }
        let expected = snapshots(&folder.join(format!("by-0-in-{order}")));
        assert_eq!(expected.len(), 3);
        for number in [1, 2] {
            assert!(snapshots(&folder.join(format!("by-{number}-in-{order}"))) == expected, "by {number} in {order}");
        }
        // Two ranks go on from what one process wrote, and one process from what two ranks wrote.
        for (number, from) in [(2, 0), (0, 2)] {
            let name = format!("again-by-{number}-in-{order}");
            let words = [&go_on(&format!("by-{from}-in-{order}"))[..], std::slice::from_ref(&name)].concat();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            succeed(&mut run_by(number, &folder, &words));
            let again = snapshots(&folder.join(name));
            assert!(again["snapshot-000002.txt"] == expected["snapshot-000002.txt"], "again by {number} in {order}");
        }
    }
}

/// Runs the command, which ends well, and returns what it says.
fn ran(number: usize, folder: &Path, arguments: &[&str]) -> String {
    said(succeed(&mut run_by(number, folder, arguments)))
}

/// Returns the numbers in the lines of the bodies of a snapshot.
fn rows(folder: &Path, name: &str) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
}

/// Writes a file of bodies in units, with softenings of their own.
fn write_softened(folder: &Path, name: &str, count: usize) {
    let model = said(succeed(Command::new(env!("CARGO_BIN_EXE_kyoho")).args(["plummer", &count.to_string()])));
    let lines = model.lines().filter(|line| !line.starts_with('#')).enumerate();
    let rows = lines.map(|(number, line)| format!("{line} {}\n", if number % 3 == 0 { 0.05 } else { 0.01 }));
    let header = "mass_[Msun] x_[pc] y_[pc] z_[pc] vx_[km/s] vy_[km/s] vz_[km/s] eps_[pc]\n";
    std::fs::write(folder.join(name), header.to_string() + &rows.collect::<String>()).unwrap();
}

/// So many bodies are summed by a tree.
const BODIES_OF_TREE: &str = "4200";

#[test]
fn ranks_that_sum_by_a_tree_have_a_share_of_the_bodies_each() {
    let folder = folder("mpi_tree");
    let model = said(succeed(Command::new(env!("CARGO_BIN_EXE_kyoho")).args(["plummer", BODIES_OF_TREE])));
    std::fs::write(folder.join("model.txt"), model).unwrap();
    let more = ["--eps", "0.01", "--t-end", "0.03125", "--interval", "0.015625", "--field", "plummer,mass=1,radius=2"];
    let run = [&["model.txt", "--order", "2", "--dt", "0.015625", "--accuracy", "1e-3"][..], &more].concat();
    let last = "snapshot-000002.txt";
    for number in [0, 1, 2, 7] {
        let name = format!("by-{number}");
        let report = ran(number, &folder, &[&run[..], &["--output", &name]].concat());
        assert!(report.contains("8400 in 2 block steps"), "{report}");
        assert!(report.contains("a tree of accuracy 0.001"), "{report}");
        let (found, expected) = (rows(&folder.join(&name), last), rows(&folder.join("by-0"), last));
        assert_eq!(found.len(), 4200);
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found[0] == expected[0] && (1..4).all(|k| (found[k] - expected[k]).abs() < 1e-5), "by {number}");
        }
    }
    assert!(snapshots(&folder.join("by-1")) == snapshots(&folder.join("by-0")));
    // As many ranks go on with the bits of the run before, from a file in another format too.
    ran(2, &folder, &[&run[..], &["--output", "in-hdf5", "--format", "hdf5"]].concat());
    let whole = snapshots(&folder.join("by-2"));
    for from in ["by-2/snapshot-000001.txt", "in-hdf5/snapshot-000001.h5"] {
        let again = ["--resume", from, "--t-end", "0.03125", "--overwrite", "--output", "again", "--format", "text"];
        ran(2, &folder, &again);
        assert!(snapshots(&folder.join("again"))[last] == whole[last], "from {from}");
    }
    // Others, and one process, go on as exactly as the tree is.
    for (number, from) in [(3, "by-0"), (0, "by-7")] {
        let from = format!("{from}/snapshot-000001.txt");
        ran(number, &folder, &["--resume", &from, "--t-end", "0.03125", "--overwrite", "--output", "again"]);
        let [found, expected] = ["again", "by-0"].map(|name| rows(&folder.join(name), last));
        let mut pairs = found.iter().zip(&expected);
        assert!(pairs.all(|(found, expected)| (1..4).all(|k| (found[k] - expected[k]).abs() < 1e-5)), "from {from}");
    }
    // Few bodies are summed directly, and ranks may have none.
    std::fs::write(folder.join("three.txt"), "1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n2 0 3 0 0.5 0 0\n").unwrap();
    let few = ["three.txt", "--order", "2", "--dt", "0.125", "--theta", "0.5", "--output"];
    let [one, many] = [(0, "one"), (7, "many")].map(|(number, name)| {
        let report = ran(number, &folder, &[&few[..], &[name]].concat());
        assert!(report.contains("forces are direct sums: 3 x 3 pairs"), "{report}");
        rows(&folder.join(name), "snapshot-000008.txt")
    });
    assert_eq!(one.len(), many.len());
    let near = |(one, many): (&f64, &f64)| (one - many).abs() < 1e-12;
    assert!(one.iter().flatten().zip(many.iter().flatten()).all(near), "{one:?} {many:?}");
}

#[test]
fn ranks_have_bodies_with_softenings_of_their_own() {
    let folder = folder("mpi_softenings");
    write_softened(&folder, "few.txt", 300);
    write_softened(&folder, "many.txt", 4200);
    for order in ["2", "4"] {
        let dt: &[&str] = if order == "2" { &["--dt", "0.5"] } else { &[] };
        let run = [&["few.txt", "--order", order, "--interval", "0.5", "--output"][..], &[order], dt].concat();
        let by = |number| {
            let report = ran(number, &folder, &[&run[..], &["--overwrite"]].concat());
            assert!(report.contains("eps 0.01 to 0.05"), "{report}");
            snapshots(&folder.join(order))
        };
        let expected = by(0);
        assert!(by(2) == expected && by(4) == expected, "order {order}");
    }
    // By a tree each rank has its share of them.
    let run = ["many.txt", "--order", "2", "--dt", "0.5", "--interval", "0.5", "--t-end", "0.5", "--theta", "0.4"];
    for (number, name) in [(0, "one"), (3, "three")] {
        let report = ran(number, &folder, &[&run[..], &["--output", name]].concat());
        assert!(report.contains("in units of pc Msun km/s") && report.contains("eps 0.01 to 0.05"), "{report}");
    }
    let [one, three] = ["one", "three"].map(|name| rows(&folder.join(name), "snapshot-000001.txt"));
    assert_eq!(one.len(), three.len());
    for (one, three) in one.iter().zip(&three) {
        // The softening is the last number.
        assert!(one[14] == three[14] && (1..4).all(|k| (one[k] - three[k]).abs() < 1e-5), "{one:?} {three:?}");
    }
    ran(2, &folder, &["--resume", "three/snapshot-000001.txt", "--t-end", "1", "--output", "again"]);
    assert_eq!(rows(&folder.join("again"), "snapshot-000002.txt").len(), 4200);
}

#[test]
fn what_ends_a_run_of_ranks_is_said_once() {
    let folder = folder("mpi_command_failures");
    std::fs::write(folder.join("pair.txt"), "1 0 0 0 0 0 0\n1 0 0 0 0 1 0\n").unwrap();
    let fails = |arguments: &[&str], status: i32, text: &str| {
        let output = run_by(2, &folder, arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), error.matches(text).count()), (Some(status), 1), "{error}");
    };
    let nowhere = "kyoho: nowhere.txt: No such file or directory";
    fails(&["nowhere.txt"], 1, nowhere);
    let several = "kyoho: the input is 2 files over ranks; allowed: one file, or several by kyoho run";
    fails(&["pair.txt", "nowhere.txt"], 2, several);
    let by_tree = ["--plummer", "10", "--order", "2", "--dt", "0.0625", "--theta", "0.5"];
    fails(
        &[&by_tree[..], &["--report-error"]].concat(),
        2,
        "kyoho: --report-error is given with ranks; allowed: in a run of one process",
    );
    let law = root().join("examples/laws/yukawa.pair");
    let law = format!("{},strength=1,length=0.5,eps=0.1", law.display());
    let of_law = "kyoho: --law is given with a tree; allowed: none with a tree over ranks";
    fails(&[&by_tree[..], &["--law", &law]].concat(), 2, of_law);
    std::fs::write(folder.join("empty.txt"), "").unwrap();
    for run in [&["empty.txt"][..], &["empty.txt", "--order", "2", "--dt", "0.0625", "--theta", "0.5"]] {
        fails(run, 1, "kyoho: empty.txt: there are no bodies in it");
    }
    fails(
        &["--plummer", "10", "--precision", "quad"],
        2,
        "kyoho: --precision is 'quad'; allowed: single, mixed, double over",
    );
    fails(&["pair.txt"], 1, "kyoho: bodies 1 and 2 have the same position; allowed:");
    fails(&["--plummer", "10", "--output", "pair.txt"], 1, "kyoho: pair.txt: ");
    // The environment of the second rank alone is wrong, or asks for something else.
    let program = kyoho_mpi().display().to_string();
    let run = [&program, "run", "--plummer", "20", "--t-end", "0.1"].map(String::from);
    let other = |name: &str, value: &str, text: &str| {
        let one = ["-np", "1"].map(String::from);
        let all = [&one[..], &run, &[":".into()], &one, &Mpi::chosen().variable(name, value), &run].concat();
        let output = mpirun(&folder).args(all).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.matches(text).count() == 1, "{error}");
    };
    other("KYOHO_BACKEND", "nothing", "kyoho: rank 1: KYOHO_BACKEND is 'nothing'");
    other("KYOHO_PRECISION", "single", "kyoho: rank 1: the precision and scope of the system is");
}

/// Uses a driver that shows two GPUs and can do nothing else.
#[test]
fn the_ranks_of_a_machine_take_its_gpus_in_turn() {
    let folder = fake_driver("mpi_gpus", &[]);
    let mut command = mpirun(&folder);
    // Only the ranks see this driver, because the launcher may look for GPUs too.
    let mpi = Mpi::chosen();
    let variables = [("LD_LIBRARY_PATH", folder.to_str().unwrap()), ("KYOHO_BACKEND", "cuda"), ("COLUMNS", "1000")];
    command.args(variables.iter().flat_map(|(name, value)| mpi.variable(name, value)));
    let output = said(succeed(command.args(ranks(3, Path::new(env!("CARGO_BIN_EXE_kyoho")))).arg("info")));
    let mut taken: Vec<&str> = output.lines().filter(|line| line.starts_with("devices ")).collect();
    taken.sort();
    let taken_by =
        |rank, gpu: &str| format!("devices    local rank {rank} of 3 ({}) on 2 devices: device {gpu}", mpi.local_rank);
    let expected = [taken_by(0, "0, which rank 2 has too"), taken_by(1, "1"), taken_by(2, "0, which rank 0 has too")];
    assert_eq!(taken, expected, "{output}");
}
