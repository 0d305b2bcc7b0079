//! Fortran programs that use the library as a caller does, and the examples in C and Fortran. The
//! examples of one scheme agree.

mod common;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use common::pocl::by_opencl;
use common::programs::{alone, keeps_promises};
use common::{compiler, folder, link_library, root, succeed};

/// Builds a program from files of the repository. Its warnings are errors.
fn build(command: &str, folder: &Path, name: &str, arguments: &[&str], sources: &[&str]) -> Command {
    let sources = sources.iter().map(|source| root().join(source));
    let program = folder.join(name);
    succeed(
        compiler(command, folder)
            .args(["-O2", "-Wall", "-Wextra", "-Werror"])
            .args(arguments)
            .arg("-o")
            .arg(&program)
            .args(sources)
            .args(["-lkyoho", "-lm"]),
    );
    Command::new(program)
}

// Steps are powers of two, so that times are compared for equality.
const FORTRAN: [&str; 2] = ["-std=f2018", "-Wno-compare-reals"];
const FORTRAN_77: [&str; 3] = ["-std=legacy", "-Wno-compare-reals", "-Wno-unused-parameter"];

#[test]
fn the_module_takes_plain_arrays_and_arrays_inside_derived_types() {
    let folder = folder("fortran_module");
    link_library(&folder);
    let checked = [&FORTRAN[..], &["-fcheck=all"]].concat();
    let sources = ["include/kyoho.f90", "tests/fortran/module.f90"];
    let program = build("gfortran", &folder, "module", &checked, &sources);
    for mut program in [Command::new(program.get_program()), by_opencl(program, &[])] {
        let output = succeed(&mut program);
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }
}

/// The program traps floating-point exceptions, which the library's own arithmetic must not reach.
#[test]
fn the_module_takes_interaction_lists_and_batches() {
    let folder = folder("fortran_lists");
    link_library(&folder);
    let options = [&FORTRAN[..], &["-ffpe-trap=invalid,zero,overflow", "-fcheck=all"]].concat();
    let mut program = build("gfortran", &folder, "lists", &options, &["include/kyoho.f90", "fortran_tests/lists.f90"]);
    assert_eq!(keeps_promises(&mut program), "");
}

/// The program traps floating-point exceptions, which the library's own arithmetic must not reach.
#[test]
fn the_module_takes_integrators() {
    let folder = folder("fortran_integrators");
    link_library(&folder);
    let options = [&FORTRAN[..], &["-ffpe-trap=invalid,zero,overflow", "-fcheck=all"]].concat();
    let sources = ["include/kyoho.f90", "fortran_tests/integrators.f90"];
    assert_eq!(keeps_promises(&mut build("gfortran", &folder, "integrators", &options, &sources)), "");
}

/// Debug builds of Fortran codes often trap exceptions. The library's own arithmetic must not reach
/// these traps.
#[test]
fn programs_that_trap_floating_point_exceptions() {
    let folder = folder("fortran_traps");
    link_library(&folder);
    let options = [&FORTRAN[..], &["-ffpe-trap=invalid,zero,overflow", "-fcheck=all"]].concat();
    let program = build("gfortran", &folder, "traps", &options, &["include/kyoho.f90", "fortran_tests/traps.f90"]);
    for precision in [None, Some("double")] {
        let mut command = alone(Command::new(program.get_program()));
        command.env("KYOHO_BACKEND", "cpu").env("KYOHO_THREADS", "3");
        command.envs(precision.map(|precision| ("KYOHO_PRECISION", precision)));
        assert_eq!(keeps_promises(&mut command), "", "precision {precision:?}");
    }
    assert_eq!(keeps_promises(&mut by_opencl(program, &[])), "");
}

/// Returns a Plummer model in standard units, cut off at ten times its length, from a simple
/// generator.
fn plummer(bodies: usize) -> String {
    let mut state = 1_u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let scale = 3.0 * std::f64::consts::PI / 16.0;
    let mut text = String::from("# mass x y z vx vy vz\n\n");
    for _ in 0..bodies {
        let radius = loop {
            let radius = (draw().powf(-2.0 / 3.0) - 1.0).powf(-0.5);
            if radius < 10.0 {
                break radius;
            }
        };
        let speed = loop {
            let (part, bound) = (draw(), draw() / 10.0);
            if bound < part * part * (1.0 - part * part).powf(3.5) {
                break part * std::f64::consts::SQRT_2 * (1.0 + radius * radius).powf(-0.25);
            }
        };
        let mut vector = |length: f64| {
            let (z, angle) = (2.0 * draw() - 1.0, std::f64::consts::TAU * draw());
            let across = (1.0 - z * z).sqrt();
            [across * angle.cos(), across * angle.sin(), z].map(|component| component * length)
        };
        let [x, y, z] = vector(radius * scale);
        let [vx, vy, vz] = vector(speed / scale.sqrt());
        writeln!(text, "{} {x:e} {y:e} {z:e} {vx:e} {vy:e} {vz:e}", 1.0 / bodies as f64).unwrap();
    }
    text
}

/// Returns a number that an example printed.
fn printed(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
    line[name.len()..].trim().parse().unwrap()
}

