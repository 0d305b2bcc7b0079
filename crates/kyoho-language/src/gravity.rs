//! The built-in laws as texts, for numbers that they have not, such as `dd`.

use std::ffi::CStr;

use kyoho_core::{Interaction, Order, Result, memory};

use super::fault::WHAT;

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

/// The names of the vectors of a body in the texts.
const VECTORS: [&str; 4] = ["pos", "vel", "acc", "jerk"];
/// The condition under which a source is the sink itself in the texts.
const OWN: &str = "i.id == j.id";

/// Returns the text of the full force of an interaction whose sources are predicted, as a system
/// has it. A sink has `eps2` of its own beside the fields of [`gravity`]. A source has the
/// coefficients of its Taylor series, `c0` to at most `c7`, `mass`, `id`, its `time` and its
/// `address`. Parameters are the time `now`, `predicts` (1, or 0 where sources are as they were
/// written), `nj` (addresses from there on are left out) and `skips` (1 where a sink leaves out the
/// sources with its `id`). The results are those of [`gravity`].
///
/// Where sources have softenings, sinks and sources have half of the squared softening as `eps2`: that
/// of a pair is the sum of both.
pub fn gravity_of_system(interaction: &Interaction, softenings: bool) -> Result<String> {
    let Interaction { order, n_coefficients, n_derivatives, .. } = *interaction;
    let law = gravity(order).to_str().unwrap_or("");
    let (head, body) = law.split_once("\nbody\n").unwrap_or((law, ""));
    let results = head.find("\nresult").map_or("", |place| &head[place..]);
    let vectors = &VECTORS[..n_derivatives];
    let mut text = String::new();
    let mut add = |more: &str| memory::append(&mut text, more, WHAT);
    add(&format!("pair gravity_{}_of_system\ni ", order as i32))?;
    vectors.iter().try_for_each(|name| add(&format!("{name}: vec3<f64>, ")))?;
    add("id: i32, eps2: f64\nj ")?;
    (0..n_coefficients).try_for_each(|k| add(&format!("c{k}: vec3<f64>, ")))?;
    add("mass: f64, id: i32, time: f64, address: i32")?;
    add(if softenings { ", eps2: f64\n" } else { "\n" })?;
    add("param now: f64, predicts: i32, nj: i32, skips: i32")?;
    add(results)?;
    add("\nbody\n  skip if j.address >= nj\n  dt = select(predicts != 0, now - j.time, 0)\n")?;
    for (derivative, name) in vectors.iter().enumerate() {
        // The q-th derivative of `dt^k` is `k (k - 1) ... (k - q + 1) dt^(k - q)`.
        let term = |k: usize| match (k + 1 - derivative..=k).product::<usize>() {
            1 => format!("j.c{k}"),
            factor => format!("{factor} * j.c{k}"),
        };
        let series = (derivative..n_coefficients - 1)
            .rev()
            .fold(term(n_coefficients - 1), |value, k| format!("dt * ({value}) + {}", term(k)));
        add(&format!("  {name}_j = {series}\n"))?;
    }
    let softening2 = if softenings { "(i.eps2 + j.eps2)" } else { "i.eps2" };
    let skip = format!("skip if skips != 0 && {OWN}");
    let mut body = replaced(&replaced(body, &format!("skip if {OWN}"), &skip)?, "eps2", softening2)?;
    for name in vectors {
        body = replaced(&body, &format!("j.{name}"), &format!("{name}_j"))?;
    }
    add(&body)?;
    Ok(text)
}

/// Returns a text with some words in the place of others.
fn replaced(text: &str, words: &str, others: &str) -> Result<String> {
    let (mut new, mut end) = (String::new(), 0);
    for (place, _) in text.match_indices(words) {
        memory::append(&mut new, &text[end..place], WHAT)?;
        memory::append(&mut new, others, WHAT)?;
        end = place + words.len();
    }
    memory::append(&mut new, &text[end..], WHAT)?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, compile};
    use kyoho_core::Precision;
    use kyoho_laws::catalogue::interaction;

    #[test]
    fn the_text_of_a_system_has_the_pairs_of_the_law() {
        for order in Order::ALL {
            let interaction = interaction(order, Precision::Quad).unwrap();
            let text = gravity_of_system(&interaction, false).unwrap();
            let options = Options { in_double_double: true, plain: false };
            let of_system = compile(&text, options).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            let law = compile(&gravity(order).to_string_lossy(), options).unwrap();
            let results = |of: &crate::PairProgram| -> Vec<String> {
                of.results.iter().map(|result| result.name.clone()).collect()
            };
            assert_eq!(results(&of_system), results(&law));
            assert_eq!(of_system.fields[1].len(), interaction.n_coefficients + 4);
            assert!(!text.contains("j.pos") && !text.contains("j.vel"), "{text}");
        }
    }

    #[test]
    fn a_pair_has_softenings_of_both_in_every_order() {
        for order in Order::ALL {
            let interaction = interaction(order, Precision::Double).unwrap();
            let text = gravity_of_system(&interaction, true).unwrap();
            let list = compile(&text, Options::default()).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            assert!(list.fields.iter().all(|fields| fields.iter().any(|field| field.name == "eps2")));
            assert_eq!(list.fields[1].len(), interaction.n_coefficients + 5);
            assert!(text.contains("s2 = r2 + (i.eps2 + j.eps2)"), "{text}");
        }
    }
}
