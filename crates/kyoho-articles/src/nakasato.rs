//! The figures of Nakasato (2009, Oct-tree Method on GPU): forces by a tree on random bodies against
//! their number and the opening angle, beside direct sums.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Serialize;

use crate::{Common, Figures, is_on_cpu, on_one, settings};
use kyoho::Setup;
use kyoho_cli::bench::effort::Effort;
use kyoho_cli::bench::measure::{self, Bench, Particle};
use kyoho_cli::bench::plot::{Axis, Curve, DECADES, OCTAVES, Picture, Scale};
use kyoho_cli::bench::row::Work;
use kyoho_cli::bench::trees::{Caller, Walk};
use kyoho_cli::count::count;
use kyoho_cli::failure::Result;
use kyoho_cli::model::random::Random;
use kyoho_cli::model::random_sphere;
use kyoho_cli::out;
use kyoho_cli::progress;
use kyoho_core::{Order, Precision, memory, padded};
use kyoho_integrators::body::Vector;

/// The options of `kyoho-figures nakasato`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Divide the article's numbers of bodies by this [default: 1 on GPUs, 25 on CPUs]
    #[arg(long, value_name = "NUMBER", value_parser = count::<u32>(1..=1000))]
    fewer: Option<u32>,
    #[command(flatten)]
    common: Common,
}

const ARTICLE: &str = "Nakasato 2009, Oct-tree Method on GPU";
/// The numbers of bodies of tables II and III.
const BODIES: [usize; 5] = [50 << 10, 100 << 10, 200 << 10, 400 << 10, 800 << 10];
/// Their opening angle.
const THETA: f64 = 0.6;
/// The opening angles of table V, with its largest number of bodies.
const THETAS: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];
/// The binary exponents of the numbers of bodies of figure 9.
const EXPONENTS: std::ops::RangeInclusive<usize> = 10..=20;
/// The number of bodies in a cube.
const BODIES_OF_CUBE: usize = 1 << 20;

/// How forces are summed: by a walk of a tree, or directly.
type Method = Option<Walk>;

/// A measurement.
#[derive(Debug, Clone, Default, Serialize)]
struct Measured {
    /// The name of the walk, or `direct`.
    method: &'static str,
    n: usize,
    theta: Option<f64>,
    /// The median time of a call that writes all sources and computes all forces, and the number of
    /// calls.
    seconds: f64,
    calls: usize,
    /// The time until the tree and the moments of its cells were made, in one more call.
    construction_seconds: Option<f64>,
    phase_seconds: Option<BTreeMap<&'static str, f64>>,
    interactions_per_sink: Option<f64>,
    error_median: Option<f64>,
    error_percentile_99: Option<f64>,
    /// The time in the article.
    theirs_seconds: Option<f64>,
}

/// Measures, prints the tables and draws the pictures.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut figures = Figures::new(ARTICLE, &arguments.common)?;
    let setup = on_one(&settings(&arguments.common, false)?, Order::Second, Precision::Single)?;
    let fewer = arguments.fewer.unwrap_or(if is_on_cpu(&setup)? { 25 } else { 1 }) as usize;
    let mut measuring = Measuring { effort: figures.effort([0.3, 20.0]), setup: &setup, title: String::new() };
    let walks = [Walk::StacklessUnsorted, Walk::Stackless, Walk::Cells].map(Some);
    let most = BODIES[BODIES.len() - 1];

    figures.begin(
        "tables II and III",
        format!("forces on random bodies in a sphere, theta {THETA}"),
        "800K bodies: 1.53 s unsorted, 0.68 s in Morton order",
    )?;
    let cases = BODIES.iter().flat_map(|n| walks.map(|walk| Case::of(walk, n / fewer)));
    let rows = measuring.all(cases.collect(), in_sphere, |case| match (case.method, case.n == most) {
        (Some(Walk::StacklessUnsorted), true) => Some(1.53),
        (Some(Walk::Stackless), true) => Some(0.68),
        _ => None,
    })?;
    figures.keep(&rows);
    figures.draw("nakasato-n", &measuring.picture(&rows, ("N", &OCTAVES), |row| row.n as f64))?;

    figures.begin(
        "table V",
        format!("forces on {} random bodies in a sphere against theta", most / fewer),
        "800K bodies: 16.5 s with theta 0.2, 0.31 s with theta 1",
    )?;
    let sorted = [Some(Walk::Stackless), Some(Walk::Cells)];
    let cases =
        THETAS.iter().rev().flat_map(|theta| sorted.map(|walk| Case { theta: *theta, ..Case::of(walk, most / fewer) }));
    let rows = measuring.all(cases.collect(), in_sphere, |case| match (case.method, case.n == most, case.theta) {
        (Some(Walk::Stackless), true, 0.2) => Some(16.5),
        (Some(Walk::Stackless), true, 1.0) => Some(0.31),
        _ => None,
    })?;
    figures.keep(&rows);
    let error = |row: &Measured| row.error_median.unwrap_or(f64::NAN);
    let panels = [("theta", None), ("median relative error of accelerations", Some(error))].into_iter().flat_map(
        |(what, of)| {
            measuring.picture(&rows, (what, &DECADES), |row| of.map_or(row.theta.unwrap_or(f64::NAN), |of| of(row)))
        },
    );
    figures.draw("nakasato-theta", &panels.collect::<Vec<_>>())?;

    figures.begin(
        "figure 9",
        format!("forces by a tree of theta {THETA} and by direct sums against N"),
        "two curves, of a tree and of direct sums",
    )?;
    let numbers = EXPONENTS.map(|exponent| (1 << exponent) / fewer).filter(|n| *n > 16);
    let methods = [Some(Walk::Stackless), Some(Walk::Cells), None];
    let cases = numbers.flat_map(|n| methods.map(|method| Case::of(method, n)));
    let rows = measuring.all(cases.collect(), in_sphere, |_| None)?;
    figures.keep(&rows);
    for walk in [Walk::Stackless, Walk::Cells] {
        if let Some(n) = crossing(&rows, walk) {
            measuring.effort.note(&format!("{}: faster than direct sums from {n:.0} bodies on", walk.name()))?;
        }
    }
    figures.draw("nakasato-9", &measuring.picture(&rows, ("N", &OCTAVES), |row| row.n as f64))?;

    let n = BODIES_OF_CUBE / fewer;
    figures.begin("cube", format!("forces on {n} random bodies in a cube, theta {THETA}"), "1048576 bodies: 0.73 s")?;
    let cases = walks.map(|walk| Case::of(walk, n));
    let rows = measuring.all(cases.to_vec(), in_cube, |case| {
        (case.method == Some(Walk::Stackless) && case.n == BODIES_OF_CUBE).then_some(0.73)
    })?;
    figures.keep(&rows);
    figures.end()
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
struct Case {
    method: Method,
    n: usize,
    theta: f64,
}

