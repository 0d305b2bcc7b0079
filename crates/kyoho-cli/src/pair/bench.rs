//! `kyoho pair bench`: the time of a pair interaction.

use std::time::Instant;

use kyoho_language::Costs;
use kyoho_language::list::Stage;
use kyoho_language::number::Number;
use kyoho_language::syntax::Side;
use kyoho_language::types::Scalar;
use kyoho_pairs::{PairKernel, Rows};

use super::{Text, set_parameters};
use crate::count::count;
use crate::failure::Result;
use crate::machine::Machine;

/// The options of `kyoho pair bench`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    text: Text,
    /// The number of sinks
    #[arg(long, value_name = "COUNT", default_value_t = 4096, value_parser = count::<usize>(1..=1 << 30))]
    sinks: usize,
    /// The number of sources [default: that of sinks]
    #[arg(long, value_name = "COUNT", value_parser = count::<usize>(1..=1 << 30))]
    sources: Option<usize>,
    /// A parameter: one number, or those of a vector or a table with commas between them
    #[arg(long = "param", value_name = "NAME=NUMBERS")]
    parameters: Vec<String>,
    /// How often all pairs are computed; the median of the times counts
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = count::<u16>(1..))]
    runs: u16,
    #[command(flatten)]
    machine: Machine,
}

/// Numbers for a field: from -1 to 1 for real numbers; integers count the rows, below an extent.
struct Drawn {
    scalar: Scalar,
    count: usize,
    extent: Option<u32>,
}

impl Rows for Drawn {
    fn scalar(&self) -> Scalar {
        if self.scalar.is_real() { Scalar::F64 } else { Scalar::U32 }
    }

    fn count(&self) -> usize {
        self.count
    }

    fn number(&self, row: usize, component: usize) -> Number {
        if !self.scalar.is_real() {
            return Number::U32(row as u32 % self.extent.unwrap_or(u32::MAX));
        }
        // A step of splitmix64.
        let mut bits = (4 * row + component + 1) as u64;
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Number::F64(((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    }
}

/// Prints times and speed.
pub fn run(arguments: &Arguments) -> Result<()> {
    let machine = arguments.machine.settings()?.pair_machine()?;
    let began = Instant::now();
    let mut kernel = arguments.text.compile(&machine)?;
    let compiled = began.elapsed().as_secs_f64();
    let counts = [arguments.sinks, arguments.sources.unwrap_or(arguments.sinks)];
    draw(&mut kernel, counts)?;
    set_parameters(&mut kernel, &arguments.parameters)?;
    let mut run = || {
        let began = Instant::now();
        kernel.run(Some(counts[0]), Some(counts[1])).map(|()| began.elapsed().as_secs_f64())
    };
    // The first run sends the fields to the device.
    let first = run()?;
    let mut times = (0..arguments.runs).map(|_| run()).collect::<kyoho::Result<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let pairs = counts[0] as f64 * counts[1] as f64;
    let operations = Costs::of(kernel.list(), Stage::Pair).arithmetic() as f64;
    out!("backend           {}", machine.backend.name())?;
    out!("compiled in       {:.4} s", compiled)?;
    out!("sinks, sources    {}, {}", counts[0], counts[1])?;
    out!("first run         {first:.6} s")?;
    out!("median of {:<6}  {median:.6} s", times.len())?;
    out!("speed             {:.3} Gint/s", pairs / median * 1e-9)?;
    out!("arithmetic        {:.1} Goperations/s, {operations} a pair", pairs * operations / median * 1e-9)
}

/// Gives all fields numbers.
fn draw(kernel: &mut PairKernel, counts: [usize; 2]) -> Result<()> {
    let list = kernel.list().copied()?;
    for side in [Side::I, Side::J] {
        for (number, field) in list.fields[side as usize].iter().enumerate() {
            let is_checked = |check: &&kyoho_language::list::IndexCheck| (check.side, check.field) == (side, number);
            let extent = list.checks.iter().filter(is_checked).map(|check| check.extent).min();
            let drawn = Drawn { scalar: field.of.scalar, count: counts[side as usize], extent };
            kernel.set(&format!("{}.{}", side.name(), field.name), &drawn)?;
        }
    }
    Ok(())
}
