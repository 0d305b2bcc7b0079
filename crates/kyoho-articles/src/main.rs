//! The program `kyoho-figures`: the figures of articles on forces by GPUs, made again on this machine.

mod fujiwara_nakasato;
mod miki;
mod nakasato;
mod sapporo2;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use serde::Serialize;

use kyoho::Setup;
use kyoho::config::{DeviceChoice, Settings, Wanted};
use kyoho_cli::bench;
use kyoho_cli::bench::effort::Effort;
use kyoho_cli::bench::plot::{self, Picture};
use kyoho_cli::bench::row::{self, Row};
use kyoho_cli::count::number;
use kyoho_cli::failure::{Failure, Result};
use kyoho_cli::file;
use kyoho_cli::machine::Machine;
use kyoho_cli::out;
use kyoho_core::{Order, Precision};
use kyoho_hal::{Backend, DeviceKind};

/// Figures of articles on forces by GPUs, made again on this machine: tables and plots beside their
/// numbers.
#[derive(Debug, Parser)]
#[command(name = "kyoho-figures", version)]
struct Arguments {
    #[command(subcommand)]
    article: Article,
}

/// The articles.
#[derive(Debug, clap::Subcommand)]
enum Article {
    /// Bedorf, Gaburov & Portegies Zwart 2015: block steps, forces N x N, several devices,
    /// integrations, and the machine that wins
    Sapporo2(sapporo2::Arguments),
    /// Miki, Takahashi & Mori 2012: the speed of forces N x N by the number of threads that share a
    /// sink
    Miki(miki::Arguments),
    /// Nakasato 2009: forces by a tree against the number of bodies and the opening angle
    Nakasato(nakasato::Arguments),
    /// Fujiwara & Nakasato 2009: forces and leapfrog steps of galaxies, and a cartwheel's ring
    FujiwaraNakasato(fujiwara_nakasato::Arguments),
}

/// The options that all figures have.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// The folder of the pictures, which is made if it is not there [default: the working
    /// directory]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Seconds for each row; at least three calls are timed however long they take [default: 0.3;
    /// 0.05 where a figure says so]
    #[arg(long, value_parser = number)]
    seconds: Option<f64>,
    /// The most seconds for a row, or for an integration; what would take longer is left out, and
    /// the table says so [default: 20; 600 for an integration]
    #[arg(long, value_name = "SECONDS", value_parser = number)]
    limit: Option<f64>,
    /// Print a JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: Machine,
}

fn main() -> ExitCode {
    let parsed = kyoho_cli::parsed_by(Arguments::command(), std::env::args_os());
    let arguments = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    kyoho_cli::exit_code(match arguments.unwrap_or_else(|error| error.exit()).article {
        Article::Sapporo2(arguments) => sapporo2::run(&arguments),
        Article::Miki(arguments) => miki::run(&arguments),
        Article::Nakasato(arguments) => nakasato::run(&arguments),
        Article::FujiwaraNakasato(arguments) => fujiwara_nakasato::run(&arguments),
    })
}

/// The figures of an article that are being made.
pub struct Figures<'a> {
    common: &'a Common,
    folder: &'a Path,
    report: Report,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    article: &'static str,
    command: String,
    figures: Vec<Figure>,
}

/// A figure that was made.
#[derive(Debug, Serialize)]
struct Figure {
    figure: String,
    shows: String,
    /// The numbers of the article.
    theirs: &'static str,
    rows: serde_json::Value,
    pictures: Vec<PathBuf>,
}

