//! The four models, and the times of their forces and steps.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;

use kyoho::{Setup, System};
use kyoho_cli::failure::Result;
use kyoho_cli::model::figure_eight::{EIGHT, SUPER_EIGHT};
use kyoho_cli::model::{Course, Model, cartwheel, random_sphere};
use kyoho_cli::progress;
use kyoho_core::{Order, Precision};
use kyoho_integrators::Integrator;
use kyoho_integrators::body::Body;
use kyoho_integrators::energy::Energies;
use kyoho_integrators::plan::{ETA4, Plan, SHORTEST, StepCriterion, usual_eta};

/// A model of the article.
pub struct Timed {
    /// The name.
    pub name: &'static str,
    /// Makes the model of a number of bodies.
    make: fn(usize) -> Result<Model>,
    /// The number of which that of the bodies is a multiple.
    multiple: usize,
    /// The run.
    course: Course,
    /// The axes of its pictures.
    pub axes: [usize; 2],
    /// The side of the square in its pictures.
    pub width: f64,
    /// Whether a ring follows.
    pub has_ring: bool,
    /// The numbers of the article.
    theirs: Theirs,
}

/// The numbers of the article.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Theirs {
    n: usize,
    force_seconds: f64,
    steps_seconds: f64,
    steps_seconds_on_cpu: f64,
}

/// The models in the order of the article.
pub const MODELS: [Timed; 4] = [
    Timed {
        name: "figure-eight-3",
        make: |n| EIGHT.model(n, 1, ""),
        multiple: 3,
        course: EIGHT.course,
        axes: [0, 1],
        width: 30.0,
        has_ring: false,
        theirs: Theirs { n: 7500, force_seconds: 0.009, steps_seconds: 0.68, steps_seconds_on_cpu: 5.6 },
    },
    Timed {
        name: "figure-eight-4",
        make: |n| SUPER_EIGHT.model(n, 1, ""),
        multiple: 4,
        course: SUPER_EIGHT.course,
        axes: [0, 1],
        width: 40.0,
        has_ring: false,
        theirs: Theirs { n: 10_000, force_seconds: 0.011, steps_seconds: 0.92, steps_seconds_on_cpu: 9.7 },
    },
    Timed {
        name: "cartwheel",
        make: |n| cartwheel::model(n, true, 1, ""),
        multiple: cartwheel::PARTS,
        course: cartwheel::COURSE,
        axes: [0, 2],
        width: 12.0,
        has_ring: true,
        theirs: Theirs { n: 18_000, force_seconds: 0.029, steps_seconds: 2.43, steps_seconds_on_cpu: 32.0 },
    },
    Timed {
        name: "random",
        make: |n| random_sphere::model(n, 1, ""),
        multiple: 1,
        course: random_sphere::COURSE,
        axes: [0, 1],
        width: 2.2,
        has_ring: false,
        theirs: Theirs { n: 100_000, force_seconds: 0.50, steps_seconds: 55.0, steps_seconds_on_cpu: 971.0 },
    },
];

/// The number of steps that are timed.
const STEPS: u32 = 100;

/// The times of a model.
#[derive(Debug, Serialize)]
pub struct Row {
    model: &'static str,
    n: usize,
    step: f64,
    softening: f64,
    force_seconds: f64,
    steps: u32,
    steps_seconds: f64,
    interactions: u64,
    energy_before: f64,
    energy_after: f64,
    theirs: Theirs,
}

/// The first lines of the table.
pub const HEADER: &str = "\
| model | N | one force evaluation | 100 steps | energy error | theirs: N | one step | 100 steps | CPU, 100 steps |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |";

impl fmt::Display for Row {
    fn fmt(&self, line: &mut fmt::Formatter) -> fmt::Result {
        let Row { model, n, force_seconds, steps_seconds, theirs, .. } = self;
        let error = ((self.energy_after - self.energy_before) / self.energy_before).abs();
        write!(
            line,
            "| {model} | {n} | {force_seconds:.3e} s | {steps_seconds:.3e} s | {error:.1e} | {} | {} s | {} s | {} s |",
            theirs.n, theirs.force_seconds, theirs.steps_seconds, theirs.steps_seconds_on_cpu
        )
    }
}

