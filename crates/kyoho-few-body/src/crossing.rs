//! Where a function changes its sign, with few evaluations: each is as dear as a step.

/// The width at which a search ends, for brackets of at most 1.
pub const WIDTH: f64 = 1.0 / (1u64 << 50) as f64;

/// Returns the end above 0 of a bracket of [`WIDTH`] in which a function becomes positive. It is not
/// positive at `low`, and positive at `high`; the second pair are its values there. Where `function` returns `None`,
/// the search ends with that place.
///
/// I. F. D. Oliveira, R. H. C. Takahashi, ACM Transactions on Mathematical Software 47 (2020) 5: as few
/// evaluations as a secant where the function is smooth, and one more than bisection at most.
pub fn crossing(
    [mut low, mut high]: [f64; 2],
    [mut at_low, mut at_high]: [f64; 2],
    mut function: impl FnMut(f64) -> Option<f64>,
) -> f64 {
    let slope = 0.2 / (high - low);
    // How far from the middle a place may be, so that the bracket ends in time.
    let mut slack = 0.5 * WIDTH;
    while slack < high - low {
        slack *= 2.0;
    }
    while high - low > WIDTH {
        let middle = 0.5 * (low + high);
        let secant = (at_high * low - at_low * high) / (at_high - at_low);
        let towards = (middle - secant).signum();
        let width = high - low;
        // Far enough that rounding leaves no place on the same side of the root for ever.
        let shift = (slope * width * width).max(0.5 * WIDTH);
        let chosen = if shift <= (middle - secant).abs() { secant + towards * shift } else { middle };
        let reach = (slack - 0.5 * width).max(0.0);
        let near = if (chosen - middle).abs() <= reach { chosen } else { middle - towards * reach };
        // Where values are no numbers, the middle will do.
        let place = if near > low && near < high { near } else { middle };
        if place <= low || place >= high {
            break;
        }
        match function(place) {
            None => return place,
            Some(value) if value > 0.0 => (high, at_high) = (place, value),
            Some(value) => (low, at_low) = (place, value),
        }
        slack *= 0.5;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns where a function crosses 0 between 0 and 1, and the number of evaluations.
    fn found(function: impl Fn(f64) -> f64) -> (f64, usize) {
        let mut count = 0;
        let place = crossing([0.0, 1.0], [function(0.0), function(1.0)], |place| {
            count += 1;
            Some(function(place))
        });
        assert!(function(place) > 0.0 && function(place - WIDTH) <= 0.0);
        (place, count)
    }

    #[test]
    fn smooth_functions_take_few_evaluations_and_others_no_more_than_bisection() {
        type Function<'a> = &'a dyn Fn(f64) -> f64;
        for root in [1e-9, 0.1, 0.5, 0.73, 1.0 - 1e-9] {
            let smooth: [Function; 3] =
                [&|x| x - root, &|x| (x * x - root * root) * (2.0 - x), &|x| (3.0 * (x - root)).exp() - 1.0];
            let rough: [Function; 2] = [&|x| if x > root { 1.0 } else { -1e-30 }, &|x| (x - root).powi(9)];
            for function in smooth {
                let (place, count) = found(function);
                assert!((place - root).abs() <= 2.0 * WIDTH, "{root}: {place}");
                // Near an end of the bracket a function may be curved on its scale.
                assert!(count <= if root > 0.01 { 16 } else { 52 }, "{root}: {count}");
            }
            assert!(rough.into_iter().all(|function| found(function).1 <= 52), "{root}");
        }
    }

    #[test]
    fn a_search_ends_where_the_function_says_so() {
        assert_eq!(crossing([0.0, 1.0], [-1.0, 1.0], |place| (place < 0.4).then_some(-1.0)), 0.5);
    }
}
