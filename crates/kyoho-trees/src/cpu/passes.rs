//! The trees of a call, and the two passes through the cells of its sinks.

use crate::criterion::{self, FIRST_CUT};
use kyoho_core::{BufferPool, Pooled, Result};
use kyoho_hal::threads::Threads;
use kyoho_laws::expansion::MAX_COMPONENTS;
use kyoho_laws::simd::expansions::{Expansions, Kind, Number, Tests};
use kyoho_laws::softened_expansion::MAX_TERMS;

use super::first_pass::Coarse;
use super::octree::Octree;
use super::on_device::DeviceCells;
use super::second_pass::Walk;
use super::sinks::{self, Extent, Softenings};
use super::sources::{Sources, Spread, TreeUnits};
use super::sums::{Alike, Counts, Points, Settings, TreeSums, gathered, put_back, sorted};
use super::walk;

/// The cells that a thread takes at a time.
const PIECE: usize = 1 << 12;

/// The trees of the sources and of the sinks, which may be one.
pub struct Trees {
    /// The tree of the sources.
    pub of_sources: Octree,
    /// The tree of the sinks, if it is another one.
    pub of_sinks: Option<Octree>,
}

/// What the passes of a call read.
pub struct Passes<E: Number> {
    /// The sources.
    pub sources: Sources<E>,
    /// The loops over expansions.
    pub expansions: Box<dyn Expansions<E>>,
    /// The tree of the sinks with their coordinates, if it is another one than that of the sources.
    own: Option<(Octree, [Pooled<f64>; 3])>,
    /// The cells of sinks.
    pub extents: Pooled<Extent>,
    softenings: Softenings,
    /// How forces are computed.
    pub settings: Settings,
    /// The cells of sources that a walk begins with.
    pub roots: Vec<u32>,
    /// The acceleration of each sink by the first pass, or of its leaf, and its derivatives.
    accelerations: Pooled<[f64; 2]>,
}

/// The distances and errors at which a pass accepts expansions.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest sum of two radii over the distance.
    pub cut: f64,
    /// The least squared distance.
    pub least2: f64,
    /// The largest one, but for small cells ([`criterion::FAR_SUM4`]), and the factor for these.
    pub most2: f64,
    /// See `most2`.
    pub far_sum4: f64,
    /// The squared softening of all pairs, in the units of the tree; 0 where each body has its own.
    pub softening2: f64,
}

/// Returns the coordinates of sinks in the order of their tree, times a factor.
fn gathered_sinks(tree: &Octree, sinks: &Points, factor: f64, on: (&Threads, &BufferPool)) -> Result<[Pooled<f64>; 3]> {
    let [x, y, z, _] = gathered(&tree.order, on, |body| {
        let [x, y, z] = sinks.positions[body].map(|coordinate| coordinate * factor);
        [x, y, z, 0.0]
    })?;
    Ok([x, y, z])
}

impl Trees {
    /// Makes the trees of sources and sinks.
    pub fn new<E: Number>(with: &TreeSums<E>, sources: Points, sinks: Points) -> Result<Trees> {
        let of_sources = Octree::new(sources.positions, with.threads, with.pool)?;
        // Those that are one array need not be compared.
        let is_one = std::ptr::eq(sinks.positions, sources.positions);
        let is_same = is_one || sinks.positions == sources.positions;
        let of_sinks = if is_same { None } else { Some(Octree::new(sinks.positions, with.threads, with.pool)?) };
        Ok(Trees { of_sources, of_sinks })
    }

    /// Returns what the units of the tree of sources follow from.
    pub fn spread(&self, masses: &[f64], threads: &Threads) -> Result<Spread> {
        Spread::new(&self.of_sources, masses, threads)
    }
}