impl<'a> Figures<'a> {
    /// Begins the figures of an article.
    pub fn new(article: &'static str, common: &'a Common) -> Result<Figures<'a>> {
        let (folder, command) = (folder(common.output.as_deref())?, command());
        if !common.json {
            out!("{article}; made by `{command}`")?;
        }
        let figures = Figures { common, folder, report: Report { article, command, figures: Vec::new() } };
        figures.effort([0.3, 20.0]).check()?;
        Ok(figures)
    }

    /// Returns the effort for a figure whose rows take this many seconds, and at most so many, where
    /// the options do not say otherwise.
    pub fn effort(&self, [seconds, limit]: [f64; 2]) -> Effort {
        let Common { json, .. } = *self.common;
        Effort { seconds: self.common.seconds.unwrap_or(seconds), limit: self.common.limit.unwrap_or(limit), json }
    }

    /// Begins a figure.
    pub fn begin(&mut self, figure: impl Into<String>, shows: impl Into<String>, theirs: &'static str) -> Result<()> {
        let (figure, shows) = (figure.into(), shows.into());
        if !self.common.json {
            out!("\n{figure}: {shows}\ntheirs: {theirs}")?;
        }
        let rows = serde_json::Value::Null;
        self.report.figures.push(Figure { figure, shows, theirs, rows, pictures: Vec::new() });
        Ok(())
    }

    /// Keeps the rows of the figure that was begun last.
    pub fn keep(&mut self, rows: &impl Serialize) {
        if let Some(figure) = self.report.figures.last_mut() {
            figure.rows = serde_json::to_value(rows).expect("rows have only strings as keys");
        }
    }

    /// Draws a picture of the figure that was begun last, from panels of which there may be none.
    pub fn draw(&mut self, name: &str, panels: &[Picture]) -> Result<()> {
        // Without a point there is nothing that axes could hold.
        let has_points = |panel: &Picture| panel.curves.iter().any(|curve| !curve.points.is_empty());
        let all = panels.iter().all(has_points);
        if panels.is_empty() || !all {
            return self.effort([1.0; 2]).note("no plot: nothing was measured");
        }
        self.draw_by(name, |path| plot::draw_panels(path, panels))
    }

    /// Draws a picture of the figure that was begun last.
    pub fn draw_by(&mut self, name: &str, draw: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let path = self.folder.join(format!("{name}.svg"));
        draw(&path)?;
        if !self.common.json {
            out!("plot: {}", path.display())?;
        }
        if let Some(figure) = self.report.figures.last_mut() {
            figure.pictures.push(path);
        }
        Ok(())
    }

    /// Ends the figures, which prints them as JSON if that is wanted.
    pub fn end(self) -> Result<()> {
        if !self.common.json {
            return Ok(());
        }
        out!("{}", serde_json::to_string_pretty(&self.report).expect("a report has only strings as keys"))
    }
}

/// Returns the folder of the pictures, which is made if it is not there.
pub fn folder(given: Option<&Path>) -> Result<&Path> {
    let folder = given.unwrap_or(Path::new("."));
    file::try_folder(folder).map_err(|error| Failure::file(folder, error))?;
    Ok(folder)
}

/// Returns the command that makes the figures.
pub fn command() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    format!("kyoho-figures {}", words.join(" "))
}

/// Returns the numbers that were given, or else the default, each once and ascending.
pub fn numbers(given: &[u32], default: &[u32]) -> Vec<usize> {
    let mut numbers = bench::given(given, default);
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Returns the settings. `with_all_devices` says that all visible ones are taken where no option
/// names some.
pub fn settings(common: &Common, with_all_devices: bool) -> Result<Settings> {
    let mut settings = common.machine.settings()?;
    if with_all_devices && common.machine.place.devices.is_none() {
        settings.devices = DeviceChoice { wanted: Wanted::All, because: "the figure".into(), of_gpus: false };
    }
    Ok(settings)
}

/// Returns a setup that uses its devices and no others, whatever fails and however small a block
/// is.
pub fn setup(settings: &Settings, order: Order, precision: Precision) -> Result<Setup> {
    Ok(Setup { crossover: Some(0), fall_back: false, ..settings.setup(order, precision)? })
}

/// Returns such a setup of one device.
pub fn on_one(settings: &Settings, order: Order, precision: Precision) -> Result<Setup> {
    let setup = setup(settings, order, precision)?;
    Ok(Setup { devices: setup.devices[..1].to_vec(), ..setup })
}

/// Whether forces are computed by the processors of the host, by whatever backend.
pub fn is_on_cpu(setup: &Setup) -> Result<bool> {
    let devices = setup.backend.devices()?;
    Ok(setup.backend == Backend::Cpu || setup.devices.iter().any(|device| devices[*device].kind == DeviceKind::Cpu))
}

/// Prints a row of `kyoho bench`, with a header if the place of measurement is another than that of
/// the row before.
pub fn print(effort: &Effort, before: Option<&Row>, row: &Row) -> Result<()> {
    if effort.json { Ok(()) } else { row::print(before, row) }
}

/// Returns the powers of two from one number to another.
pub fn powers(from: usize, to: usize) -> Vec<u32> {
    let powers = std::iter::successors(Some(from), |power| Some(2 * power));
    powers.take_while(|power| *power <= to).map(|power| power as u32).collect()
}
