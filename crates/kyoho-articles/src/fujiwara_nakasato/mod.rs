//! The figures of Fujiwara & Nakasato (2009, arXiv:0904.3659), who computed direct sums on a GPU of
//! AMD's (RV770): the times of forces and of 100 leapfrog steps for four models, the speed against
//! the number of bodies, and pictures of the models.

mod ring;
mod steps;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{command, folder, is_on_cpu, numbers, powers, setup};
use kyoho::Setup;
use kyoho_cli::bench::plot::{self, Axis, Curve, DECADES, OCTAVES, Picture};
use kyoho_cli::count::count;
use kyoho_cli::density::{self, Region};
use kyoho_cli::failure::Result;
use kyoho_cli::machine::Machine;
use kyoho_cli::model::random_sphere;
use kyoho_cli::out;
use kyoho_cli::progress;
use kyoho_core::{Order, Precision};
use kyoho_integrators::body::Body;
use ring::Ring;
use steps::{MODELS, Row, Run};

/// The options of `kyoho-figures fujiwara-nakasato`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Divide the article's numbers of bodies of the four models by this [default: 1 on GPUs, 5 on
    /// CPUs]
    #[arg(long, value_name = "NUMBER", value_parser = count::<u32>(1..=250))]
    fewer: Option<u32>,
    /// Numbers of bodies of the speed curve [default: 1024, 2048, 4096 and so on up to 131072 and
    /// 226304 on GPUs, to 32768 on CPUs]
    #[arg(long, value_delimiter = ',', value_parser = count::<u32>(2..=1 << 24))]
    n: Vec<u32>,
    /// The folder of the pictures, which is made if it is not there [default: the working
    /// directory]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Print a JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: Machine,
}

/// The operations that a pair counts for.
const OPERATIONS: f64 = 38.0;

/// The speed of their GPU with 226304 bodies, in GFLOPS.
const THEIRS: f64 = 990.0;
const MOST: u32 = 226_304;

/// The pixels a side of a picture of bodies.
const PIXELS: usize = 512;

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    article: &'static str,
    command: String,
    backend: &'static str,
    device: String,
    models: Vec<Row>,
    speeds: Vec<Speed>,
    ring: Option<Ring>,
    pictures: Vec<PathBuf>,
}

/// The time of one force evaluation on a random model.
#[derive(Serialize)]
struct Speed {
    n: usize,
    seconds: f64,
    flops_per_second: f64,
}

/// Makes the figures, and prints a table or JSON.
pub fn run(arguments: &Arguments) -> Result<()> {
    let settings = arguments.machine.settings()?;
    let setup = setup(&settings, Order::Second, Precision::Single)?;
    let mut figures = Figures::new(arguments, &setup)?;
    let models = figures.models()?;
    let speeds = figures.speeds()?;
    let Figures { device, ring, pictures, .. } = figures;
    if !arguments.json {
        return pictures.iter().try_for_each(|path| out!("picture: {}", path.display()));
    }
    let article = "Fujiwara & Nakasato 2009, arXiv:0904.3659";
    let report =
        Report { article, command: command(), backend: setup.backend.name(), device, models, speeds, ring, pictures };
    out!("{}", serde_json::to_string_pretty(&report).expect("a report has only strings as keys"))
}

/// The figures that are being made.
struct Figures<'a> {
    arguments: &'a Arguments,
    setup: &'a Setup,
    folder: &'a Path,
    /// The names of the devices.
    device: String,
    /// The ring of the cartwheel, after that was integrated.
    ring: Option<Ring>,
    pictures: Vec<PathBuf>,
}

