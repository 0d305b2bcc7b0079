//! Systems over the ranks of an MPI: C programs that fill the communicator with `kyoho_mpi.h`, run by
//! its launcher on this machine. `KYOHO_TEST_MPI=mpich` takes MPICH in the place of Open MPI.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::mpi::{MPICH, Mpi};
use common::pocl::by_opencl;
use common::programs::{Program, alone, keeps_promises};
use common::{root, succeed};

/// Returns a command that runs a program on some ranks.
fn on_ranks(mpi: &Mpi, number: usize, program: &Path) -> Command {
    let mut command = alone(mpi.launcher());
    command.args(["-np", &number.to_string()]).arg(program).current_dir(program.parent().unwrap());
    command
}

fn mpi_ranks(mpi: &Mpi, options: &[&str], name: &str) -> PathBuf {
    Program::build_in("mpi_ranks", (mpi.c, "c", "-std=c99"), options, name).folder.join("mpi_ranks")
}

#[test]
fn ranks_sum_what_one_process_sums_and_end_together() {
    let mpi = Mpi::chosen();
    let program = mpi_ranks(mpi, &[], "mpi_ranks");
    for number in [1, 2, 3, 7] {
        let mut ranks = on_ranks(mpi, number, &program);
        assert_eq!(keeps_promises(ranks.env("KYOHO_BACKEND", "cpu")), "", "{number} ranks");
    }
    let by_opencl = &mut by_opencl(on_ranks(mpi, 2, &program), &[("KYOHO_DEVICES", "0,0")]);
    assert_eq!(keeps_promises(by_opencl), "", "two ranks by OpenCL, each with two devices");
}

/// `make test-all` runs all tests here with MPICH too. Its ranks never yield a core while they wait.
#[test]
fn two_ranks_of_mpich_sum_what_one_process_sums() {
    let program = mpi_ranks(&MPICH, &[], "mpich_ranks");
    assert_eq!(keeps_promises(on_ranks(&MPICH, 2, &program).env("KYOHO_BACKEND", "cpu")), "");
}

/// Nothing is read that was not written, no memory is lost, and the program checks what ranks send:
/// Valgrind does not see that a rank receives what another one has not written.
#[test]
#[ignore = "it takes minutes, and needs Debian's valgrind, which make test-all installs"]
fn two_ranks_keep_to_their_memory() {
    let mpi = Mpi::chosen();
    let program = mpi_ranks(mpi, &["-DUNDER_VALGRIND"], "mpi_memory");
    let mut command = alone(mpi.launcher());
    command.args(["-np", "2", "valgrind", "--quiet", "--error-exitcode=9", "--num-callers=50"]);
    command.args(["--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
    command.arg(format!("--suppressions={}", root().join("c_tests/mpi.supp").display())).arg(&program);
    // MPI looks for the caches of a processor, which that of Valgrind does not tell.
    command.envs([("HWLOC_COMPONENTS", "-x86"), ("MPIEXEC_TIMEOUT", "3000")]);
    command.envs([("KYOHO_BACKEND", "cpu"), ("KYOHO_CPU_LEVEL", "portable")]);
    assert_eq!(keeps_promises(&mut command), "");
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
    let mpi = Mpi::chosen();
    let in_c = example(&folder, mpi.c, "in_c", &["-std=c99", "-pedantic"], &["examples/leapfrog_mpi.c"]);
    let in_fortran = example(&folder, mpi.fortran, "in_fortran", &["-std=f2018", "-Wno-compare-reals"], &of_fortran);
    let of = |number, program: &Path| {
        let mut command = on_ranks(mpi, number, program);
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
    let mpi = Mpi::chosen();
    let in_c = example(&folder, mpi.c, "in_c", &["-std=c99", "-pedantic"], &["examples/tree_mpi.c"]);
    let in_fortran = example(&folder, mpi.fortran, "in_fortran", &["-std=f2018", "-Wno-compare-reals"], &of_fortran);
    let of = |number, program: &Path, bodies: &str| {
        let mut command = on_ranks(mpi, number, program);
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
    succeed(common::compiler(Mpi::chosen().cpp, &folder).args(strict));
}
