//! Bodies in groups: the systems that have the sources of each group, and the sums of their forces.

use std::sync::Arc;

use kyoho_core::{Error, Forces, Interaction, Nearest, Result, Sink, memory};
use kyoho_ranks::SharedSystem;

use crate::body::Body;
use crate::groups::{Groups, MOST_GROUPS};
use crate::numbering::Numbering;
use crate::plan::Plan;

use super::sources::write;

const WHAT: &str = "the groups of bodies";

/// The groups of bodies by their numbers. There are none where all bodies are as of one group.
#[derive(Debug, Default)]
pub struct Grouped {
    groups: Option<Groups>,
    /// The first of the groups whose bodies are summed together with those of each.
    leaders: [u8; MOST_GROUPS],
    /// The group of each number.
    of_numbers: Vec<u8>,
    /// The address of each source in the system of its group.
    addresses: Vec<u32>,
    /// The number of sources of each group.
    sources: [usize; MOST_GROUPS],
}

impl Grouped {
    /// Groups bodies in this way from now on.
    pub fn set(&mut self, groups: Option<Groups>) {
        let leaders = groups.as_ref().map_or_else(Default::default, Groups::leaders);
        *self = Grouped { groups, leaders, ..Grouped::default() };
    }

    /// Whether all bodies are as of one group.
    pub fn is_one(&self) -> bool {
        self.groups.is_none()
    }

    /// Follows numbers of bodies.
    pub fn number(&mut self, numbering: &Numbering, bodies: usize) -> Result<()> {
        let Some(groups) = &self.groups else { return Ok(()) };
        self.of_numbers.clear();
        self.addresses.clear();
        self.sources = [0; MOST_GROUPS];
        memory::reserve(&mut self.of_numbers, bodies, WHAT)?;
        memory::reserve(&mut self.addresses, bodies, WHAT)?;
        for number in 0..bodies {
            let group = groups.of(numbering.place(number));
            self.of_numbers.push(group as u8);
            self.addresses.push(self.sources[group] as u32);
            self.sources[group] += usize::from(number < numbering.sources());
        }
        Ok(())
    }

    /// Returns the softening length of the pair of two numbers.
    #[inline]
    pub fn softening(&self, plan: &Plan, [one, other]: [usize; 2]) -> f64 {
        match &self.groups {
            None => plan.softening,
            Some(groups) => groups.between(self.of_numbers[one].into(), self.of_numbers[other].into()),
        }
    }

    /// Returns the softening length of the pair of a number with the source that is nearest to it.
    #[inline]
    pub fn softening_of_nearest(&self, plan: &Plan, number: usize, nearest: Option<Nearest>) -> f64 {
        match nearest {
            Some(nearest) if !self.is_one() => self.softening(plan, [number, nearest.index as usize]),
            _ => plan.softening,
        }
    }

    /// Whether two numbers feel one another.
    pub fn feel_both(&self, [one, other]: [usize; 2]) -> bool {
        self.groups.as_ref().is_none_or(|groups| {
            let [one, other] = [one, other].map(|number| usize::from(self.of_numbers[number]));
            groups.feels(one, other) && groups.feels(other, one)
        })
    }
}

/// The systems of groups, one for the sources of each.
#[derive(Default)]
pub struct GroupSystems {
    systems: Vec<SharedSystem>,
    /// The places among sinks, or among written bodies, that concern a group.
    chosen: Vec<usize>,
    values: Vec<f64>,
    nearest: Vec<Nearest>,
    interaction: Option<Arc<Interaction>>,
}

impl GroupSystems {
    /// Sees to it that there is a system for each of so many groups, as this one is.
    pub fn make(&mut self, count: usize, like: &SharedSystem) -> Result<()> {
        while self.systems.len() < count {
            memory::push(&mut self.systems, SharedSystem::new(like.setup(), like.team())?, WHAT)?;
        }
        self.interaction = Some(like.interaction().clone());
        Ok(())
    }

    /// Returns the pairs that were summed.
    pub fn interactions(&self) -> u64 {
        self.systems.iter().map(|system| system.statistics().interactions).sum()
    }

