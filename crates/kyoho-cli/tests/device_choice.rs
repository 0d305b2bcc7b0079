//! The choice of GPUs by a process as a user sees it: `kyoho info` with a driver that the tests
//! make.

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{compiler, fake_driver, folder, link_library, root, succeed, text};

/// A host with a driver, and a working directory that may have a `sapporo2.config`.
struct Host {
    driver: PathBuf,
    directory: PathBuf,
}

impl Host {
    fn new(name: &str) -> Host {
        Host { driver: fake_driver(&format!("{name}_driver"), &[]), directory: folder(name) }
    }

    /// Writes this text to `sapporo2.config`.
    fn config(&self, text: &str) -> &Host {
        std::fs::write(self.directory.join("sapporo2.config"), text).unwrap();
        self
    }

    /// Runs `kyoho info` with this many GPUs and only these variables.
    fn info(&self, devices: usize, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho"));
        command.arg("info").args(arguments).current_dir(&self.directory).env_clear().env("COLUMNS", "1000");
        command.env("LD_LIBRARY_PATH", &self.driver).env("FAKE_CUDA_DEVICES", devices.to_string());
        command.envs(variables.iter().copied()).output().unwrap()
    }

    /// Returns the line about the devices in use.
    fn says(&self, devices: usize, variables: &[(&str, &str)], arguments: &[&str]) -> String {
        let output = self.info(devices, variables, arguments);
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{:?}", String::from_utf8(output.stderr));
        let lines = page.lines().filter_map(|line| line.strip_prefix("devices    "));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the error of a call that fails.
    fn refuses(&self, devices: usize, variables: &[(&str, &str)], arguments: &[&str]) -> String {
        let output = self.info(devices, variables, arguments);
        assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// Returns the variables of Open MPI for one of several processes of a host.
fn open_mpi<'a>(rank: &'a str, size: &'a str) -> [(&'static str, &'a str); 2] {
    [("OMPI_COMM_WORLD_LOCAL_RANK", rank), ("OMPI_COMM_WORLD_LOCAL_SIZE", size)]
}

#[test]
fn without_a_choice_it_is_the_first() {
    let host = Host::new("choice_default");
    assert_eq!(host.says(1, &[], &[]), "by default the first of 1 device: device 0");
    assert_eq!(host.says(4, &[], &[]), "by default the first of 4 devices: device 0");
}

#[test]
fn each_of_several_processes_takes_the_device_of_its_local_rank() {
    let host = Host::new("choice_ranks");
    let place = |rank| format!("local rank {rank} of 8 (OMPI_COMM_WORLD_LOCAL_RANK) on 4 devices");
    for rank in 0..8 {
        let said = host.says(4, &open_mpi(&rank.to_string(), "8"), &[]);
        let (device, other) = (rank % 4, (rank + 4) % 8);
        assert_eq!(said, format!("{}: device {device}, which rank {other} has too", place(rank)));
    }
    // The batch script that called mpirun was the first process of its own launcher.
    let in_a_script = [&[("SLURM_LOCALID", "0")], &open_mpi("3", "4")[..]].concat();
    let expected = "local rank 3 of 4 (OMPI_COMM_WORLD_LOCAL_RANK) on 4 devices: device 3";
    assert_eq!(host.says(4, &in_a_script, &[]), expected);
}

#[test]
fn a_launcher_may_give_each_process_devices_of_its_own() {
    let host = Host::new("choice_visible");
    let page = |visible| {
        let slurm = [("SLURM_LOCALID", "2"), ("SLURM_STEP_TASKS_PER_NODE", "4")];
        let node = [("SLURM_NODEID", "0"), ("CUDA_VISIBLE_DEVICES", visible)];
        let output = host.info(4, &[&slurm[..], &node[..]].concat(), &[]);
        String::from_utf8(output.stdout).unwrap()
    };
    let one = page("2");
    assert!(one.contains("backend cuda: 1 device\n  0: Fake C,"), "{one}");
    let said = "devices    local rank 2 of 4 (SLURM_LOCALID) on 1 device (CUDA_VISIBLE_DEVICES is '2'): device 0, \
        which ranks 0, 1, 3 have too if CUDA_VISIBLE_DEVICES is the same there\n";
    assert!(one.contains(said), "{one}");
    let two = page("3,1");
    assert!(two.contains("  0: Fake D,") && two.contains("  1: Fake B,"), "{two}");
    let said = "on 2 devices (CUDA_VISIBLE_DEVICES is '3,1'): device 0, which rank 0 has too if";
    assert!(two.contains(said), "{two}");
}

/// An argument comes first, then `KYOHO_DEVICES`, `sapporo2.config`, `GPU_LIST`, and the local
/// rank.
#[test]
fn the_first_that_speaks_decides() {
    let host = Host::new("choice_order");
    let variables = [("KYOHO_DEVICES", "all"), ("GPU_LIST", "0 2"), ("SLURM_LOCALID", "1")];
    let no_say = "; local rank 1 (SLURM_LOCALID) has no effect: ranks with the same setting share them";
    assert_eq!(host.says(3, &variables[2..], &[]), "local rank 1 (SLURM_LOCALID) on 3 devices: device 1");
    let said = host.says(3, &variables[1..], &[]);
    assert_eq!(said, format!("GPU_LIST names 2 of 3 devices: devices 0, 2{no_say}"));
    host.config("1 device\n2 the last\n");
    let said = host.says(3, &variables[1..], &[]);
    assert_eq!(said, format!("sapporo2.config names 1 of 3 devices: device 2{no_say}"));
    let said = host.says(3, &variables, &[]);
    assert_eq!(said, format!("KYOHO_DEVICES asks for all of 3 devices: devices 0, 1, 2{no_say}"));
    let said = host.says(3, &variables, &["--devices", "1,"]);
    assert_eq!(said, format!("--devices names 1 of 3 devices: device 1{no_say}"));
}

#[test]
fn sapporo2_config_has_two_meanings_of_its_number() {
    let host = Host::new("choice_config");
    for (text, said) in [
        ("2\n3\n1\n", "sapporo2.config names 2 of 4 devices: devices 3, 1"),
        ("-2\n", "sapporo2.config asks for 2 of 4 devices: devices 0, 1"),
        ("0\n", "sapporo2.config asks for all of 4 devices: devices 0, 1, 2, 3"),
        ("", "sapporo2.config asks for all of 4 devices: devices 0, 1, 2, 3"),
    ] {
        assert_eq!(host.config(text).says(4, &[], &[]), said, "{text:?}");
    }
    let on_the_cpu = host.config("1\n3\n").says(4, &[("KYOHO_BACKEND", "cpu")], &[]);
    assert_eq!(on_the_cpu, "sapporo2.config is about GPUs only: device 0, the CPU");
}

#[test]
fn what_cannot_be_had_is_an_error_that_names_who_asked() {
    let host = Host::new("choice_refused");
    let devices = |value| [("KYOHO_DEVICES", value)];
    for (variables, error) in [
        (devices("2,"), "KYOHO_DEVICES is 'device 2 of backend cuda'; allowed: devices 0 to 1"),
        (devices("3"), "KYOHO_DEVICES is '3 devices of backend cuda'; allowed: 1 to 2 of devices 0 to 1"),
        (
            devices("0"),
            "KYOHO_DEVICES is '0'; allowed: all, a count such as 2, or a list such as 0,2 or, for the first device, 0,",
        ),
        ([("GPU_LIST", "0,1")], "GPU_LIST is '0,1'; allowed: numbers of devices with spaces between, such as 0 1"),
        ([("GPU_LIST", "4")], "GPU_LIST is 'device 4 of backend cuda'; allowed: devices 0 to 1"),
    ] {
        assert_eq!(host.refuses(2, &variables, &[]), format!("kyoho: {error}\n"));
    }
    let error = host.refuses(2, &[("SLURM_LOCALID", "x")], &[]);
    assert!(error.starts_with("kyoho: SLURM_LOCALID is 'x'; allowed: the number of the process"), "{error}");
    let error = host.config("2\n0\n").refuses(2, &[], &[]);
    assert!(error.contains("sapporo2.config line 3 is ''; allowed: the number of a device"), "{error}");
    let error = host.config("-3\n").refuses(2, &[], &[]);
    assert_eq!(error, "kyoho: sapporo2.config is '3 devices of backend cuda'; allowed: 1 to 2 of devices 0 to 1\n");
}

/// The log of a program that opens the library has the same sentence.
#[test]
fn the_log_has_the_sentence_of_kyoho_info() {
    let host = Host::new("choice_log");
    let program = build(&host.directory);
    let ranks = [("KYOHO_BACKEND", "cpu"), ("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "3")];
    let sentence = host.says(2, &ranks, &[]);
    assert_eq!(sentence, "local rank 1 of 3 (MPI_LOCALRANKID) on 1 device: device 0, which ranks 0, 2 have too");
    let mut command = Command::new(&program);
    command.args(["KYOHO_OK", "order 4 precision 3 backend 1"]).current_dir(&host.directory).env_clear();
    command.envs(ranks).env("KYOHO_LOG", "info").env("KYOHO_LOG_FILE", "log");
    succeed(&mut command);
    let log = std::fs::read_to_string(host.directory.join("log")).unwrap();
    let is_line = |line: &str| line.contains("kyoho_system_create opened by") && line.ends_with(&sentence);
    assert!(log.lines().any(is_line), "{sentence}\n ends no line of\n{log}");
}

/// The command writes the log that its environment asks for, as the library does.
#[test]
fn the_log_tells_what_the_command_does() {
    let place = folder("choice_log_of_command");
    for (number, words) in ["info", "run --plummer 16 --t-end 0.01", "bench --n 64"].into_iter().enumerate() {
        let file = place.join(format!("log-{number}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho"));
        command.args(words.split(' ')).env("KYOHO_BACKEND", "cpu").env("KYOHO_DEVICE", "0");
        succeed(command.env("KYOHO_LOG", "warn").env("KYOHO_LOG_FILE", &file));
        let log = std::fs::read_to_string(file).unwrap();
        assert_eq!(log, "kyoho warn: KYOHO_DEVICE is set, which nothing reads; the nearest name is KYOHO_DEVICES\n");
    }
}

/// Builds the C program that makes a system and frees nothing.
fn build(folder: &Path) -> PathBuf {
    link_library(folder);
    let program = folder.join("native_environment");
    let source = root().join("c_tests/native_environment.c");
    let warnings = ["-std=c99", "-Wall", "-Wno-unused-function"];
    succeed(compiler("gcc", folder).args(warnings).arg("-o").arg(&program).arg(source).arg("-lkyoho"));
    program
}

/// The documentation names every variable that decides.
#[test]
fn the_documentation_names_all_that_decide() {
    let (page, source) = (text("docs/interfaces/devices.md"), text("src/config/launcher.rs"));
    let names = source.split('"').skip(1).step_by(2).filter(|name| {
        name.contains('_') && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter == '2')
    });
    let names: Vec<&str> =
        names.chain(["KYOHO_DEVICES", "sapporo2.config", "GPU_LIST", "CUDA_VISIBLE_DEVICES"]).collect();
    assert!(names.len() > 14, "{names:?}");
    for name in names {
        assert!(page.contains(name), "{name} is not in docs/interfaces/devices.md");
    }
}
