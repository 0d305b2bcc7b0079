//! What a rank does of forces that ranks sum by a tree together. How they speak is no matter here:
//! what goes from rank to rank are words of 64 bits.

use std::mem::take;
use std::sync::Arc;

use kyoho_core::{BufferPool, Interaction, Level, Pooled, Result, TreeBlock, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::kernel::Kernel;

use super::block::points;
use super::essential::{Essential, Region, Test};
use super::on_device::{DomainDevice, Host, or_cpu};
use super::passes::{Passes, Trees};
use super::sources::{Sources, Spread, TreeUnits};
use super::sums::{Points, Settings, TreeSums};
use crate::accuracy::Method;
use crate::bodies::Bodies;
use crate::criterion::{LEAST_S2, least_s2, most_s2};
use crate::cube::Cube;

/// The name of words in errors about memory.
const WHAT: &str = "words for other ranks";

/// Words for each rank, or of each, one after another.
#[derive(Debug, Default)]
pub struct RankWords {
    /// The words.
    pub words: Pooled<u64>,
    /// The words of each rank.
    pub counts: Vec<usize>,
}

impl RankWords {
    /// Joins the words of each rank.
    pub fn of(parts: &[Vec<u64>]) -> Result<RankWords> {
        let mut words = memory::room(parts.iter().map(Vec::len).sum(), WHAT)?;
        parts.iter().for_each(|part| words.extend_from_slice(part));
        Ok(RankWords { words: words.into(), counts: memory::collected(parts.iter().map(Vec::len), WHAT)? })
    }

    /// Writes the message of each rank's cells.
    fn written<E: Number>(
        chosen: &[Essential],
        (sources, points): (&Sources<E>, &Points),
        stride: usize,
        (threads, pool): Host,
    ) -> Result<RankWords> {
        let counts = memory::collected(chosen.iter().map(|chosen| chosen.words::<E>(stride)), WHAT)?;
        let mut words = pool.unwritten(counts.iter().sum(), 0, WHAT)?;
        let mut rest = &mut words[..];
        for (chosen, count) in chosen.iter().zip(&counts) {
            let message = rest.split_off_mut(..*count).unwrap_or_default();
            chosen.write((sources, points), stride, (message, threads))?;
        }
        Ok(RankWords { words, counts })
    }

    /// Returns the words of each rank.
    pub fn each(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        let mut rest = &self.words[..];
        self.counts.iter().map(move |count| {
            let (words, others) = rest.split_at(*count);
            rest = others;
            words
        })
    }
}

/// The forces of a call on the sinks of a domain, step by step, in the order of the functions. Between
/// two steps ranks exchange what the first one returns.
pub trait DomainForces: Send {
    /// Makes the trees of sources and sinks, which are the sources where they are none, and returns what
    /// the units of all ranks follow from. The cube holds the bodies of all ranks. Flags: whether sinks
    /// leave out sources with their index, and whether each source of all ranks is known to have another
    /// one.
    fn begin(
        &mut self,
        bodies: (Bodies, Option<Bodies>),
        cube: &Cube,
        asked: TreeBlock,
        flags: (bool, bool),
    ) -> Result<Spread>;
    /// Makes the moments, and returns where the sinks are, as about so many regions at most.
    fn expand(&mut self, spread: &Spread, most: usize) -> Result<Vec<Region>>;
    /// Returns the cells for the first pass of each rank, in whose regions sinks are.
    fn cells_for_first(&mut self, rank: usize, regions: &[&[Region]]) -> Result<RankWords>;
    /// Makes the first pass, and returns where the sinks are, with bounds of errors.
    fn first(&mut self, cells: &RankWords, most: usize) -> Result<Vec<Region>>;
    /// Returns the cells and bodies for the second pass of each rank.
    fn cells_for_second(&mut self, rank: usize, regions: &[&[Region]]) -> Result<RankWords>;
    /// Returns the sources, as [`Essential`] has bodies, that have one of these indices and did not go
    /// to a rank as such: for each index the rank that asks.
    fn own_sources(&self, asked: &[(i32, usize)], ranks: usize) -> Result<RankWords>;
    /// Makes the second pass, and returns the potential and the acceleration of each sink. `alone` are
    /// sources with indices of sinks that are in cells without their bodies.
    fn second(&mut self, cells: &RankWords, alone: &[[u64; 5]]) -> Result<Pooled<[f64; 4]>>;
    /// Returns the indices of sources and sinks.
    fn indices(&self) -> [&[i32]; 2];
    /// Ends the call. Its memory is kept for the next one.
    fn end(&mut self);
}

/// A domain: sources and sinks of a rank that are near one another.
pub struct Domain<E: Number> {
    kernel: Box<dyn Kernel<E>>,
    interaction: Arc<Interaction>,
    threads: Threads,
    level: Level,
    pool: BufferPool,
    sources: Bodies,
    /// The sinks, if they are not the sources.
    sinks: Option<Bodies>,
    /// Whether each source of all ranks is known to have an index of its own.
    is_distinct: bool,
    settings: Option<Settings>,
    trees: Option<Trees>,
    passes: Option<Passes<E>>,
    /// The cells of each rank, of which it gets those that it needs.
    essential: Vec<Essential>,
    /// The cube around the bodies of all ranks.
    cube: Cube,
    /// A device that does the work, if there is one.
    device: Option<Box<dyn DomainDevice<E>>>,
    /// Whether the CPU does it after the device has failed.
    falls_back: bool,
    /// Whether the device does the work of this call.
    is_on_device: bool,
}

impl<E: Number> Domain<E> {
    /// Makes one whose work a device does, if it is given, or CPUs, which sum near pairs by a kernel.
    /// `falls_back` says that CPUs do it too once the device has failed.
    pub fn new(
        kernel: Box<dyn Kernel<E>>,
        interaction: Arc<Interaction>,
        (threads, level): (usize, Level),
        (device, falls_back): (Option<Box<dyn DomainDevice<E>>>, bool),
    ) -> Domain<E> {
        Domain {
            kernel,
            interaction,
            threads: Threads::new(threads),
            level,
            pool: BufferPool::default(),
            sources: Bodies::default(),
            sinks: None,
            is_distinct: false,
            settings: None,
            trees: None,
            passes: None,
            essential: Vec::new(),
            cube: Cube::new([0.0; 3], [0.0; 3]),
            device,
            falls_back,
            is_on_device: false,
        }
    }

    /// Lets the device do some work of this call; `None` if there is no device, or it fails and the CPU
    /// may do its work from now on. Nothing is under way after an error.
    fn on_device<T>(&mut self, work: impl FnOnce(&mut dyn DomainDevice<E>, Host) -> Result<T>) -> Result<Option<T>> {
        let Some(device) = self.device.as_mut().filter(|_| self.is_on_device) else { return Ok(None) };
        let done = work(&mut **device, (&self.threads, &self.pool)).inspect_err(|_| device.wait());
        let done = or_cpu(done, self.falls_back)?;
        if done.is_none() {
            (self.device, self.is_on_device) = (None, false);
        }
        Ok(done)
    }

    fn with(&self) -> TreeSums<'_, E> {
        TreeSums { kernel: &*self.kernel, interaction: &self.interaction, threads: &self.threads, pool: &self.pool }
    }

    fn points(&self) -> (Points<'_>, Points<'_>) {
        let sources = points(&self.sources);
        (sources, self.sinks.as_ref().map_or(sources, points))
    }

    fn passes(&self) -> Result<&Passes<E>> {
        self.passes.as_ref().ok_or_else(out_of_order)
    }

    /// Chooses the cells for each rank but this one.
    fn choose(&self, rank: usize, regions: &[&[Region]], test: Test, is_first: bool) -> Result<Vec<Essential>> {
        let passes = self.passes()?;
        let mut limits = if is_first { passes.first_limits() } else { passes.limits() };
        // The other rank may have a GPU.
        let Settings { order, softening2, .. } = passes.settings;
        let of_order = if is_first { 0.0 } else { least_s2(order) };
        let factor = passes.sources.units.length / self.cube.gpu_factor(softening2);
        limits.least2 = limits.least2.max(of_order.max(LEAST_S2) * factor * factor);
        if !is_first {
            limits.most2 = limits.most2.min(most_s2(order) * factor * factor);
            limits.far_sum4 *= (factor * factor).min(1.0);
        }
        let mut all = memory::room(regions.len(), WHAT)?;
        for (to, regions) in regions.iter().enumerate() {
            all.push(match to == rank {
                true => Essential::default(),
                false => Essential::new(&passes.sources, regions, test, &limits, &self.threads)?,
            });
        }
        Ok(all)
    }
}

