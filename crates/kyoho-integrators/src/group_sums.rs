//! Forces on bodies by one group of others after another.

use kyoho_core::{Error, Forces, Order, Result, memory};
use kyoho_ranks::SharedSystem;

use super::body::Body;
use super::groups::Groups;
use super::softened::{SoftenedBody, SoftenedGravity};

const WHAT: &str = "the bodies of a group";

/// What sums forces of order 2 by groups.
#[derive(Default)]
pub struct GroupSums {
    /// For bodies with softenings of their own; made when it is needed.
    softened: Option<SoftenedGravity>,
    sources: Vec<usize>,
    chosen: Vec<usize>,
}

impl GroupSums {
    /// Returns the pairs that were summed without a system.
    pub fn interactions(&self) -> u64 {
        self.softened.as_ref().map_or(0, SoftenedGravity::interactions)
    }

    /// Sums the forces by each group in turn on those of `sinks` bodies, at the places that `place`
    /// returns, which feel it. `take` gets the number of such a sink, the group, and the forces with the row
    /// that the sink has in them. Groups that are alike are summed as the first of them, where bodies have
    /// softenings of their own.
    pub fn sum(
        &mut self,
        system: &mut SharedSystem,
        (groups, gravity): (&Groups, f64),
        bodies: &[Body],
        (sinks, place): (usize, impl Fn(usize) -> usize + Sync),
        mut take: impl FnMut(usize, usize, (&Forces, usize)),
    ) -> Result<()> {
        let alike = if groups.has_own_softenings() { Some(groups.alike()) } else { None };
        let holder = |group: usize| alike.map_or(group, |alike| alike[group].into());
        // Other ranks may have bodies of a group of which this one has none.
        let may_skip = !system.keeps_own_bodies();
        for group in 0..groups.count() {
            let acts = |body: usize| holder(groups.of(body)) == group && bodies[body].mass != 0.0;
            choose(&mut self.sources, bodies.len(), acts)?;
            if self.sources.is_empty() && may_skip {
                continue;
            }
            if alike.is_some() {
                choose(&mut self.chosen, sinks, |sink| groups.feels(groups.of(place(sink)), group))?;
                let chosen = &self.chosen;
                let (made, sinks) = (&mut self.softened, (chosen.len(), |row: usize| place(chosen[row])));
                let forces = softened(made, system, (groups, gravity), (bodies, &self.sources), sinks)?;
                chosen.iter().enumerate().for_each(|(row, sink)| take(*sink, group, (&forces, row)));
                continue;
            }
            let sources = &self.sources;
            let source =
                |address: usize| bodies[sources[address]].source(Order::Second, sources[address], gravity, 0.0);
            system.set_sources(sources.len(), source)?;
            system.keep_sources_below(sources.len())?;
            // The sinks of a tree share a softening.
            for own in (0..groups.count()).filter(|own| groups.feels(*own, group)) {
                choose(&mut self.chosen, sinks, |sink| groups.of(place(sink)) == own)?;
                let chosen = &self.chosen;
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
}

/// Returns the forces by bodies at the places `sources` on chosen sinks, with the softenings of both, on the
/// machine of a system.
fn softened<'a>(
    gravity_of: &'a mut Option<SoftenedGravity>,
    system: &SharedSystem,
    (groups, gravity): (&Groups, f64),
    (bodies, sources): (&[Body], &[usize]),
    (sinks, place): (usize, impl Fn(usize) -> usize),
) -> Result<Forces<'a>> {
    if gravity_of.is_none() {
        *gravity_of = Some(SoftenedGravity::new(system.setup())?.by_tree(system.tree_as_set())?);
    }
    let none = || Error::Internal { what: "softened gravity was not made".into() };
    let softened = gravity_of.as_mut().ok_or_else(none)?;
    let softening = |body: usize| groups.softening_of(groups.member(body));
    let source =
        |number: usize| SoftenedBody { number, body: &bodies[number], time: 0.0, softening: softening(number) };
    softened.write(gravity, sources.iter().map(|number| source(*number)).enumerate())?;
    let sink = |number: usize| bodies[number].sink(number, softening(number));
    softened.sum(0.0, sources.len(), (0..sinks).map(|row| sink(place(row))))
}

/// Chooses places among so many.
pub fn choose(chosen: &mut Vec<usize>, count: usize, is_wanted: impl Fn(usize) -> bool) -> Result<()> {
    chosen.clear();
    memory::reserve(chosen, count, WHAT)?;
    chosen.extend((0..count).filter(|place| is_wanted(*place)));
    Ok(())
}
