//! Gravity between bodies each of which has a softening: a system whose sources have softenings.

use kyoho_core::{Forces, Result, Sink, TreeAccuracy};
use kyoho_engine::{QuadSource, Setup, System};
use kyoho_laws::double_double::Double;

use super::body::Body;

/// A body that acts: its number among all, as it was at a time, and its softening.
#[derive(Debug, Clone, Copy)]
pub struct SoftenedBody<'a> {
    /// Its number.
    pub number: usize,
    /// The body.
    pub body: &'a Body,
    /// The time.
    pub time: f64,
    /// Its softening length.
    pub softening: f64,
}

/// Some sources with their softenings, and the sums of their forces.
pub struct SoftenedGravity {
    system: System,
}

impl SoftenedGravity {
    /// Makes what sums these forces as the system of a setup would.
    pub fn new(setup: &Setup) -> Result<SoftenedGravity> {
        let mut system = System::new(setup)?;
        system.prepare_softenings(true, 0)?;
        Ok(SoftenedGravity { system })
    }

    /// Takes forces from a tree as a system does, with its accuracy and the pairs from which on.
    pub fn by_tree(mut self, (tree, crossover): (Option<TreeAccuracy>, Option<u64>)) -> Result<SoftenedGravity> {
        self.system.set_tree(tree)?;
        self.system.set_tree_crossover(crossover);
        Ok(self)
    }

    /// Returns the pairs that were summed.
    pub fn interactions(&self) -> u64 {
        self.system.statistics().interactions
    }

    /// Writes bodies as sources, each to its address.
    pub fn write<'a>(
        &mut self,
        gravity: f64,
        mut sources: impl Iterator<Item = (usize, SoftenedBody<'a>)>,
    ) -> Result<()> {
        let (order, in_limbs) = (self.system.setup().order, self.system.interaction().has_low_limbs());
        sources.try_for_each(|(address, SoftenedBody { number, body, time, softening })| {
            let softening2 = softening * softening;
            if in_limbs {
                let source = body.quad_source(number, gravity, time);
                let softening2 = Double::from_limb(softening2);
                return self.system.set_quad_source(address, &QuadSource { softening2, ..source });
            }
            self.system.set_softened_source(address, &body.source(order, number, gravity, time), softening2)
        })
    }

    /// Sums the forces of the sources at addresses below `sources`, at a time, on sinks with their own
    /// softenings.
    pub fn sum(&mut self, time: f64, sources: usize, sinks: impl Iterator<Item = Sink>) -> Result<Forces<'_>> {
        self.system.set_time(time)?;
        self.system.force(sources, true, sinks)
    }
}
