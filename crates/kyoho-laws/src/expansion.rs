//! The arithmetic of expansions: full Cartesian tensors of the softened potential, written once for
//! every precision and every instruction set.
//!
//! With `f(r) = (|r|^2 + eps^2)^(-1/2)`, the sources of a cell at `z + y`, sinks at `w + x`, and `R
//! = w - z`, the potential of the sources is
//!
//! ```text
//! - sum_b L_b x^b / b!,    L_b = sum_a M_a D_(a+b) f(R),    M_a = sum m (-y)^a / a!
//! ```
//!
//! over multi-indices with `|a| + |b|` up to the order. The tensors are not traceless, since the
//! softened potential is no harmonic function, and so they are exact for any softening.
//!
//! Each function is straight-line code: the loops over the components are unrolled, and their
//! places are constants.

use seq_macro::seq;

use super::indices::{components, place, powers};
use super::lanes::{Element, Lanes};

/// The lowest order.
pub const LOWEST_ORDER: usize = 2;
/// The highest order.
pub const HIGHEST_ORDER: usize = 6;
/// The number of components at the highest order.
pub const MAX_COMPONENTS: usize = components(HIGHEST_ORDER);

/// Numbers in lanes for each component up to the highest order; those of orders above the one of
/// the expansion are not used.
pub type Tensors<L> = [L; MAX_COMPONENTS];

/// A product of a moment and a derivative, and the component of the local expansion that it adds
/// to.
#[derive(Clone, Copy)]
struct Product {
    local: usize,
    moment: usize,
    derivative: usize,
}

/// Returns the number of products of an order.
const fn products(order: usize) -> usize {
    let (mut count, mut a) = (0, 0);
    while a <= order {
        let moments = (a + 1) * (a + 2) / 2;
        count += moments * components(order - a);
        a += 1;
    }
    count
}

/// Returns the products of an order, one component of the local expansion after another.
const fn table_of_products<const COUNT: usize>(order: usize) -> [Product; COUNT] {
    let mut table = [Product { local: 0, moment: 0, derivative: 0 }; COUNT];
    let (mut count, mut local) = (0, 0);
    while local < components(order) {
        let [x, y, z] = powers(local);
        let mut moment = 0;
        while moment < components(order - (x + y + z)) {
            let [a, b, c] = powers(moment);
            table[count] = Product { local, moment, derivative: place([x + a, y + b, z + c]) };
            count += 1;
            moment += 1;
        }
        local += 1;
    }
    table
}

/// A derivative that is made of ones of lower order: `x_axis from + factor before`.
#[derive(Clone, Copy)]
struct Derivative {
    to: usize,
    axis: usize,
    from: usize,
    factor: usize,
    before: usize,
}

/// Returns the number of derivatives that are made of others at an order.
const fn derivatives(order: usize) -> usize {
    let (mut count, mut n) = (0, 1);
    while n <= order {
        count += (n + 1) * (n + 2) / 2 * (order - n + 1);
        n += 1;
    }
    count
}

/// The number of functions of which derivatives are made: `f`, `f' / r`, ...
pub(crate) const FUNCTIONS: usize = HIGHEST_ORDER + 1;

/// Returns the table of derivatives of an order, with the component at a place of the function
/// `m` in row `m`: `d/dx f_m = x f_(m+1)`, so that `D_(c+1) f_m = x D_c f_(m+1) + c D_(c-1)
/// f_(m+1)` (McMurchie & Davidson 1978, Journal of Computational Physics 26, 218).
const fn table_of_derivatives<const COUNT: usize>(order: usize) -> [Derivative; COUNT] {
    let mut table = [Derivative { to: 0, axis: 0, from: 0, factor: 0, before: 0 }; COUNT];
    let (mut count, mut component) = (0, 1);
    while component < components(order) {
        let all = powers(component);
        let n = all[0] + all[1] + all[2];
        // An axis along which the second term is zero, where there is one.
        let mut axis = 0;
        while axis < 3 && all[axis] != 1 {
            axis += 1;
        }
        if axis == 3 {
            axis = 0;
            while all[axis] == 0 {
                axis += 1;
            }
        }
        let mut lower = all;
        lower[axis] -= 1;
        let factor = lower[axis];
        let mut lowest = lower;
        if factor > 0 {
            lowest[axis] -= 1;
        }
        let mut function = 0;
        while function <= order - n {
            let next = (function + 1) * MAX_COMPONENTS;
            table[count] = Derivative {
                to: function * MAX_COMPONENTS + component,
                axis,
                from: next + place(lower),
                factor,
                before: next + place(lowest),
            };
            count += 1;
            function += 1;
        }
        component += 1;
    }
    table
}

