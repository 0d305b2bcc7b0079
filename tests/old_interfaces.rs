//! C programs that use the old interfaces as their clients do. Each states the promises and checks
//! them.

mod common;

use std::path::Path;
use std::process::Command;

use common::pocl::by_opencl;
use common::programs::{OLD, Program, keeps_promises};
use common::{folder, link_library, succeed, text};

fn build(name: &'static str) -> Program {
    Program::build(name, OLD, name)
}

/// Runs a program in each of some precisions. It must write nothing to stderr either.
fn keeps_its_promises(name: &'static str, precisions: &[&str]) {
    let program = build(name);
    for precision in precisions {
        assert_eq!(program.run(&[], &[("KYOHO_PRECISION", precision)]), "", "precision {precision}");
    }
}

const ALL: [&str; 3] = ["mixed", "double", "single"];

#[test]
fn g6_forces() {
    keeps_its_promises("g6_forces", &ALL);
}

#[test]
fn g6_neighbours() {
    keeps_its_promises("g6_neighbours", &ALL);
}

#[test]
fn g6_blocks_of_any_size() {
    let program = build("g6_blocks");
    for precision in ALL {
        let variables = [("KYOHO_PRECISION", precision), ("KYOHO_NPIPES", "48")];
        assert_eq!(program.run(&[], &variables), "", "precision {precision}");
    }
}

#[test]
fn g6_in_a_program_that_forks() {
    let program = build("g6_fork");
    for threads in ["1", "3"] {
        assert_eq!(program.run(&[], &[("KYOHO_THREADS", threads)]), "", "{threads} threads");
    }
}

#[test]
fn g5_in_a_program_that_forks() {
    keeps_its_promises("g5_fork", &["single"]);
}

#[test]
fn g6_in_every_form() {
    keeps_its_promises("g6_forms", &ALL);
}

#[test]
fn g6_in_a_client_that_defines_the_c_forms_itself() {
    keeps_its_promises("g6_own_c_forms", &["mixed"]);
}

/// Callers may trap floating-point exceptions, round in another way or flush denormals. Results
/// have the same bits, and the caller's environment stays as it is.
#[test]
fn callers_with_other_floating_point_environments() {
    let program = build("environments");
    program.run_at_every_level(&ALL);
}

/// This also holds if a driver compiles and computes, and if the CPU computes small blocks in its
/// place.
#[test]
fn callers_with_other_floating_point_environments_by_opencl() {
    let program = Program::build("environments", OLD, "environments_by_opencl");
    for crossover in ["off", "1000000000"] {
        let variables = [("KYOHO_PRECISION", "mixed"), ("KYOHO_THREADS", "3"), ("KYOHO_CROSSOVER", crossover)];
        assert_eq!(keeps_promises(&mut by_opencl(program.command(), &variables)), "", "crossover {crossover}");
    }
}

/// If threads cannot be started, the existing ones compute, with a warning in the log and no other
/// message.
#[test]
fn g6_in_a_process_that_can_start_no_threads() {
    let program = build("g6_no_threads");
    for started in ["0", "1"] {
        let variables = [("KYOHO_BACKEND", "cpu"), ("KYOHO_THREADS", "4")];
        assert_eq!(program.run(&[started], &variables), "");
        let log = program.run(&[started], &[&variables[..], &[("KYOHO_LOG", "warn")]].concat());
        let warning = format!("{started} of 3 helper threads could be started");
        assert!(log.contains(&warning), "{log}");
    }
}

#[test]
fn g6_in_a_process_that_can_open_no_files() {
    keeps_its_promises("g6_no_files", &["mixed"]);
}

#[test]
fn g6_opens_and_closes() {
    let program = build("g6_lifecycle");
    assert_eq!(program.run(&["16384"], &[]), "");
    assert_eq!(program.run(&["48"], &[("KYOHO_NPIPES", "48"), ("KYOHO_THREADS", "2")]), "");
}

#[test]
fn g6_reads_sapporo2_config() {
    assert_eq!(build("g6_config").run(&[], &[]), "");
}

#[test]
fn g6_wrong_calls() {
    keeps_its_promises("g6_errors", &["mixed", "double"]);
}

#[test]
fn g5_forces() {
    keeps_its_promises("g5_forces", &["single", "mixed", "double"]);
}

#[test]
fn g5_boards_of_several_threads() {
    keeps_its_promises("g5_threads", &["single", "double"]);
}

#[test]
fn g5_boards_of_any_number() {
    keeps_its_promises("g5_boards", &["single", "double"]);
}

#[test]
fn g5_devices_that_a_thread_names_while_another_uses_boards() {
    keeps_its_promises("g5_devices", &["single"]);
}

/// On GPUs trees have no opening angle.
#[test]
fn g5_forces_by_a_tree() {
    let program = build("g5_trees");
    for precision in ["single", "double"] {
        for more in [&[][..], &[("KYOHO_THETA", "0.7")], &[("KYOHO_THETA", "0.7"), ("KYOHO_THREADS", "3")]] {
            let variables = [("KYOHO_PRECISION", precision), ("KYOHO_BACKEND", "cpu")];
            assert_eq!(program.run(&[], &[&variables[..], more].concat()), "", "precision {precision}");
        }
    }
}

