//! Block steps that a device makes are the host's, to the bit.

use crate::models::plummer;
use crate::{Check, Findings, Needs, Target};
use kyoho_core::{Level, Order, Result};
use kyoho_engine::{Setup, Stepper, System};
use kyoho_integrators::body::Body;
use kyoho_integrators::encounters::Encounters;
use kyoho_integrators::fields::{Centre, Field, Fields};
use kyoho_integrators::groups::{Groups, Member};
use kyoho_integrators::plan::{Plan, StepCriterion, usual_eta};
use kyoho_integrators::subsystems::SubsystemRules;
use kyoho_integrators::{Counts, Integrator, in_fields};

/// A run of several intervals, each of which may end early.
struct Case {
    name: &'static str,
    bodies: Vec<Body>,
    plan: Plan,
    /// The distance of approaches, and a radius that some bodies have.
    approach: f64,
    /// The numbers of block steps after which the caller ends an interval; 0 for never.
    stops: [u64; 3],
    /// The fields in which the bodies are.
    fields: Vec<Field>,
    /// The distance at which subsystems form; 0 for none.
    subsystem_radius: f64,
    /// The softenings of groups, and the group of each body; none if there is one group.
    groups: (Vec<f64>, Vec<usize>),
}

/// All that can be told of a run after each of its intervals.
#[derive(Debug, PartialEq)]
struct Told {
    bodies: Vec<u64>,
    reached: u64,
    counts: Counts,
    approach: String,
    encounters: String,
    energy_jump: String,
    subsystems: String,
    asked: Vec<(u64, u64)>,
}

fn plan(target: &Target, interval: f64) -> Plan {
    let Setup { order, precision, .. } = target.setup;
    let criterion = StepCriterion::Usual;
    let eta = usual_eta(order, criterion.averages(order, precision));
    Plan {
        order,
        precision,
        gravity: 1.0,
        softening: 1.0 / 64.0,
        criterion,
        eta,
        eta4: 0.01,
        step: 0.0,
        longest: interval,
        shortest: 1e-9,
        interval,
        tree: None,
    }
}

fn cluster(count: usize) -> Vec<Body> {
    let body = |source: &kyoho_core::Source| Body::new(source.mass, source.coefficients[0], source.coefficients[1]);
    plummer(count).iter().map(body).collect()
}

/// A cluster of which two of three bodies have no mass.
fn some_without_mass() -> Vec<Body> {
    let mut bodies = cluster(200);
    bodies.iter_mut().enumerate().filter(|(place, _)| place % 3 != 1).for_each(|(_, body)| body.mass = 0.0);
    bodies
}

/// Two bodies on an ellipse round each other with a period of 2 pi, the nearer the end of the
/// interval.
fn pair(eccentricity: f64) -> Vec<Body> {
    let (distance, speed) = (1.0 + eccentricity, ((1.0 - eccentricity) / (1.0 + eccentricity)).sqrt());
    let body = |side: f64| Body::new(0.5, [0.5 * side * distance, 0.0, 0.0], [0.0, 0.5 * side * speed, 0.0]);
    vec![body(1.0), body(-1.0)]
}

/// A cluster in which two bodies fly past each other at a time of 0.02.
fn passage() -> Vec<Body> {
    let mut bodies = cluster(200);
    for (body, side) in bodies.iter_mut().zip([1.0, -1.0]) {
        *body = Body::new(body.mass, [0.06 * side, 2e-3 * side, 0.0], [-3.0 * side, 0.0, 0.0]);
    }
    bodies
}

/// A field of conditions, time and velocities, as a text.
const WIND: &str = "pair wind
i      pos: vec3<f64>, vel: vec3<f64>
param  strength: f64, time: f64
result acceleration: vec3<f64> sum
body
  gust = strength * (1 + time) / (1 + norm2(i.pos))
  acceleration -= select(i.pos.z < 0.1, gust, 2 * gust) * (i.vel - vec3(0.1, time^2, 0))
";

