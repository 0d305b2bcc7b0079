//! Where bodies are some time after their last steps. The scheme's own prediction has other last digits and
//! takes several times as long.

use kyoho_laws::simd::in_longest_vectors;

use super::lanes::{LANES, Lanes, Number};
use crate::body::{Body, DERIVATIVES, Vector};
use crate::hermite::scheme::{MOST, Scheme};

/// Positions, velocities and their derivatives by the time.
type Rows<T> = [[T; 3]; 2 + DERIVATIVES];

/// Returns where a body is after a time, with as many derivatives of its velocity as go into a force.
pub fn moved(scheme: &Scheme, body: &Body, time: f64) -> [Vector; MOST] {
    by_order(scheme, &rows(body), time)
}

/// Bodies that are looked at together.
pub struct Together {
    rows: Rows<Lanes>,
    since: Lanes,
}

impl Together {
    /// Takes some, at most [`LANES`], with the times since their last steps. The first one stands in the
    /// places of those that are missing.
    pub fn of<'a>(bodies: impl Iterator<Item = (&'a Body, f64)>) -> Together {
        let mut together = Together { rows: [[Lanes::ZERO; 3]; 2 + DERIVATIVES], since: Lanes::ZERO };
        let mut lanes = 0;
        for (body, since) in bodies.take(LANES) {
            together.since.0[lanes] = since;
            let from = rows(body);
            for (into, from) in together.rows.as_flattened_mut().iter_mut().zip(from.as_flattened()) {
                into.0[lanes] = *from;
            }
            lanes += 1;
        }
        let missing = |lanes_of: &mut Lanes| {
            let [first, ..] = lanes_of.0;
            lanes_of.0[lanes..].fill(first);
        };
        together.rows.as_flattened_mut().iter_mut().for_each(missing);
        missing(&mut together.since);
        together
    }

    /// Returns where they are a time later, with derivatives as of [`moved`].
    #[inline(never)]
    pub fn after(&self, scheme: &Scheme, time: f64) -> [[Lanes; 3]; MOST] {
        in_longest_vectors(
            #[inline(always)]
            || by_order(scheme, &self.rows, self.since + Lanes::of(time)),
        )
    }
}

fn rows(body: &Body) -> Rows<f64> {
    let mut rows = [[0.0; 3]; 2 + DERIVATIVES];
    (rows[0], rows[1]) = (body.position, body.velocity);
    rows[2..].copy_from_slice(&body.derivatives);
    rows
}

#[inline(always)]
fn by_order<T: Number>(scheme: &Scheme, rows: &Rows<T>, time: T) -> [[T; 3]; MOST] {
    match scheme.order() {
        4 => after::<T, 4>(rows, time),
        6 => after::<T, 6>(rows, time),
        _ => after::<T, 8>(rows, time),
    }
}

#[inline(always)]
fn after<T: Number, const ORDER: usize>(rows: &Rows<T>, time: T) -> [[T; 3]; MOST] {
    const INVERSES: [f64; 8] = [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0, 1.0 / 6.0, 1.0 / 7.0, 1.0 / 8.0];
    let times = INVERSES.map(|inverse| time * T::of(inverse));
    let mut moved = [[T::of(0.0); 3]; MOST];
    for first in 0..MOST {
        // x + t (v + t/2 (a + t/3 (...))), and so on from v, a and the jerk on.
        for place in (first..ORDER).rev() {
            for k in 0..3 {
                moved[first][k] = rows[place][k] + times[place - first] * moved[first][k];
            }
        }
    }
    moved
}
