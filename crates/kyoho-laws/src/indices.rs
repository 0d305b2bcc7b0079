//! Multi-indices: the components of symmetric tensors, and the products that an expansion is made
//! of. A component stands behind all of lower orders; within an order those with more of x, then
//! with more of y, come first.

/// Returns the number of components up to an order.
pub const fn components(order: usize) -> usize {
    (order + 1) * (order + 2) * (order + 3) / 6
}

/// Returns the place of a component.
pub const fn place([x, y, z]: [usize; 3]) -> usize {
    let (order, without_x) = (x + y + z, y + z);
    let before = if order == 0 { 0 } else { components(order - 1) };
    before + without_x * (without_x + 1) / 2 + z
}

/// Returns the powers of x, y and z of the component at a place.
pub const fn powers(place: usize) -> [usize; 3] {
    let mut order = 0;
    while components(order) <= place {
        order += 1;
    }
    let mut rest = if order == 0 { 0 } else { place - components(order - 1) };
    let mut without_x = 0;
    while rest > without_x {
        rest -= without_x + 1;
        without_x += 1;
    }
    [order - without_x, without_x - rest, rest]
}

/// Returns `a! b! c!`.
pub const fn factorial([x, y, z]: [usize; 3]) -> f64 {
    let (mut product, mut k) = (1.0, 0);
    let powers = [x, y, z];
    while k < 3 {
        let mut factor = 2;
        while factor <= powers[k] {
            product *= factor as f64;
            factor += 1;
        }
        k += 1;
    }
    product
}
