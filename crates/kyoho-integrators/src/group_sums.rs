//! Forces on bodies by one group of others after another.

use kyoho_core::{Forces, Order, Result, memory};
use kyoho_ranks::SharedSystem;

use super::body::Body;
use super::groups::Groups;

const WHAT: &str = "the bodies of a group";

/// Sums the forces of order 2 by each group in turn on those of `sinks` bodies, at the places that
/// `place` returns, which feel it. `take` gets the number of such a sink, the group, and the forces with
/// the row that the sink has in them.
pub fn sum_by_groups(
    system: &mut SharedSystem,
    (groups, gravity): (&Groups, f64),
    bodies: &[Body],
    (sinks, place): (usize, impl Fn(usize) -> usize + Sync),
    mut take: impl FnMut(usize, usize, (&Forces, usize)),
) -> Result<()> {
    let (mut sources, mut chosen) = (Vec::new(), Vec::new());
    // Other ranks may have bodies of a group of which this one has none.
    let may_skip = !system.keeps_own_bodies();
    for group in 0..groups.count() {
        sources.clear();
        memory::reserve(&mut sources, bodies.len(), WHAT)?;
        sources.extend((0..bodies.len()).filter(|body| groups.of(*body) == group && bodies[*body].mass != 0.0));
        if sources.is_empty() && may_skip {
            continue;
        }
        let source = |address: usize| bodies[sources[address]].source(Order::Second, sources[address], gravity, 0.0);
        system.set_sources(sources.len(), source)?;
        system.keep_sources_below(sources.len())?;
        // The sinks of a tree share a softening.
        for own in (0..groups.count()).filter(|own| groups.feels(*own, group)) {
            chosen.clear();
            memory::reserve(&mut chosen, sinks, WHAT)?;
            chosen.extend((0..sinks).filter(|sink| groups.of(place(*sink)) == own));
            if chosen.is_empty() && may_skip {
                continue;
            }
            let softening = groups.between(own, group);
            let sink = |row: usize| bodies[place(chosen[row])].sink(place(chosen[row]), softening);
            system.start_from_fn(sources.len(), true, chosen.len(), sink)?;
            let forces = system.wait()?;
            chosen.iter().enumerate().for_each(|(row, sink)| take(*sink, group, (&forces, row)));
        }
    }
    Ok(())
}
