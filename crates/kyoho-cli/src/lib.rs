//! The `kyoho` command. It shows what the library finds on this machine, measures its speed, checks
//! it, and runs N-body systems.

#![allow(missing_docs, reason = "the names say what options and numbers of tables are")]

#[macro_use]
pub mod out;

pub mod bench;
mod converge;
pub mod count;
pub mod density;
pub mod failure;
mod few_body;
pub mod file;
mod info;
pub mod machine;
pub mod model;
mod pages;
mod pair;
pub mod picture;
mod precision;
pub mod progress;
pub mod ranks;
mod run;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use kyoho_ranks::Communicator;

use ranks::Ranks;

/// Gravitational forces for direct N-body codes: inspect, measure and use the library.
#[derive(Parser)]
#[command(name = "kyoho", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show backends, devices, threads, precisions: what would be used, and why
    Info(info::Arguments),
    /// Measure forces: N x N, block steps, one sink, writing of sources, interaction lists,
    /// batches, trees; sweeps with a plot
    Bench(bench::Arguments),
    /// Run the conformance suite on this machine and show the errors of each precision
    Verify(verify::Arguments),
    /// Integrate an N-body system: Hermite 4, 6 or 8 with block time steps, or a leapfrog
    Run(Box<run::Arguments>),
    /// Integrate systems of few bodies with hard binaries and close encounters, many at once
    FewBody(few_body::Arguments),
    /// Check the orders of the integrators: energy errors with a shared step, halved again and
    /// again
    Converge(converge::Arguments),
    /// Make a model that `run` reads: Plummer, Hernquist, spheres, a part of the early universe,
    /// galaxies on a choreography, a cartwheel
    Model(model::Arguments),
    /// Pair interactions that you write: print what a text compiles to, or run it on two files
    Pair(Box<pair::Arguments>),
    /// Draw the projected density of bodies, as PNG
    Picture(density::Arguments),
    /// Make a Plummer model: short for `model plummer`
    Plummer(model::IsolatedArguments),
    /// Print a script by which a shell completes subcommands and options
    Completions(pages::CompletionsArguments),
    /// Write pages for `man`: one about the command, one about each subcommand
    Manual(pages::ManualArguments),
}

/// Gravitational N-body systems over the ranks of MPI
#[derive(Parser)]
#[command(name = "kyoho-mpi", version)]
struct ArgumentsOfRanks {
    #[command(subcommand)]
    command: CommandOfRanks,
}

#[derive(Subcommand)]
enum CommandOfRanks {
    /// Integrate an N-body system: Hermite 4, 6 or 8 with block time steps, or a leapfrog
    Run(Box<run::Arguments>),
}

/// Does what words ask of the ranks of a communicator, all of which call this, and returns the exit
/// status. The first word is the name of the command.
pub fn main_of_ranks(words: impl IntoIterator<Item = OsString>, communicator: Box<dyn Communicator>) -> u8 {
    let matches = parsed_by(ArgumentsOfRanks::command(), words);
    let arguments = matches.and_then(|matches| {
        ArgumentsOfRanks::from_arg_matches(&matches).map_err(|error| error.format(&mut ArgumentsOfRanks::command()))
    });
    match arguments {
        Ok(ArgumentsOfRanks { command: CommandOfRanks::Run(arguments) }) => {
            ranks::together(communicator, |ranks| run::run(&arguments, ranks))
        }
        Err(error) => {
            if communicator.rank() == 0 {
                // There is nobody to tell of a failure to print.
                let _ = error.print();
            }
            error.exit_code() as u8
        }
    }
}

/// Returns what words say for a command, whose texts fit the width of the terminal. The first word
/// is the name of the command.
pub fn parsed_by(
    command: clap::Command,
    words: impl IntoIterator<Item = OsString>,
) -> Result<clap::ArgMatches, clap::Error> {
    command.term_width(out::width()).try_get_matches_from(words)
}

fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let matches = parsed_by(Arguments::command(), words)?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut Arguments::command()))
}

/// Returns why a command line is none of this command, if so. Nothing runs, so that tests can read
/// command lines that take long or need a GPU.
pub fn check(words: impl IntoIterator<Item = OsString>) -> Result<(), clap::Error> {
    parsed(words).map(|_| ())
}

/// Does what the words of the process's command line ask for.
pub fn main() -> ExitCode {
    let outcome = match parsed(std::env::args_os()).unwrap_or_else(|error| error.exit()).command {
        Command::Info(arguments) => info::run(&arguments).map(|()| true),
        Command::Bench(arguments) => bench::run(&arguments).map(|()| true),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Run(arguments) => run::run(&arguments, Ranks::default()).map(|()| true),
        Command::FewBody(arguments) => few_body::run(&arguments).map(|()| true),
        Command::Converge(arguments) => converge::run(&arguments).map(|()| true),
        Command::Model(arguments) => model::run(&arguments).map(|()| true),
        Command::Pair(arguments) => pair::run(&arguments).map(|()| true),
        Command::Picture(arguments) => density::run(&arguments).map(|()| true),
        Command::Plummer(arguments) => model::run_plummer(&arguments).map(|()| true),
        Command::Completions(arguments) => pages::complete(&arguments, Arguments::command()).map(|()| true),
        Command::Manual(arguments) => pages::write_manual(&arguments, Arguments::command()).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => exit_code(Err(failure)),
    }
}

/// Returns the exit status of an outcome, and tells of a failure.
pub fn exit_code(outcome: failure::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closes the output early has seen enough.
        Err(failure) if failure.is_closed_output() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("kyoho: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
