//! Pair interactions that users write: what a text may say, what its errors say, and that results
//! are those of the formulas.

use kyoho_core::Level;
use kyoho_hal::Backend;
use kyoho_language::costs::on_limbs;
use kyoho_language::limbs::LimbProgram;
use kyoho_language::list::{Id, Input, Op, PairProgram, Stage};
use kyoho_language::number::{Number, compute};
use kyoho_language::syntax::Side;
use kyoho_language::{Costs, Options, compile, explain};
use kyoho_laws::double_double::{Double, DoubleDouble};
use kyoho_pairs::{Packed, PairKernel, PairMachine};
use proptest::prelude::*;

#[path = "pairs/extremes.rs"]
mod extremes;

const DD: Options = Options { in_double_double: true, plain: false };

fn example(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pairs").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn kernel(text: &str, options: Options) -> PairKernel {
    PairKernel::new(text, options, &PairMachine::cpu(1, Level::best()))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A text with fields `a` and `b` of both sides, with this result and body.
fn text(result: &str, body: &str) -> String {
    let fields = "a: f64, v: vec3<f64>, n: u32, k: i32, s: f32, q: dd";
    format!(
        "pair p\ni {fields}\nj {fields}\nparam eps: f64, t: f64[2, 3], box: vec3<f64>\nresult {result}\nbody\n{body}\n"
    )
}

/// Returns the text of the error of a body.
fn fault(result: &str, body: &str) -> String {
    compile(&text(result, body), Options::default()).expect_err(body).to_string()
}

/// Returns some numbers from -1 to 1.
fn numbers(count: usize, mut seed: u64) -> Vec<f64> {
    let next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn set(kernel: &mut PairKernel, name: &str, numbers: &[f64], width: usize) {
    kernel.set(name, &Packed { numbers, width }).unwrap();
}

/// Returns the results as doubles.
fn found(kernel: &PairKernel, name: &str) -> Vec<f64> {
    let found = kernel.result(name).unwrap();
    let all = (0..found.count()).flat_map(|sink| (0..found.of().width).map(move |component| (sink, component)));
    all.map(|(sink, component)| found.number(sink, component).widened().to_f64()).collect()
}

/// Runs a text on one field `a` of both sides and returns the result `sum`.
fn summed(term: &str, sinks: &[f64], sources: &[f64]) -> Vec<f64> {
    let text = format!("pair p\ni a: f64\nj a: f64\nresult sum: f64 sum\nbody\nsum += {term}\n");
    let mut kernel = kernel(&text, Options::default());
    set(&mut kernel, "i.a", sinks, 1);
    set(&mut kernel, "j.a", sources, 1);
    kernel.run(None, None).unwrap();
    found(&kernel, "sum")
}

#[test]
fn every_example_compiles_in_its_own_types_and_in_double_double() {
    for name in ["gravity", "lennard_jones", "yukawa", "sph_density", "post_newtonian", "box_integral"] {
        for options in [Options::default(), DD] {
            let program = compile(&example(&format!("{name}.pair")), options).unwrap();
            assert_eq!(program.name, name);
            assert!(
                explain(&program, Some(&LimbProgram::new(&program).unwrap())).take().unwrap().contains("once a pair:")
            );
        }
    }
}

#[test]
fn gravity_is_the_sum_of_its_formula_on_every_instruction_set_and_number_of_threads() {
    let (sinks, sources) = (70, 7000);
    let (positions, masses) = (numbers(3 * sources, 1), numbers(sources, 2));
    let ids: Vec<f64> = (0..sources).map(|id| id as f64).collect();
    let mut first: Option<(Vec<f64>, Vec<f64>)> = None;
    for (level, threads) in Level::available().map(|level| (level, 1)).chain([(Level::best(), 3)]) {
        let mut kernel =
            PairKernel::new(&example("gravity.pair"), Options::default(), &PairMachine::cpu(threads, level)).unwrap();
        set(&mut kernel, "i.pos", &positions[..3 * sinks], 3);
        set(&mut kernel, "j.pos", &positions, 3);
        set(&mut kernel, "j.mass", &masses, 1);
        set(&mut kernel, "i.id", &ids[..sinks], 1);
        set(&mut kernel, "j.id", &ids, 1);
        kernel.set_parameter("eps2", &[Number::F64(1e-4)]).unwrap();
        kernel.run(None, None).unwrap();
        let (acc, pot) = (found(&kernel, "acc"), found(&kernel, "pot"));
        for sink in 0..sinks {
            let mut expected = [0.0; 4];
            for source in (0..sources).filter(|source| *source != sink) {
                let d = [0, 1, 2].map(|k| positions[3 * source + k] - positions[3 * sink + k]);
                let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-4_f64).sqrt();
                (0..3).for_each(|k| expected[k] += masses[source] * inverse.powi(3) * d[k]);
                expected[3] -= masses[source] * inverse;
            }
            let made = [acc[3 * sink], acc[3 * sink + 1], acc[3 * sink + 2], pot[sink]];
            assert!((0..4).all(|k| (made[k] - expected[k]).abs() < 1e-9), "{made:?} and {expected:?}");
        }
        let bits = (acc, pot);
        assert_eq!(*first.get_or_insert_with(|| bits.clone()), bits, "{level:?}, {threads} threads");
    }
}

#[test]
fn sums_in_double_double_are_exact_where_doubles_lose_everything() {
    let sources: Vec<f64> = [1e20, 1.0, -1e20, 0.5, 0.25].repeat(300);
    let run = |text: &str, options| {
        let mut kernel = kernel(text, options);
        set(&mut kernel, "j.a", &sources, 1);
        kernel.run(Some(1), None).unwrap();
        found(&kernel, "sum")[0]
    };
    let plain = "pair p\nj a: f64\nresult sum: f64 sum\nbody\nsum += j.a\n";
    assert_eq!(run(plain, DD), 525.0);
    assert_ne!(run(plain, Options::default()), 525.0);
}

#[test]
fn the_integrand_of_the_box_has_thirty_digits_in_double_double() {
    let mut kernel = kernel(&example("box_integral.pair"), DD);
    let parameters = [("s", "-1.5"), ("t", "-1"), ("lambda2", "1e-4"), ("me2", "0.25"), ("mf2", "0.3025")];
    let number = |text: &str| DoubleDouble::parse(text).unwrap();
    for (name, value) in parameters {
        kernel.set_parameter(name, &[Number::Dd(number(value))]).unwrap();
    }
    for (name, value) in [("i.x", 0.25), ("i.y", 0.125), ("j.cnt", 0.5), ("j.weight", 1.0)] {
        set(&mut kernel, name, &[value], 1);
    }
    kernel.run(None, None).unwrap();
    // D = 0.3753984375 exactly, from x = 1/4, y = 1/8, z = 5/16.
    let d = number("0.046875")
        + number("0.09765625")
        + number("0.0000375")
        + number("0.048828125")
        + number("0.0590820312500");
    let error = kernel.result("integral").unwrap().number(0, 0).widened() * d * d - Double::ONE;
    assert!(error.to_f64().abs() < 1e-29, "{error}");
}

#[test]
fn each_way_of_joining_terms_finds_what_it_says() {
    let body = "skip if j.id == 3\n\
        least min= j.a\ngreatest max= j.a\nnumber count= j.a > 0\nsome any= j.a > 10\n\
        where argmin= j.a, j.id\nlast argmax= j.a, j.id\n";
    let text = format!(
        "pair p\nj a: f64, id: u32\nresult least: f64 min, greatest: f64 max, number: u32 count, some: u32 any\n\
         where: u32 argmin, last: u32 argmax\nbody\n{body}"
    );
    let mut kernel = kernel(&text, Options::default());
    let ids: Vec<f64> = (0..1000).map(f64::from).collect();
    let mut values = vec![1.0; 1000];
    (values[3], values[500], values[700], values[990], values[20]) = (-9.0, -2.0, -2.0, 5.0, 5.0);
    set(&mut kernel, "j.a", &values, 1);
    set(&mut kernel, "j.id", &ids, 1);
    kernel.run(Some(2), None).unwrap();
    let expected =
        [("least", -2.0), ("greatest", 5.0), ("number", 997.0), ("some", 0.0), ("where", 500.0), ("last", 20.0)];
    for (name, value) in expected {
        assert_eq!(found(&kernel, name), [value; 2], "{name}: of equal keys the first source is named");
    }
    set(&mut kernel, "j.a", &[], 1);
    set(&mut kernel, "j.id", &[], 1);
    kernel.run(Some(1), None).unwrap();
    assert_eq!(found(&kernel, "least"), [f64::INFINITY]);
    assert_eq!(found(&kernel, "where"), [f64::from(u32::MAX)], "no source");
}

#[test]
fn integers_are_summed_with_both_signs() {
    let text = "pair p\nj n: u32, k: i32\nresult a: i32 sum, b: i32 sum, c: u32 sum\nbody\n\
        a -= j.k\nb += j.k\nb -= 1\nc += j.n\n";
    let mut kernel = kernel(text, Options::default());
    set(&mut kernel, "j.n", &[1.0, 2.0, 3.0], 1);
    set(&mut kernel, "j.k", &[-5.0, 2.0, 7.0], 1);
    kernel.run(Some(1), None).unwrap();
    assert_eq!(["a", "b", "c"].map(|name| found(&kernel, name)[0]), [-4.0, 1.0, 6.0]);
}

#[test]
fn branches_loops_tables_and_images_do_what_they_say() {
    let with =
        "pair p\ni a: f64, n: u32\nj a: f64, n: i32\nparam t: f64[2, 3], box: vec3<f64>\nresult sum: f64 sum\nbody\n";
    let run = |body: &str, a: f64, n: [f64; 2]| {
        let mut kernel = kernel(&format!("{with}{body}\n"), Options::default());
        set(&mut kernel, "i.a", &[a], 1);
        set(&mut kernel, "i.n", &n[..1], 1);
        set(&mut kernel, "j.a", &[1.0], 1);
        set(&mut kernel, "j.n", &n[1..], 1);
        let table = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0].map(Number::F64);
        kernel.set_parameter("t", &table).unwrap();
        kernel.set_parameter("box", &[2.0, 4.0, 0.0].map(Number::F64)).unwrap();
        kernel.run(None, None).map(|()| found(&kernel, "sum")[0])
    };
    let branches = "if i.a < 0\nw = f64(1)\nelse if i.a < 1\nw = f64(2)\nelse\nw = f64(3)\nend\nsum += w";
    assert_eq!([-1.0, 0.5, 7.0].map(|a| run(branches, a, [0.0; 2]).unwrap()), [1.0, 2.0, 3.0]);
    assert_eq!(run("p = i.a\nfor k in 0..3\np *= i.a\np += k\nend\nsum += p", 2.0, [0.0; 2]), Ok(20.0));
    assert_eq!(run("sum += t[i.n, j.n]", 0.0, [1.0, 2.0]), Ok(12.0));
    assert_eq!(run("for k in 0..3\nsum += t[1, k]\nend", 0.0, [0.0; 2]), Ok(33.0));
    let image = "d = nearest_image(vec3(i.a, i.a, i.a), box)\nsum += 100 * d.x + 10 * d.y + d.z";
    assert_eq!(run(image, 3.5, [0.0; 2]), Ok(-50.0 - 5.0 + 3.5));
    let beyond = run("sum += t[i.n, j.n]", 0.0, [1.0, 3.0]).unwrap_err().to_string();
    assert_eq!(beyond, "j.n[0], an index of the table t, is 3; allowed: 0 to 2");
}

