//! Forces by a tree.

use kyoho_core::sinks::SinkScan;
use kyoho_core::{
    BufferPool, Error, Order, Precision, Result, Sink, Source, TreeAccuracy, TreeBlock, TreeProfile, memory, padded,
};
use kyoho_devices::DomainOn;
use kyoho_hal::Backend;
use kyoho_trees::bodies::Bodies;
use kyoho_trees::cpu::domain::DomainForces;

use super::staging::SourcesAt;
use super::{Setup, System};

/// The pairs of the sinks and the sources of all ranks from which on a tree is faster beside GPUs.
const CROSSOVER_OF_RANKS: u64 = 1 << 36;

/// The errors of accelerations by a tree, relative to these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeErrors {
    /// Half of the sinks have at most this.
    pub median: f64,
    /// 90 of 100 sinks have at most this.
    pub percentile_90: f64,
    /// 99 of 100 sinks have at most this.
    pub percentile_99: f64,
    /// The largest.
    pub worst: f64,
}

/// Returns the error that this part of 100 of some errors, which ascend, do not exceed.
pub fn percentile(errors: &[f64], part: usize) -> f64 {
    errors[(errors.len() * part).div_ceil(100).max(1) - 1]
}

impl System {
    /// Sums forces by a tree from now on, or with `None` all pairs. Blocks with few pairs are
    /// summed directly all the same: a constant of the devices says from where on a tree is faster.
    ///
    /// Only systems of order 2 have trees. All sinks of a block have to have the same softening,
    /// unless sources have softenings.
    pub fn set_tree(&mut self, tree: Option<TreeAccuracy>) -> Result<()> {
        if tree.is_some() {
            self.require_order_of_trees()?;
            if self.has_softenings() {
                self.require_softened_tree(tree)?;
            }
        }
        self.tree = tree;
        Ok(())
    }

    /// Fails unless the system's order has trees.
    pub fn require_order_of_trees(&self) -> Result<()> {
        if self.interaction.order == Order::Second && !self.interaction.has_low_limbs() {
            return Ok(());
        }
        Err(Error::Unsupported {
            backend: self.setup().backend.name(),
            forces: format!("trees of {}", self.interaction.name()),
            allowed: "order 2 in single, mixed, double".into(),
        })
    }

    /// Whether the first device may have bodies that no other one has: where it is the only one, or
    /// sums forces by a tree, for which it asks the others itself.
    pub(super) fn first_has_all(&self) -> bool {
        self.setup().devices.len() == 1 || self.tree.is_some()
    }

    /// Returns the accuracy of forces by a tree, if they are summed by one.
    pub fn tree(&self) -> Option<TreeAccuracy> {
        self.tree
    }

    /// Sets the number of pairs of a block from which on its forces are summed by a tree; `None`
    /// for the constant of the devices.
    pub fn set_tree_crossover(&mut self, pairs: Option<u64>) {
        self.tree_crossover = pairs;
    }

    /// Returns the number of pairs of a block from which on its forces are summed by a tree, if one
    /// is asked for.
    pub fn tree_crossover(&self) -> u64 {
        self.tree_crossover.unwrap_or_else(|| self.devices.tree_crossover())
    }

    /// Does as [`System::tree_crossover`] does where ranks sum by a tree together, which takes longer
    /// beside GPUs.
    pub fn tree_crossover_of_ranks(&self) -> u64 {
        let of_devices = || match self.setup().backend {
            Backend::Cpu => self.devices.tree_crossover(),
            _ => CROSSOVER_OF_RANKS,
        };
        self.tree_crossover.unwrap_or_else(of_devices)
    }

    /// Returns what [`System::set_tree`] and [`System::set_tree_crossover`] were given.
    pub fn tree_as_set(&self) -> (Option<TreeAccuracy>, Option<u64>) {
        (self.tree, self.tree_crossover)
    }

