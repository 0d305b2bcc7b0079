//! The bodies as sources.

use kyoho_core::Result;
use kyoho_ranks::SharedSystem;

use crate::body::Body;
use crate::laws::Acting;
use crate::plan::Plan;

use super::Hermite;
use super::grouped::{GroupSystems, Grouped};
use super::subsystems::Subsystems;

impl Hermite {
    /// Writes the bodies that are sources, all at the start of the interval.
    pub(super) fn send_all(&mut self) -> Result<()> {
        let sources = self.numbering.sources();
        self.subsystems.as_mut().map_or(Ok(()), |subsystems| subsystems.see_all(&self.moving))?;
        self.write_to_laws(0..sources, 0.0)?;
        let is_for_device = self.is_for_device()?;
        let (moving, subsystems) = (&self.moving, self.subsystems.as_ref());
        let source_at = |number: usize| (number, index(subsystems, number), &moving[number].body, 0.0);
        if !self.grouped.is_one() {
            self.group_systems.write(&self.grouped, &self.plan, sources, source_at)?;
            return self.group_systems.keep_sources(&self.grouped);
        }
        if is_for_device {
            // It takes them whole, where blocks of the host send what has changed.
            let Plan { order, gravity, .. } = self.plan;
            self.system.set_sources(sources, |number| {
                let (_, index, body, time) = source_at(number);
                body.source(order, index, gravity, time)
            })?;
        } else {
            write(&mut self.system, &self.plan, sources, source_at)?;
        }
        self.system.keep_sources_below(sources)
    }

    /// Writes those of ascending numbers that are sources, at a time.
    pub(super) fn write_sources(&mut self, numbers: &[usize], time: f64) -> Result<()> {
        // Sources come first.
        let written = numbers.partition_point(|number| *number < self.numbering.sources());
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.see(&self.moving, numbers.iter().copied())?;
        }
        self.write_to_laws(numbers[..written].iter().copied(), time)?;
        let (moving, subsystems) = (&self.moving, self.subsystems.as_ref());
        let source_at = |place: usize| {
            let number = numbers[place];
            (number, index(subsystems, number), &moving[number].body, time)
        };
        let systems = (&mut self.system, &mut self.group_systems);
        write_grouped(systems, (&self.grouped, &self.plan), written, source_at)
    }

    /// Writes sources with these numbers at a time to the laws.
    fn write_to_laws(&mut self, numbers: impl ExactSizeIterator<Item = usize> + Clone, time: f64) -> Result<()> {
        let (moving, numbering) = (&self.moving, &self.numbering);
        let source = |number: usize| Acting { place: numbering.place(number), body: &moving[number].body, time };
        self.laws.write(numbering.sources(), numbers, source)
    }
}

/// Returns the index of a source, which is that of its subsystem's centre for hidden members.
pub(super) fn index(subsystems: Option<&Subsystems>, number: usize) -> usize {
    subsystems.map_or(number, |subsystems| subsystems.index(number))
}

/// Does what [`write`] does, to the systems of groups where there are several.
pub(super) fn write_grouped<'a>(
    (system, group_systems): (&mut SharedSystem, &mut GroupSystems),
    (grouped, plan): (&Grouped, &Plan),
    count: usize,
    source_at: impl Fn(usize) -> (usize, usize, &'a Body, f64) + Sync,
) -> Result<()> {
    if grouped.is_one() {
        write(system, plan, count, source_at)
    } else {
        group_systems.write(grouped, plan, count, source_at)
    }
}

/// Writes bodies at their times as sources, each to an address and with an index, by several threads if
/// they are many.
pub(super) fn write<'a>(
    system: &mut SharedSystem,
    plan: &Plan,
    count: usize,
    source_at: impl Fn(usize) -> (usize, usize, &'a Body, f64) + Sync,
) -> Result<()> {
    let Plan { order, gravity, .. } = *plan;
    if system.interaction().has_low_limbs() {
        return (0..count).try_for_each(|place| {
            let (number, index, body, time) = source_at(place);
            system.set_quad_source(number, &body.quad_source(index, gravity, time))
        });
    }
    let source = |place: usize| {
        let (_, index, body, time) = source_at(place);
        body.source(order, index, gravity, time)
    };
    system.write(count, |place| source_at(place).0, source)
}