impl Case {
    fn of(method: Method, n: usize) -> Case {
        Case { method, n, theta: THETA }
    }

    /// Returns the operations of a call, to a factor.
    fn work(&self) -> f64 {
        let n = self.n as f64;
        if self.method.is_none() { n * n } else { n * self.theta.powi(-3) }
    }
}

/// Returns particles at rest at these places, with the mass 1 together.
fn particles(places: impl ExactSizeIterator<Item = Vector>) -> Result<Rc<Vec<Particle>>> {
    let mass = 1.0 / places.len() as f64;
    let particle = |position| Particle { mass, motion: padded([position]) };
    Ok(Rc::new(memory::collected(places.map(particle), "bodies")?))
}

/// Returns random bodies in a sphere of radius 1.
fn in_sphere(n: usize) -> Result<Rc<Vec<Particle>>> {
    particles(random_sphere::model(n, 1, "")?.stars.iter().map(|star| star.position))
}

/// Returns random bodies in a cube of side 1.
fn in_cube(n: usize) -> Result<Rc<Vec<Particle>>> {
    let mut random = Random(1);
    particles((0..n).map(|_| [random.uniform(), random.uniform(), random.uniform()]))
}

/// The measuring of figures.
struct Measuring<'a> {
    effort: Effort,
    setup: &'a Setup,
    /// The place of the measurements in words.
    title: String,
}

