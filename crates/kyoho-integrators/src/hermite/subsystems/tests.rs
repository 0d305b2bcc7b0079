use kyoho_core::{Order, Precision};
use kyoho_engine::{Setup, System};

use super::changes;
use crate::Integrator;
use crate::body::{Body, Vector, length, vector};
use crate::energy::Energies;
use crate::fields::Fields;
use crate::hermite::{Hermite, Scheme};
use crate::plan::{Plan, usual_eta};
use crate::subsystems::SubsystemRules;
use crate::tests::random;

fn plan(order: Order, interval: f64) -> Plan {
    let shortest = interval / (1u64 << 50) as f64;
    Plan { interval, shortest, ..super::super::tests::plan(order, usual_eta(order, false), interval) }
}

fn integrator(plan: &Plan, bodies: Vec<Body>, radius: Option<f64>) -> Hermite {
    let setup = Setup { threads: 1, ..Setup::on_cpu(plan.order, plan.precision) };
    let scheme = Scheme::of(plan.order).unwrap();
    let fresh = (bodies, Fields::default());
    let mut hermite = Hermite::new(System::new(&setup).unwrap(), plan.clone(), scheme, fresh).unwrap();
    if radius.is_some() {
        hermite.set_subsystems(radius.map(|radius| SubsystemRules { radius, speed_of_light: None })).unwrap();
        hermite.start().unwrap();
    }
    hermite
}

/// A Plummer model of total mass 1 in units of virial equilibrium.
fn plummer(count: usize) -> Vec<Body> {
    let mut random = random();
    let mut direction = move |length: f64| -> Vector {
        let z = 2.0 * random() - 1.0;
        let (phi, flat) = (std::f64::consts::TAU * random(), (1.0 - z * z).sqrt());
        [length * flat * phi.cos(), length * flat * phi.sin(), length * z]
    };
    let mut other = crate::tests::random();
    let scale = 3.0 * std::f64::consts::PI / 16.0;
    (0..count)
        .map(|_| {
            let radius = 1.0 / ((0.98 * other()).powf(-2.0 / 3.0) - 1.0).sqrt();
            let escape = 2f64.sqrt() * (1.0 + radius * radius).powf(-0.25);
            let part = loop {
                let (x, y) = (other(), 0.1 * other());
                if y < x * x * (1.0 - x * x).powf(3.5) {
                    break x;
                }
            };
            Body::new(1.0 / count as f64, direction(scale * radius), direction(part * escape / scale.sqrt()))
        })
        .collect()
}

/// Makes a body of a cluster a binary.
fn with_binary(mut bodies: Vec<Body>, at: usize, semi_major_axis: f64, eccentricity: f64) -> Vec<Body> {
    let Body { mass, position, velocity, .. } = bodies[at];
    let separation = [semi_major_axis * (1.0 + eccentricity), 0.0, 0.0];
    let speed = (2.0 * mass / semi_major_axis * (1.0 - eccentricity) / (1.0 + eccentricity)).sqrt();
    let relative = [0.0, 0.6 * speed, 0.8 * speed];
    bodies[at] =
        Body::new(mass, vector(|k| position[k] - 0.5 * separation[k]), vector(|k| velocity[k] - 0.5 * relative[k]));
    bodies.push(Body::new(
        mass,
        vector(|k| position[k] + 0.5 * separation[k]),
        vector(|k| velocity[k] + 0.5 * relative[k]),
    ));
    bodies
}

fn energy(hermite: &Hermite) -> f64 {
    let setup = Setup { threads: 1, ..Setup::on_cpu(Order::Fourth, Precision::Double) };
    Energies::new(&setup, 1.0, 0.0).unwrap().with_subsystems(hermite.bodies(), hermite.subsystems().0).unwrap().total()
}

/// Runs bodies with subsystems, and returns the error of the energy.
fn run(order: Order, bodies: Vec<Body>, interval: f64, count: usize) -> (Hermite, f64) {
    let mut hermite = integrator(&plan(order, interval), bodies, Some(0.0));
    let before = energy(&hermite);
    for _ in 0..count {
        hermite.advance(&mut |_, _| Ok(true)).unwrap();
    }
    let error = (energy(&hermite) / before - 1.0).abs();
    (hermite, error)
}