impl<'a> Figures<'a> {
    fn new(arguments: &'a Arguments, setup: &'a Setup) -> Result<Figures<'a>> {
        let folder = folder(arguments.output.as_deref())?;
        let devices = kyoho::System::new(setup)?.devices();
        let device = devices.into_iter().map(|device| device.name).collect::<Vec<_>>().join(", ");
        Ok(Figures { arguments, setup, folder, device, ring: None, pictures: Vec::new() })
    }

    /// Prints a line of a table.
    fn line(&self, line: &str) -> Result<()> {
        if self.arguments.json { Ok(()) } else { out!("{line}") }
    }

    /// Times the four models and draws them.
    fn models(&mut self) -> Result<Vec<Row>> {
        let divisor = self.arguments.fewer.unwrap_or(if is_on_cpu(self.setup)? { 5 } else { 1 });
        self.line(&format!("Fujiwara & Nakasato 2009 again on {}: {}\n", self.setup.backend.name(), self.device))?;
        self.line(steps::HEADER)?;
        let mut rows = Vec::new();
        for model in &MODELS {
            let mut run = Run::new(model, self.setup, divisor as usize)?;
            self.picture(&format!("{}-before", model.name), run.bodies(), model.axes, model.width, PIXELS / 2)?;
            let row = run.time()?;
            self.picture(&format!("{}-after", model.name), run.bodies(), model.axes, model.width, PIXELS / 2)?;
            self.line(&row.to_string())?;
            if model.has_ring {
                self.follow_ring(&mut run)?;
            }
            rows.push(row);
        }
        self.line(&self.ring.iter().map(|ring| format!("\n{}\n", ring.words())).collect::<String>())?;
        Ok(rows)
    }

    /// Takes the cartwheel to its ring, and draws its disk and the surface density of that.
    fn follow_ring(&mut self, run: &mut Run) -> Result<()> {
        let ring = Ring::follow(run)?;
        // Some bodies for each cell of the ring.
        let cells = (ring.bodies / 2).isqrt().next_power_of_two().clamp(16, PIXELS / 2);
        self.picture("cartwheel-ring", &run.bodies()[..ring.bodies], [0, 1], ring::WIDTH, cells)?;
        let curve = |label: &str, points: Vec<plot::Point>| {
            let points = points.into_iter().filter(|(_, density)| *density > 0.0).collect();
            Curve { label: label.into(), points, dashes: Vec::new(), level: None }
        };
        let curves = vec![
            curve(&format!("at time {}", ring.time_before), ring.points(&ring.density_before)),
            curve(&format!("at time {}", ring.time), ring.points(&ring.density)),
        ];
        let axes = [("radius", &OCTAVES), ("surface density of the disk", &DECADES)];
        self.plot("cartwheel-profile", format!("Cartwheel of {} bodies", run.bodies().len()), axes, curves)?;
        self.ring = Some(ring);
        Ok(())
    }

    /// Measures and draws the speed against the number of bodies.
    fn speeds(&mut self) -> Result<Vec<Speed>> {
        let on_cpu = is_on_cpu(self.setup)?;
        let mut default = powers(1 << 10, if on_cpu { 1 << 15 } else { 1 << 17 });
        default.extend((!on_cpu).then_some(MOST));
        let numbers = numbers(&self.arguments.n, &default);
        self.line("| N | one force evaluation | GFLOPS |\n| --- | --- | --- |")?;
        let bar = progress::bar(numbers.iter().map(|n| (n * n) as u64).sum()).with_message("speeds   ");
        let mut speeds = Vec::new();
        for n in numbers {
            let bodies = random_sphere::model(n, 1, "")?.bodies()?;
            let seconds = steps::seconds_of_forces(&mut *steps::leapfrog(&random_sphere::COURSE, self.setup, bodies)?)?;
            let flops_per_second = OPERATIONS * (n as f64).powi(2) / seconds;
            bar.inc((n * n) as u64);
            bar.suspend(|| self.line(&format!("| {n} | {seconds:.3e} s | {:.1} |", flops_per_second / 1e9)))?;
            speeds.push(Speed { n, seconds, flops_per_second });
        }
        bar.finish_and_clear();
        self.line(&format!("\ntheirs: {THEIRS} GFLOPS with {MOST} bodies, 2 s; {OPERATIONS} operations a pair\n"))?;
        let points = speeds.iter().map(|speed| (speed.n as f64, speed.flops_per_second / 1e9)).collect();
        let level = Some((THEIRS, format!("RV770, {MOST} bodies: {THEIRS} GFLOPS")));
        let curves = vec![Curve { label: "Kyoho, order 2, single".into(), points, dashes: Vec::new(), level }];
        let title = format!("{}: {}", self.setup.backend.name(), self.device);
        let axes = [("N", &OCTAVES), ("GFLOPS at 38 operations a pair", &DECADES)];
        self.plot("speed", title, axes, curves)?;
        Ok(speeds)
    }

    fn plot(
        &mut self,
        name: &str,
        title: String,
        axes: [(&'static str, &'static plot::Scale); 2],
        curves: Vec<Curve>,
    ) -> Result<()> {
        let path = self.folder.join(format!("fujiwara-nakasato-{name}.svg"));
        let axes = axes.map(|(what, scale)| Axis { what, scale });
        plot::draw(&path, &Picture { title, axes, dashes: None, curves })?;
        self.pictures.push(path);
        Ok(())
    }

    /// Draws the projected density of bodies in a square round the origin, of so many cells a side.
    fn picture(&mut self, name: &str, bodies: &[Body], axes: [usize; 2], width: f64, cells: usize) -> Result<()> {
        let path = self.folder.join(format!("fujiwara-nakasato-{name}.png"));
        let region = Region { centre: [0.0; 3], width, axes, pixels: cells };
        density::draw(&path, bodies, region, PIXELS / cells)?;
        self.pictures.push(path);
        Ok(())
    }
}