/// A model that is integrated.
pub struct Run<'a> {
    model: &'a Timed,
    setup: &'a Setup,
    /// The time.
    pub time: f64,
    integrator: Box<dyn Integrator + Send>,
}

impl<'a> Run<'a> {
    /// Makes a model with as many of the article's bodies as this divisor leaves.
    pub fn new(model: &'a Timed, setup: &'a Setup, divisor: usize) -> Result<Run<'a>> {
        let n = model.theirs.n / divisor / model.multiple * model.multiple;
        let integrator = leapfrog(&model.course, setup, (model.make)(n)?.bodies()?)?;
        Ok(Run { model, setup, time: 0.0, integrator })
    }

    /// Returns the bodies.
    pub fn bodies(&self) -> &[Body] {
        self.integrator.bodies()
    }

    /// Times a force evaluation and the steps.
    pub fn time(&mut self) -> Result<Row> {
        let Timed { name, course, theirs, .. } = *self.model;
        let force_seconds = seconds_of_forces(&mut *self.integrator)?;
        let mut energies = Energies::new(self.setup, 1.0, course.softening)?;
        let energy_before = energies.of(self.bodies())?.total();
        let before = self.integrator.counts().interactions;
        let began = Instant::now();
        self.advance(STEPS)?;
        let steps_seconds = began.elapsed().as_secs_f64();
        Ok(Row {
            model: name,
            n: self.bodies().len(),
            step: course.step,
            softening: course.softening,
            force_seconds,
            steps: STEPS,
            steps_seconds,
            interactions: self.integrator.counts().interactions - before,
            energy_before,
            energy_after: energies.of(self.bodies())?.total(),
            theirs,
        })
    }

    /// Goes on to the end of the model's run.
    pub fn finish(&mut self) -> Result<()> {
        let Course { step, end, .. } = self.model.course;
        self.advance(((end - self.time) / step).round() as u32)
    }

    fn advance(&mut self, steps: u32) -> Result<()> {
        let interval = f64::from(steps) * self.model.course.step;
        self.integrator.set_plan(plan(&self.model.course, interval));
        let bar = progress::bar(steps.into()).with_message(format!("{:<16}", self.model.name));
        self.integrator.advance(&mut |fraction, _| {
            bar.set_position((fraction * f64::from(steps)).round() as u64);
            Ok(true)
        })?;
        bar.finish_and_clear();
        self.time += interval;
        Ok(())
    }
}

/// Returns the leapfrog of a run, as `kyoho run --order 2 --precision single` has it.
pub fn leapfrog(course: &Course, setup: &Setup, bodies: Vec<Body>) -> Result<Box<dyn Integrator + Send>> {
    Ok(kyoho_integrators::of(System::new(setup)?, &plan(course, course.step), bodies)?)
}

/// Returns the plan of an interval.
fn plan(course: &Course, interval: f64) -> Plan {
    Plan {
        order: Order::Second,
        precision: Precision::Single,
        gravity: 1.0,
        softening: course.softening,
        criterion: StepCriterion::Usual,
        eta: usual_eta(Order::Second, false),
        eta4: ETA4,
        step: course.step,
        longest: interval,
        shortest: interval * SHORTEST,
        interval,
        tree: None,
    }
}

/// Returns the median time of a force evaluation on all bodies, as every step makes one.
pub fn seconds_of_forces(integrator: &mut dyn Integrator) -> Result<f64> {
    let until = Instant::now() + Duration::from_millis(300);
    let mut times = Vec::new();
    while times.len() < 3 || Instant::now() < until {
        let began = Instant::now();
        integrator.start()?;
        times.push(began.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