/// A term of a shift along an axis: `to` gets the multiple of `from` by the power of the shift over
/// its factorial.
#[derive(Clone, Copy)]
struct Shift {
    to: usize,
    from: usize,
    power: usize,
}

/// Returns the number of terms of a shift along one axis.
const fn shifts(order: usize) -> usize {
    let (mut count, mut n) = (0, 0);
    while n < order {
        count += (n + 1) * (n + 2) / 2 * (order - n);
        n += 1;
    }
    count
}

/// Returns the terms of a shift of a local expansion along an axis, those of lower components
/// first, so that the shift can be made in place. Turned round they are those of moments.
const fn table_of_shifts<const COUNT: usize>(order: usize, axis: usize) -> [Shift; COUNT] {
    let mut table = [Shift { to: 0, from: 0, power: 0 }; COUNT];
    let (mut count, mut to) = (0, 0);
    while to < components(order) {
        let all = powers(to);
        let mut power = 1;
        while all[0] + all[1] + all[2] + power <= order {
            let mut from = all;
            from[axis] += power;
            table[count] = Shift { to, from: place(from), power };
            count += 1;
            power += 1;
        }
        to += 1;
    }
    table
}

/// Returns the terms of the shifts that give the potential and its first derivatives at a point:
/// along x of components with at most one power of it, then along y, then along z.
const fn table_of_values<const COUNT: usize>(order: usize, axis: usize) -> [Shift; COUNT] {
    let mut table = [Shift { to: 0, from: 0, power: 0 }; COUNT];
    let (mut count, mut to) = (0, 0);
    while to < components(order) {
        let all = powers(to);
        if is_kept(all, axis) {
            let mut power = 1;
            while all[0] + all[1] + all[2] + power <= order {
                let mut from = all;
                from[axis] += power;
                table[count] = Shift { to, from: place(from), power };
                count += 1;
                power += 1;
            }
        }
        to += 1;
    }
    table
}

/// Whether a component is still needed after the shift along an axis, where only those of the
/// orders 0 and 1 are in the end.
const fn is_kept(all: [usize; 3], axis: usize) -> bool {
    let (mut sum, mut k) = (0, 0);
    while k <= axis {
        sum += all[k];
        k += 1;
    }
    sum <= 1
}

/// Returns the number of terms of [`table_of_values`].
const fn values(order: usize, axis: usize) -> usize {
    let (mut count, mut to) = (0, 0);
    while to < components(order) {
        let all = powers(to);
        if is_kept(all, axis) {
            count += order - (all[0] + all[1] + all[2]);
        }
        to += 1;
    }
    count
}

/// A component of `y^a`, made of one of lower order.
#[derive(Clone, Copy)]
struct Monomial {
    to: usize,
    from: usize,
    axis: usize,
}

/// The monomials of all orders; the first is 1.
const MONOMIALS: [Monomial; MAX_COMPONENTS] = {
    let mut table = [Monomial { to: 0, from: 0, axis: 0 }; MAX_COMPONENTS];
    let mut to = 1;
    while to < MAX_COMPONENTS {
        let mut lower = powers(to);
        let mut axis = 0;
        while lower[axis] == 0 {
            axis += 1;
        }
        lower[axis] -= 1;
        table[to] = Monomial { to, from: place(lower), axis };
        to += 1;
    }
    table
};

/// Returns the terms of a shift in the reverse order.
const fn reversed<const COUNT: usize>(table: [Shift; COUNT]) -> [Shift; COUNT] {
    let (mut turned, mut place) = (table, 0);
    while place < COUNT {
        turned[place] = table[COUNT - 1 - place];
        place += 1;
    }
    turned
}

