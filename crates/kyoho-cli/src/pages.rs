//! `kyoho completions` and `kyoho manual`: what shells and `man` know of the command. `make install`
//! puts it in place.

use std::io::Write;
use std::path::PathBuf;

use crate::failure::{Failure, Result};

/// The options of `kyoho completions`.
#[derive(clap::Args)]
pub struct CompletionsArguments {
    shell: Shell,
}

/// Shells for which the installation has a place.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Fish,
    Zsh,
}

/// Prints a script that makes a shell complete options and subcommands.
pub fn complete(arguments: &CompletionsArguments, mut command: clap::Command) -> Result<()> {
    use clap_complete::Shell as Known;
    let shell = match arguments.shell {
        Shell::Bash => Known::Bash,
        Shell::Fish => Known::Fish,
        Shell::Zsh => Known::Zsh,
    };
    // The generator panics where a reader has closed the output.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "kyoho", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}

/// The options of `kyoho manual`.
#[derive(clap::Args)]
pub struct ManualArguments {
    /// The folder for the pages, which is made if it is missing
    folder: PathBuf,
}

/// Writes a page for `man` about the command and about each subcommand.
pub fn write_manual(arguments: &ManualArguments, command: clap::Command) -> Result<()> {
    let folder = &arguments.folder;
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command.disable_help_subcommand(true), folder));
    written.map_err(|error| Failure::file(folder, error))
}