fn out_of_order() -> kyoho_core::Error {
    kyoho_core::Error::Internal { what: "steps of a tree over ranks came in another order".into() }
}

impl<E: Number> DomainForces for Domain<E> {
    fn begin(
        &mut self,
        bodies: (Bodies, Option<Bodies>),
        cube: &Cube,
        asked: TreeBlock,
        (skip_own_index, is_distinct): (bool, bool),
    ) -> Result<Spread> {
        self.end();
        self.pool.begin();
        (self.sources, self.sinks) = bodies;
        (self.cube, self.is_distinct) = (*cube, is_distinct);
        let Method::Cells { order, criterion } = Method::of(asked.accuracy) else {
            return Err(kyoho_core::Error::Internal { what: "a walk without a stack over ranks".into() });
        };
        let settings = Settings { order, criterion, softening2: asked.softening2, skip_own_index, level: self.level };
        self.settings = Some(settings);
        // Bodies are taken out of the domain while it is lent to the device.
        let (sources, sinks) = (take(&mut self.sources), take(&mut self.sinks));
        self.is_on_device = true;
        let of_device = self.on_device(|device, host| {
            let sources = points(&sources);
            let sinks = sinks.as_ref().map(points).filter(|sinks| sinks.positions != sources.positions);
            device.trees(host, cube, (sources, sinks), asked.softening2)
        });
        (self.sources, self.sinks) = (sources, sinks);
        let of_device = of_device?.flatten();
        self.is_on_device = of_device.is_some();
        let (sources, sinks) = self.points();
        let trees = of_device.map_or_else(|| Trees::new(&self.with(), sources, sinks), Ok)?;
        let spread = trees.spread(sources.masses, &self.threads)?.of_domain(cube);
        self.trees = Some(trees);
        Ok(spread)
    }