/// Does the same for each of the first steps of a table. Where the lanes say so, the steps are
/// constants in a line; elsewhere that would only take the compiler's time.
macro_rules! each {
    ($lanes:ty, $step:ident: $type:ident in $table:ident[$count:literal] => $body:block) => {
        if <$lanes>::UNROLLS {
            seq!(I in 0..$count {
                if I < $table.len() {
                    #[allow(non_upper_case_globals)]
                    const $step: $type = $table[if I < $table.len() { I } else { 0 }];
                    $body
                }
            });
        } else {
            for $step in $table.into_iter().take($count) $body
        }
    };
}

/// Calls a macro with an order, its components, and the lengths of its tables.
macro_rules! by_order {
    ($order:expr, $call:ident) => {
        match $order {
            2 => $call!(2, 10, 28, 12, 5),
            3 => $call!(3, 20, 84, 31, 15),
            4 => $call!(4, 35, 210, 65, 35),
            5 => $call!(5, 56, 462, 120, 70),
            _ => $call!(6, 84, 924, 203, 126),
        }
    };
}

/// Does as [`by_order`] does, also for the orders of powers of softenings.
macro_rules! by_any_order {
    ($order:expr, $call:ident) => {
        match $order {
            0 => $call!(0, 1, 1, 0, 0),
            1 => $call!(1, 4, 7, 3, 1),
            order => by_order!(order, $call),
        }
    };
}

#[inline(always)]
fn number<L: Lanes>(value: f64) -> L {
    L::splat(L::Element::from_f64(value))
}

/// Returns the derivatives up to an order of the softened inverse distance at `r`, whose softened
/// distance has this inverse.
#[inline(always)]
pub fn derivatives_at<L: Lanes, const ORDER: usize>(r: [L; 3], inverse: L) -> Tensors<L> {
    let all = derivatives_of_functions::<L, ORDER>(r, inverse);
    let mut tensors = [number(0.0); MAX_COMPONENTS];
    tensors[..components(ORDER)].copy_from_slice(&all[..components(ORDER)]);
    tensors
}

/// Returns the derivatives of the functions `f`, `f' / r`, ... one behind the other, each up to one
/// order less than the one before it.
#[inline(always)]
pub(crate) fn derivatives_of_functions<L: Lanes, const ORDER: usize>(
    r: [L; 3],
    inverse: L,
) -> [L; FUNCTIONS * MAX_COMPONENTS] {
    let zero = number::<L>(0.0);
    let mut all = [zero; FUNCTIONS * MAX_COMPONENTS];
    let inverse2 = inverse * inverse;
    let mut function = inverse;
    for m in 0..=ORDER {
        all[m * MAX_COMPONENTS] = function;
        function = function * (inverse2 * number(-((2 * m + 1) as f64)));
    }
    macro_rules! unroll {
        ($order:literal, $components:literal, $products:literal, $derivatives:literal, $shifts:literal) => {{
            const TABLE: [Derivative; $derivatives] = table_of_derivatives($order);
            const { assert!($derivatives == derivatives($order)) };
            each!(L, step: Derivative in TABLE[$derivatives] => {
                all[step.to] = match step.factor {
                    0 => r[step.axis] * all[step.from],
                    1 => r[step.axis].mul_add(all[step.from], all[step.before]),
                    factor => r[step.axis].mul_add(all[step.from], all[step.before] * number(factor as f64)),
                };
            });
        }};
    }
    by_order!(ORDER, unroll);
    all
}

/// Adds the products of moments and derivatives to a local expansion. Without `DIPOLE`, moments of
/// the first order are zero.
#[inline(always)]
pub fn add_products<L: Lanes, const ORDER: usize, const DIPOLE: bool>(
    moments: &Tensors<L>,
    derivatives: &Tensors<L>,
    local: &mut Tensors<L>,
) {
    macro_rules! unroll {
        ($order:literal, $components:literal, $products:literal, $derivatives:literal, $shifts:literal) => {{
            const TABLE: [Product; $products] = table_of_products($order);
            const { assert!($products == products($order)) };
            each!(L, step: Product in TABLE[$products] => {
                if DIPOLE || step.moment == 0 || step.moment > 3 {
                    local[step.local] =
                        moments[step.moment].mul_add(derivatives[step.derivative], local[step.local]);
                }
            });
        }};
    }
    by_any_order!(ORDER, unroll);
}

