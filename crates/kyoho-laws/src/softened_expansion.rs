//! Expansions where each body has its own softening.
//!
//! Half of the squared softening of a source is `E + e`, that of a sink `H + h`, where `E` and `H`
//! are those of their cells. With `f(r, s) = (|r|^2 + s)^(-1/2)` the potential of [`super::expansion`]
//! is then
//!
//! ```text
//! - sum_(b,n) L_bn x^b / b! h^n / n!,    M_an = sum m (-y)^a / a! e^n / n!,
//! L_bn = sum_(a,k) M_ak (d/ds)^(n+k) D_(a+b) f(R, E + H)
//! ```
//!
//! A softening counts as a square of a length: the sums are over `|a| + |b| + 2 (n + k)` up to the
//! order. With `f_0 = f` and `f_(m+1) = f_m' / r`, `df_m / ds` is `f_(m+1) / 2`, so that the
//! derivatives are those of which [`derivatives_at`](super::expansion::derivatives_at) makes its own.
//! Those of a power are an expansion of an order that is less by twice that power.
#![allow(clippy::needless_range_loop)]

use super::expansion::{
    HIGHEST_ORDER, MAX_COMPONENTS, Tensors, add_products, add_source, derivatives_of_functions, powers_of, shift_local,
    shift_moments, values_at,
};
use super::indices::components;
use super::lanes::{Element, Lanes};

/// The powers of a softening in an expansion of the highest order.
pub const POWERS: usize = HIGHEST_ORDER / 2 + 1;
/// The numbers of a softened expansion of the highest order, filled up to a multiple of four.
pub const MAX_TERMS: usize = terms(HIGHEST_ORDER, true).next_multiple_of(4);

/// The tensors of each power: of all, or of the first alone where there are no softenings.
pub type Powers<L, const P: usize = POWERS> = [Tensors<L>; P];

/// Returns the numbers of an expansion, which has powers of softenings or none.
pub const fn terms(order: usize, softened: bool) -> usize {
    if softened { first_term(order, order / 2 + 1) } else { components(order) }
}

/// Returns the number of terms before those of a power.
const fn first_term(order: usize, power: usize) -> usize {
    let (mut count, mut before) = (0, 0);
    while before < power {
        count += components(order - 2 * before);
        before += 1;
    }
    count
}

/// Returns the power of a term, and its place among those of the power. An expansion without powers has
/// all in the first one.
#[inline(always)]
pub const fn place_of_term(order: usize, softened: bool, term: usize) -> (usize, usize) {
    if !softened {
        return (0, term);
    }
    let mut power = 0;
    while power < order / 2 && first_term(order, power + 1) <= term {
        power += 1;
    }
    (power, term - first_term(order, power))
}

#[inline(always)]
fn number<L: Lanes>(value: f64) -> L {
    L::splat(L::Element::from_f64(value))
}

/// Calls a macro with each power, and the order of the tensors that it has.
macro_rules! each_power {
    ($order:expr, $call:ident) => {
        match $order {
            2 => {
                $call!(0, 2);
                $call!(1, 0);
            }
            3 => {
                $call!(0, 3);
                $call!(1, 1);
            }
            4 => {
                $call!(0, 4);
                $call!(1, 2);
                $call!(2, 0);
            }
            5 => {
                $call!(0, 5);
                $call!(1, 3);
                $call!(2, 1);
            }
            _ => {
                $call!(0, 6);
                $call!(1, 4);
                $call!(2, 2);
                $call!(3, 0);
            }
        }
    };
}

/// Returns the tensors of the powers whose terms stand one behind the other.
#[inline(always)]
pub fn divided<L: Lanes, const ORDER: usize, const P: usize>(terms: &[L; MAX_TERMS]) -> Powers<L, P> {
    let mut powers = [[number(0.0); MAX_COMPONENTS]; P];
    macro_rules! divide {
        ($power:literal, $order:literal) => {
            let (first, count) = (first_term(ORDER, $power), components($order));
            powers[$power][..count].copy_from_slice(&terms[first..first + count]);
        };
    }
    each_power!(ORDER, divide);
    powers
}

