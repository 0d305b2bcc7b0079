//! Block steps of a device that fails: the host goes on, and nothing is lost.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kyoho_core::{
    Assignment, Block, Error, Level, Order, PartialSums, Partition, Precision, Result, Scope, Sources, Updates,
};
use kyoho_engine::{Setup, Stepper, System};
use kyoho_hal::{Backend, DeviceDescription};
use kyoho_integrators::body::Body;
use kyoho_integrators::fields::{Field, Fields, Parameters};
use kyoho_integrators::groups::{Groups, Member};
use kyoho_integrators::plan::{Plan, StepCriterion};
use kyoho_integrators::subsystems::SubsystemRules;
use kyoho_integrators::{Counts, Integrator, in_fields};
use kyoho_methods::block_steps::{AdvancedBlock, Beginning, BlockOutcome, BlockSteps, DueBlock};
use kyoho_methods::{Device, DeviceOptions, Machine};
use kyoho_verify::models::plummer;

/// A machine whose device fails at a call about block steps.
#[derive(Clone, Default)]
struct Failing {
    /// The calls so far.
    calls: Arc<AtomicUsize>,
    /// The one that fails.
    fails: usize,
}

struct FailingDevice {
    machine: Failing,
    device: Box<dyn Device>,
}

impl Machine for Failing {
    fn devices(&self, _: Backend) -> Result<usize> {
        Ok(1)
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        let device = kyoho_devices::open(backend, number, options)?;
        Ok(Box::new(FailingDevice { machine: self.clone(), device }))
    }
}

impl Device for FailingDevice {
    fn describe(&self) -> DeviceDescription {
        self.device.describe()
    }

    fn takes_records(&self) -> bool {
        self.device.takes_records()
    }

    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        self.device.start(updates, block, assignment)
    }

    fn sum_part(&mut self, block: &Block, part: Range<usize>) -> Result<()> {
        self.device.sum_part(block, part)
    }

    fn block_steps(&mut self) -> Option<&mut dyn BlockSteps> {
        Some(self)
    }

    fn wait_more(&mut self, partial_sums: &mut PartialSums, done: usize) -> Result<usize> {
        self.device.wait_more(partial_sums, done)
    }

    fn drain(&mut self) {
        self.device.drain();
    }

    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        self.device.neighbours(sources, block, sinks, found)
    }

    fn estimate(&self, ni: usize, nj: usize, partition: Partition, devices: usize) -> Option<f64> {
        self.device.estimate(ni, nj, partition, devices)
    }

    fn bytes(&self) -> usize {
        self.device.bytes()
    }
}

impl FailingDevice {
    /// Returns the block steps of the device, or fails where this call is to.
    fn steps(&mut self) -> Result<&mut dyn BlockSteps> {
        if self.machine.calls.fetch_add(1, Ordering::Relaxed) == self.machine.fails {
            // Whatever was begun goes on until it is waited for.
            self.device.drain();
            return Err(Error::Internal { what: "it was to fail".into() });
        }
        Ok(self.device.block_steps().expect("the device makes block steps"))
    }
}

impl BlockSteps for FailingDevice {
    fn begin(&mut self, begin: &Beginning, bodies: &[f64]) -> Result<()> {
        self.steps()?.begin(begin, bodies)
    }

    fn due(&mut self) -> Result<DueBlock> {
        self.steps()?.due()
    }

    fn advance(&mut self, due: &DueBlock, now: f64, values: &[u64]) -> Result<()> {
        self.steps()?.advance(due, now, values)
    }

    fn chain(&mut self) -> Result<usize> {
        self.steps()?.chain()
    }

    fn outcome(&mut self) -> Result<BlockOutcome<'_>> {
        self.steps()?.outcome()
    }

    fn last_block(&mut self) -> Result<AdvancedBlock> {
        self.steps()?.last_block()
    }

    fn bodies(&mut self, to: &mut [f64]) -> Result<()> {
        self.steps()?.bodies(to)
    }

    fn end(&mut self) {
        if let Some(steps) = self.device.block_steps() {
            steps.end();
        }
    }
}

/// Whether there is an OpenCL device; if not, a test says that it is skipped.
fn has_opencl() -> bool {
    let has = Backend::OpenCl.devices().is_ok();
    if !has {
        eprintln!("skipped, as there is no OpenCL device");
    }
    has
}

/// Returns the bodies after two intervals, the counts, and the calls about block steps. Every third
/// body has no mass if `some` have none.
fn run(stepper: Stepper, fails: usize, some: bool) -> (Vec<Body>, Counts, usize) {
    run_in((Fields::default(), None), &[0], stepper, fails, some)
}