/// Returns the powers of a shift over their factorials.
#[inline(always)]
pub(crate) fn powers_of<L: Lanes>(shift: L) -> [L; FUNCTIONS] {
    let mut all = [number(1.0); FUNCTIONS];
    for power in 1..FUNCTIONS {
        all[power] = all[power - 1] * (shift * number(1.0 / power as f64));
    }
    all
}

/// Shifts the centre of a local expansion by this much.
#[inline(always)]
pub fn shift_local<L: Lanes, const ORDER: usize>(shift: [L; 3], local: &mut Tensors<L>) {
    macro_rules! unroll {
        ($order:literal, $components:literal, $products:literal, $derivatives:literal, $shifts:literal) => {{
            const { assert!($shifts == shifts($order)) };
            seq!(AXIS in 0..3 {{
                const TABLE: [Shift; $shifts] = table_of_shifts($order, AXIS);
                let powers = powers_of(shift[AXIS]);
                each!(L, step: Shift in TABLE[$shifts] => {
                    local[step.to] = powers[step.power].mul_add(local[step.from], local[step.to]);
                });
            }});
        }};
    }
    by_any_order!(ORDER, unroll);
}

/// Shifts the centre of moments by this much.
#[inline(always)]
pub fn shift_moments<L: Lanes, const ORDER: usize>(shift: [L; 3], moments: &mut Tensors<L>) {
    macro_rules! unroll {
        ($order:literal, $components:literal, $products:literal, $derivatives:literal, $shifts:literal) => {{
            seq!(AXIS in 0..3 {{
                const TABLE: [Shift; $shifts] = reversed(table_of_shifts($order, AXIS));
                let powers = powers_of(shift[AXIS]);
                each!(L, step: Shift in TABLE[$shifts] => {
                    moments[step.from] = powers[step.power].mul_add(moments[step.to], moments[step.from]);
                });
            }});
        }};
    }
    by_any_order!(ORDER, unroll);
}

/// Adds sources at these distances from a centre to the sums of `m (-y)^a`, which are moments once
/// they are divided by `a!`.
#[inline(always)]
pub fn add_source<L: Lanes, const ORDER: usize>(mass: L, y: [L; 3], sums: &mut Tensors<L>) {
    let zero = number::<L>(0.0);
    let minus = [zero - y[0], zero - y[1], zero - y[2]];
    let mut monomials = [mass; MAX_COMPONENTS];
    macro_rules! unroll {
        ($order:literal, $components:literal, $products:literal, $derivatives:literal, $shifts:literal) => {{
            sums[0] = sums[0] + mass;
            each!(L, step: Monomial in MONOMIALS[$components] => {
                if step.to > 0 {
                    monomials[step.to] = monomials[step.from] * minus[step.axis];
                    sums[step.to] = sums[step.to] + monomials[step.to];
                }
            });
        }};
    }
    by_any_order!(ORDER, unroll);
}

/// Returns the potential, with its sign turned, and the acceleration that a local expansion has at
/// these distances from its centre.
#[inline(always)]
pub fn values_at<L: Lanes, const ORDER: usize>(x: [L; 3], mut local: Tensors<L>) -> [L; 4] {
    macro_rules! unroll_axis {
        ($order:literal, $axis:literal) => {{
            const COUNT: usize = values($order, $axis);
            const TABLE: [Shift; COUNT] = table_of_values($order, $axis);
            let powers = powers_of(x[$axis]);
            // No order has more terms along an axis.
            const { assert!(COUNT <= 91) };
            each!(L, step: Shift in TABLE[91] => {
                local[step.to] = powers[step.power].mul_add(local[step.from], local[step.to]);
            });
        }};
    }
    macro_rules! unroll {
        ($order:literal, $components:literal, $products:literal, $derivatives:literal, $shifts:literal) => {{
            unroll_axis!($order, 0);
            unroll_axis!($order, 1);
            unroll_axis!($order, 2);
        }};
    }
    by_order!(ORDER, unroll);
    [local[0], local[1], local[2], local[3]]
}