#[test]
fn what_depends_on_one_side_is_computed_once_there() {
    let program = compile(&example("box_integral.pair"), DD).unwrap();
    let [sink, pair] = [Stage::Sink, Stage::Pair].map(|stage| Costs::of(&program, stage));
    assert_eq!((sink.sums, sink.products), (3, 3));
    assert_eq!((pair.sums, pair.products, pair.quotients), (6, 8, 1));
    assert_eq!(on_limbs(&LimbProgram::new(&program).unwrap(), Stage::Pair), 223);
    // Common subexpressions are computed once, and integer powers by products.
    let program = compile(&text("sum: f64 sum", "d = i.a - j.a\nsum += d^4 + (i.a - j.a)^2"), Options::default());
    let pair = Costs::of(&program.unwrap(), Stage::Pair);
    assert_eq!((pair.sums, pair.products), (3, 2));
}

#[test]
fn a_pair_without_arithmetic_has_a_finite_speed() {
    let explained =
        kernel("pair p\nresult some: u32 any\nbody\nsome any= true\n", Options::default()).explain().unwrap();
    assert!(explained.contains("predicted: at most ") && !explained.contains("inf"), "{explained}");
}

#[test]
fn texts_of_very_many_operations_are_explained_and_refused_by_gpus() {
    let body = "x = erf(i.a)\nfor k in 0..200\nx += erf(x + j.a)\nend\nsum += x";
    let kernel = kernel(&text("sum: f64 sum", body), DD);
    let explained = kernel.explain().unwrap();
    assert!(
        explained.contains("predicted: the number of operations of p on single numbers is 'more than 262144'"),
        "{explained}"
    );
    for backend in [Backend::Cuda, Backend::OpenCl] {
        let refused = kernel.source(backend).unwrap_err().to_string();
        assert!(refused.contains("allowed: up to 262144 on GPUs"), "{refused}");
    }
}

