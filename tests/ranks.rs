//! Systems over the ranks of Open MPI: C programs that fill the communicator with `kyoho_mpi.h`, run
//! by its launcher on this machine.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::pocl::by_opencl;
use common::programs::{Program, alone, keeps_promises};
use common::{root, succeed};

/// Returns a command that runs a program on some ranks, more than there are cores, as root too. It
/// ends ranks that hang.
fn on_ranks(number: usize, program: &Path) -> Command {
    let mut command = alone(Command::new("mpirun"));
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.args(["--oversubscribe", "--bind-to", "none", "--timeout", "100", "-np", &number.to_string()]);
    command.arg(program).current_dir(program.parent().unwrap());
    command
}

#[test]
fn ranks_sum_what_one_process_sums_and_end_together() {
    let program = Program::build_in("mpi_ranks", ("mpicc", "c", "-std=c99"), &[], "mpi_ranks");
    for number in [1, 2, 3, 7] {
        let mut ranks = on_ranks(number, &program.folder.join("mpi_ranks"));
        assert_eq!(keeps_promises(ranks.env("KYOHO_BACKEND", "cpu")), "", "{number} ranks");
    }
    let by_opencl = &mut by_opencl(on_ranks(2, &program.folder.join("mpi_ranks")), &[]);
    assert_eq!(keeps_promises(by_opencl), "", "two ranks by OpenCL");
}

/// Builds an example in a folder, and returns it.
fn example(folder: &Path, compiler: &str, name: &str, options: &[&str], sources: &[&str]) -> PathBuf {
    let program = folder.join(name);
    let sources = sources.iter().map(|source| root().join(source));
    let mut command = common::compiler(compiler, folder);
    command.args(["-O2", "-Wall", "-Wextra", "-Werror"]).args(options).arg("-o").arg(&program);
    succeed(command.args(sources).args(["-lkyoho", "-lm"]));
    program
}

/// Returns a number that an example printed.
fn printed(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
    line[name.len()..].trim().parse().unwrap()
}

#[test]
fn the_examples_in_c_and_fortran_give_the_same_energies_on_any_number_of_ranks() {
    let folder = common::folder("mpi_examples");
    common::link_library(&folder);
    let model = root().join("examples/plummer1024.txt");
    let of_fortran = ["include/kyoho.f90", "include/kyoho_mpi.f90", "fortran_examples/leapfrog_mpi.f90"];
    let in_c = example(&folder, "mpicc", "in_c", &["-std=c99", "-pedantic"], &["examples/leapfrog_mpi.c"]);
    let in_fortran = example(&folder, "mpifort", "in_fortran", &["-std=f2018", "-Wno-compare-reals"], &of_fortran);
    let of = |number, program: &Path| {
        let mut command = on_ranks(number, program);
        command.arg(&model).arg("0.05").env("KYOHO_BACKEND", "cpu").env("KYOHO_THREADS", "1");
        let said = String::from_utf8(succeed(&mut command).stdout).unwrap();
        assert_eq!(printed(&said, "ranks"), number as f64);
        ["initial energy", "final energy"].map(|name| printed(&said, name))
    };
    let [initial, last] = of(1, &in_c);
    assert!(initial < 0.0 && initial != last && (last - initial).abs() < 1e-3 * initial.abs());
    for energies in [of(3, &in_c), of(1, &in_fortran), of(3, &in_fortran)] {
        for (energy, expected) in energies.into_iter().zip([initial, last]) {
            assert!((energy - expected).abs() < 1e-12 * expected.abs(), "{energy} for {expected}");
        }
    }
}

#[test]
fn the_tree_codes_in_c_and_fortran_keep_the_energy_of_a_sphere_on_any_number_of_ranks() {
    let folder = common::folder("mpi_trees");
    common::link_library(&folder);
    let of_fortran = ["include/kyoho.f90", "include/kyoho_mpi.f90", "fortran_examples/tree_mpi.f90"];
    let in_c = example(&folder, "mpicc", "in_c", &["-std=c99", "-pedantic"], &["examples/tree_mpi.c"]);
    let in_fortran = example(&folder, "mpifort", "in_fortran", &["-std=f2018", "-Wno-compare-reals"], &of_fortran);
    let of = |number, program: &Path, bodies: &str| {
        let mut command = on_ranks(number, program);
        let said = String::from_utf8(succeed(command.arg(bodies).env("KYOHO_THREADS", "1")).stdout).unwrap();
        ["initial energy", "final energy"].map(|name| printed(&said, name))
    };
    // A block of fewer bodies than 4096 is a direct sum, with the same digits in all. That of the sphere
    // is -3/5.
    let [initial, last] = of(1, &in_c, "500");
    assert!((initial + 0.6).abs() < 0.02 && (last / initial - 1.0).abs() < 1e-2, "{initial} {last}");
    for energies in [of(3, &in_c, "500"), of(1, &in_fortran, "500"), of(7, &in_fortran, "500")] {
        for (energy, expected) in energies.into_iter().zip([initial, last]) {
            assert!((energy / expected - 1.0).abs() < 1e-8, "{energy} for {expected}");
        }
    }
    let [initial, last] = of(2, &in_c, "4200");
    assert!((initial + 0.6).abs() < 5e-3 && (last / initial - 1.0).abs() < 5e-3, "{initial} {last}");
}

/// Headers of MPI in C++ warn by themselves, so that only ours is checked here.
#[test]
fn kyoho_mpi_h_compiles_in_cpp() {
    let folder = common::folder("mpi_cpp");
    let source = "#include <kyoho_mpi.h>\nint main() { kyoho_communicator ranks; return \
                  kyoho_mpi_communicator(MPI_COMM_WORLD, &ranks); }\n";
    std::fs::write(folder.join("mpi.cc"), source).unwrap();
    let strict = ["-std=c++11", "-DOMPI_SKIP_MPICXX", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "mpi.cc"];
    succeed(common::compiler("mpicxx", &folder).args(strict));
}