impl Measuring<'_> {
    /// Measures some cases, whose numbers of bodies or angles ascend or descend, and prints a table.
    fn all(
        &mut self,
        cases: Vec<Case>,
        bodies: impl Fn(usize) -> Result<Rc<Vec<Particle>>>,
        theirs: impl Fn(&Case) -> Option<f64>,
    ) -> Result<Vec<Measured>> {
        let bar = progress::bar(cases.len() as u64);
        let mut rows: Vec<Measured> = Vec::new();
        let mut given: Option<Rc<Vec<Particle>>> = None;
        // The seconds for each operation of each method, as it was measured last.
        let mut paces: Vec<(Method, f64)> = Vec::new();
        for case in &cases {
            bar.inc(1);
            let name = case.method.map_or("direct", Walk::name);
            let pace = paces.iter().rev().find(|(method, _)| *method == case.method).map_or(0.0, |(_, pace)| *pace);
            let row = format_args!("{} bodies, {name}, theta {}", case.n, case.theta);
            if bar.suspend(|| self.effort.is_left_out(measure::least_seconds(pace * case.work()), row))? {
                continue;
            }
            let bodies = match given.take().filter(|bodies| bodies.len() == case.n) {
                Some(bodies) => bodies,
                None => bodies(case.n)?,
            };
            let measured = Measured { theirs_seconds: theirs(case), ..self.one(case, &bodies)? };
            given = Some(bodies);
            paces.push((case.method, measured.seconds / case.work()));
            bar.suspend(|| self.print(rows.is_empty(), &measured))?;
            rows.push(measured);
        }
        bar.finish_and_clear();
        Ok(rows)
    }

    fn one(&mut self, case: &Case, bodies: &Rc<Vec<Particle>>) -> Result<Measured> {
        let mut bench = Bench::new(self.effort.seconds, self.setup, bodies)?;
        let caller = Caller::new(bodies, bench.system())?;
        // Trees are measured where direct sums would be faster, too.
        bench.system().set_tree_crossover(Some(0));
        bench.system().set_tree(case.method.map(|walk| walk.with(case.theta)))?;
        let (seconds, calls) = measure::in_turns(self.effort.seconds, &mut [|| caller.call(bench.system())])?.remove(0);
        self.title = bench.row(Work::Tree, [case.n; 2], (seconds, calls)).title();
        let measured = Measured {
            method: case.method.map_or("direct", Walk::name),
            n: case.n,
            theta: case.method.map(|_| case.theta),
            seconds,
            calls,
            ..Measured::default()
        };
        if case.method.is_none() {
            return Ok(measured);
        }
        let profile = caller.profile(bench.system())?;
        let errors = caller.errors(bench.system())?;
        Ok(Measured {
            construction_seconds: Some(profile.construction()),
            phase_seconds: Some(profile.seconds),
            interactions_per_sink: Some(profile.interactions_per_sink),
            error_median: Some(errors.median),
            error_percentile_99: Some(errors.percentile_99),
            ..measured
        })
    }

    fn print(&self, is_first: bool, row: &Measured) -> Result<()> {
        if self.effort.json {
            return Ok(());
        }
        if is_first {
            out!("{}: {}", self.setup.backend.name(), self.title)?;
            let columns = "milliseconds  construction  interactions  median error  99 % error  theirs, ms";
            out!("{:>8}  {:>5}  {:<18}  {columns}", "N", "theta", "method")?;
        }
        let shown = |number: Option<f64>, text: fn(f64) -> String| number.map_or("-".into(), text);
        let milliseconds: fn(f64) -> String = |seconds| format!("{:.3}", seconds * 1e3);
        let error: fn(f64) -> String = |error| format!("{error:.2e}");
        out!(
            "{:>8}  {:>5}  {:<18}  {:>12}  {:>12}  {:>12}  {:>12}  {:>10}  {:>10}",
            row.n,
            shown(row.theta, |theta| theta.to_string()),
            row.method,
            milliseconds(row.seconds),
            shown(row.construction_seconds, milliseconds),
            shown(row.interactions_per_sink, |count| format!("{count:.1}")),
            shown(row.error_median, error),
            shown(row.error_percentile_99, error),
            shown(row.theirs_seconds, |seconds| format!("{:.0}", seconds * 1e3)),
        )
    }

    /// Returns the picture of the time against some quantity, with a curve for each method.
    fn picture(
        &self,
        rows: &[Measured],
        (what, scale): (&'static str, &'static Scale),
        quantity: impl Fn(&Measured) -> f64,
    ) -> Vec<Picture> {
        let mut methods: Vec<&'static str> = Vec::new();
        for row in rows {
            if !methods.contains(&row.method) {
                methods.push(row.method);
            }
        }
        let curve = |method: &&'static str| {
            let of_method = rows.iter().filter(|row| row.method == *method);
            let points = of_method.map(|row| (quantity(row), row.seconds)).filter(|(x, _)| *x > 0.0);
            Curve { label: (*method).into(), points: points.collect(), dashes: Vec::new(), level: None }
        };
        let axes = [Axis { what, scale }, Axis { what: "seconds", scale: &DECADES }];
        let curves = methods.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
        vec![Picture { title: self.title.clone(), axes, dashes: None, curves }]
    }
}

/// Returns the number of bodies from which on a walk is faster than direct sums, between two that
/// were measured, in proportion in logarithms.
fn crossing(rows: &[Measured], walk: Walk) -> Option<f64> {
    let seconds = |method: &str, n: usize| Some(rows.iter().find(|row| row.method == method && row.n == n)?.seconds);
    let direct = rows.iter().filter(|row| row.method == "direct");
    let ratios = direct.filter_map(|row| Some((row.n as f64, (row.seconds / seconds(walk.name(), row.n)?).ln())));
    let ratios: Vec<(f64, f64)> = ratios.collect();
    let slower = ratios.iter().rposition(|(_, ratio)| *ratio <= 0.0)?;
    let ((from, below), (to, above)) = (ratios[slower], *ratios.get(slower + 1)?);
    Some(from * (to / from).powf(-below / (above - below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_crosses_direct_sums_where_both_take_as_long() {
        let row = |method: &'static str, n: usize, seconds: f64| Measured { method, n, seconds, ..Measured::default() };
        let of = |n: usize| [row("cells", n, 3000.0 * n as f64), row("direct", n, (n * n) as f64)];
        let rows: Vec<Measured> = [1000, 2000, 4000, 8000].into_iter().flat_map(of).collect();
        let found = crossing(&rows, Walk::Cells).unwrap();
        assert!((found / 3000.0 - 1.0).abs() < 1e-12, "{found}");
        assert_eq!((crossing(&rows[4..], Walk::Cells), crossing(&rows[..4], Walk::Cells)), (None, None));
    }
}