#[test]
fn lines_go_on_after_operators_and_empty_loops_are_nothing() {
    let text = "pair p\ni x: vec3<f64>\nj x: vec3<f64>\nresult n: f64 sum\nbody\nskip if j.x.x >\n3\n\
        for a in 0..9000\nfor b in 0..16384\nend\nend\nn += 1\n";
    let mut kernel = kernel(text, Options::default());
    set(&mut kernel, "i.x", &[0.0; 3], 3);
    set(&mut kernel, "j.x", &[[1.0, 0.0, 0.0], [4.0, 0.0, 0.0]].concat(), 3);
    kernel.run(None, None).unwrap();
    assert_eq!(found(&kernel, "n"), [1.0]);
}

#[test]
fn errors_say_where_what_and_what_is_allowed() {
    let sum = "sum: f64 sum";
    for (body, expected) in [
        ("sum += i.mass", "line 7, column 8: 'i.mass' is not declared; allowed: i.a, i.v, i.n, i.k, i.s, i.q"),
        ("sum += x", "line 7, column 8: there is no 'x'; allowed: i.FIELD, j.FIELD, and these names: eps, t, box"),
        ("x = 1\nx = 2", "line 8, column 1: 'x' has a value already"),
        ("sum = 1", "line 7, column 1: 'sum' is a result"),
        ("eps = 1", "line 7, column 1: 'eps' is a parameter"),
        ("x = sum + 1", "'sum' is a result, which cannot be read"),
        ("sum += i.v", "line 7, column 8: 'sum' is f64, and the term is vec3<f64>; allowed: a term of f64"),
        ("sum += i.q", "'sum' is f64, and the term is dd; allowed: a term of f64; f64(...) rounds"),
        ("sum += i.a > 3", "allowed: a term of f64; select(condition, a, b) makes one of a condition"),
        ("sum += pow(0 - 1, 0.5) * i.a", "a constant that is infinite or no number"),
        ("sum += i.v + i.a", "cannot add vec3<f64> and f64"),
        ("sum += i.v * j.v", "cannot multiply vec3<f64> and vec3<f64>; allowed: a vector and a number; or dot(a, b)"),
        ("sum += i.s + i.n", "cannot add f32 and u32"),
        ("sum += -i.n", "the negative number of u32"),
        ("sum += i.n / 2", "u32 where a real number is needed"),
        ("sum += i.v.w", "vec3<f64> has no component '.w'; allowed: .x or [0], .y or [1], .z or [2]"),
        ("sum += sqrt(i.v)", "sqrt of vec3<f64>"),
        ("sum += sqrt(i.a, 2)", "2 arguments of 'sqrt'; allowed: sqrt(x)"),
        ("sum += sine(i.a)", "there is no function 'sine'; allowed: sqrt, rsqrt"),
        ("sum += i.a^0.5", "as an exponent; allowed: constant integers from -64 to 64"),
        ("sum += i.a ^ 65", "the number 65 as an exponent"),
        ("sum += 1 / 0", "a constant that is infinite or no number"),
        ("sum += i.a == j.a", "'sum' is f64, and the term is a condition"),
        ("skip if i.a", "f64 where a condition is needed"),
        ("sum += select(i.a > 0, 1, 0)", "cannot select from two numbers without a type"),
        ("sum += t", "the table 't' without an index"),
        ("sum += t[i.n]", "1 indices of the table 't'; allowed: 2 of them"),
        ("sum += t[2, 0]", "the index 2 of the table 't'; allowed: 0 to 1"),
        ("sum += t[i.a, 0]", "f64 as the index of a table"),
        ("sum max= i.a", "'sum' is declared with sum; allowed: sum += ... or sum -= ..."),
        ("sum += 1 +", "found the end of the line; allowed: a value"),
        ("sum += (1", "allowed: an operator or ')'"),
        ("sum += 1 2", "found the number 2; allowed: an operator, or the end of the line"),
        ("sum += 1 < 2 < 3", "one comparison"),
        ("sum += 0x10", "is no number of the range of doubles"),
        ("sum += $", "the character '$'"),
        ("if i.a > 0\nx = i.a\nend\nsum += x", "'x' has a value in one branch or in a loop alone"),
        ("if i.a > 0\nsum += 1", "found the end of the text; allowed: 'end'"),
        ("end", "a statement, as no block is open here"),
        ("for k in 0..i.n\nend", "u32 where a constant integer is needed"),
        ("for k in 0..100000\nend", "a loop over 100000 numbers"),
        ("for k in 0..10000\nfor l in 0..10000\nx = 1\nend\nend", "statements once loops are unrolled"),
        ("if = 3", "found '='"),
        ("vec3 = 3", "'vec3' is a word of the language"),
        ("x = 1", "nothing is added to the result 'sum'"),
    ] {
        let found = fault(sum, body);
        assert!(found.contains(expected) && found.contains("; allowed: "), "{body}\n  {found}\n  {expected}");
    }
    let narrow = fault("sum: f32 sum", "sum += i.a");
    assert!(narrow.contains("'sum' is f32, and the term is f64; allowed: a term of f32; f32(...) rounds"), "{narrow}");
    for (whole, expected) in [
        ("", "line 1, column 1: found the end of the text; allowed: 'pair'"),
        ("pair p\nbody\n", "the text has no result"),
        ("pair p\nresult x: f64\nbody\n", "how the terms of all sources are joined: sum, min, max"),
        ("pair p\nresult x: f16 sum\nbody\n", "found 'f16'; allowed: a type: f32, f64"),
        ("pair p\nresult x: vec3<f64> min\nbody\n", "min of vec3<f64>"),
        ("pair p\nresult x: f64 sum(f32)\nbody\n", "sum of f64 in f32"),
        ("pair p\ni a: f64, a: f64\nbody\n", "'a' is declared a second time"),
        ("pair p\ni a: f64\ni b: f64\nbody\n", "a second section 'i'"),
        ("pair p\nparam t: f64[1000, 1000]\nbody\n", "the table 't' is too large"),
    ] {
        let found = compile(whole, Options::default()).unwrap_err().to_string();
        assert!(found.contains(expected), "{whole}\n  {found}\n  {expected}");
    }
}

