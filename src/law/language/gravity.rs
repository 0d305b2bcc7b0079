//! The built-in laws as texts, for numbers that they have not, such as `dd`.

use std::ffi::CStr;

use crate::data::Order;

/// Includes a text, with a zero at its end for callers of C.
macro_rules! text {
    ($file:literal) => {
        match CStr::from_bytes_with_nul(concat!(include_str!($file), "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => panic!("a text has no zeros"),
        }
    };
}

const SECOND: &CStr = text!("gravity/order_2.pair");
const FOURTH: &CStr = text!("gravity/order_4.pair");
const SIXTH: &CStr = text!("gravity/order_6.pair");
const EIGHTH: &CStr = text!("gravity/order_8.pair");

/// Returns the text of the full force of an order, with names for each quantity of a sink and a
/// source: `pos`, `vel`, `acc`, `jerk`, `mass`, `id`; the parameter `eps2`; the results `pot`, `acc`,
/// `jerk`, `snap`, `crackle`, and `nearest` and `distance2` from order 4 on.
pub fn gravity(order: Order) -> &'static CStr {
    match order {
        Order::Second => SECOND,
        Order::Fourth => FOURTH,
        Order::Sixth => SIXTH,
        Order::Eighth => EIGHTH,
    }
}
