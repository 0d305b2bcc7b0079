//! The figures of Bedorf, Gaburov & Portegies Zwart 2015, Computational Astrophysics and Cosmology
//! 2, 8 (arXiv 1510.04068): the library Sapporo2.

mod forces;
mod grid;
mod integrations;
mod map;

use crate::{Common, Figures, is_on_cpu, numbers, settings, setup};
use kyoho_cli::bench::speedup;
use kyoho_cli::count::count;
use kyoho_cli::failure::{Failure, Result};
use kyoho_cli::machine::named;
use kyoho_core::{Order, Precision};

/// The options of `kyoho-figures sapporo2`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The figures of the article: 2 to 7 [default: all; 4 and 5 where there are several devices]
    #[arg(long, value_delimiter = ',', value_parser = count::<u8>(2..=7))]
    only: Vec<u8>,
    /// Numbers of sources in figure 2, of bodies in figures 3 to 6, and both of sinks and of sources
    /// in figure 7 [default: those of the article on GPUs, fewer on CPUs]
    #[arg(long, value_delimiter = ',', value_parser = count::<u32>(1..=1 << 24))]
    n: Vec<u32>,
    /// Precisions: mixed, double; figure 7 takes the first [default: mixed,double]
    #[arg(long, value_delimiter = ',')]
    precision: Vec<String>,
    #[command(flatten)]
    common: Common,
}

const ARTICLE: &str = "Bedorf, Gaburov & Portegies Zwart 2015, arXiv 1510.04068 (Sapporo2)";

impl Arguments {
    /// Returns the precisions that are compared.
    fn precisions(&self) -> Result<Vec<Precision>> {
        let both = [Precision::Mixed, Precision::Double];
        if self.precision.is_empty() {
            return Ok(both.to_vec());
        }
        self.precision.iter().map(|name| named("--precision", name, &both, Precision::name)).collect()
    }

    /// Returns the numbers, or these defaults on GPUs and on CPUs.
    fn n(&self, is_on_cpu: bool, [on_gpus, on_cpus]: [&[u32]; 2]) -> Vec<usize> {
        numbers(&self.n, if is_on_cpu { on_cpus } else { on_gpus })
    }
}

/// Makes the figures.
pub fn run(arguments: &Arguments) -> Result<()> {
    let precisions = arguments.precisions()?;
    let mut figures = Figures::new(ARTICLE, &arguments.common)?;
    let wanted = |figure: u8| arguments.only.is_empty() || arguments.only.contains(&figure);
    if wanted(2) {
        forces::block_steps(arguments, &precisions, &mut figures)?;
    }
    if wanted(3) {
        forces::n_times_n(arguments, &precisions, &mut figures)?;
    }
    for (figure, order) in [(4, Order::Fourth), (5, Order::Sixth)] {
        if wanted(figure) {
            several_devices(arguments, (figure, order), &precisions, &mut figures)?;
        }
    }
    if wanted(6) {
        integrations::run(arguments, &precisions, &mut figures)?;
    }
    if wanted(7) {
        grid::run(arguments, precisions[0], &mut figures)?;
    }
    figures.end()
}

/// Figures 4 and 5: the speed-up by several devices.
fn several_devices(
    arguments: &Arguments,
    (figure, order): (u8, Order),
    precisions: &[Precision],
    figures: &mut Figures,
) -> Result<()> {
    let settings = settings(&arguments.common, true)?;
    let effort = figures.effort([0.3, 20.0]);
    let first = setup(&settings, order, precisions[0])?;
    if first.devices.len() < 2 {
        let failure = speedup::too_few_devices(&arguments.common.machine, &first, "figure 4 or 5");
        return match (arguments.only.is_empty(), failure) {
            (true, Failure::Argument { value, .. }) => {
                effort.note(&format!("figure {figure} left out: --devices is {value}"))
            }
            (_, failure) => Err(failure),
        };
    }
    let shows = format!("speed-up of forces of order {} on several devices over one", order as i32);
    figures.begin(format!("figure {figure}"), shows, "speed-up of up to four GPUs")?;
    let defaults: [&[u32]; 2] = [&[1 << 14, 1 << 16, 1 << 17, 1 << 18, 1 << 20], &[1 << 10, 1 << 12, 1 << 14]];
    let numbers = arguments.n(is_on_cpu(&first)?, defaults);
    let blocks = |nj: usize| [1, 16, 256, 1024, 16384].into_iter().filter(|ni| *ni < nj).collect();
    let (mut rows, mut panels) = (Vec::new(), Vec::new());
    for precision in precisions {
        let setup = setup(&settings, order, *precision)?;
        let lines = speedup::measure(&effort, &setup, numbers.clone(), &blocks)?;
        panels.extend(speedup::picture(&lines));
        rows.extend(lines.concat());
    }
    figures.keep(&rows);
    figures.draw(&format!("sapporo2-{figure}"), &panels)
}