impl<E: Number> Passes<E> {
    /// Makes the moments of the cells of sources, and the extents of those of sinks, unless a device has
    /// made both.
    pub fn new(
        with: &TreeSums<E>,
        trees: Trees,
        (sources, sinks): (Points, Points),
        settings: &Settings,
        (spread, units): (&Spread, TreeUnits),
        of_device: Option<DeviceCells<E>>,
    ) -> Result<Passes<E>> {
        let on = (with.threads, with.pool);
        let has_negative = spread.has_negative != 0;
        let mut of_sources = Sources::<E>::new(trees.of_sources, units, has_negative);
        let has_own = !sources.softenings2.is_empty();
        if has_own {
            let factor = units.length * units.length;
            of_sources.softenings2 = sorted(&of_sources.tree.order, on, (sources.softenings2, factor))?;
        }
        let kind = match has_negative || units.has_tiny_cells {
            _ if has_own => Kind::Softened,
            true => Kind::WithDipoles,
            false => Kind::Plain,
        };
        let expansions = E::expansions(settings.level, settings.order, kind);
        let extents = match of_device {
            None => {
                of_sources.gather(&sources, on)?;
                of_sources.expand(&*expansions, settings.criterion, sources.positions, on)?;
                None
            }
            Some(DeviceCells { records, moments, extents }) => {
                (of_sources.records, of_sources.moments) = (records, moments);
                Some(extents)
            }
        };
        let own = match trees.of_sinks {
            None => None,
            Some(tree) if extents.is_some() => Some((tree, Default::default())),
            Some(tree) => {
                let positions = gathered_sinks(&tree, &sinks, units.length, on)?;
                Some((tree, positions))
            }
        };
        let (sink_tree, positions) = match &own {
            None => (&of_sources.tree, &of_sources.positions),
            Some((tree, positions)) => (tree, positions),
        };
        let made = || sinks::extents::<E>(sink_tree, positions, &units, on);
        let mut extents = extents.map_or_else(made, Ok)?;
        let softenings = match has_own {
            true => Softenings::new(sink_tree, on, (sinks.softenings2, units.length * units.length))?,
            false => Softenings::default(),
        };
        softenings.refuse_wide(&mut extents, &units);
        let accelerations = with.pool.unwritten(sinks.positions.len(), [0.0; 2], "accelerations of sinks")?;
        let roots = kyoho_core::memory::collected((0..1).take(of_sources.tree.cells.len()), "roots of trees")?;
        let settings = *settings;
        Ok(Passes { sources: of_sources, expansions, own, extents, softenings, settings, roots, accelerations })
    }

    /// Puts the bodies into the order of their trees, where a device had them so far.
    pub fn gather(&mut self, with: &TreeSums<E>, (sources, sinks): (Points, Points)) -> Result<()> {
        let on = (with.threads, with.pool);
        self.sources.gather(&sources, on)?;
        if let Some((tree, positions)) = self.own.as_mut().filter(|(_, [x, ..])| x.is_empty()) {
            *positions = gathered_sinks(tree, &sinks, self.sources.units.length, on)?;
        }
        Ok(())
    }

    /// Returns the tree of the sinks, and their coordinates in sorted order.
    pub fn sinks(&self) -> (&Octree, &[Pooled<f64>; 3]) {
        match &self.own {
            None => (&self.sources.tree, &self.sources.positions),
            Some((tree, positions)) => (tree, positions),
        }
    }

    /// Whether the sinks have the tree of the sources.
    pub fn is_one_tree(&self) -> bool {
        self.own.is_none()
    }

    /// Returns the acceleration of a sink by the first pass.
    pub fn acceleration(&self, sink: usize) -> f64 {
        self.accelerations[sink][0]
    }

    /// Returns the limits of the first pass.
    pub fn first_limits(&self) -> Limits {
        // It has the first derivatives alone.
        let (most2, far_sum4) = (f64::INFINITY, criterion::FAR_SUM4);
        Limits { cut: FIRST_CUT, least2: self.sources.units.least2, most2, far_sum4, softening2: self.softening2() }
    }

    /// Returns the limits of the second pass.
    pub fn limits(&self) -> Limits {
        let order = self.settings.order;
        let (of_order, most2) = match size_of::<E>() {
            4 => (criterion::least_s2(order), criterion::most_s2(order)),
            _ => (0.0, f64::INFINITY),
        };
        let (least2, far_sum4) = (self.sources.units.least2.max(of_order), criterion::FAR_SUM4);
        Limits { cut: self.settings.cut(), least2, most2, far_sum4, softening2: self.softening2() }
    }