    fn expand(&mut self, spread: &Spread, most: usize) -> Result<Vec<Region>> {
        let trees = self.trees.take().ok_or_else(out_of_order)?;
        let settings = self.settings.ok_or_else(out_of_order)?;
        if !TreeUnits::hold::<E>(spread, settings.softening2, 0.0) {
            return Err(spread.too_wide(self.interaction.precision));
        }
        let units = TreeUnits::new::<E>(spread, settings.softening2);
        self.is_on_device &= spread.is_for_gpus(&self.cube) && !units.has_tiny_cells;
        let cells = self.on_device(|device, host| device.cells(host, &units, &settings))?;
        let passes = Passes::new(&self.with(), trees, self.points(), &settings, (spread, units), cells)?;
        let regions = passes.regions(most, true, &self.points().1, &self.threads)?;
        self.passes = Some(passes);
        Ok(regions)
    }

    fn cells_for_first(&mut self, rank: usize, regions: &[&[Region]]) -> Result<RankWords> {
        let chosen = self.choose(rank, regions, Test::Distance, true)?;
        let of = (&self.passes()?.sources, &self.points().0);
        RankWords::written(&chosen, of, 0, (&self.threads, &self.pool))
    }

    fn first(&mut self, cells: &RankWords, most: usize) -> Result<Vec<Region>> {
        let mut passes = self.passes.take().ok_or_else(out_of_order)?;
        let own = passes.sources.tree.cells.len();
        passes.join(cells.each(), 0, &[], false)?;
        if self.on_device(|device, host| device.first(host, &mut passes))?.is_none() {
            passes.gather(&self.with(), self.points())?;
            passes.first(&self.with())?;
        }
        passes.keep_cells(own);
        let regions = passes.regions(most, false, &self.points().1, &self.threads)?;
        self.passes = Some(passes);
        Ok(regions)
    }

    fn cells_for_second(&mut self, rank: usize, regions: &[&[Region]]) -> Result<RankWords> {
        let passes = self.passes()?;
        let chosen = self.choose(rank, regions, Test::of(&passes.settings), false)?;
        let (of, stride) = ((&passes.sources, &self.points().0), passes.expansions.stride());
        let written = RankWords::written(&chosen, of, stride, (&self.threads, &self.pool))?;
        self.essential = chosen;
        Ok(written)
    }

    fn own_sources(&self, asked: &[(i32, usize)], ranks: usize) -> Result<RankWords> {
        let (sources, points) = (&self.passes()?.sources, self.points().0);
        let indices = points.indices;
        let mut parts = memory::filled(ranks, Vec::new(), WHAT)?;
        if asked.is_empty() {
            return RankWords::of(&parts);
        }
        let order = sources.tree.order.iter().zip(0_u32..);
        let mut places = memory::collected(order.map(|(body, place)| (indices[*body as usize], place)), WHAT)?;
        places.sort_unstable();
        for (index, rank) in asked {
            let first = places.partition_point(|(other, _)| other < index);
            for (_, place) in places[first..].iter().take_while(|(other, _)| other == index) {
                if !self.essential[*rank].has(*place) {
                    memory::reserve(&mut parts[*rank], 5, WHAT)?;
                    parts[*rank].extend(sources.body(&points, *place as usize).map(f64::to_bits));
                    parts[*rank].push(u64::from(*index as u32));
                }
            }
        }
        RankWords::of(&parts)
    }

    fn second(&mut self, cells: &RankWords, alone: &[[u64; 5]]) -> Result<Pooled<[f64; 4]>> {
        let mut passes = self.passes.take().ok_or_else(out_of_order)?;
        let stride = passes.expansions.stride();
        // Sinks that are sources leave out themselves alone, where no other source has their index.
        let with_indices = !(self.is_distinct && self.sinks.is_none());
        let joined = passes.join(cells.each(), stride, alone, with_indices)?;
        let (sources, sinks) = self.points();
        let mut forces = self.pool.unwritten(sinks.positions.len(), [0.0; 4], "forces by a tree")?;
        let (places, alike) = self.with().places(&passes, (sources, sinks), &joined, self.is_distinct)?;
        let left_out = (&places[..], alike.as_ref());
        let of_device = self.on_device(|device, host| device.second(host, &passes, &joined, left_out, &mut forces))?;
        if of_device.is_none() {
            passes.gather(&self.with(), self.points())?;
            passes.join_bodies(&joined, &self.threads)?;
            passes.second(&self.with(), left_out, &mut forces)?;
        }
        Ok(forces)
    }

    fn indices(&self) -> [&[i32]; 2] {
        let (sources, sinks) = self.points();
        [sources.indices, sinks.indices]
    }

    fn end(&mut self) {
        (self.trees, self.passes) = (None, None);
        self.essential = Vec::new();
        (self.sources, self.sinks) = (Bodies::default(), None);
    }
}
