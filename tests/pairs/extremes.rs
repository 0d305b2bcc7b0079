//! Numbers at the ends of their types, and those that are not finite.

use kyoho_core::Level;
use kyoho_language::Options;
use kyoho_pairs::{PairKernel, PairMachine};

use super::{found, kernel, set};

const NONE: f64 = f64::NAN;
const FAR: f64 = f64::INFINITY;

/// Runs a text on each instruction set and compares some results of its only sink.
fn gives(text: &str, fields: &[(&str, &[f64])], expected: &[(&str, f64)]) {
    for level in Level::available() {
        let mut kernel = PairKernel::new(text, Options::default(), &PairMachine::cpu(1, level)).unwrap();
        fields.iter().for_each(|(name, numbers)| set(&mut kernel, name, numbers, 1));
        kernel.run(None, None).unwrap();
        for (name, value) in expected {
            assert_eq!(found(&kernel, name), [*value], "{name}, {}", level.name());
        }
    }
}

#[test]
fn infinities_of_two_limbs_are_what_they_are() {
    let text = "pair p\ni x: ff\nj x: ff, y: ff, id: i32\nresult number: u32 count, total: f64 sum, near: i32 argmin\nbody\n\
        number count= j.x != j.x || i.x != i.x\ntotal += f64(i.x)\nnear argmin= j.y, j.id\n";
    let fields: [(&str, &[f64]); 4] =
        [("i.x", &[FAR]), ("j.x", &[1.0, 2.0]), ("j.y", &[FAR, FAR]), ("j.id", &[5.0, 6.0])];
    gives(text, &fields, &[("number", 0.0), ("total", FAR), ("near", 5.0)]);
}

#[test]
fn what_is_not_a_number_does_not_hide_the_terms_of_other_statements() {
    let text = "pair p\ni id: i32\nj a: f64, b: f64\nresult least: f64 min, most: f64 max, both: f64 min\nbody\n\
        least min= j.a\nleast min= j.b\nmost max= j.b\nmost max= j.a\nboth min= j.a\n";
    let fields: [(&str, &[f64]); 3] = [("i.id", &[0.0]), ("j.a", &[NONE, 5.0, NONE]), ("j.b", &[1.0, 7.0, 2.0])];
    gives(text, &fields, &[("least", 1.0), ("most", 7.0), ("both", 5.0)]);
}

#[test]
fn integers_are_cut_off_at_the_ends_of_their_range() {
    let text = "pair p\ni x: f64, s: f32, q: dd\nj id: i32\nresult a: i32 max, b: i32 min, c: u32 max, d: u32 max, \
        e: i32 max, f: i32 max\nbody\na max= i32(i.x)\nb min= i32(-i.x)\nc max= u32(i.x)\nd max= u32(-i.x)\n\
        e max= i32(i.s)\nf max= i32(i.q)\n";
    let most = f64::from(i32::MAX);
    let expected =
        [("a", most), ("b", f64::from(i32::MIN)), ("c", f64::from(u32::MAX)), ("d", 0.0), ("e", most), ("f", most)];
    for number in [1e30, FAR] {
        gives(text, &[("i.x", &[number]), ("i.s", &[number]), ("i.q", &[number]), ("j.id", &[0.0])], &expected);
    }
}

#[test]
fn argmin_and_argmax_name_the_first_source_whatever_its_key() {
    let text = "pair p\nj level: u32, sign: i32, way: f64, id: u32\n\
        result a: u32 argmax, b: u32 argmin, c: u32 argmax, d: u32 argmin, none: u32 argmin\nbody\n\
        a argmax= j.level, j.id\nb argmin= 4294967295 - j.level, j.id\nc argmax= j.sign, j.id\n\
        d argmin= 1 / abs(j.way), j.id\nskip if j.id < 100\nnone argmin= j.way, j.id\n";
    let mut kernel = kernel(text, Options::default());
    let ids: Vec<f64> = (0..700).map(|id| if id == 0 { 0.0 } else { f64::from(id % 7 + 7) }).collect();
    for (field, number) in [("j.level", 0.0), ("j.sign", -2147483648.0), ("j.way", 0.0)] {
        set(&mut kernel, field, &vec![number; ids.len()], 1);
    }
    set(&mut kernel, "j.id", &ids, 1);
    kernel.run(Some(2), None).unwrap();
    for name in ["a", "b", "c", "d"] {
        assert_eq!(found(&kernel, name), [0.0; 2], "{name}");
    }
    assert_eq!(found(&kernel, "none"), [4294967295.0; 2]);
}
