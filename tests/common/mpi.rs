//! The MPIs that programs over ranks are built and run with, by the names that Debian gives their
//! commands beside one another.

use std::process::Command;

/// An MPI: its compilers, and how it starts ranks.
pub struct Mpi {
    pub c: &'static str,
    pub cpp: &'static str,
    pub fortran: &'static str,
    /// The variable that tells a rank its number on its machine.
    pub local_rank: &'static str,
    launcher: &'static str,
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    /// The option before a variable of ranks, and what is between its name and its value: another
    /// argument, if nothing.
    variable: (&'static str, &'static str),
}

pub static OPEN_MPI: Mpi = Mpi {
    c: "mpicc.openmpi",
    cpp: "mpicxx.openmpi",
    fortran: "mpifort.openmpi",
    local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    launcher: "mpirun.openmpi",
    arguments: &["--oversubscribe", "--bind-to", "none"],
    variables: &[("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")],
    variable: ("-x", "="),
};

pub static MPICH: Mpi = Mpi {
    c: "mpicc.mpich",
    cpp: "mpicxx.mpich",
    fortran: "mpifort.mpich",
    local_rank: "MPI_LOCALRANKID",
    launcher: "mpirun.mpich",
    arguments: &[],
    variables: &[],
    variable: ("-env", ""),
};

impl Mpi {
    /// Returns the one that `KYOHO_TEST_MPI` names.
    pub fn chosen() -> &'static Mpi {
        match std::env::var("KYOHO_TEST_MPI").as_deref() {
            Err(_) | Ok("openmpi") => &OPEN_MPI,
            Ok("mpich") => &MPICH,
            Ok(other) => panic!("KYOHO_TEST_MPI is '{other}'; allowed: openmpi, mpich"),
        }
    }

    /// Returns its launcher, to which arguments can be added. It may start more ranks than cores, as
    /// root too, and it ends ranks that hang.
    pub fn launcher(&self) -> Command {
        let mut command = Command::new(self.launcher);
        command.args(self.arguments).envs(self.variables.iter().copied()).env("MPIEXEC_TIMEOUT", "300");
        command
    }

    /// Returns the launcher's arguments that give ranks a variable.
    pub fn variable(&self, name: &str, value: &str) -> Vec<String> {
        match self.variable {
            (option, "") => [option, name, value].map(String::from).to_vec(),
            (option, between) => vec![option.into(), format!("{name}{between}{value}")],
        }
    }
}
