//! The numbers that laws are written in, the indices of expansions, and copies past the caches.

use kyoho_laws::double_double::{Double, DoubleDouble};
use kyoho_laws::indices::{components, factorial, place, powers};
use kyoho_laws::simd::stream;

fn number(text: &str) -> DoubleDouble {
    DoubleDouble::parse(text).unwrap()
}

#[track_caller]
fn assert_close(a: DoubleDouble, b: DoubleDouble, bound: f64) {
    let error = ((a - b) / b).to_f64().abs();
    assert!(error < bound, "{a} and {b} differ by {error:e}");
}

#[test]
fn sums_keep_what_64_bits_lose() {
    let sum = number("1").add_limb(1e-25);
    assert_eq!(sum.parts(), (1.0, 1e-25));
    assert_eq!((sum - Double::ONE).to_f64(), 1e-25);
    assert_eq!((number("1e16") + Double::ONE - number("1e16")).to_f64(), 1.0);
}

#[test]
fn products_are_exact_where_they_fit() {
    let number = Double::from_limb(1.0 + f64::EPSILON);
    let square = number * number;
    assert_eq!(square.parts(), (1.0 + 2.0 * f64::EPSILON, f64::EPSILON * f64::EPSILON));
}

#[test]
fn quotients_and_roots_undo_products() {
    for (a, b) in [(1.0, 3.0), (2.0, 7e-20), (1e100, 1.0 / 3.0), (-5.0, 1e-100)] {
        let [a, b] = [a, b].map(Double::from_limb);
        assert_close(a / b * b, a, 1e-31);
    }
    for a in [2.0, 3e-30, 1e200, 1.0 / 3.0] {
        let a = Double::from_limb(a);
        assert_close(a.sqrt() * a.sqrt(), a, 1e-31);
        assert_close(a.rsqrt() * a.rsqrt() * a, Double::ONE, 1e-31);
    }
    assert_eq!(DoubleDouble::ZERO.sqrt(), Double::ZERO);
    assert_eq!(DoubleDouble::ZERO.rsqrt().parts(), (f64::INFINITY, 0.0));
    assert_eq!(DoubleDouble::from_limb(f64::INFINITY).sqrt().parts(), (f64::INFINITY, 0.0));
}

#[test]
fn functions_have_thirty_digits() {
    let close = |a: DoubleDouble, b: &str| assert_close(a, number(b), 3e-30);
    close(number("1").exp(), "2.718281828459045235360287471352662498");
    close(number("-20.5").exp(), "1.250152866386742628937553119231222e-9");
    close(number("10").log(), "2.302585092994045684017991454684364208");
    close(number("2").pow(number("0.5")), "1.414213562373095048801688724209698079");
    close(number("1").sin(), "0.841470984807896506652502321630298999623");
    close(number("100").cos(), "0.86231887228768393410193851395084");
    close(number("-4").sin(), "0.7568024953079282513726390945118290941");
    close(number("0.1").erf(), "0.1124629160182848922032750717439683832");
    close(number("-0.75").erf(), "-0.7111556336535151315989378345914107774");
    close(number("1").erf(), "0.8427007929497148693412206350826092593");
    close(number("2.5").erf(), "0.9995930479825550410604357842600250873");
    close(number("5").erf(), "0.9999999999984625402055719651498116565");
}

#[test]
fn functions_beyond_their_ranges_are_those_of_doubles() {
    let of = |number: f64| DoubleDouble::from_limb(number);
    let infinity = f64::INFINITY;
    assert_eq!([of(1e4).exp(), of(infinity).exp()], [of(infinity); 2]);
    assert_eq!([of(-1e4).exp(), of(-infinity).exp()], [Double::ZERO; 2]);
    assert_eq!([of(0.0).log(), of(infinity).log()], [of(-infinity), of(infinity)]);
    assert_eq!([of(0.0).pow(of(2.0)), of(-2.0).pow(of(3.0)), of(5.0).pow(of(0.0))], [of(0.0), of(-8.0), of(1.0)]);
    assert!([of(f64::NAN).exp(), of(-1.0).log(), of(1e15).sin(), of(infinity).cos()].iter().all(|n| n.high.is_nan()));
    assert!(of(0.0).erf() == Double::ZERO && of(f64::NAN).erf().high.is_nan());
    assert_close(of(9.0).erf(), Double::ONE, 1e-32);
    assert_close(of(-infinity).erf(), -DoubleDouble::ONE, 1e-32);
    assert_close(of(30.0).exp() * of(-30.0).exp(), Double::ONE, 3e-30);
    for number in [-1e4, -2.0, 0.0, 0.7, 1.6, 3.2, 1e6] {
        let (sine, cosine) = (of(number).sin(), of(number).cos());
        assert!((sine.high - number.sin()).abs() < 1e-15 && (cosine.high - number.cos()).abs() < 1e-15);
        assert_close(sine * sine + cosine * cosine, Double::ONE, 1e-30);
    }
}

