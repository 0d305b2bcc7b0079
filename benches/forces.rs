//! Forces on all sources and on blocks of sinks: `cargo bench`, or `cargo bench -- fourth_mixed`
//! for some of them.
//!
//! They run on one thread, so that the loops are compared. `kyoho bench` measures the whole
//! machine.

use std::sync::atomic::{AtomicU64, Ordering};

use divan::Bencher;
use divan::counter::ItemsCount;

use kyoho::{Setup, System};
use kyoho_core::Level;
use kyoho_core::{Order, Precision, Scope, Sink, Source};
use kyoho_hal::Backend;

fn main() {
    divan::main();
}

/// The number of sources of every block.
const SOURCES: usize = 16384;

/// Returns a point of a lattice with some velocity. No two sources have the same place. The cost of
/// forces does not depend on the positions.
fn source(number: usize) -> Source {
    let fraction = |step: f64| (number as f64 * step).fract() - 0.5;
    let position = [fraction(0.6180339887498949), fraction(0.7548776662466927), fraction(0.5698402909980532)];
    let velocity = position.map(|x| 0.1 - x);
    let derivatives = [position, velocity, position.map(|x| -x), velocity.map(|v| -v)];
    Source::from_derivatives(number as i32, 1.0 / SOURCES as f64, 0.0, derivatives)
}

fn sink(number: usize) -> Sink {
    let source = source(number);
    let derivatives = [source.coefficients[0], source.coefficients[1], [0.0; 3], [0.0; 3]];
    Sink { index: source.index, softening2: 1e-4, radius2: 0.0, step: 0.0, derivatives }
}

fn system(order: Order, precision: Precision, sources: usize) -> System {
    let setup = Setup {
        order,
        precision,
        scope: Scope::Full,
        backend: Backend::Cpu,
        devices: vec![0],
        threads: 1,
        level: Level::best(),
        shape: None,
        partition: None,
        crossover: None,
        block_steps: None,
        fall_back: false,
    };
    let mut system = System::new(&setup).expect("the CPU computes every entry that is measured");
    for number in 0..sources {
        system.set_source(number, &source(number)).expect("the lattice is finite");
    }
    system
}

/// Measures the forces on every source.
fn all(bencher: Bencher, order: Order, precision: Precision, n: usize) {
    let mut system = system(order, precision, n);
    let sinks: Vec<Sink> = (0..n).map(sink).collect();
    bencher.counter(ItemsCount::new(n * n)).bench_local(|| {
        let forces = system.force(n, true, sinks.iter().copied()).expect("the block is good");
        forces.potential(0)
    });
}

/// Measures a block step, which writes the sources of a block, sets a new time and computes the
/// forces on the block.
fn block(bencher: Bencher, order: Order, precision: Precision, ni: usize) {
    static TIME: AtomicU64 = AtomicU64::new(0);
    let mut system = system(order, precision, SOURCES);
    let sinks: Vec<Sink> = (0..ni).map(sink).collect();
    bencher.counter(ItemsCount::new(ni * SOURCES)).bench_local(|| {
        let time = TIME.fetch_add(1, Ordering::Relaxed) as f64 * 1e-9;
        for number in 0..ni {
            system.set_source(number, &Source { time, ..source(number) }).expect("the lattice is finite");
        }
        system.set_time(time).expect("the time is finite");
        let forces = system.force(SOURCES, true, sinks.iter().copied()).expect("the block is good");
        forces.potential(0)
    });
}

/// One module for each order and precision, so that their names can be chosen on the command line.
macro_rules! entry {
    ($name:ident, $order:ident, $precision:ident) => {
        mod $name {
            use super::*;

            #[divan::bench(args = [1024, 4096])]
            fn n_times_n(bencher: Bencher, n: usize) {
                all(bencher, Order::$order, Precision::$precision, n);
            }

            #[divan::bench(args = [1, 16, 64, 256])]
            fn block_step(bencher: Bencher, ni: usize) {
                block(bencher, Order::$order, Precision::$precision, ni);
            }
        }
    };
}

entry!(second_single, Second, Single);
entry!(second_mixed, Second, Mixed);
entry!(second_double, Second, Double);
entry!(fourth_single, Fourth, Single);
entry!(fourth_mixed, Fourth, Mixed);
entry!(fourth_double, Fourth, Double);