fn run_in(
    (fields, groups): (Fields, Option<Groups>),
    devices: &[usize],
    stepper: Stepper,
    fails: usize,
    some: bool,
) -> (Vec<Body>, Counts, usize) {
    let mut bodies = cluster();
    bodies.iter_mut().step_by(3).filter(|_| some).for_each(|body| body.mass = 0.0);
    let (mut integrator, calls) = integrator((bodies, 1.0 / 64.0), fields, (devices, stepper, fails));
    if groups.is_some() {
        integrator.set_groups(groups).unwrap();
        integrator.start().unwrap();
    }
    for _ in 0..2 {
        integrator.advance(&mut |_, _| Ok(true)).unwrap();
    }
    (integrator.bodies().to_vec(), integrator.counts(), calls.load(Ordering::Relaxed))
}

fn cluster() -> Vec<Body> {
    let body = |source: kyoho_core::Source| Body::new(source.mass, source.coefficients[0], source.coefficients[1]);
    plummer(120).into_iter().map(body).collect()
}

/// Returns an integrator of bodies with a softening, and the calls about block steps so far.
fn integrator(
    (bodies, softening): (Vec<Body>, f64),
    fields: Fields,
    (devices, stepper, fails): (&[usize], Stepper, usize),
) -> (Box<dyn Integrator>, Arc<AtomicUsize>) {
    let setup = Setup {
        backend: Backend::OpenCl,
        devices: devices.to_vec(),
        crossover: Some(0),
        block_steps: Some(stepper),
        ..Setup::on_cpu(Order::Fourth, Precision::Double)
    };
    assert_eq!(setup.scope, Scope::Full);
    let machine = Failing { fails, ..Failing::default() };
    let calls = machine.calls.clone();
    let plan = Plan {
        order: setup.order,
        precision: setup.precision,
        gravity: 1.0,
        softening,
        criterion: StepCriterion::Usual,
        eta: 0.02,
        eta4: 0.01,
        step: 0.0,
        longest: 1.0,
        shortest: 1e-9,
        interval: 1.0 / 32.0,
        tree: None,
    };
    let system = System::on(Box::new(machine), &setup).unwrap();
    (in_fields(system, &plan, bodies, fields).unwrap(), calls)
}

#[test]
fn the_host_goes_on_where_a_device_fails_at_its_block_steps() {
    if !has_opencl() {
        return;
    }
    let (bodies, counts, _) = run(Stepper::Host, usize::MAX, false);
    let (.., calls) = run(Stepper::Device, usize::MAX, false);
    assert!(calls > 20, "{calls} calls");
    for fails in [0, 1, 2, 3, 4, 5, 17, calls / 2 - 1, calls / 2, calls / 2 + 1, calls - 2, calls - 1, calls] {
        let (found, found_counts, _) = run(Stepper::Device, fails, false);
        assert!(found == bodies, "other bodies where call {fails} of {calls} fails");
        assert_eq!(found_counts.block_steps, counts.block_steps, "where call {fails} fails");
        assert_eq!(found_counts.steps, counts.steps, "where call {fails} fails");
    }
}

#[test]
fn of_several_devices_the_first_makes_the_steps_alone() {
    if !has_opencl() {
        return;
    }
    let on = |stepper: Stepper, fails: usize| run_in((Fields::default(), None), &[0, 0, 0], stepper, fails, false);
    let (bodies, counts, calls) = on(Stepper::Host, usize::MAX);
    assert_eq!((bodies == run(Stepper::Host, usize::MAX, false).0, calls), (true, 0));
    let (.., calls) = on(Stepper::Device, usize::MAX);
    assert!(calls > 20, "{calls} calls");
    for fails in [usize::MAX, 0, 17, calls / 2, calls] {
        let (found, found_counts, _) = on(Stepper::Device, fails);
        assert!(found == bodies, "other bodies where call {fails} of {calls} fails");
        assert_eq!(found_counts.steps, counts.steps, "where call {fails} fails");
    }
}

#[test]
fn bodies_without_mass_are_no_sources_of_a_device_either() {
    if !has_opencl() {
        return;
    }
    let (bodies, counts, _) = run(Stepper::Host, usize::MAX, true);
    assert!(counts.interactions < 81 * (counts.steps + 240), "{counts:?}");
    for fails in [usize::MAX, 30] {
        let (found, found_counts, _) = run(Stepper::Device, fails, true);
        assert!(found == bodies, "other bodies where call {fails} fails");
        assert_eq!(found_counts.steps, counts.steps);
    }
}