#[test]
fn decimal_numbers_are_read_and_written_to_the_last_digits() {
    for text in ["3.141592653589793238462643383280e0", "-1.000000000000000000000000000000e-1"] {
        assert_eq!(number(text).to_string(), text);
    }
    assert_eq!(number("12.50").parts(), (12.5, 0.0));
    // In the middle between two doubles.
    for text in [
        "25087.444719770557640003971755504608154296875",
        "9007199254740993e-3",
        "0.1000000000000000124900090270330610871315",
    ] {
        assert_eq!(number(text).high, text.parse::<f64>().unwrap(), "{text}");
    }
    assert_eq!(number("1e-320").high, 1e-320);
    assert_eq!(DoubleDouble::parse("1e400"), None);
    assert_eq!(DoubleDouble::parse("1.2.3"), None);
}

#[test]
fn order_is_that_of_the_sums() {
    assert!(Double::ONE.add_limb(1e-20) > Double::ONE);
    assert!(Double::ONE.add_limb(-1e-20) < Double::ONE);
    assert!(-DoubleDouble::ONE < Double::ZERO);
}

#[test]
fn every_component_has_a_place_of_its_own_in_the_order_of_orders() {
    let mut next = 0;
    for order in 0..=6 {
        for without_x in 0..=order {
            for z in 0..=without_x {
                let component = [order - without_x, without_x - z, z];
                assert_eq!((place(component), powers(next)), (next, component));
                next += 1;
            }
        }
        assert_eq!(next, components(order));
    }
    assert_eq!(factorial([3, 2, 0]), 12.0);
}

#[test]
fn every_byte_is_copied_and_no_other() {
    let from: Vec<u8> = (0..=255).collect();
    for start in 0..40 {
        for length in [0, 1, 7, 15, 16, 17, 64, 100, 200] {
            let mut to = vec![0u8; 256];
            stream::copy(&mut to[start..start + length], &from[3..3 + length]);
            stream::finish();
            assert_eq!(to[start..start + length], from[3..3 + length]);
            let mut others = to[..start].iter().chain(&to[start + length..]);
            assert!(others.all(|byte| *byte == 0), "{length} bytes from {start} on");
        }
    }
}

/// The vectors of AVX2, where the machine has them.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use kyoho_core::Level;
    use kyoho_laws::lanes::Lanes;
    use kyoho_laws::simd::avx2::F64;

    #[target_feature(enable = "avx2,fma")]
    fn inverse_sqrt(values: &mut [f64; 4]) {
        // SAFETY: there are as many numbers as lanes.
        unsafe { F64::load(values.as_ptr()).inverse_sqrt().store(values.as_mut_ptr()) };
    }

    #[test]
    fn roots_of_doubles_are_exact_to_the_last_bits_at_every_exponent() {
        if !Level::Avx2.is_available() {
            return;
        }
        for exponent in 1..2047_u64 {
            for fraction in [0, 1, 0x5_5555_5555_5555, 0x8_0000_0000_0000, 0xb_504f_333f_9de6, 0xf_ffff_ffff_ffff] {
                let value = f64::from_bits(exponent << 52 | fraction);
                let mut roots = [value, 1.0, value, 4.0];
                // SAFETY: the CPU has the level.
                unsafe { inverse_sqrt(&mut roots) };
                let expected = 1.0 / value.sqrt();
                for (root, expected) in roots.into_iter().zip([expected, 1.0, expected, 0.5]) {
                    let error = (root / expected - 1.0).abs();
                    assert!(error <= 2.0 * f64::EPSILON, "1 / sqrt({value:e}) is {root:e}, off by {error:e}");
                }
            }
        }
    }
}