    /// Returns the squared softening of all pairs in the units of the tree.
    fn softening2(&self) -> f64 {
        if self.softenings.are_own() {
            return 0.0;
        }
        let length = self.sources.units.length;
        self.settings.softening2 * length * length
    }

    fn tests(&self, limits: Limits) -> Tests<E> {
        Tests {
            softening2: E::from_f64(limits.softening2),
            cut2: E::from_f64(limits.cut * limits.cut),
            least2: E::from_f64(limits.least2),
            most2: E::from_f64(limits.most2),
            far_sum4: E::from_f64(limits.far_sum4),
            most_spread: E::from_f64(self.settings.most_spread()),
            by_angle: self.settings.is_by_angle(),
        }
    }

    /// Finds how large the accelerations of the sinks are.
    pub fn first(&mut self, with: &TreeSums<E>) -> Result<()> {
        let mut accelerations = std::mem::take(&mut self.accelerations);
        let variation = self.settings.variation();
        let (tree, positions) = self.sinks();
        let coarse = Coarse {
            sources: &self.sources,
            expansions: &*self.expansions,
            tree,
            extents: &self.extents,
            positions,
            softenings: &self.softenings,
            tests: self.tests(self.first_limits()),
            variation,
        };
        walk::walk(&coarse, tree, &self.roots, &mut accelerations, with.threads)?;
        let tree = match &self.own {
            None => &self.sources.tree,
            Some((tree, _)) => tree,
        };
        sinks::set_accelerations(tree, &mut self.extents, &accelerations, variation, with.threads);
        self.accelerations = accelerations;
        Ok(())
    }

    /// Takes the accelerations of sinks, in their sorted order and with zeros behind them, that a device
    /// has found, and which cells of sinks it takes for groups: 1 for one, more for a leaf of which each
    /// body is one.
    pub fn take_first(&mut self, threads: &Threads, accelerations: Pooled<[f64; 2]>, groups: &[u32]) {
        let tree = match &self.own {
            None => &self.sources.tree,
            Some((tree, _)) => tree,
        };
        sinks::set_accelerations(tree, &mut self.extents, &accelerations, self.settings.variation(), threads);
        threads.each(self.extents.chunks_mut(PIECE).zip(groups.chunks(PIECE)), |(extents, groups)| {
            for (extent, group) in extents.iter_mut().zip(groups) {
                (extent.is_group, extent.is_split) = (*group == 1, *group > 1);
            }
        });
        self.accelerations = accelerations;
    }

    /// Sums the forces on the sinks, each of which leaves out the source at its place and those of
    /// the same index.
    pub fn second(
        &self,
        with: &TreeSums<E>,
        (places, alike): (&[i32], Option<&Alike>),
        forces: &mut [[f64; 4]],
    ) -> Result<Counts> {
        match self.softenings.are_own() {
            false => self.second_in::<MAX_COMPONENTS>(with, (places, alike), forces),
            true => self.second_in::<MAX_TERMS>(with, (places, alike), forces),
        }
    }

    /// Does as [`Passes::second`] does, with local expansions of so many numbers.
    fn second_in<const TERMS: usize>(
        &self,
        with: &TreeSums<E>,
        (places, alike): (&[i32], Option<&Alike>),
        forces: &mut [[f64; 4]],
    ) -> Result<Counts> {
        let (tree, positions) = self.sinks();
        let limits = self.limits();
        let walk = Walk::<E, TERMS> {
            with,
            sources: &self.sources,
            expansions: &*self.expansions,
            tree,
            extents: &self.extents,
            positions,
            places,
            alike,
            tests: self.tests(limits),
            accelerations: &self.accelerations,
            tolerance: self.settings.tolerance(),
            softening2: limits.softening2,
            softenings: &self.softenings,
        };
        let mut counts = Counts::default();
        let mut sorted = with.pool.unwritten(forces.len(), [0.0; 4], "forces")?;
        for scratch in walk::walk(&walk, tree, &self.roots, &mut sorted, with.threads)? {
            counts.add(&scratch.counts);
        }
        put_back(&tree.order, &sorted, forces, with.threads);
        Ok(counts)
    }
}