    /// Measures the phases of forces by a tree from now on, or no longer, and returns those of the
    /// last block, if they were measured. They are waited for one by one, so that the whole takes
    /// longer. There has to have been a block by a tree.
    pub fn profile_trees(&mut self, wanted: bool) -> TreeProfile {
        self.devices.profile_trees(wanted)
    }

    /// Returns the accuracy of forces of this many pairs, if they are summed by a tree.
    pub(super) fn tree_of_pairs(&self, pairs: u64) -> Option<TreeAccuracy> {
        self.tree.filter(|_| pairs >= self.tree_crossover())
    }

    /// Returns what the candidates, with this many pairs and this summary, ask of a tree. All have
    /// to have the same softening, unless sources have softenings.
    pub(super) fn tree_of_candidates(&self, pairs: u64, scan: &SinkScan) -> Result<Option<TreeBlock>> {
        let Some(accuracy) = self.tree_of_pairs(pairs) else { return Ok(None) };
        if self.has_softenings() {
            return Ok(Some(TreeBlock { accuracy, softening2: 0.0, are_sources: None }));
        }
        let sinks = self.candidates.all();
        let at = |number: usize| sinks.with::<1, false>(number).softening2;
        let first = if sinks.is_empty() { 0.0 } else { at(0) };
        let [least, largest] = scan.softening2;
        let other = if least < largest { (0..sinks.len()).find(|number| at(*number) != first) } else { None };
        match other {
            None => Ok(Some(TreeBlock { accuracy, softening2: first, are_sources: None })),
            Some(number) => Err(Error::BadOption {
                name: format!("the squared softening of sink {number} with a tree"),
                value: format!("{:e}", at(number)),
                allowed: format!("that of sink 0, {first:e}"),
            }),
        }
    }

    /// Computes the forces on some sinks as [`System::force`] does, and returns the errors of the
    /// accelerations of some of them, evenly chosen, against direct sums in double precision, which
    /// the CPU makes whatever the backend and the precision of the system are.
    pub fn tree_errors(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        sinks: &[Sink],
        samples: usize,
    ) -> Result<TreeErrors> {
        let none =
            || Error::BadCount { what: "the number of samples", value: 0, allowed: "1 and more, of sinks".into() };
        let samples = samples.min(sinks.len());
        if samples == 0 {
            return Err(none());
        }
        let chosen = |sample: usize| sample * sinks.len() / samples;
        const WHAT: &str = "accelerations of samples";
        let forces = self.force(nj, skip_own_index, sinks.iter().copied())?;
        let by_tree = memory::collected((0..samples).map(|sample| forces.acceleration(chosen(sample))), WHAT)?;
        let mut reference = self.reference(nj)?;
        let count = reference.statistics().sources as usize;
        let sampled = (0..samples).map(|sample| sinks[chosen(sample)]);
        let direct = reference.force(count, skip_own_index, sampled)?;
        let error = |(sample, tree): (usize, &[f64; 3])| {
            let direct = direct.acceleration(sample);
            let difference: f64 = (0..3).map(|k| (tree[k] - direct[k]).powi(2)).sum();
            let length: f64 = direct.iter().map(|component| component * component).sum();
            if difference == 0.0 { 0.0 } else { (difference / length).sqrt() }
        };
        let mut errors = memory::collected(by_tree.iter().enumerate().map(error), WHAT)?;
        errors.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| percentile(&errors, part);
        Ok(TreeErrors { median: at(50), percentile_90: at(90), percentile_99: at(99), worst: at(100) })
    }

    /// Returns the sources at addresses below `nj` as they were written.
    pub fn bodies_below(&mut self, nj: usize, pool: &BufferPool) -> Result<Bodies> {
        if let SourcesAt::DeviceAndCopies(count) = self.sources_at() {
            let copies = self.staged_sources.bodies();
            let body = |address: usize| (copies.vector(0, address), copies.mass(address), copies.index(address));
            return Bodies::first(count.min(nj), body, (&self.threads, pool));
        }
        self.fetch_sources()?;
        self.journal.flush_to_host()?;
        Bodies::sources(self.journal.sources(), nj, (&self.threads, pool))
    }