#[test]
fn the_hermite_integrators_in_c_and_fortran_agree_and_conserve_energy() {
    let folder = folder("hermite4");
    link_library(&folder);
    let model = folder.join("plummer.txt");
    std::fs::write(&model, plummer(256)).unwrap();
    let modern = ["include/kyoho.f90", "fortran_examples/hermite4.f90"];
    let programs = [
        build("gcc", &folder, "hermite4", &["-std=c99", "-pedantic"], &["examples/hermite4.c"]),
        build("gfortran", &folder, "hermite4_modern", &FORTRAN, &modern),
        build("gfortran", &folder, "hermite4_77", &FORTRAN_77, &["fortran_examples/hermite4_77.f"]),
    ];
    let by_opencl = programs.each_ref().map(|program| by_opencl(Command::new(program.get_program()), &[]));
    agree_and_conserve_energy(programs, &model);
    agree_and_conserve_energy(by_opencl, &model);
}

/// Runs the examples on one model. The numbers of all are those of the first.
fn agree_and_conserve_energy(programs: [Command; 3], model: &Path) {
    let n_outputs = programs.map(|mut program| {
        // The old interface takes its precision from the environment, and computes a few sinks at a
        // time.
        program.env("KYOHO_PRECISION", "double").env("KYOHO_NPIPES", "48");
        let output = succeed(program.arg(model).arg("1.0"));
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    });
    for output in &n_outputs {
        for energy in ["initial energy", "final energy"] {
            let (one, other) = (printed(&n_outputs[0], energy), printed(output, energy));
            assert!((one - other).abs() < 1e-9 * one.abs(), "{energy}: {one:e} in C, {other:e}");
        }
        assert_eq!(printed(&n_outputs[0], "block steps"), printed(output, "block steps"));
        assert!(printed(output, "relative error").abs() < 1e-6, "{output}");
        assert!(printed(output, "body steps") > 10000.0, "{output}");
    }
}

/// Every system of the example has its own time, and they end one after another.
#[test]
fn a_batch_of_triple_systems_conserves_the_energy_of_each() {
    let folder = folder("batch");
    link_library(&folder);
    let mut program = build("gcc", &folder, "batch", &["-std=c99", "-pedantic"], &["examples/batch.c"]);
    let output = succeed(program.args(["40", "20"]));
    assert!(output.stderr.is_empty(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed(&output, "systems"), 40.0);
    assert!(printed(&output, "median error") < 1e-6 && printed(&output, "worst error") < 1e-3, "{output}");
    let (calls, steps) = (printed(&output, "calls"), printed(&output, "system steps"));
    assert!(calls < steps / 5.0 && steps < 40.0 * calls, "{output}");
}

#[test]
fn an_ensemble_of_clusters_conserves_the_energy_of_each() {
    let folder = folder("ensemble");
    link_library(&folder);
    let mut program = build("gcc", &folder, "ensemble", &["-std=c11", "-pedantic"], &["examples/ensemble.c"]);
    let output = succeed(program.args(["5", "48", "0.25"]));
    assert!(output.stderr.is_empty(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    assert_eq!((printed(&output, "clusters"), printed(&output, "bodies of each")), (5.0, 48.0));
    assert!(printed(&output, "worst error") < 1e-4, "{output}");
}

/// The sixth order has the energy of the fourth at the beginning, and a smaller error after as many
/// steps.
#[test]
fn the_integrator_of_sixth_order_conserves_the_energy_of_the_plummer_model() {
    let folder = folder("hermite6");
    link_library(&folder);
    let programs = ["hermite4", "hermite6"]
        .map(|name| build("gcc", &folder, name, &["-std=c99", "-pedantic"], &[&format!("examples/{name}.c")]));
    let by_opencl = programs.each_ref().map(|program| by_opencl(Command::new(program.get_program()), &[]));
    sixth_order_has_less_error(programs, "1.0");
    // A CPU that is programmed by OpenCL is slow.
    sixth_order_has_less_error(by_opencl, "0.25");
}

/// Each doubling of the steps brings the bodies 256 times as near, far below the last digits of
/// doubles.
#[test]
fn the_integrator_in_quadruple_precision_shows_the_eighth_order() {
    let folder = folder("hermite8_quad");
    link_library(&folder);
    let mut program = build("gcc", &folder, "hermite8_quad", &["-std=c99", "-pedantic"], &["examples/hermite8_quad.c"]);
    let output = succeed(program.arg("256"));
    assert!(output.stderr.is_empty(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<f64>> = output
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    let [.., before, last] = &rows[..] else { panic!("{output}") };
    for row in [before, last] {
        assert!((row[2] - 8.0).abs() < 0.05, "{output}");
    }
    assert!(last[0] == 256.0 && last[1] < 2e-19 && last[3].abs() < 1e-22, "{output}");
}

/// Runs the examples of fourth and of sixth order on the Plummer model until a time.
fn sixth_order_has_less_error(programs: [Command; 2], end: &str) {
    let [fourth, sixth] = programs.map(|mut program| {
        let model = root().join("examples/plummer1024.txt");
        let output = succeed(program.env("KYOHO_PRECISION", "double").arg(model).arg(end));
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    });
    let (one, other) = (printed(&fourth, "initial energy"), printed(&sixth, "initial energy"));
    assert!((one - other).abs() < 1e-12 * one.abs(), "initial energy: {one:e} in order 4, {other:e} in order 6");
    assert!(printed(&fourth, "relative error").abs() < 1e-9, "{fourth}");
    assert!(printed(&sixth, "relative error").abs() < 1e-10, "{sixth}");
    assert!(printed(&sixth, "body steps") < 1.1 * printed(&fourth, "body steps"), "{sixth}");
}