#[test]
fn wrong_data_is_an_error_with_its_name() {
    let mut kernel = kernel(&example("gravity.pair"), Options::default());
    let zeros = [0.0; 9];
    let shown = |error: kyoho::Error| error.to_string();
    let set_error = |kernel: &mut PairKernel, name: &str, numbers: &[f64]| {
        shown(kernel.set(name, &Packed { numbers, width: 1 }).unwrap_err())
    };
    assert_eq!(
        set_error(&mut kernel, "j.charge", &zeros),
        "the field is 'j.charge'; allowed: i.pos, i.id, j.pos, j.mass, j.id"
    );
    assert!(set_error(&mut kernel, "i.id", &[1.0, 0.5]).contains("i.id[1] is '0.5'; allowed: integers of u32"));
    assert!(kernel.run(None, None).is_err_and(|error| shown(error).starts_with("the array i.pos is not there")));
    for (name, width) in [("i.pos", 3), ("i.id", 1), ("j.pos", 3), ("j.mass", 1), ("j.id", 1)] {
        let numbers = &zeros[..3 * width];
        set(&mut kernel, name, numbers, width);
    }
    assert!(kernel.run(None, None).is_err_and(|error| shown(error).starts_with("the parameter eps2 is not there")));
    let parameter = |kernel: &mut PairKernel, name: &str, value: f64| {
        shown(kernel.set_parameter(name, &[Number::F64(value)]).unwrap_err())
    };
    assert_eq!(parameter(&mut kernel, "eps2", f64::NAN), "eps2 is NaN; allowed: finite numbers");
    assert_eq!(parameter(&mut kernel, "eps", 1.0), "the parameter is 'eps'; allowed: eps2");
    kernel.set_parameter("eps2", &[Number::F64(1.0)]).unwrap();
    assert!(kernel.result("pot").is_err_and(|error| shown(error).starts_with("the result 'pot' is not there")));
    set(&mut kernel, "j.mass", &zeros[..2], 1);
    let lengths = shown(kernel.run(None, None).unwrap_err());
    assert_eq!(lengths, "the length of j.mass is 2; allowed: 3, as the arrays before it have");
    set(&mut kernel, "j.mass", &zeros[..3], 1);
    kernel.run(None, None).unwrap();
    assert!(kernel.result("force").is_err_and(|error| shown(error) == "the result is 'force'; allowed: acc, pot"));
    let large = kernel_of_single().set("j.a", &Packed { numbers: &[1e300], width: 1 }).unwrap_err();
    assert!(shown(large).starts_with("j.a[0] is 1e300, too large for precision f32"));
}

