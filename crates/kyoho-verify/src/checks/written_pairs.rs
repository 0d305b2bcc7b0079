//! Pair interactions that users write, against their lists of operations, each computed anew for
//! every pair.

use super::repeat::compiles_on_cpu;
use crate::models::{Random, plummer};
use crate::reference::{Force, Predicted, force, predict_all};
use crate::{Check, Findings, Needs, Target};
use kyoho_core::{Error, Order, Result, Sink};
use kyoho_hal::Backend;
use kyoho_language::limbs::unnamed;
use kyoho_language::list::{Input, Op, PairProgram};
use kyoho_language::number::{Number, compute};
use kyoho_language::syntax::{Reduction, Side};
use kyoho_language::types::Scalar;
use kyoho_language::{Options, compile, extreme, gravity};
use kyoho_laws::double_double::DoubleDouble;
use kyoho_pairs::{ListedPairs, Packed, PairKernel, PairLists, PairMachine, Rows};

/// A field or a parameter with its numbers, of so many a row.
struct Data {
    name: &'static str,
    width: usize,
    numbers: Vec<f64>,
}

/// A text with all that it needs.
struct Problem {
    text: String,
    fields: Vec<Data>,
    parameters: Vec<Data>,
}

fn machine(target: &Target, devices: &[usize]) -> PairMachine {
    let setup = &target.setup;
    PairMachine {
        backend: setup.backend,
        devices: devices.to_vec(),
        threads: setup.threads,
        level: setup.level,
        falls_back: false,
    }
}

impl Problem {
    /// Returns the results on a machine, by result, sink and component.
    fn found(&self, machine: &PairMachine) -> Result<Vec<Vec<Number>>> {
        self.found_by(machine, |kernel| kernel.run(None, None))
    }

    fn found_by(
        &self,
        machine: &PairMachine,
        run: impl FnOnce(&mut PairKernel) -> Result<()>,
    ) -> Result<Vec<Vec<Number>>> {
        let mut kernel = PairKernel::new(&self.text, Options::default(), machine)?;
        for Data { name, width, numbers } in &self.fields {
            kernel.set(name, &Packed { numbers, width: *width })?;
        }
        for Data { name, numbers, .. } in &self.parameters {
            let numbers: Vec<Number> = numbers.iter().map(|number| Number::F64(*number)).collect();
            kernel.set_parameter(name, &numbers)?;
        }
        run(&mut kernel)?;
        let names: Vec<String> = kernel.list().results.iter().map(|result| result.name.clone()).collect();
        let of = |name: &String| {
            let found = kernel.result(name)?;
            let width = found.of().width;
            Ok((0..found.count() * width).map(|place| found.number(place / width, place % width)).collect())
        };
        names.iter().map(of).collect()
    }

    fn program(&self) -> Result<PairProgram> {
        let options = Options { plain: true, ..Options::default() };
        compile(&self.text, options).map_err(|fault| Error::Internal { what: fault.to_string() })
    }