/// Returns what [`run_in`] does for bodies in a built-in field.
fn run_in_field(
    name: &str,
    parameters: &[(&str, &[f64])],
    stepper: Stepper,
    fails: usize,
) -> (Vec<Body>, Counts, usize) {
    let mut fields = Fields::new(1.0, 1);
    fields.add(Field::new(name, parameters, Order::Fourth, Level::best()).unwrap()).unwrap();
    run_in((fields, None), &[0], stepper, fails, true)
}

#[test]
fn a_device_adds_the_forces_of_fields_and_the_host_goes_on_in_them_where_it_fails() {
    if !has_opencl() {
        return;
    }
    let plummer = |stepper: Stepper, fails: usize| {
        run_in_field("plummer", &[("mass", &[2.0]), ("radius", &[1.0])], stepper, fails)
    };
    let (bodies, counts, _) = plummer(Stepper::Host, usize::MAX);
    assert!(bodies != run(Stepper::Host, usize::MAX, true).0);
    let (.., calls) = plummer(Stepper::Device, usize::MAX);
    assert!(calls > 20, "{calls} calls");
    for fails in [usize::MAX, 0, 1, 2, 17, calls / 2, calls] {
        let (found, found_counts, _) = plummer(Stepper::Device, fails);
        assert!(found == bodies, "other bodies where call {fails} of {calls} fails");
        assert_eq!(found_counts.steps, counts.steps, "where call {fails} fails");
    }
}

#[test]
fn logarithms_and_exponentials_of_a_device_are_those_of_the_host_up_to_rounding() {
    if !has_opencl() {
        return;
    }
    let fields: [(&str, &Parameters); 3] = [
        ("power_law_cutoff", &[("mass", &[2.0]), ("exponent", &[1.8]), ("radius", &[0.7])]),
        ("nfw", &[("mass", &[2.0]), ("radius", &[0.7])]),
        ("logarithmic_halo", &[("speed", &[2.0]), ("core", &[0.7]), ("flattening", &[0.9])]),
    ];
    for (name, parameters) in fields {
        let run = |stepper: Stepper| run_in_field(name, parameters, stepper, usize::MAX);
        let ((host, of_host, _), (device, of_device, calls)) = (run(Stepper::Host), run(Stepper::Device));
        assert!(calls > 20, "{calls} calls in {name}");
        assert_eq!(of_host.steps, of_device.steps, "{name}");
        for (host, device) in host.iter().zip(&device) {
            for k in 0..3 {
                assert!((host.position[k] - device.position[k]).abs() < 1e-12, "{name}: {host:?} {device:?}");
            }
        }
    }
}

#[test]
fn a_field_that_is_not_finite_where_a_body_is_ends_with_its_name() {
    if !has_opencl() {
        return;
    }
    // At the time 1/64 all bodies are beyond its end.
    let text = "pair wall
i      pos: vec3<f64>
param  time: f64
result acceleration: vec3<f64> sum
body
  acceleration += vec3(sqrt(1 - 64 * time), 0, 0)
";
    let found = std::panic::catch_unwind(|| run_in_field(text, &[], Stepper::Device, usize::MAX));
    let message = found.unwrap_err().downcast_ref::<String>().unwrap().clone();
    assert!(message.contains("FieldNotFinite") && message.contains("wall"), "{message}");
}

/// Returns groups with these softenings, to which [`cluster`]'s bodies belong by turns.
fn groups(softenings: &[f64]) -> Groups {
    let mut groups = Groups::one(softenings[0]);
    for softening in &softenings[1..] {
        groups.add(*softening).unwrap();
    }
    groups.reserve(120).unwrap();
    (0..120).for_each(|place| groups.push(Member::of(place % softenings.len())));
    groups
}