fn kernel_of_single() -> PairKernel {
    kernel("pair p\nj a: f32\nresult sum: f32 sum(f64)\nbody\nsum += j.a\n", Options::default())
}

/// Computes the first output for one sink and one source, every operation anew.
fn naive(program: &PairProgram, a: [f64; 2]) -> f64 {
    let mut values: Vec<Number> = Vec::new();
    for node in &program.nodes {
        let value = match node.op {
            Op::Input(Input::Field(side, ..)) => Number::F64(a[usize::from(side == Side::J)]),
            op => compute(op, node.scalar, |id: Id| values[id]),
        };
        values.push(value);
    }
    let output = &program.outputs[0];
    let number = |id: Id| values[id].widened().to_f64();
    output.second.map_or(number(output.term), |second| number(output.term).mul_add(number(second), 0.0))
}

/// A random expression of `i.a`, `j.a` and constants, and its value by plain doubles.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("i.a".to_string()),
        Just("j.a".to_string()),
        (1u32..100).prop_map(|number| format!("f64({}.25)", number)),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone(), prop::sample::select(vec!["+", "-", "*"]))
                .prop_map(|(a, b, sign)| format!("({a} {sign} {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} / (1 + {b}^2))")),
            (inner.clone(), 0u32..5).prop_map(|(a, n)| format!("({a})^{n}")),
            (inner.clone(), prop::sample::select(vec!["abs", "floor", "sin", "cos", "-"]))
                .prop_map(|(a, function)| format!("({function}({a}))")),
            (inner.clone(), inner.clone(), prop::sample::select(vec!["min", "max"]))
                .prop_map(|(a, b, function)| format!("{function}({a}, {b})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("select({a} < {b}, {b}, {c})")),
        ]
    })
}