    /// Returns where this rank sums forces that ranks sum by a tree together: by its first device.
    pub fn domain_on(&self) -> DomainOn {
        let Setup { threads, level, backend, ref devices, fall_back, .. } = *self.setup();
        ((threads, level), (backend, devices.first().copied().unwrap_or(0)), fall_back)
    }

    /// Returns what this rank does of such forces.
    pub fn domain(&self) -> Result<Box<dyn DomainForces>> {
        kyoho_devices::domain(&self.interaction, self.domain_on())
    }

    /// Counts a block of this many sinks and pairs that was summed by such a domain.
    pub fn count_block_of_domain(&mut self, sinks: usize, pairs: u64) {
        self.statistics.blocks += 1;
        self.statistics.sinks += sinks as u64;
        self.statistics.interactions += pairs;
    }

    /// Returns a system with the sources at addresses below `nj` as they were written, which the
    /// CPU sums directly in double precision.
    fn reference(&mut self, nj: usize) -> Result<System> {
        let bodies = self.bodies_below(nj, &BufferPool::default())?;
        let mut reference = System::new(&Setup {
            precision: Precision::Double,
            backend: Backend::Cpu,
            devices: vec![0],
            shape: None,
            partition: None,
            ..self.setup().clone()
        })?;
        let source = |body: usize| {
            let coefficients = padded([bodies.positions[body]]);
            Source { index: bodies.indices[body], mass: bodies.masses[body], time: 0.0, coefficients }
        };
        if !self.has_softenings() {
            reference.set_sources(bodies.positions.len(), source)?;
            return Ok(reference);
        }
        reference.prepare_softenings(true, 0)?;
        for (body, half) in bodies.softenings2.iter().enumerate() {
            reference.set_softened_source(body, &source(body), 2.0 * half)?;
        }
        Ok(reference)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::setup;
    use super::*;

    #[test]
    fn errors_are_those_against_direct_sums_in_double_precision() {
        const COUNT: usize = 1500;
        // Far from the origin numbers of single precision cannot tell where bodies are.
        let at = |body: usize| {
            let turn = 2.4 * body as f64;
            let radius = (1.0 + body as f64 % 31.0) / 31.0;
            [1e5 + radius * turn.cos(), 1e5 + radius * turn.sin(), 1e5 + (body % 17) as f64 / 17.0]
        };
        let source = |body: usize| Source::from_derivatives(body as i32, 1.0 / COUNT as f64, 0.0, [at(body)]);
        let sinks: Vec<Sink> = (0..COUNT)
            .map(|body| Sink { index: body as i32, softening2: 1e-6, derivatives: padded([at(body)]), ..Sink::NOTHING })
            .collect();
        for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
            let mut system = System::new(&Setup { order: Order::Second, precision, ..setup() }).unwrap();
            system.set_sources(COUNT, source).unwrap();
            system.set_tree(Some(TreeAccuracy::Error(1e-3))).unwrap();
            system.set_tree_crossover(Some(0));
            let errors = system.tree_errors(COUNT, true, &sinks, 500).unwrap();
            assert!(errors.median > 0.0 && errors.worst < 2e-2, "{}: {errors:?}", precision.name());
            // Summed directly, single precision is all wrong there, and says so.
            system.set_tree_crossover(Some(u64::MAX));
            let errors = system.tree_errors(COUNT, true, &sinks, 500).unwrap();
            let [least, most] = if precision == Precision::Single { [1e-4, 10.0] } else { [0.0, 1e-4] };
            assert!(errors.median >= least && errors.worst <= most, "{}: {errors:?}", precision.name());
        }
    }
}
