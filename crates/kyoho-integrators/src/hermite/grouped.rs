//! Bodies in groups: what has the sources of each group, and the sums of their forces.

use std::sync::Arc;

use kyoho_core::{Error, Forces, Interaction, Nearest, Result, Sink, memory};
use kyoho_methods::block_steps::{self, StepGroups};
use kyoho_ranks::SharedSystem;

use crate::body::Body;
use crate::group_sums::choose;
use crate::groups::{Groups, MOST_GROUPS, Member, pair_of};
use crate::numbering::Numbering;
use crate::plan::Plan;
use crate::softened::{SoftenedBody, SoftenedGravity};

use super::sources::write;

const WHAT: &str = "the groups of bodies";

/// The groups of bodies by their numbers. There are none where all bodies are as of one group.
#[derive(Debug, Default)]
pub struct Grouped {
    groups: Option<Groups>,
    /// The first of the groups whose bodies are summed together with those of each.
    leaders: [u8; MOST_GROUPS],
    /// Whether bodies have softenings of their own.
    has_own: bool,
    /// The group with whose sources those of each are kept: its own one, and with softenings of bodies the
    /// first one that is alike.
    holders: [u8; MOST_GROUPS],
    /// What each number has of groups.
    of_numbers: Vec<Member>,
    /// The address of each source among those of its holder.
    addresses: Vec<u32>,
    /// The number of sources of each holder.
    sources: [usize; MOST_GROUPS],
    /// The groups that have bodies, with a bit for each.
    used: u16,
}

impl Grouped {
    /// Groups bodies in this way from now on.
    pub fn set(&mut self, groups: Option<Groups>) {
        let leaders = groups.as_ref().map_or_else(Default::default, Groups::leaders);
        let has_own = groups.as_ref().is_some_and(Groups::has_own_softenings);
        let alike = groups.as_ref().filter(|_| has_own).map(Groups::alike);
        let holders = alike.unwrap_or_else(|| std::array::from_fn(|group| group as u8));
        *self = Grouped { groups, leaders, has_own, holders, ..Grouped::default() };
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
        self.used = 0;
        memory::reserve(&mut self.of_numbers, bodies, WHAT)?;
        memory::reserve(&mut self.addresses, bodies, WHAT)?;
        for number in 0..bodies {
            let member = groups.member(numbering.place(number));
            let holder = usize::from(self.holders[usize::from(member.group)]);
            self.of_numbers.push(member);
            self.used |= 1 << member.group;
            self.addresses.push(self.sources[holder] as u32);
            self.sources[holder] += usize::from(number < numbering.sources());
        }
        Ok(())
    }

    /// Returns the groups of numbers as a device has them, of bodies that have a plan, of which the first
    /// ones are sources.
    pub fn on_device(&self, plan: &Plan, sources: usize) -> Result<StepGroups> {
        let Some(groups) = &self.groups else {
            return StepGroups::one(plan.softening * plan.softening, sources);
        };
        let has_sources = |group: &usize| self.sources[*group] > 0;
        let with_sources = || self.used().filter(has_sources);
        let ordered = || with_sources().chain(self.used().filter(|group| !has_sources(group)));
        let mut rows = [0; MOST_GROUPS];
        let mut step_groups = StepGroups {
            count: self.used().count(),
            softenings2: Default::default(),
            sources: memory::collected(with_sources().map(|group| self.sources[group]), WHAT)?,
            places: memory::room(self.of_numbers.len(), WHAT)?,
        };
        for (row, own) in ordered().enumerate() {
            rows[own] = row;
            for (column, group) in with_sources().enumerate() {
                step_groups.softenings2[row][column] = groups.between(own, group).powi(2);
            }
        }
        let first = memory::collected(step_groups.first_addresses(), WHAT)?;
        let members = self.of_numbers.iter().zip(&self.addresses).enumerate();
        step_groups.places.extend(members.map(|(number, (member, address))| {
            let row = rows[usize::from(member.group)];
            [row as i32, if number < sources { first[row] as i32 + *address as i32 } else { -1 }]
        }));
        Ok(step_groups)
    }

    /// Whether a device knows the groups: few, without softenings of bodies, each of which feels all, so
    /// that the host sums them together too.
    pub fn is_for_device(&self) -> bool {
        let Some(groups) = &self.groups else { return true };
        let leader = self.used().next().map(|first| self.leaders[first]);
        let is_alike =
            |own: usize| Some(self.leaders[own]) == leader && self.used().all(|group| groups.feels(own, group));
        !self.has_own && self.used().count() <= block_steps::MOST_GROUPS && self.used().all(is_alike)
    }

    /// Returns the groups that have bodies.
    fn used(&self) -> impl Iterator<Item = usize> {
        (0..MOST_GROUPS).filter(|group| self.used >> group & 1 == 1)
    }

    /// Returns the group of a number.
    fn group(&self, number: usize) -> usize {
        self.of_numbers[number].group.into()
    }

    /// Returns the group with whose sources a number is kept.
    fn holder(&self, number: usize) -> usize {
        self.holders[self.group(number)].into()
    }

    /// Returns the softening length of the pair of two numbers.
    #[inline]
    pub fn softening(&self, plan: &Plan, [one, other]: [usize; 2]) -> f64 {
        match &self.groups {
            None => plan.softening,
            Some(groups) => {
                let [one, other] = [one, other].map(|number| groups.softening_of(self.of_numbers[number]));
                pair_of(one, other)
            }
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
            let [one, other] = [one, other].map(|number| self.group(number));
            groups.feels(one, other) && groups.feels(other, one)
        })
    }
}

