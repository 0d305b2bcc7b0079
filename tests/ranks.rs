//! Systems over the ranks of Open MPI: C programs that fill the communicator with `kyoho_mpi.h`, run
//! by its launcher on this machine.

mod common;

use std::path::Path;
use std::process::Command;

use common::programs::{Program, alone, keeps_promises};
use common::succeed;

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
        assert_eq!(keeps_promises(&mut on_ranks(number, &program.folder.join("mpi_ranks"))), "", "{number} ranks");
    }
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
