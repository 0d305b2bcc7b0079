//! Tests of `fields`.

use super::*;

const TURNING: &str = "pair turning
i pos: vec3<f64>, vel: vec3<f64>
param rate: f64, time: f64
result acceleration: vec3<f64> sum
body
  acceleration += vec3(cos(rate * time), sin(rate * time), 0) - 0.1 * i.vel
";

fn fields(threads: usize) -> Fields {
    let mut fields = Fields::new(2.0, threads);
    let level = Level::best();
    fields.add(Field::new("plummer", &[("radius", &[0.5]), ("mass", &[3.0])], Order::Eighth, level).unwrap()).unwrap();
    fields.add(Field::new(TURNING, &[("rate", &[0.7])], Order::Eighth, level).unwrap()).unwrap();
    fields
}

fn body(place: usize) -> (usize, [Vector; 2]) {
    let at = |k: usize| (place as f64 * 0.37 + k as f64).sin();
    (place, [[at(0), at(1), at(2)], [at(3), at(4), at(5)]])
}

fn force(place: usize) -> [Vector; MOST] {
    std::array::from_fn(|number| [place as f64, -1.0, number as f64])
}

#[test]
fn bodies_have_the_same_bits_alone_and_among_many_on_any_number_of_threads() {
    let count = 3 * LANES + 5;
    let mut one = fields(1);
    let many = one.derivatives(0.25, (count, MOST), body, force).unwrap().to_vec();
    assert_eq!(fields(3).derivatives(0.25, (count, MOST), body, force).unwrap(), many);
    for place in (0..count).step_by(97) {
        let alone = one.derivatives(0.25, (1, MOST), |_| body(place), |_| force(place)).unwrap();
        assert_eq!(alone, [many[place]]);
    }
}

#[test]
fn fields_add_up_and_know_the_time_and_the_gravitational_constant() {
    let mut fields = fields(1);
    fields.start = 1.5;
    let found = fields.derivatives(0.25, (1, 1), body, force).unwrap()[0][0];
    let [position, velocity] = body(0).1;
    let s2 = position.iter().map(|x| x * x).sum::<f64>() + 0.25;
    let turn = 0.7 * 1.75f64;
    let turning = [turn.cos(), turn.sin(), 0.0];
    for k in 0..3 {
        let expected = force(0)[0][k] - 2.0 * 3.0 * s2.powf(-1.5) * position[k] + turning[k] - 0.1 * velocity[k];
        assert!((found[k] - expected).abs() < 1e-14, "{found:?}");
    }
    // The second one has no potential.
    let bodies = [Body::new(5.0, position, velocity), Body::new(0.0, [0.1; 3], [0.0; 3])];
    let energy = fields.energy(&bodies, 1.75).unwrap();
    assert!((energy + 2.0 * 3.0 * 5.0 / s2.sqrt()).abs() < 1e-13, "{energy}");
}

#[test]
fn a_number_that_is_not_finite_names_the_body_and_the_field() {
    let mut fields = fields(2);
    fields.add(Field::new("point_mass", &[("mass", &[1.0])], Order::Fourth, Level::best()).unwrap()).unwrap();
    let count = 2 * LANES;
    let body = |place: usize| if place == 300 { (7, [[0.0; 3]; 2]) } else { body(place) };
    let text = "the acceleration of body 7 in the field 'point_mass' is NaN; allowed: finite numbers";
    assert_eq!(fields.derivatives(0.0, (count, 2), body, force).unwrap_err().to_string(), text);
    assert_eq!(fields.derivatives(0.0, (1, 2), |_| body(300), force).unwrap_err().to_string(), text);
    // Nothing of it is left behind.
    assert!(fields.derivatives(0.0, (300, 2), body, force).is_ok());
    let error = fields.energy(&[Body::new(1.0, [0.0; 3], [0.0; 3])], 0.0).unwrap_err().to_string();
    assert_eq!(error, "the potential of body 0 in the field 'point_mass' is -inf; allowed: finite numbers");
}

#[test]
fn parameters_are_checked_by_their_names() {
    let refused = |given: &str, parameters: &[(&str, &[f64])]| {
        Field::new(given, parameters, Order::Fourth, Level::best()).unwrap_err().to_string()
    };
    let mass: (&str, &[f64]) = ("mass", &[1.0]);
    let error = refused("plummr", &[mass]);
    assert!(
        error.starts_with("the field is 'plummr'; allowed: a text that begins with 'pair', or point_mass, plummer,")
    );
    assert_eq!(
        refused("plummer", &[mass]),
        "the parameter 'radius' of the field 'plummer' is 'not given'; allowed: one number"
    );
    let size = refused("plummer", &[mass, ("size", &[1.0])]);
    assert_eq!(size, "a parameter of the field 'plummer' is 'size'; allowed: mass, radius");
    let twice = refused("point_mass", &[mass, mass]);
    assert_eq!(twice, "a parameter of the field 'point_mass' is 'mass'; allowed: each parameter once");
    let vector = refused("point_mass", &[("mass", &[1.0, 2.0])]);
    assert_eq!(vector, "the parameter 'mass' of the field 'point_mass' is '2 numbers'; allowed: one number");
    let nan = refused("point_mass", &[("mass", &[f64::NAN])]);
    assert_eq!(nan, "the parameter 'mass' of the field 'point_mass' is 'NaN'; allowed: finite numbers");
    let time = refused(TURNING, &[("rate", &[1.0]), ("time", &[1.0])]);
    assert_eq!(time, "a parameter of the field 'turning' is 'time'; allowed: rate");
    let vector = "pair kick\nparam late: f64, kick: vec3<f64>\nresult acceleration: vec3<f64> sum\nbody\n  \
                  acceleration += late * kick\n";
    let listed = |names: &str, numbers: &[f64]| Field::listed(vector, names, numbers, Order::Fourth, Level::best());
    assert_eq!(listed("kick late", &[1.0, 2.0, 3.0, 4.0]).unwrap().numbers(), [4.0, 1.0, 2.0, 3.0]);
    let short = listed("kick late", &[1.0, 2.0, 3.0]).unwrap_err().to_string();
    assert_eq!(short, "the parameter 'late' of the field 'kick' is '0 numbers'; allowed: one number");
    let long = listed("late kick", &[1.0; 5]).unwrap_err().to_string();
    assert_eq!(long, "the count of the numbers of the field 'kick' is 5; allowed: 4");
}
