//! The `kyoho` command. It shows what the library finds on this machine, measures its speed, checks
//! it, and runs N-body systems.

#[macro_use]
mod out;

mod bench;
mod converge;
mod count;
mod density;
mod failure;
mod figures;
mod file;
mod info;
mod machine;
mod model;
mod pair;
mod picture;
mod precision;
mod progress;
mod run;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

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
    /// Check the orders of the integrators: energy errors with a shared step, halved again and
    /// again
    Converge(converge::Arguments),
    /// Make the figures of articles again on this machine: tables and plots beside their numbers
    Figures(Box<figures::Arguments>),
    /// Make a model that `run` reads: Plummer, Hernquist, spheres, a part of the early universe,
    /// galaxies on a choreography, a cartwheel
    Model(model::Arguments),
    /// Pair interactions that you write: print what a text compiles to, or run it on two files
    Pair(Box<pair::Arguments>),
    /// Draw the projected density of bodies, as PNG
    Picture(density::Arguments),
    /// Make a Plummer model: short for `model plummer`
    Plummer(model::IsolatedArguments),
}

/// Returns what a command line asks for. The first word is the name of the command.
fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command().term_width(out::width());
    let matches = command.try_get_matches_from_mut(words)?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
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
        Command::Run(arguments) => run::run(&arguments).map(|()| true),
        Command::Converge(arguments) => converge::run(&arguments).map(|()| true),
        Command::Figures(arguments) => figures::run(&arguments).map(|()| true),
        Command::Model(arguments) => model::run(&arguments).map(|()| true),
        Command::Pair(arguments) => pair::run(&arguments).map(|()| true),
        Command::Picture(arguments) => density::run(&arguments).map(|()| true),
        Command::Plummer(arguments) => model::run_plummer(&arguments).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // A reader that closes the output early has seen enough.
        Err(failure) if failure.is_closed_output() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("kyoho: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