#[test]
fn a_device_makes_the_steps_of_few_groups_that_feel_all() {
    if !has_opencl() {
        return;
    }
    // Every third body has no mass: of three groups those of the first one, of others some of each.
    for softenings in [&[1.0 / 64.0, 1.0 / 16.0][..], &[0.0, 1.0 / 16.0, 1.0 / 8.0], &[0.01, 0.0, 0.02, 0.1]] {
        let run = |stepper, fails| run_in((Fields::default(), Some(groups(softenings))), &[0], stepper, fails, true);
        let (bodies, counts, of_host) = run(Stepper::Host, usize::MAX);
        let (.., calls) = run(Stepper::Device, usize::MAX);
        assert!(of_host == 0 && calls > 20, "{calls} calls");
        for fails in [usize::MAX, 0, 1, 2, 17, calls / 2, calls] {
            let (found, found_counts, _) = run(Stepper::Device, fails);
            assert!(found == bodies, "other bodies of {softenings:?} where call {fails} of {calls} fails");
            assert_eq!(found_counts.steps, counts.steps, "of {softenings:?} where call {fails} fails");
        }
        // Of several devices the first makes the steps alone.
        for stepper in [Stepper::Host, Stepper::Device] {
            let on_three = run_in((Fields::default(), Some(groups(softenings))), &[0, 0, 0], stepper, calls / 2, true);
            assert!(on_three.0 == bodies, "other bodies of {softenings:?} on three devices");
        }
    }
}

#[test]
fn the_host_makes_the_steps_of_groups_that_do_not_feel_all_or_are_many() {
    if !has_opencl() {
        return;
    }
    let tracers = || {
        let mut groups = groups(&[1.0 / 64.0, 1.0 / 16.0]);
        groups.set_feels(0, 1, false);
        groups
    };
    let many = || groups(&[0.01, 0.02, 0.03, 0.04, 0.05]);
    let own = || {
        let mut groups = groups(&[0.01, 0.02]);
        groups.set(7, Member { group: 0, own_softening: Some(0.03) });
        groups
    };
    for make in [&tracers as &dyn Fn() -> Groups, &many, &own] {
        let run = |stepper| run_in((Fields::default(), Some(make())), &[0], stepper, usize::MAX, true);
        let (on_host, on_device) = (run(Stepper::Host), run(Stepper::Device));
        assert!(on_device.2 == 0 && on_host == on_device);
    }
    // Of 80 bodies with mass 40 are felt by all, and the others by half of the bodies.
    let of_tracers = run_in((Fields::default(), Some(tracers())), &[0], Stepper::Device, usize::MAX, true).1;
    assert!(of_tracers.interactions < of_tracers.steps * 80, "{of_tracers:?}");
}

/// Returns what [`run_in`] does where two bodies fly past each other, as a subsystem meanwhile. The first
/// interval ends after some block steps.
fn run_past(stepper: Stepper, fails: usize, blocks: u64) -> (Vec<Body>, Counts, usize) {
    let mut bodies = cluster();
    for (body, side) in bodies.iter_mut().zip([1.0, -1.0]) {
        *body = Body::new(body.mass, [0.04 * side, 2e-3 * side, 0.0], [-3.0 * side, 0.0, 0.0]);
    }
    let (mut integrator, calls) = integrator((bodies, 0.0), Fields::default(), (&[0], stepper, fails));
    integrator.set_subsystems(Some(SubsystemRules { radius: 0.01, speed_of_light: None })).unwrap();
    integrator.start().unwrap();
    for blocks in [blocks, u64::MAX] {
        let before = integrator.counts().block_steps;
        integrator.advance(&mut |_, made| Ok(made - before < blocks)).unwrap();
    }
    (integrator.bodies().to_vec(), integrator.counts(), calls.load(Ordering::Relaxed))
}

#[test]
fn a_device_makes_the_steps_before_and_after_a_subsystem() {
    if !has_opencl() {
        return;
    }
    let all = u64::MAX;
    let (.., calls) = run_past(Stepper::Device, usize::MAX, all);
    let (bodies, counts, of_host) = run_past(Stepper::Host, usize::MAX, all);
    assert!(of_host == 0 && calls > 60, "{calls} calls");
    for fails in [usize::MAX, 0, 5, calls / 4, calls / 2, calls - 1] {
        let (found, found_counts, _) = run_past(Stepper::Device, fails, all);
        assert!(found == bodies, "other bodies where call {fails} of {calls} fails");
        assert_eq!(found_counts.steps, counts.steps, "where call {fails} fails");
    }
}

#[test]
fn an_interval_may_end_where_a_subsystem_forms_or_parts() {
    if !has_opencl() {
        return;
    }
    for blocks in 1..60 {
        let run = |stepper: Stepper| run_past(stepper, usize::MAX, blocks);
        let ((host, of_host, _), (device, of_device, _)) = (run(Stepper::Host), run(Stepper::Device));
        assert!(host == device, "other bodies where an interval ends after {blocks} blocks");
        assert_eq!(of_host.steps, of_device.steps, "after {blocks} blocks");
    }
}