    fn data<'a>(all: &'a [Data], name: &str) -> &'a Data {
        all.iter().find(|data| data.name == name).expect("the problem has every field")
    }

    /// Returns the value of each operation of the list for a pair.
    fn values(&self, program: &PairProgram, pair: [usize; 2]) -> Vec<Number> {
        let mut values: Vec<Number> = Vec::with_capacity(program.nodes.len());
        for node in &program.nodes {
            let of_data =
                |data: &Data, place: usize| Number::of(node.scalar, DoubleDouble::from_limb(data.numbers[place]));
            let value = match node.op {
                Op::Input(Input::Field(side, field, component)) => {
                    let name = format!("{}.{}", side.name(), program.fields[side as usize][field].name);
                    let data = Problem::data(&self.fields, &name);
                    of_data(data, pair[side as usize] * data.width + component)
                }
                Op::Input(Input::Parameter(parameter, component)) => {
                    of_data(Problem::data(&self.parameters, &program.parameters[parameter].name), component)
                }
                Op::Element(table, index) => {
                    let place = values[index].widened().high as usize;
                    of_data(Problem::data(&self.parameters, &program.parameters[table].name), place)
                }
                op => compute(op, node.scalar, |id| values[id]),
            };
            values.push(value);
        }
        values
    }

    /// Returns the expected results, and the sums of the sizes of terms.
    fn expected(&self, program: &PairProgram, sinks: usize, sources: usize) -> Vec<Vec<(Number, f64)>> {
        self.expected_of(program, sinks, |_| (0..sources).collect())
    }

    /// Returns the expected results where only some sources act on a sink.
    fn expected_of(
        &self,
        program: &PairProgram,
        sinks: usize,
        sources: impl Fn(usize) -> Vec<usize>,
    ) -> Vec<Vec<(Number, f64)>> {
        let mut all: Vec<Vec<(Number, f64)>> = program.results.iter().map(|_| Vec::new()).collect();
        for sink in 0..sinks {
            let mut sums: Vec<(DoubleDouble, f64, Option<Number>)> = Vec::new();
            for output in &program.outputs {
                let scalar = program.nodes[output.term].scalar;
                let start = match output.reduction {
                    Reduction::Min | Reduction::ArgMin => extreme(scalar, true).widened(),
                    Reduction::Max | Reduction::ArgMax => extreme(scalar, false).widened(),
                    _ => DoubleDouble::ZERO,
                };
                sums.push((start, 0.0, None));
            }
            for source in sources(sink) {
                let values = self.values(program, [sink, source]);
                for (output, (sum, size, named)) in program.outputs.iter().zip(&mut sums) {
                    if output.condition.is_some_and(|condition| !values[condition].holds()) {
                        continue;
                    }
                    let (value, holds) = (values[output.term].widened(), values[output.term].holds());
                    match output.reduction {
                        Reduction::Sum => {
                            let second = output.second.map_or(DoubleDouble::ONE, |id| values[id].widened());
                            let term = value * second;
                            *sum = *sum + if output.negative { -term } else { term };
                            *size += term.to_f64().abs();
                        }
                        Reduction::Count if holds => *sum = sum.add_limb(1.0),
                        Reduction::Any if holds => *sum = DoubleDouble::ONE,
                        Reduction::Min if value < *sum => *sum = value,
                        Reduction::Max if value > *sum => *sum = value,
                        Reduction::ArgMin if value < *sum => {
                            (*sum, *named) = (value, output.second.map(|id| values[id]))
                        }
                        Reduction::ArgMax if value > *sum => {
                            (*sum, *named) = (value, output.second.map(|id| values[id]))
                        }
                        _ => (),
                    }
                }
            }
            for (output, (sum, size, named)) in program.outputs.iter().zip(sums) {
                let scalar = program.results[output.result].accumulated;
                let number = match (output.reduction, named) {
                    (Reduction::ArgMin | Reduction::ArgMax, Some(named)) => named,
                    (Reduction::ArgMin | Reduction::ArgMax, None) => unnamed(scalar),
                    _ => Number::of(scalar, sum),
                };
                all[output.result].push((number, size));
            }
        }
        all
    }
}

/// Returns random numbers from -1 to 1 that every type has exactly.
fn drawn(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| ((random.unit() - 0.5) * 4096.0).round() / 2048.0).collect()
}

fn whole(random: &mut Random, count: usize, end: u32) -> Vec<f64> {
    (0..count).map(|_| (random.unit() * f64::from(end)).floor()).collect()
}