    /// Writes bodies at their times as sources, each to the system of its group and with an index.
    pub fn write<'a>(
        &mut self,
        grouped: &Grouped,
        plan: &Plan,
        count: usize,
        source_at: impl Fn(usize) -> (usize, usize, &'a Body, f64) + Sync,
    ) -> Result<()> {
        for (group, system) in self.systems.iter_mut().enumerate() {
            self.chosen.clear();
            memory::reserve(&mut self.chosen, count, WHAT)?;
            self.chosen
                .extend((0..count).filter(|place| usize::from(grouped.of_numbers[source_at(*place).0]) == group));
            let chosen = &self.chosen;
            write(system, plan, chosen.len(), |place| {
                let (number, index, body, time) = source_at(chosen[place]);
                (grouped.addresses[number] as usize, index, body, time)
            })?;
        }
        Ok(())
    }

    /// Forgets the sources beyond those that there are.
    pub fn keep_sources(&mut self, grouped: &Grouped) -> Result<()> {
        let mut systems = self.systems.iter_mut().zip(grouped.sources);
        systems.try_for_each(|(system, sources)| system.keep_sources_below(sources))
    }

    /// Sums the forces at a time on these numbers, each made a sink from its place among them, by the
    /// groups that each feels.
    pub fn sum(
        &mut self,
        grouped: &Grouped,
        time: f64,
        numbers: &[usize],
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Result<Forces<'_>> {
        let (Some(groups), Some(interaction)) = (&grouped.groups, &self.interaction) else {
            return self.forces();
        };
        let (n_sums, with_nearest) = (interaction.n_sums(), interaction.nearest);
        self.values.clear();
        self.nearest.clear();
        memory::lengthen(&mut self.values, numbers.len() * n_sums, WHAT, || 0.0)?;
        memory::lengthen(&mut self.nearest, if with_nearest { numbers.len() } else { 0 }, WHAT, || Nearest::NONE)?;
        for (group, system) in self.systems.iter_mut().enumerate().filter(|(group, _)| grouped.sources[*group] > 0) {
            system.set_time(time)?;
            for leader in (0..groups.count()).filter(|own| groups.feels(*own, group)) {
                let own = |place: usize| usize::from(grouped.of_numbers[numbers[place]]);
                self.chosen.clear();
                memory::reserve(&mut self.chosen, numbers.len(), WHAT)?;
                let is_led = |place: &usize| usize::from(grouped.leaders[own(*place)]) == leader;
                self.chosen.extend((0..numbers.len()).filter(is_led));
                if self.chosen.is_empty() {
                    continue;
                }
                let chosen = &self.chosen;
                system.start_from_fn(grouped.sources[group], true, chosen.len(), |row| {
                    let place = chosen[row];
                    Sink { softening2: groups.between(own(place), group).powi(2), ..sink(place) }
                })?;
                add(&system.wait()?, chosen, &mut self.values, &mut self.nearest);
            }
        }
        self.forces()
    }

    /// Returns the last sums once more.
    pub fn forces(&self) -> Result<Forces<'_>> {
        let none = || Error::Internal { what: "there are no systems of groups".into() };
        let interaction = self.interaction.as_ref().ok_or_else(none)?;
        Ok(Forces { interaction, values: &self.values, nearest: &self.nearest })
    }
}

/// Adds the forces on some of the sinks to their sums, and keeps the nearest source of each.
fn add(forces: &Forces, chosen: &[usize], values: &mut [f64], nearest: &mut [Nearest]) {
    let n_sums = forces.interaction.n_sums();
    for (row, &place) in chosen.iter().enumerate() {
        let sums = &mut values[place * n_sums..][..n_sums];
        sums.iter_mut().zip(&forces.values[row * n_sums..]).for_each(|(sum, value)| *sum += value);
        let (Some(found), Some(nearest)) = (forces.nearest(row), nearest.get_mut(place)) else { continue };
        if (found.distance2, found.index) < (nearest.distance2, nearest.index) {
            *nearest = found;
        }
    }
}
