//! The program `kyoho`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kyoho_cli::main()
}