/// Terms of every operation. `T` stands for the type.
const TERMS: [&str; 28] = [
    "i.a + j.a",
    "i.a - j.a",
    "i.a * j.a",
    "i.a / (2 + j.a)",
    "1 / (i.a + 3 + j.a)",
    "sqrt(2 + i.a * j.a)",
    "rsqrt(2 + i.a * j.a)",
    "select(rsqrt(i.a - i.a + 0 * j.a) > 1000000, j.a, i.a)",
    "abs(i.a - j.a)",
    "floor(3 * i.a - 5 * j.a)",
    "min(i.a, j.a)",
    "max(i.a, j.a)",
    "(i.a - j.a)^3 / (1 + j.a^2)^2",
    "dot(cross(i.v, j.v), w)",
    "norm2(nearest_image(j.v - i.v, w))",
    "select(i.n == j.n || i.a < j.a && !(j.k <= i.k), i.a, j.a)",
    "select(i.n != j.n, p, -p)",
    "t[i.n, j.n]",
    "T(i32(5 * i.a - 7 * j.a)) + T(u32(9 * i.a - j.a))",
    "T(min(i.k, j.k) * 3 - max(i.k, -j.k)) + T(i.n + 2 * j.n)",
    "T(f32(i.a * j.a))",
    "T(f64(i.a * j.a))",
    "exp(i.a * j.a)",
    "log(2 + i.a * j.a)",
    "pow(2 + i.a, j.a)",
    "sin(5 * (i.a - j.a))",
    "cos(5 * (i.a - j.a))",
    "erf(i.a + j.a)",
];
/// The largest error of a type, relative to the sum of the sizes of terms. OpenCL allows functions
/// in single precision 16 units in the last place.
const TYPES: [(&str, f64); 4] = [("f32", 4e-6), ("f64", 1e-14), ("ff", 1e-12), ("dd", 1e-29)];

pub const OPERATIONS: Check = Check {
    name: "operations of written pairs",
    promise: "each operation of the language gives its value in each type of numbers",
    needs: Needs::OwnPrecisions,
    run: |target, findings| {
        let (sinks, sources) = (5, 600);
        let random = &mut Random::new(2026);
        // No machine knows two doubles: they become operations on doubles, a dozen for one. A CPU takes
        // long to compile those of all terms, and has some of them in the built-in law.
        let compiled = if compiles_on_cpu(target)? { &TYPES[..3] } else { &TYPES };
        for &(name, limit) in compiled {
            let results: Vec<String> = (0..TERMS.len()).map(|number| format!("r{number}: {name} sum")).collect();
            let body: Vec<String> = TERMS
                .iter()
                .enumerate()
                .map(|(number, term)| format!("r{number} += {}", term.replace("T(", &format!("{name}("))))
                .collect();
            let fields = format!("a: {name}, v: vec3<{name}>, n: u32, k: i32");
            let text = format!(
                "pair operations\ni {fields}\nj {fields}\nparam p: {name}, w: vec3<{name}>, t: {name}[3, 5]\n\
                 result {}\nbody\n{}\n",
                results.join(", "),
                body.join("\n")
            );
            let mut fields = Vec::new();
            for (side, count) in [(Side::I, sinks), (Side::J, sources)] {
                let names = if side == Side::I { ["i.a", "i.v", "i.n", "i.k"] } else { ["j.a", "j.v", "j.n", "j.k"] };
                let end = if side == Side::I { 3 } else { 5 };
                let signed = whole(random, count, 19).into_iter().map(|number| number - 9.0).collect();
                fields.push(Data { name: names[0], width: 1, numbers: drawn(random, count) });
                fields.push(Data { name: names[1], width: 3, numbers: drawn(random, 3 * count) });
                fields.push(Data { name: names[2], width: 1, numbers: whole(random, count, end) });
                fields.push(Data { name: names[3], width: 1, numbers: signed });
            }
            let parameters = vec![
                Data { name: "p", width: 1, numbers: vec![0.375] },
                Data { name: "w", width: 3, numbers: vec![0.5, 0.25, 0.0] },
                Data { name: "t", width: 1, numbers: drawn(random, 15) },
            ];
            let problem = Problem { text, fields, parameters };
            let found = problem.found(&machine(target, &target.setup.devices))?;
            let expected = problem.expected(&problem.program()?, sinks, sources);
            for ((found, expected), term) in found.iter().zip(&expected).zip(TERMS) {
                for (found, (expected, size)) in found.iter().zip(expected) {
                    let error = (found.widened() - expected.widened()).to_f64().abs();
                    findings.measure(&format!("{name}: {term}"), error / size.max(f64::MIN_POSITIVE), limit);
                }
            }
        }
        Ok(())
    },
};