/// Returns the derivatives by place and softening: those of each power.
#[inline(always)]
pub fn derivatives_by_powers<L: Lanes, const ORDER: usize>(r: [L; 3], inverse: L) -> Powers<L> {
    let all = derivatives_of_functions::<L, ORDER>(r, inverse);
    let mut powers = [[number(0.0); MAX_COMPONENTS]; POWERS];
    macro_rules! take {
        ($power:literal, $order:literal) => {
            for place in 0..components($order) {
                powers[$power][place] = all[$power * MAX_COMPONENTS + place] * number(0.5_f64.powi($power));
            }
        };
    }
    each_power!(ORDER, take);
    powers
}

/// Adds the products of moments and derivatives to a local expansion.
#[inline(always)]
pub fn add_products_by_powers<L: Lanes, const ORDER: usize>(
    moments: &[Tensors<L>],
    derivatives: &[Tensors<L>],
    local: &mut [Tensors<L>],
) {
    macro_rules! add {
        ($power:literal, $order:literal) => {
            // Not a loop, so that the compiler keeps numbers in registers.
            add_products::<L, $order, true>(&moments[$power], &derivatives[$power], &mut local[0]);
            if $power > 0 {
                let before = if $power > 0 { $power - 1 } else { 0 };
                add_products::<L, $order, true>(&moments[before], &derivatives[$power], &mut local[1]);
            }
            if $power > 1 {
                let before = if $power > 1 { $power - 2 } else { 0 };
                add_products::<L, $order, true>(&moments[before], &derivatives[$power], &mut local[2]);
            }
            if $power > 2 {
                add_products::<L, $order, true>(&moments[0], &derivatives[$power], &mut local[3]);
            }
        };
    }
    each_power!(ORDER, add);
}

/// Shifts the centre of a local expansion, by this much in place and in half of a squared softening.
#[inline(always)]
pub fn shift_local_by_powers<L: Lanes, const ORDER: usize>([x, y, z, softening]: [L; 4], local: &mut [Tensors<L>]) {
    let factors = powers_of(softening);
    for to in 0..ORDER / 2 {
        for from in to + 1..=ORDER / 2 {
            for place in 0..components(ORDER - 2 * from) {
                local[to][place] = factors[from - to].mul_add(local[from][place], local[to][place]);
            }
        }
    }
    macro_rules! shift {
        ($power:literal, $order:literal) => {
            shift_local::<L, $order>([x, y, z], &mut local[$power]);
        };
    }
    each_power!(ORDER, shift);
}

/// Shifts the centre of moments, by this much in place and in half of a squared softening, which is
/// that of the former centre from the new one.
#[inline(always)]
pub fn shift_moments_by_powers<L: Lanes, const ORDER: usize>([x, y, z, softening]: [L; 4], moments: &mut [Tensors<L>]) {
    macro_rules! shift {
        ($power:literal, $order:literal) => {
            shift_moments::<L, $order>([x, y, z], &mut moments[$power]);
        };
    }
    each_power!(ORDER, shift);
    let factors = powers_of(softening);
    for to in (1..=ORDER / 2).rev() {
        for from in 0..to {
            for place in 0..components(ORDER - 2 * to) {
                moments[to][place] = factors[to - from].mul_add(moments[from][place], moments[to][place]);
            }
        }
    }
}

/// Adds sources at these distances from a centre to the sums of `m (-y)^a e^n`, which are moments once
/// they are divided by `a! n!`.
#[inline(always)]
pub fn add_source_by_powers<L: Lanes, const ORDER: usize>(
    mass: L,
    [x, y, z, softening]: [L; 4],
    sums: &mut [Tensors<L>],
) {
    let mut weight = mass;
    macro_rules! add {
        ($power:literal, $order:literal) => {
            if $power > 0 {
                weight = weight * softening;
            }
            add_source::<L, $order>(weight, [x, y, z], &mut sums[$power]);
        };
    }
    each_power!(ORDER, add);
}

/// Returns the potential, with its sign turned, and the acceleration that a local expansion has at
/// these distances from its centre, the last of which is that of half of the squared softening.
#[inline(always)]
pub fn values_by_powers<L: Lanes, const ORDER: usize>(
    [x, y, z, softening]: [L; 4],
    local: &mut [Tensors<L>],
) -> [L; 4] {
    let factors = powers_of(softening);
    for from in 1..=ORDER / 2 {
        for place in 0..components(ORDER - 2 * from) {
            local[0][place] = factors[from].mul_add(local[from][place], local[0][place]);
        }
    }
    values_at::<L, ORDER>([x, y, z], local[0])
}