/// The systems of groups, one for the sources of each, and what has their sources where bodies have
/// softenings of their own.
#[derive(Default)]
pub struct GroupSystems {
    systems: Vec<SharedSystem>,
    softened: Vec<SoftenedGravity>,
    /// The places among sinks, or among written bodies, that concern a group.
    chosen: Vec<usize>,
    values: Vec<f64>,
    nearest: Vec<Nearest>,
    interaction: Option<Arc<Interaction>>,
}

impl GroupSystems {
    /// Sees to it that there is what has the sources of these groups, on the machine of a system.
    pub fn make(&mut self, groups: &Groups, like: &SharedSystem) -> Result<()> {
        self.interaction = Some(like.interaction().clone());
        if groups.has_own_softenings() {
            let last = groups.alike()[..groups.count()].iter().copied().max().unwrap_or(0);
            while self.softened.len() <= last.into() {
                memory::push(&mut self.softened, SoftenedGravity::new(like.setup())?, WHAT)?;
            }
            return Ok(());
        }
        while self.systems.len() < groups.count() {
            memory::push(&mut self.systems, SharedSystem::new(like.setup(), like.team())?, WHAT)?;
        }
        self.share_devices(like.sharers());
        Ok(())
    }

    /// Takes one of this many shares of the devices.
    pub fn share_devices(&mut self, sharers: usize) {
        self.systems.iter_mut().for_each(|system| system.share_devices(sharers));
    }

    /// Returns the pairs that were summed.
    pub fn interactions(&self) -> u64 {
        let of_systems = self.systems.iter().map(|system| system.statistics().interactions);
        of_systems.chain(self.softened.iter().map(SoftenedGravity::interactions)).sum()
    }

    /// Writes bodies at their times as sources, each to those of its group and with an index.
    pub fn write<'a>(
        &mut self,
        grouped: &Grouped,
        plan: &Plan,
        count: usize,
        source_at: impl Fn(usize) -> (usize, usize, &'a Body, f64) + Sync,
    ) -> Result<()> {
        let holders = if grouped.has_own { self.softened.len() } else { self.systems.len() };
        for holder in (0..holders).filter(|holder| grouped.sources.get(*holder).is_some_and(|count| *count > 0)) {
            choose(&mut self.chosen, count, |place| grouped.holder(source_at(place).0) == holder)?;
            let chosen = &self.chosen;
            let address = |place: usize| grouped.addresses[source_at(chosen[place]).0] as usize;
            if grouped.has_own {
                let Some(groups) = &grouped.groups else { continue };
                let source = |place: usize| {
                    let (number, _, body, time) = source_at(chosen[place]);
                    SoftenedBody { number, body, time, softening: groups.softening_of(grouped.of_numbers[number]) }
                };
                let sources = (0..chosen.len()).map(|place| (address(place), source(place)));
                self.softened[holder].write(plan.gravity, sources)?;
                continue;
            }
            write(&mut self.systems[holder], plan, chosen.len(), |place| {
                let (_, index, body, time) = source_at(chosen[place]);
                (address(place), index, body, time)
            })?;
        }
        Ok(())
    }

    /// Forgets the sources beyond those that there are.
    pub fn keep_sources(&mut self, grouped: &Grouped) -> Result<()> {
        let mut systems = self.systems.iter_mut().zip(grouped.sources).filter(|_| !grouped.has_own);
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
        if grouped.has_own {
            self.sum_softened((groups, grouped), time, numbers, sink)?;
        } else {
            self.sum_systems((groups, grouped), time, numbers, sink)?;
        }
        self.forces()
    }

    /// Adds the forces by systems of groups.
    fn sum_systems(
        &mut self,
        (groups, grouped): (&Groups, &Grouped),
        time: f64,
        numbers: &[usize],
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Result<()> {
        let own = |place: usize| grouped.group(numbers[place]);
        for (group, system) in self.systems.iter_mut().enumerate().filter(|(group, _)| grouped.sources[*group] > 0) {
            system.set_time(time)?;
            for leader in (0..groups.count()).filter(|own| groups.feels(*own, group)) {
                let is_led = |place: usize| usize::from(grouped.leaders[own(place)]) == leader;
                choose(&mut self.chosen, numbers.len(), is_led)?;
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
        Ok(())
    }

    /// Adds the forces of bodies that have softenings of their own.
    fn sum_softened(
        &mut self,
        (groups, grouped): (&Groups, &Grouped),
        time: f64,
        numbers: &[usize],
        sink: impl Fn(usize) -> Sink,
    ) -> Result<()> {
        for (holder, gravity) in self.softened.iter_mut().enumerate().filter(|(own, _)| grouped.sources[*own] > 0) {
            choose(&mut self.chosen, numbers.len(), |place| groups.feels(grouped.group(numbers[place]), holder))?;
            let chosen = &self.chosen;
            let sinks = chosen.iter().map(|place| {
                let softening = groups.softening_of(grouped.of_numbers[numbers[*place]]);
                Sink { softening2: softening * softening, ..sink(*place) }
            });
            let forces = gravity.sum(time, grouped.sources[holder], sinks)?;
            add(&forces, chosen, &mut self.values, &mut self.nearest);
        }
        Ok(())
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