/// A text with every way of joining terms, some of which are the same for many sources.
fn reductions(sinks: usize, sources: usize) -> Problem {
    let text = "pair reductions\ni a: f64, id: u32\nj a: f64, s: f32, q: dd, id: u32, k: i32\nresult least: f64 min\n\
        greatest: ff max, less: i32 min, more: u32 max, number: u32 count, some: u32 any, none: u32 any\n\
        near: u32 argmin, far: i32 argmax, exact: dd argmin, total: i32 sum, long: f64 sum, wide: dd sum(dd)\n\
        narrow: f32 sum(f64), two: f32 sum(dd), made: f64 argmin, other: i32 argmax\nbody\nskip if i.id == j.id\nd = abs(i.a - j.a)\nleast min= d\n\
        greatest max= ff(j.s)\nless min= j.k\nmore max= j.id\nnumber count= d < 0.25\nsome any= j.k == -7\n\
        none any= d > 100\nnear argmin= d, j.id\nfar argmax= j.q, j.k\nexact argmin= j.s, j.q\ntotal -= j.k\n\
        long += d * j.a\nwide -= j.q\nnarrow += j.s\nif d < 0.5\ntwo += j.s\nelse\ntwo -= j.s\nend\n\
        made argmin= d, max(j.a, f64(j.s)) + 0.25\nother argmax= d, 2 * j.k\n";
    let random = &mut Random::new(1974);
    let coarse = |random: &mut Random, count: usize| -> Vec<f64> {
        (0..count).map(|_| ((random.unit() - 0.5) * 256.0).round() / 128.0).collect()
    };
    let ids = |count: usize| (0..count).map(|id| id as f64).collect();
    let fields = vec![
        Data { name: "i.a", width: 1, numbers: coarse(random, sinks) },
        Data { name: "i.id", width: 1, numbers: ids(sinks) },
        Data { name: "j.a", width: 1, numbers: coarse(random, sources) },
        Data { name: "j.s", width: 1, numbers: coarse(random, sources) },
        Data { name: "j.q", width: 1, numbers: coarse(random, sources) },
        Data { name: "j.id", width: 1, numbers: ids(sources) },
        Data { name: "j.k", width: 1, numbers: (0..sources).map(|id| (id % 31) as f64 - 9.0).collect() },
    ];
    Problem { text: text.into(), fields, parameters: Vec::new() }
}

/// Numbers of two limbs that follow one another, as rows.
struct Limbs {
    numbers: Vec<DoubleDouble>,
    width: usize,
}

impl Rows for Limbs {
    fn scalar(&self) -> Scalar {
        Scalar::Dd
    }

    fn count(&self) -> usize {
        self.numbers.len() / self.width
    }

    fn number(&self, row: usize, component: usize) -> Number {
        Number::Dd(self.numbers[row * self.width + component])
    }
}