#[test]
fn g5_close_pairs_have_the_accuracy_that_was_asked_for() {
    let program = build("g5_pairs");
    let accuracy = ("KYOHO_ACCURACY", "1e-4");
    assert_eq!(program.run(&[], &[accuracy, ("KYOHO_BACKEND", "cpu")]), "");
    // There so few bodies are summed directly.
    assert_eq!(keeps_promises(&mut by_opencl(program.command(), &[accuracy])), "");
}

#[test]
fn g5_wrong_calls() {
    keeps_its_promises("g5_errors", &["single", "double"]);
}

#[test]
fn an_environment_that_cannot_be_had_is_said_once_and_makes_forces_nan() {
    let program = build("g6_broken");
    let cases = [
        ("KYOHO_BACKEND", "gpu"),
        ("KYOHO_PRECISION", "float"),
        ("KYOHO_NPIPES", "0"),
        ("KYOHO_THREADS", "many"),
        ("KYOHO_CPU_LEVEL", "sse"),
        ("KYOHO_DEVICES", "-1"),
        ("KYOHO_LOG", "loud"),
        ("KYOHO_ON_FAILURE", "halt"),
    ];
    for (name, value) in cases {
        assert_eq!(program.run(&[name], &[(name, value)]), "", "{name}={value}");
    }
    let log = [("KYOHO_LOG", "info"), ("KYOHO_LOG_FILE", "/nowhere/log")];
    assert_eq!(program.run(&["/nowhere/log"], &log), "");
    std::fs::write(program.folder.join("sapporo2.config"), "one\n").unwrap();
    assert_eq!(program.run(&["sapporo2.config"], &[]), "");
}

#[test]
fn a_log_is_written_only_if_it_is_asked_for() {
    let program = Program::build("g6_forms", OLD, "g6_no_log");
    assert_eq!(program.run(&[], &[]), "");
    let said = program.run(&[], &[("KYOHO_LOG", "info"), ("KYOHO_PRECISION", "double")]);
    assert!(said.contains("g6 opened") && said.contains("double"), "{said}");
    let off = [("KYOHO_LOG", "off"), ("KYOHO_LOG_FILE", "off-%p.log")];
    assert_eq!(program.run(&[], &off), "");
    assert_eq!(logs(&program.folder), Vec::<String>::new());
}

/// Returns the content of the logs of a folder.
fn logs(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_logs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    of_logs.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// `KYOHO_LOG_FILE` alone starts a log, for codes whose output nobody sees, such as AMUSE's
/// workers.
#[test]
fn a_log_file_has_a_line_for_each_open_that_says_who_opened_what() {
    let program = Program::build("g6_forms", OLD, "g6_log");
    let ranks =
        [("OMPI_COMM_WORLD_LOCAL_RANK", "1"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "5")];
    let file = [("KYOHO_LOG_FILE", "kyoho-%p.log"), ("KYOHO_BACKEND", "cpu"), ("KYOHO_THREADS", "1")];
    assert_eq!(program.run(&[], &[&file[..], &ranks].concat()), "");
    let [log] = &logs(&program.folder)[..] else { panic!("there is not one log") };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let opened: Vec<&str> = log.lines().filter(|line| line.contains("g6 opened by process ")).collect();
    assert!(!opened.is_empty() && log.contains("g6 closed"), "{log}");
    for line in opened {
        for part in [
            "rank 5 (OMPI_COMM_WORLD_RANK), on ",
            host.trim(),
            ": backend cpu, devices ",
            ", order 4, precision mixed, threads 1, instruction set ",
            "; local rank 1 of 4 (OMPI_COMM_WORLD_LOCAL_RANK) on 1 device: device 0, which ranks 0, 2, 3 have too",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
}

/// Returns the functions that a header declares.
fn declared(header: &str) -> Vec<String> {
    let lines = text(header);
    let names = lines.lines().filter_map(|line| Some(line.strip_prefix("int ")?.split_once('(')?.0.to_string()));
    names.collect()
}

#[test]
fn every_function_of_the_headers_is_exported_and_none_is_called_by_name() {
    let folder = folder("old_symbols");
    link_library(&folder);
    let said = |command: &str, argument: &str| {
        let output = succeed(Command::new(command).arg(argument).arg(folder.join("libkyoho.so")));
        String::from_utf8(output.stdout).unwrap()
    };
    let table = said("nm", "-D");
    let exported: Vec<&str> = table.lines().filter_map(|line| line.split_once(" T ").map(|(_, name)| name)).collect();
    let declared: Vec<String> = ["include/g6.h", "include/g5.h"].into_iter().flat_map(declared).collect();
    assert!(declared.len() > 100);
    for name in &declared {
        assert!(exported.contains(&name.as_str()), "{name} is not exported");
        if name.starts_with("g6") && name.ends_with('_') && name != "g6_read_neighbour_list_old_" {
            let alias = format!("{name}_");
            assert!(exported.contains(&alias.as_str()), "{alias} is not exported");
        }
    }
    // A call that goes through the dynamic linker could reach a client's function of the same name.
    let relocations = said("readelf", "-rW");
    for name in declared {
        let mut words = relocations.split_whitespace();
        assert!(!words.any(|word| word.split('@').next() == Some(&name)), "the library calls {name} by name");
    }
}