/// Fields of arithmetic and roots, with one of which the centre moves.
fn fields(order: Order) -> Result<Vec<Field>> {
    let field = |given: &str, parameters: &[(&str, &[f64])]| Field::new(given, parameters, order, Level::best());
    let disk = field("miyamoto_nagai", &[("mass", &[5.0]), ("radius", &[2.0]), ("height", &[0.3])])?;
    let nodes = [[3.0, 0.0, 0.0], [2.0, 2.0, 0.1], [0.0, 3.0, 0.3]];
    let centre = Centre::new(&[0.0, 0.1, 0.3], &nodes, None)?;
    let passing = field("plummer", &[("mass", &[0.5]), ("radius", &[0.2])])?.with_centre(Some(centre));
    Ok(vec![disk, field(WIND, &[("strength", &[0.3])])?, passing])
}

fn cases(target: &Target) -> Result<Vec<Case>> {
    let usual = plan(target, 1.0 / 16.0);
    let of = |name, bodies, plan| Case {
        name,
        bodies,
        plan,
        approach: 0.0,
        stops: [0; 3],
        fields: vec![],
        subsystem_radius: 0.0,
        groups: Default::default(),
    };
    let cluster_of = |name, plan: Plan| of(name, cluster(200), plan);
    let with = |criterion| Plan { criterion, ..usual.clone() };
    let mut cases = vec![
        cluster_of("a cluster", usual.clone()),
        Case { stops: [1, 7, 0], ..cluster_of("a caller who ends intervals", usual.clone()) },
        Case { approach: 0.04, ..cluster_of("approaches", usual.clone()) },
        cluster_of("steps that are limited", Plan { shortest: 1.0 / 512.0, ..usual.clone() }),
        cluster_of("one step for all", Plan { longest: 1.0 / 512.0, shortest: 1.0 / 512.0, ..usual.clone() }),
        cluster_of("another constant of gravity", Plan { gravity: 0.43, interval: 0.07, ..usual.clone() }),
        of("bodies without mass", some_without_mass(), usual.clone()),
        of("a pair that passes closely", pair(0.99), Plan { softening: 0.0, ..plan(target, 3.5) }),
        of("a pair in short steps", pair(0.9), Plan { softening: 0.0, shortest: 1e-3, ..plan(target, 3.5) }),
        of("one body", cluster(1), usual.clone()),
        Case {
            fields: fields(target.setup.order)?,
            approach: 0.04,
            stops: [0, 5, 0],
            ..cluster_of("fields and approaches", usual.clone())
        },
        Case {
            subsystem_radius: 0.01,
            stops: [0, 40, 0],
            ..of("a subsystem that forms and parts", passage(), Plan { softening: 0.0, ..usual.clone() })
        },
        Case {
            groups: (vec![0.02, 0.1], (0..200).map(|place| place % 2).collect()),
            approach: 0.04,
            stops: [0, 5, 0],
            ..cluster_of("groups and approaches", usual.clone())
        },
        Case {
            groups: (vec![0.1, 0.02, 0.0], (0..200).map(|place| place % 3).collect()),
            fields: fields(target.setup.order)?,
            ..of("groups without mass in fields", some_without_mass(), usual.clone())
        },
        Case {
            groups: (vec![0.1, 0.02, 0.0, 0.05], (0..700).map(|place| [2, 0, 1][place.min(1) + place / 350]).collect()),
            ..of("groups of one and of many", cluster(700), plan(target, 1.0 / 256.0))
        },
        Case { fields: fields(target.setup.order)?, ..of("one body in fields", cluster(1), usual.clone()) },
    ];
    if target.setup.order > Order::Fourth {
        cases.push(cluster_of("the criterion of the order", with(StepCriterion::Order)));
        cases.push(cluster_of("the average of criteria", with(StepCriterion::Average)));
    }
    Ok(cases)
}

fn groups_of(case: &Case) -> Result<Option<Groups>> {
    let (softenings, of_bodies) = &case.groups;
    let Some((first, others)) = softenings.split_first() else { return Ok(None) };
    let mut groups = Groups::one(*first);
    for softening in others {
        groups.add(*softening)?;
    }
    groups.reserve(of_bodies.len())?;
    of_bodies.iter().for_each(|group| groups.push(Member::of(*group)));
    Ok(Some(groups))
}

/// As many integrators as may share a device: each has the fewest thread blocks then.
const MOST_SHARERS: usize = 128;