pub const GRAVITY: Check = Check {
    name: "gravity in double-double",
    promise: "the built-in law as a text gives forces with errors below 1e-28, and the nearest source, in every order",
    needs: Needs::OwnPrecisions,
    run: |target, findings| {
        // The checks of `quad` have all orders, also where a CPU takes seconds to compile each.
        let orders = if compiles_on_cpu(target)? { &[Order::Fourth][..] } else { &Order::ALL };
        for &order in orders {
            let vectors = order as usize / 2;
            let sources: Vec<Predicted<DoubleDouble>> = predict_all(order, &plummer(700), 0.1);
            let sinks: Vec<Sink> = target.sinks_of(&plummer(700)[..40], 1e-4);
            let text = gravity(order).to_string_lossy();
            let options = Options { in_double_double: true, plain: false };
            let mut kernel = PairKernel::new(&text, options, &machine(target, &target.setup.devices))?;
            for (k, name) in ["pos", "vel", "acc", "jerk"].into_iter().enumerate().take(vectors) {
                let of_sources = sources.iter().flat_map(|source| source.derivatives[k]).collect();
                kernel.set(&format!("j.{name}"), &Limbs { numbers: of_sources, width: 3 })?;
                let of_sinks = sinks.iter().flat_map(|sink| sink.derivatives[k].map(DoubleDouble::from_limb)).collect();
                kernel.set(&format!("i.{name}"), &Limbs { numbers: of_sinks, width: 3 })?;
            }
            let one_each = |numbers: Vec<f64>| Limbs {
                numbers: numbers.into_iter().map(DoubleDouble::from_limb).collect(),
                width: 1,
            };
            kernel.set("j.mass", &one_each(sources.iter().map(|source| source.mass).collect()))?;
            kernel.set("j.id", &one_each(sources.iter().map(|source| f64::from(source.index)).collect()))?;
            kernel.set("i.id", &one_each(sinks.iter().map(|sink| f64::from(sink.index)).collect()))?;
            kernel.set_parameter("eps2", &[Number::F64(sinks[0].softening2)])?;
            kernel.run(None, None)?;
            for (number, sink) in sinks.iter().enumerate() {
                let expected: Force<DoubleDouble> = force(order, &sources, true, sink);
                let Force { potential, acceleration, jerk, snap, crackle, nearest, scale } = expected;
                let vector = |name: &str| -> Result<[DoubleDouble; 3]> {
                    let found = kernel.result(name)?;
                    Ok([0, 1, 2].map(|k| found.number(number, k).widened()))
                };
                let mut errors = vec![(kernel.result("pot")?.number(number, 0).widened() - potential).to_f64().abs()];
                for (name, expected) in [("acc", acceleration), ("jerk", jerk), ("snap", snap), ("crackle", crackle)]
                    .into_iter()
                    .take(vectors)
                {
                    let found = vector(name)?;
                    let apart = |k: usize| (found[k] - expected[k]).to_f64().abs();
                    errors.push((0..3).map(apart).fold(0.0, f64::max));
                }
                for (quantity, error) in errors.into_iter().enumerate() {
                    let size = scale.terms[quantity] + scale.coordinates[quantity];
                    let name = ["potential", "acceleration", "jerk", "snap", "crackle"][quantity];
                    findings.measure(&format!("order {}: {name}", order as i32), error / size, 1e-28);
                }
                if order > Order::Second {
                    let found = kernel.result("nearest")?.number(number, 0).widened().to_f64();
                    let expected = nearest.map_or(-1.0, |(_, index)| f64::from(index));
                    findings.expect_equal(&format!("order {}: the nearest source", order as i32), found, expected);
                }
            }
        }
        Ok(())
    },
};

pub const REDUCTIONS: Check = Check {
    name: "reductions of written pairs",
    promise: "terms are joined as the text says, over any number of sources; of equal keys the first source is named",
    needs: Needs::OwnPrecisions,
    run: |target, findings| {
        for (sinks, sources) in [(3, 0), (1, 1), (7, 255), (300, 257), (5, 7000)] {
            let problem = reductions(sinks, sources);
            let program = problem.program()?;
            let found = problem.found(&machine(target, &target.setup.devices))?;
            let expected = problem.expected(&program, sinks, sources);
            compare(findings, &program, &found, &expected, &format!("{sources} sources"));
        }
        Ok(())
    },
};

/// Notes results that are not as expected. The sums are exact in every type.
fn compare(
    findings: &mut Findings,
    program: &PairProgram,
    found: &[Vec<Number>],
    expected: &[Vec<(Number, f64)>],
    what: &str,
) {
    for ((found, expected), result) in found.iter().zip(expected).zip(&program.results) {
        for (sink, (found, (expected, _))) in found.iter().zip(expected).enumerate() {
            let (found, expected) = (found.widened(), expected.widened());
            let is_none = found.high.is_nan() && expected.high.is_nan();
            let is_infinite = found.high == expected.high && found.high.is_infinite();
            findings.expect(found == expected || is_none || is_infinite, || {
                format!("{} of sink {sink}, {what}: expected {expected}, found {found}", result.name)
            });
        }
    }
}

