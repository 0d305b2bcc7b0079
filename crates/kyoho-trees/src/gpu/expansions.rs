//! The straight-line code of expansions for `kernels/tree/`, written from the table of
//! multi-indices, an order after the other.

use std::fmt::Write;
use std::ops::RangeInclusive;

use super::constants::{plain_terms, record, terms};
use kyoho_laws::indices::{components, place, powers};

const AXES: [char; 3] = ['x', 'y', 'z'];

/// Returns the place of a component among the terms of moments, which have none of degree 1.
fn term(component: [usize; 3]) -> Option<usize> {
    match place(component) {
        0 => Some(0),
        1..=3 => None,
        place => Some(place - 3),
    }
}

/// Returns all components up to an order.
fn all(order: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..components(order)).map(powers)
}

fn degree(component: [usize; 3]) -> usize {
    component.iter().sum()
}

/// Returns the name of `x^a / a!` of a component; 1 has none.
fn product(component: [usize; 3]) -> Option<String> {
    let name: String = (0..3).flat_map(|axis| std::iter::repeat_n(AXES[axis], component[axis])).collect();
    (!name.is_empty()).then_some(name)
}

/// Writes `x^a / a!` of all components of degrees 1 to an order, where `x`, `y` and `z` are there.
fn write_products(text: &mut String, order: usize) {
    for component in all(order).filter(|component| degree(*component) > 1) {
        let axis = (0..3).rfind(|axis| component[*axis] > 0).unwrap();
        let mut others = component;
        others[axis] = 0;
        let mut alone = [0; 3];
        alone[axis] = component[axis];
        let value = if others == [0; 3] {
            let mut less = alone;
            less[axis] -= 1;
            format!("{} * ({} * {:?}f)", product(less).unwrap(), AXES[axis], 1.0 / component[axis] as f32)
        } else {
            format!("{} * {}", product(others).unwrap(), product(alone).unwrap())
        };
        writeln!(text, "    const float {} = {value};", product(component).unwrap()).unwrap();
    }
}

/// Returns the function that adds a body of mass `m`, whose place from the centre is
/// `(-x, -y, -z)`, to the moments.
fn add_body(order: usize) -> String {
    let mut text = "FUNCTION void add_body(float x, float y, float z, float m, float terms[TERMS])\n{\n".to_owned();
    write_products(&mut text, order);
    for component in all(order) {
        match (term(component), product(component)) {
            (Some(term), None) => writeln!(text, "    terms[{term}] += m;").unwrap(),
            (Some(term), Some(product)) => {
                writeln!(text, "    terms[{term}] = fma(m, {product}, terms[{term}]);").unwrap();
            }
            (None, _) => (),
        }
    }
    text + "}\n"
}

/// Returns the function that moves moments to a centre from which theirs is at `(-x, -y, -z)`.
fn move_moments(order: usize) -> String {
    let head =
        "FUNCTION void move_moments(float x, float y, float z, const float terms[TERMS], float moved[TERMS])\n{\n";
    let mut text = head.to_owned();
    write_products(&mut text, order);
    for component in all(order) {
        let Some(to) = term(component) else { continue };
        let mut value = format!("terms[{to}]");
        for part in all(order).filter(|part| part != &component && (0..3).all(|axis| part[axis] <= component[axis])) {
            let Some(from) = term(part) else { continue };
            let by = product(std::array::from_fn(|axis| component[axis] - part[axis])).unwrap();
            value = format!("fma({by}, terms[{from}], {value})");
        }
        writeln!(text, "    moved[{to}] = {value};").unwrap();
    }
    text + "}\n"
}

/// Returns the function that adds the moments of a cell to a local expansion whose centre is at
/// `(x, y, z)` from that of the cell; `inverse` is that of the softened distance.
fn add_products(order: usize) -> String {
    let mut text = "FUNCTION void add_products(float x, float y, float z, float inverse, const float *terms, \
                    float expansion[COMPONENTS])\n{\n    const float inverse2 = inverse * inverse;\n    const float \
                    d0_0 = inverse;\n"
        .to_owned();
    for m in 1..=order {
        writeln!(text, "    const float d{m}_0 = d{}_0 * (inverse2 * -{}.0f);", m - 1, 2 * m - 1).unwrap();
    }
    // D_(c+1) f_m = x D_c f_(m+1) + c D_(c-1) f_(m+1), along an axis where the second term is zero,
    // if there is one.
    let parts = |component: [usize; 3]| {
        let lone = (0..3).find(|axis| component[*axis] == 1);
        let axis = lone.or((0..3).find(|axis| component[*axis] > 0)).unwrap();
        let mut lower = component;
        lower[axis] -= 1;
        let mut lowest = lower;
        lowest[axis] = lower[axis].saturating_sub(1);
        (axis, lower, lower[axis], lowest)
    };
    // Those of f_0 are needed, and all of which these are made.
    let mut is_needed = vec![vec![false; components(order)]; order + 2];
    for component in all(order).collect::<Vec<_>>().into_iter().rev().filter(|component| degree(*component) > 0) {
        let (_, lower, factor, lowest) = parts(component);
        for m in 0..=order - degree(component) {
            if m == 0 || is_needed[m][place(component)] {
                is_needed[m][place(component)] = true;
                is_needed[m + 1][place(lower)] = true;
                is_needed[m + 1][place(lowest)] |= factor > 0;
            }
        }
    }
    for component in all(order).skip(1) {
        let (axis, lower, factor, lowest) = parts(component);
        for m in (0..=order - degree(component)).filter(|m| is_needed[*m][place(component)]) {
            let from = format!("d{}_{}", m + 1, place(lower));
            let before = format!("d{}_{}", m + 1, place(lowest));
            let value = match factor {
                0 => format!("{} * {from}", AXES[axis]),
                1 => format!("fma({}, {from}, {before})", AXES[axis]),
                factor => format!("fma({}, {from}, {factor}.0f * {before})", AXES[axis]),
            };
            writeln!(text, "    const float d{m}_{} = {value};", place(component)).unwrap();
        }
    }
    for to in all(order) {
        for moment in all(order - degree(to)) {
            let Some(from) = term(moment) else { continue };
            let derivative = place(std::array::from_fn(|axis| to[axis] + moment[axis]));
            let to = place(to);
            writeln!(text, "    expansion[{to}] = fma(terms[{from}], d0_{derivative}, expansion[{to}]);").unwrap();
        }
    }
    text + "}\n"
}

