//! Forces by a tree.

use crate::data::sinks::SinkScan;
use crate::data::{Error, Forces, Order, Result, Sink, TreeAccuracy, TreeBlock, TreeProfile, memory};

use super::System;

/// The relative errors of accelerations by a tree.
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

impl System {
    /// Sums forces by a tree from now on, or with `None` all pairs. Blocks with few pairs are
    /// summed directly all the same: a constant of the devices says from where on a tree is faster.
    ///
    /// Only systems of order 2 have trees. All sinks of a block have to have the same softening.
    pub fn set_tree(&mut self, tree: Option<TreeAccuracy>) -> Result<()> {
        if tree.is_some() {
            self.require_order_of_trees()?;
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
    /// to have the same softening.
    pub(super) fn tree_of_candidates(&self, pairs: u64, scan: &SinkScan) -> Result<Option<TreeBlock>> {
        let Some(accuracy) = self.tree_of_pairs(pairs) else { return Ok(None) };
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
    /// accelerations of some of them, evenly chosen, against direct sums. Afterwards the last block
    /// is that of the direct sums.
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
        let accelerations = |forces: Forces, places: &dyn Fn(usize) -> usize| -> Result<Vec<[f64; 3]>> {
            memory::collected((0..samples).map(|sample| forces.acceleration(places(sample))), "samples")
        };
        let by_tree = accelerations(self.force(nj, skip_own_index, sinks.iter().copied())?, &chosen)?;
        let crossover = self.tree_crossover.replace(u64::MAX);
        let direct = self.force(nj, skip_own_index, (0..samples).map(|sample| sinks[chosen(sample)]));
        let direct = direct.and_then(|forces| accelerations(forces, &|sample| sample));
        self.tree_crossover = crossover;
        let error = |(tree, direct): (&[f64; 3], &[f64; 3])| {
            let difference: f64 = (0..3).map(|k| (tree[k] - direct[k]).powi(2)).sum();
            let length: f64 = direct.iter().map(|component| component * component).sum();
            if difference == 0.0 { 0.0 } else { (difference / length).sqrt() }
        };
        let direct = direct?;
        let mut errors = memory::collected(by_tree.iter().zip(&direct).map(error), "samples")?;
        errors.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| errors[(samples - 1) * part / 100];
        Ok(TreeErrors { median: at(50), percentile_90: at(90), percentile_99: at(99), worst: at(100) })
    }
}