/// Random expressions of a type by fields of both sides and tables, without functions that no
/// instruction computes. Indices of tables are `i.n`, which is below 2, and `j.n`, below 3.
fn expression_of(of: &'static str, depth: u32) -> BoxedStrategy<String> {
    let leaf = match of {
        "f64" => prop::sample::select(vec!["i.a", "j.a", "eps", "t[i.n, j.n]", "f64(0.75)"]),
        "f32" => prop::sample::select(vec!["i.s", "j.s", "u[j.n]", "f32(-1.5)"]),
        "i32" => prop::sample::select(vec!["i.k", "j.k", "i32(-3)"]),
        "u32" => prop::sample::select(vec!["i.n", "j.n", "u32(7)"]),
        _ => prop::sample::select(vec!["i.a < j.a", "j.k == i.k"]),
    };
    let leaf = leaf.prop_map(str::to_string);
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = move |of| expression_of(of, depth - 1);
    let either = |signs: &[&'static str]| prop::sample::select(signs.to_vec());
    if of == "bool" {
        let any = prop::sample::select(vec!["f64", "f32", "i32", "u32"]);
        return prop_oneof![
            (any, either(&["<", "<=", ">", ">=", "==", "!="])).prop_flat_map(
                move |(of, sign)| (inner(of), inner(of)).prop_map(move |(a, b)| format!("({a} {sign} {b})"))
            ),
            (inner(of), inner(of), either(&["&&", "||"])).prop_map(|(a, b, sign)| format!("({a} {sign} {b})")),
            inner(of).prop_map(|a| format!("(!({a}))")),
        ]
        .boxed();
    }
    let of_two = (inner(of), inner(of), either(&["+", "-", "*"])).prop_map(|(a, b, sign)| format!("({a} {sign} {b})"));
    let better = (inner(of), inner(of), either(&["min", "max"])).prop_map(|(a, b, name)| format!("{name}({a}, {b})"));
    let chosen = (inner("bool"), inner(of), inner(of)).prop_map(|(c, a, b)| format!("select({c}, {a}, {b})"));
    let fused = (inner(of), inner(of), inner(of), either(&["+", "-"]), either(&["", "-"]))
        .prop_map(|(a, b, c, sign, first)| format!("({first}{a} * {b} {sign} {c})"));
    match of {
        "u32" => prop_oneof![leaf, of_two, better, chosen].boxed(),
        "i32" => {
            let one = (inner(of), either(&["abs", "-"])).prop_map(|(a, name)| format!("({name}({a}))"));
            prop_oneof![leaf, of_two, better, chosen, fused, one].boxed()
        }
        _ => {
            let functions = either(&["abs", "floor", "-", "sqrt", "rsqrt"]);
            let one = (inner(of), functions).prop_map(|(a, name)| format!("({name}({a}))"));
            let quotient = (inner(of), inner(of)).prop_map(|(a, b)| format!("({a} / {b})"));
            let other = if of == "f64" { "f32" } else { "f64" };
            let from = prop::sample::select(vec![other, "i32"]);
            let converted = from.prop_flat_map(inner).prop_map(move |a| format!("{of}({a})"));
            prop_oneof![leaf, of_two, better, chosen, fused, one, quotient, converted].boxed()
        }
    }
}

/// A random statement for each way of joining terms, some of which are in a result's own type alone.
fn statements() -> impl Strategy<Value = Vec<String>> {
    let wide = |of| expression_of(of, 3);
    (
        prop::option::of(wide("bool")),
        prop::sample::subsequence(vec![true; 9], 1..=9),
        (wide("f64"), wide("f32"), wide("f32"), wide("f64"), wide("f32")),
        (wide("i32"), wide("bool"), wide("f64"), wide("i32"), wide("u32")),
    )
        .prop_map(|(left_out, kept, (a, b, c, d, e), (f, g, h, k, n))| {
            let all = [
                format!("sum += {a}"),
                format!("single -= {b} * i.s"),
                format!("widened += {c}"),
                format!("least min= {d}"),
                format!("greatest max= {e}"),
                format!("whole += {f}"),
                format!("number count= {g}"),
                format!("near argmin= {h}, {k}"),
                format!("far argmax= {n}, {e}"),
            ];
            let left_out = left_out.map(|condition| format!("skip if {condition}"));
            left_out.into_iter().chain(all.into_iter().skip(9 - kept.len())).collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn every_instruction_set_gives_the_same_bits(body in statements(), sources in 1usize..600, seed in any::<u64>()) {
        let names = [
            ("sum", "f64 sum"), ("single", "f32 sum"), ("widened", "f32 sum(f64)"), ("least", "f64 min"),
            ("greatest", "f32 max"), ("whole", "i32 sum"), ("number", "u32 count"), ("near", "i32 argmin"),
            ("far", "f32 argmax"),
        ];
        let body = body.join("\n");
        let is_used = |(name, _): &&(&str, &str)| body.contains(&format!("{name} "));
        let used: Vec<_> = names.iter().filter(is_used).collect();
        let results: Vec<String> = used.iter().map(|(name, of)| format!("{name}: {of}")).collect();
        let fields = "a: f64, s: f32, k: i32, n: u32";
        let text = format!(
            "pair p\ni {fields}\nj {fields}\nparam eps: f64, t: f64[2, 3], u: f32[3]\nresult {}\nbody\n{body}\n",
            results.join(", ")
        );
        let found = |level| {
            let mut kernel = PairKernel::new(&text, Options::default(), &PairMachine::cpu(1, level))
                .unwrap_or_else(|error| panic!("{error}\n{text}"));
            for (side, count) in [("i", 3), ("j", sources)] {
                let reals = numbers(2 * count, seed ^ count as u64);
                set(&mut kernel, &format!("{side}.a"), &reals[..count], 1);
                set(&mut kernel, &format!("{side}.s"), &reals[count..], 1);
                let whole: Vec<f64> = reals[..count].iter().map(|real| (real * 5.0).trunc()).collect();
                set(&mut kernel, &format!("{side}.k"), &whole, 1);
                let below = if side == "i" { 2.0 } else { 3.0 };
                let indices: Vec<f64> = reals[..count].iter().map(|real| (real.abs() * below).floor()).collect();
                set(&mut kernel, &format!("{side}.n"), &indices, 1);
            }
            kernel.set_parameter("eps", &[Number::F64(0.01)]).unwrap();
            kernel.set_parameter("t", &[0.5, -1.0, 2.0, 1e3, 11.0, -1e-3].map(Number::F64)).unwrap();
            kernel.set_parameter("u", &[0.25, -7.0, 3.0].map(Number::F64)).unwrap();
            kernel.run(None, None).unwrap();
            // A number that is none has any bits.
            let shown = |number: f64| if number.is_nan() { "none".into() } else { format!("{:x}", number.to_bits()) };
            let of = |(name, _): &&(&str, &str)| self::found(&kernel, name).into_iter().map(shown).collect::<Vec<String>>();
            used.iter().map(of).collect::<Vec<_>>()
        };
        let expected = found(Level::Portable);
        for level in Level::available() {
            prop_assert_eq!(&found(level), &expected, "{:?}\n{}", level, text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_text_gives_a_list_or_an_error(text in "(pair p|[ijxyab=+*/^<>()\\[\\].,:0-9\n !&|-]|body|result|f64|vec3|sum|if|end|for|in|skip){0,60}") {
        let _ = compile(&text, Options::default());
    }

    #[test]
    fn any_body_gives_a_list_or_an_error(body in "([ijxt=+*/^<>()\\[\\].,0-9\n !&|-]|sum|if|else|end|for|in|skip|i\\.a|j\\.v|j\\.n|\\+=|min=|dot|vec3|f64|nearest_image){0,60}") {
        let _ = compile(&text("sum: f64 sum", &body), Options::default());
    }

    #[test]
    fn hoisting_and_common_subexpressions_change_no_bit(term in expression(), a in -2.0f64..2.0, b in -2.0f64..2.0) {
        let text = format!("pair p\ni a: f64\nj a: f64\nresult sum: f64 sum\nbody\nsum += {term}\n");
        let [short, plain] = [false, true].map(|plain| {
            compile(&text, Options { in_double_double: false, plain }).unwrap()
        });
        prop_assert!(short.nodes.len() <= plain.nodes.len());
        let expected = naive(&plain, [a, b]);
        // A sum starts from zero.
        let made = summed(&term, &[a], &[b])[0];
        prop_assert!(made == expected || made.is_nan() && expected.is_nan(), "{} {}", made, expected);
    }

    #[test]
    fn double_double_agrees_with_doubles(term in expression(), a in -2.0f64..2.0, b in -2.0f64..2.0) {
        let run = |options, term: &str| {
            let text =
                format!("pair p\ni a: f64\nj a: f64\nresult sum: f64 sum\nbody\nx = {term}\nsum += min(abs(x), 1e6)\n");
            let mut kernel = kernel(&text, options);
            set(&mut kernel, "i.a", &[a], 1);
            set(&mut kernel, "j.a", &[b], 1);
            kernel.run(None, None).unwrap();
            found(&kernel, "sum")[0]
        };
        let [double, exact] = [run(Options::default(), &term), run(DD, &term)];
        // Jumps of floor and select are left out, and what rounding makes large, such as the cosine of a
        // large number: that of slightly different numbers is another one.
        let moved = term.replace("f64(", "1.00000000001 * f64(").replace("i.a", "(0.99999999999 * i.a)");
        let is_stable = (run(DD, &moved) - exact).abs() < 1e-4 * (1.0 + exact.abs());
        let smooth = !term.contains("floor") && !term.contains("select") && double < 1e3 && is_stable;
        prop_assert!(!smooth || (double - exact).abs() < 1e-6 * (1.0 + exact.abs()), "{} {}", double, exact);
    }
}