pub const LISTS: Check = Check {
    name: "lists of written pairs",
    promise: "only the sources of its list act on a group of sinks, whether these are ranges or addresses",
    needs: Needs::OwnPrecisions,
    run: |target, findings| {
        let (sinks, sources) = (300, 3000);
        let problem = reductions(sinks, sources);
        let program = problem.program()?;
        let random = &mut Random::new(12);
        // Groups of 0, 1, 2, ... sinks with lists of up to 700 sources.
        let mut sink_offsets = vec![0i64];
        while sink_offsets[sink_offsets.len() - 1] < sinks as i64 {
            let next = sink_offsets[sink_offsets.len() - 1] + sink_offsets.len() as i64 - 1;
            sink_offsets.push(next.min(sinks as i64));
        }
        let groups = sink_offsets.len() - 1;
        let lists: Vec<Vec<i32>> = (0..groups)
            .map(|group| (0..(group + 1) * 29 % 701).map(|_| (random.unit() * sources as f64) as i32).collect())
            .collect();
        let ranges: Vec<[i32; 2]> =
            (0..groups).map(|group| [(group * 97 % 2000) as i32, ((group + 1) * 37 % 999) as i32]).collect();
        let group_of = |sink: usize| sink_offsets.partition_point(|offset| *offset <= sink as i64) - 1;
        let mut offsets = vec![0i64];
        lists.iter().for_each(|list| offsets.push(offsets[offsets.len() - 1] + list.len() as i64));
        let addresses: Vec<i32> = lists.concat();
        let forms = [
            ListedPairs::Addresses(&|number| offsets[number], &|place| addresses[place]),
            ListedPairs::Ranges(&|group| ranges[group]),
        ];
        for (form, what) in forms.iter().zip(["addresses", "ranges"]) {
            let given = PairLists::new(groups, &|number| sink_offsets[number], form)?;
            let found =
                problem.found_by(&machine(target, &target.setup.devices), |kernel| kernel.run_lists(&given, None))?;
            let expected = problem.expected_of(&program, sinks, |sink| {
                let group = group_of(sink);
                match form {
                    ListedPairs::Addresses(..) => lists[group].iter().map(|address| *address as usize).collect(),
                    ListedPairs::Ranges(_) => {
                        let [first, count] = ranges[group].map(|number| number as usize);
                        (first..first + count).collect()
                    }
                }
            });
            compare(findings, &program, &found, &expected, what);
        }
        Ok(())
    },
};

pub const SAME_BITS: Check = Check {
    name: "bits of written pairs",
    promise: "results have the same bits whenever they are computed, by any number of threads and devices",
    needs: Needs::OwnPrecisions,
    run: |target, findings| {
        let problem = {
            // CPUs sum all sinks in one way, some dozens at a time.
            let sinks = if target.setup.backend == Backend::Cpu { 300 } else { 1500 };
            let mut problem = reductions(sinks, 7000);
            let random = &mut Random::new(7);
            for data in &mut problem.fields {
                if ["i.a", "j.a", "j.s", "j.q"].contains(&data.name) {
                    data.numbers.iter_mut().for_each(|number| *number = random.unit() - 0.5);
                }
            }
            problem
        };
        let bits = |machine: &PairMachine| {
            let found = problem.found(machine)?;
            Ok(found.iter().flatten().map(|number| number.bits()).collect::<Vec<_>>())
        };
        let devices = &target.setup.devices;
        let first = bits(&machine(target, devices))?;
        let again = bits(&machine(target, devices))?;
        findings.expect(first == again, || "a second run gave other bits".into());
        let alone = bits(&PairMachine { threads: 1, ..machine(target, &devices[..1]) })?;
        findings.expect(first == alone, || format!("{} devices gave other bits than one", devices.len()));
        // Fewer sinks than before leave a device without any.
        let text = "pair p\nj a: f64\nresult sum: f64 sum\nbody\nsum += j.a\n";
        let mut kernel = PairKernel::new(text, Options::default(), &machine(target, &[devices[0], devices[0]]))?;
        kernel.set("j.a", &Packed { numbers: &[0.5, 0.25], width: 1 })?;
        for sinks in [300_000, 1] {
            kernel.run(Some(sinks), None)?;
            let last = kernel.result("sum")?.number(sinks - 1, 0).widened().to_f64();
            findings.expect_equal(&format!("the sum of the last of {sinks} sinks"), last, 0.75);
        }
        // A sink's results do not depend on the others, though few are summed in another way on a GPU.
        let twice = bits(&machine(target, &[devices[0], devices[0]]))?;
        findings.expect(first == twice, || "two halves of the sinks gave other bits".into());
        Ok(())
    },
};