/// Makes a run on one of some shares of a device, and returns what is told after each interval, and how
/// many block steps a device made.
fn run(target: &Target, case: &Case, (stepper, sharers): (Stepper, usize)) -> Result<(Vec<Told>, u64)> {
    let setup = Setup { block_steps: Some(stepper), ..target.setup.clone() };
    let mut fields = Fields::new(case.plan.gravity, 1);
    fields.replace(case.fields.clone());
    let mut integrator = in_fields(System::new(&setup)?, &case.plan, case.bodies.clone(), fields)?;
    integrator.watch(Encounters::new(case.approach, vec![0.0; case.bodies.len()]));
    integrator.share_devices(sharers);
    if let Some(groups) = groups_of(case)? {
        integrator.set_groups(Some(groups))?;
        integrator.start()?;
    }
    if case.subsystem_radius > 0.0 {
        integrator.set_subsystems(Some(SubsystemRules { radius: case.subsystem_radius, speed_of_light: None }))?;
        integrator.start()?;
    }
    let told = case.stops.into_iter().map(|stop| interval(&mut *integrator, stop)).collect::<Result<_>>()?;
    Ok((told, integrator.block_steps_of_device()))
}

fn interval(integrator: &mut dyn Integrator, stop: u64) -> Result<Told> {
    let (mut asked, mut steps) = (Vec::new(), 0);
    let approach = integrator.advance(&mut |done, all| {
        asked.push((done.to_bits(), all));
        steps += 1;
        Ok(steps != stop)
    })?;
    let numbers = |body: &Body| {
        let Body { step, mass, position, velocity, derivatives } = *body;
        let vectors = [position, velocity].into_iter().chain(derivatives).flatten();
        [step, mass].into_iter().chain(vectors).map(f64::to_bits).collect::<Vec<_>>()
    };
    Ok(Told {
        bodies: integrator.bodies().iter().flat_map(numbers).collect(),
        reached: integrator.reached().to_bits(),
        counts: integrator.counts(),
        approach: format!("{approach:?}"),
        encounters: format!("{:?}", integrator.encounters()),
        energy_jump: format!("{:?}", integrator.energy_jump()),
        subsystems: format!("{:?}", integrator.subsystems().0),
        asked,
    })
}

fn compare(case: &Case, [by_host, by_device]: [&[Told]; 2], findings: &mut Findings) {
    for (number, (host, device)) in by_host.iter().zip(by_device).enumerate() {
        let differ = host.bodies.iter().zip(&device.bodies).filter(|(one, other)| one != other).count();
        findings.expect(host == device, || {
            let of = |told: &Told| {
                let Told { counts, approach, encounters, energy_jump, .. } = told;
                format!("{counts:?} {approach} {encounters} {energy_jump}")
            };
            let name = case.name;
            format!("{name}, interval {number}: {differ} numbers differ; host {}, device {}", of(host), of(device))
        });
    }
}

pub const SAME_BITS: Check = Check {
    name: "block steps of a device",
    promise: "a device makes the block steps that the host makes with its forces, to the bit",
    needs: Needs::BlockSteps,
    run: |target, findings| {
        for case in cases(target)? {
            let (by_host, of_host) = run(target, &case, (Stepper::Host, 1))?;
            let (by_device, of_device) = run(target, &case, (Stepper::Device, 1))?;
            // What the host makes after encounters and where a caller ends an interval is not a device's.
            let enough = of_host == 0 && of_device > 0;
            findings.expect(enough, || format!("{}: {of_device} block steps are the device's", case.name));
            compare(&case, [&by_host, &by_device], findings);
            if case.approach > 0.0 {
                let (by_sharer, _) = run(target, &case, (Stepper::Device, MOST_SHARERS))?;
                compare(&case, [&by_host, &by_sharer], findings);
            }
            let has = |what: &str, of: &dyn Fn(&Told) -> bool| (case.name.contains(what), by_host.iter().any(of));
            let met = |told: &Told| told.encounters != "[]";
            for (named, seen) in [
                has("approaches", &met),
                has("subsystem", &|told| (1..told.counts.block_steps).contains(&of_device)),
                has("limited", &|told| told.counts.limited_steps > 0),
                has("closely", &|told| told.counts.block_steps > 0 && told.approach != "None"),
            ] {
                findings.expect(!named || seen, || format!("{} has none", case.name));
            }
        }
        Ok(())
    },
};