/// Returns the function that moves the centre of a local expansion by `(x, y, z)`, along one axis
/// after another.
fn shift_local(order: usize) -> String {
    let head = "FUNCTION void shift_local(float x, float y, float z, float expansion[COMPONENTS])\n{\n";
    let mut text = head.to_owned();
    for (axis, name) in AXES.iter().enumerate() {
        for power in 2..=order {
            let before = name.to_string().repeat(power - 1);
            writeln!(text, "    const float {before}{name} = {before} * ({name} * {:?}f);", 1.0 / power as f32)
                .unwrap();
        }
        for to in all(order) {
            for power in 1..=order - degree(to) {
                let mut from = to;
                from[axis] += power;
                let (to, from, by) = (place(to), place(from), name.to_string().repeat(power));
                writeln!(text, "    expansion[{to}] = fma({by}, expansion[{from}], expansion[{to}]);").unwrap();
            }
        }
    }
    text + "}\n"
}

/// Returns the function that finds the potential, with its sign turned, and the acceleration at
/// `(x, y, z)` from the centre of a local expansion.
fn find_values(order: usize) -> String {
    let head = "FUNCTION void find_values(float x, float y, float z, const float expansion[COMPONENTS], float \
                values[4])\n{\n";
    let mut text = head.to_owned();
    write_products(&mut text, order);
    for value in 0..4 {
        let mut of_value = [0; 3];
        if value > 0 {
            of_value[value - 1] = 1;
        }
        let mut sum = format!("expansion[{}]", place(of_value));
        for component in all(order - degree(of_value)).skip(1) {
            let from = place(std::array::from_fn(|axis| component[axis] + of_value[axis]));
            sum = format!("fma({}, expansion[{from}], {sum})", product(component).unwrap());
        }
        writeln!(text, "    values[{value}] = {sum};").unwrap();
    }
    text + "}\n"
}

/// Returns the function that bounds the sum of m |x|^p by the moments of masses that are not
/// negative.
fn power_of_moments(order: usize) -> String {
    let even = order / 2 * 2;
    let mut value = "second".to_owned();
    if even > 2 {
        // |x|^(2 n) is the sum of n! / a! x^(2 a), and a moment is that of x^(2 a) / (2 a)!.
        let factorial = |number: usize| (1..=number).product::<usize>();
        let summands = all(even / 2).filter(|component| degree(*component) == even / 2).map(|component| {
            let double = component.map(|power| 2 * power);
            let many = factorial(even / 2) / component.map(factorial).iter().product::<usize>();
            format!("{}.0f * terms[{}]", many * double.map(factorial).iter().product::<usize>(), term(double).unwrap())
        });
        value = format!("({})", summands.collect::<Vec<_>>().join(" + "));
    }
    let times = if even < order { "radius * " } else { "" };
    format!(
        "FUNCTION float power_of_moments(const float terms[TERMS], float second, float radius)\n{{\n    \
         return {times}{value};\n}}\n"
    )
}

/// Returns the text of `kernels/generated/expansions.h`.
pub fn header(orders: RangeInclusive<usize>) -> String {
    let mut text = "// Made from crates/kyoho-trees/src/gpu/expansions.rs.\n".to_owned();
    for order in orders {
        write!(text, "\n#if ORDER == {order}\n").unwrap();
        let numbers = [
            ("COMPONENTS", components(order)),
            ("TERMS", terms(order)),
            ("PLAIN_TERMS", plain_terms(order)),
            ("RECORD", record(order)),
        ];
        for (name, number) in numbers {
            writeln!(text, "#define {name} {number}").unwrap();
        }
        let of_moments = [add_body(order), move_moments(order), power_of_moments(order)];
        let of_locals = [add_products(order), shift_local(order), find_values(order)];
        for function in of_moments.into_iter().chain(of_locals) {
            write!(text, "\n{function}").unwrap();
        }
        text += "#endif\n";
    }
    text
}