#[test]
fn a_hard_binary_costs_hardly_any_steps_and_keeps_its_energy() {
    let alone = run(Order::Sixth, plummer(128), 0.25, 1).0.counts().block_steps;
    for semi_major_axis in [3e-4, 1e-5, 1e-6] {
        let (hermite, error) = run(Order::Sixth, with_binary(plummer(128), 5, semi_major_axis, 0.7), 0.25, 1);
        let (subsystems, _) = hermite.subsystems();
        let orbit = subsystems[0].orbit(1.0, f64::INFINITY).unwrap();
        assert_eq!(subsystems[0].members, [5, 128], "{semi_major_axis:e}");
        assert!((orbit.semi_major_axis / semi_major_axis - 1.0).abs() < 1e-5, "{orbit:?}");
        let blocks = hermite.counts().block_steps;
        assert!(blocks < 2 * alone && error < 1e-8, "{semi_major_axis:e}: {blocks} {alone} {error:e}");
        // The members are where bodies are shown to be.
        let [one, other] = [5, 128].map(|place| hermite.bodies()[place]);
        let distance = length(&vector(|k| one.position[k] - other.position[k]));
        assert!((distance / length(&subsystems[0].pair().0) - 1.0).abs() < 1e-8);
    }
}

#[test]
fn many_primordial_binaries_keep_the_energy() {
    let (mut model, mut random) = (plummer(64), random());
    for at in 0..32 {
        let semi_major_axis = 10f64.powf(-6.0 + 4.0 * random());
        model = with_binary(model, at, semi_major_axis, (random() * 0.9).sqrt());
    }
    let (hermite, error) = run(Order::Sixth, model, 0.0625, 1);
    assert!(hermite.subsystems().0.len() > 16 && error < 1e-8, "{} {error:e}", hermite.subsystems().0.len());
}

#[test]
fn light_bodies_near_a_binary_feel_each_member() {
    const A: f64 = 0.01;
    for (far, mass) in [2.5, 4.0, 10.0, 15.0].into_iter().flat_map(|far| [0.0, 1e-10, 1e-6].map(|mass| (far, mass))) {
        let (distance, speed) = (far * A, (1.0 / (far * A)).sqrt());
        let mut bodies: Vec<Body> = [0.5, -0.5]
            .map(|side: f64| Body::new(0.5, [side * A, 0.0, 0.0], [0.0, side * (1.0 / A).sqrt(), 0.0]))
            .to_vec();
        bodies.push(Body::new(mass, [0.0, distance, 0.0], [speed, 0.0, 0.0]));
        bodies.push(Body::new(1e-3, [3.0, 0.0, 0.0], [0.0, 0.3, 0.0]));
        // All of them fast.
        bodies.iter_mut().for_each(|body| body.velocity[1] += 30.0);
        let time = std::f64::consts::TAU * distance / speed;
        let mut alone = kyoho_few_body::System {
            masses: bodies.iter().map(|body| body.mass).collect(),
            positions: bodies.iter().map(|body| body.position).collect(),
            velocities: bodies.iter().map(|body| body.velocity).collect(),
            radii: Vec::new(),
        };
        let options = kyoho_few_body::Options { time, ..kyoho_few_body::Options::default() };
        kyoho_few_body::evolve(&mut alone, &options, None).unwrap();
        let mut hermite = integrator(&plan(Order::Sixth, time), bodies, Some(2.0 * A));
        assert_eq!(hermite.subsystems().0.len(), 1);
        hermite.advance(&mut |_, _| Ok(true)).unwrap();
        let found = hermite.bodies()[2].position;
        let error = length(&vector(|k| found[k] - alone.positions[2][k])) / distance;
        assert!(error < 1e-7, "a mass of {mass:e} at {far} semi-major axes: {error:e}");
    }
}

#[test]
fn a_body_without_mass_may_be_where_the_centre_of_a_binary_is() {
    let mut bodies = with_binary(vec![Body::new(0.5, [0.0; 3], [0.0; 3])], 0, 1e-3, 0.0);
    bodies.push(Body::new(0.0, [0.0; 3], [0.0; 3]));
    bodies.push(Body::new(1e-3, [3.0, 0.0, 0.0], [0.0, 0.3, 0.0]));
    let (hermite, error) = run(Order::Sixth, bodies, 0.01, 1);
    assert!(error < 1e-9 && hermite.bodies().iter().all(|body| length(&body.position) < 4.0), "{error:e}");
}

#[test]
fn two_bodies_fall_through_one_another() {
    let bodies = [-0.5, 0.5].map(|x| Body::new(0.5, [x, 0.0, 0.0], [0.0; 3]));
    let (_, error) = run(Order::Sixth, bodies.to_vec(), 1.0, 4);
    assert!(error < 1e-7, "{error:e}");
}

#[test]
fn a_cold_collapse_of_points_keeps_its_energy() {
    let mut cold = plummer(64);
    cold.iter_mut().for_each(|body| body.velocity = [0.0; 3]);
    let (hermite, error) = run(Order::Sixth, cold, 0.25, 6);
    assert!(error < 2e-6, "{error:e} after {} blocks", hermite.counts().block_steps);
}

#[test]
fn three_bodies_that_meet_again_and_again_end_as_known() {
    let rest = |mass: f64, x: f64, y: f64| Body::new(mass, [x, y, 0.0], [0.0; 3]);
    let bodies = vec![rest(3.0, 1.0, 3.0), rest(4.0, -2.0, -1.0), rest(5.0, 1.0, -1.0)];
    let (hermite, error) = run(Order::Eighth, bodies, 1.0, 70);
    assert!(error < 1e-4, "{error:e}");
    assert!(hermite.counts().block_steps < 10_000);
}

#[test]
fn softened_bodies_and_the_leapfrog_have_no_subsystems() {
    let softened = Plan { softening: 0.1, ..plan(Order::Fourth, 1.0) };
    let error = integrator(&softened, plummer(8), None).set_subsystems(Some(SubsystemRules::default())).unwrap_err();
    assert!(error.to_string().contains("softening"), "{error}");
}

#[test]
fn a_binary_joins_a_triple_before_it_meets_the_binary_in_it() {
    const MASS: f64 = 1.0 / 256.0;
    let pair = |bodies: &mut Vec<Body>, place: Vector, velocity: Vector, a: f64, e: f64| {
        let at = bodies.len();
        bodies.push(Body::new(MASS, place, velocity));
        *bodies = with_binary(std::mem::take(bodies), at, a, e);
    };
    let mut worst = 0.0f64;
    for turn in 0..8 {
        let (sine, cosine) = (f64::from(turn) * 0.7).sin_cos();
        let mut bodies = Vec::new();
        pair(&mut bodies, [0.0; 3], [0.0; 3], 1.3e-3, 0.4);
        bodies.push(Body::new(MASS, [0.012 * cosine, 0.0, 0.012 * sine], [0.0, 0.9, 0.0]));
        pair(&mut bodies, [0.0, 0.03, 0.002], [0.0, -1.0, 0.0], 7e-4, 0.1);
        let mut hermite = integrator(&plan(Order::Sixth, 0.0625), bodies, Some(1.6e-3));
        let before = energy(&hermite);
        hermite.advance(&mut |_, _| Ok(true)).unwrap();
        worst = worst.max((energy(&hermite) / before - 1.0).abs());
    }
    assert!(worst < 2e-5, "{worst:e}");
}

#[test]
fn loose_pairs_near_one_another_feel_each_others_members() {
    const MASS: f64 = 1.0 / 128.0;
    let mut worst = 0.0f64;
    for (turn, is_third) in (0..8).flat_map(|turn| [(turn, false), (turn, true)]) {
        let (sine, cosine) = (0.3 + 0.8 * f64::from(turn)).sin_cos();
        // A bound pair, and beside it two or three bodies that pass one another.
        let mut bodies = with_binary(vec![Body::new(MASS, [0.0; 3], [0.0; 3])], 0, 3.4e-3, 0.6);
        let mut beside = |x: f64, y: f64, velocity: Vector| {
            bodies.push(Body::new(MASS, [0.016 * cosine + x, 0.016 * sine + y, 0.001], velocity));
        };
        beside(0.0, -0.0025, [0.0, 0.5, 0.1]);
        beside(0.001, 0.0025, [0.2, -1.5, 0.0]);
        if is_third {
            beside(-0.003, 0.0025, [0.4, 0.3, 0.0]);
        }
        let mut hermite = integrator(&plan(Order::Sixth, 0.002), bodies, Some(3e-3));
        let before = energy(&hermite);
        for _ in 0..3 {
            hermite.advance(&mut |_, _| Ok(true)).unwrap();
        }
        worst = worst.max((energy(&hermite) / before - 1.0).abs());
    }
    assert!(worst < 1e-7, "{worst:e}");
}

#[test]
fn bodies_are_ordered_along_the_axis_on_which_they_are_farthest_apart() {
    let of = |places: &[Vector]| changes::longest_axis(places.iter().copied());
    assert_eq!(of(&[[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), 2);
    assert_eq!(of(&[[-5.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), 0);
    assert_eq!(of(&[[1.0; 3]]), 0);
    assert_eq!(of(&[]), 0);
}
