//! A block of sinks, and the sums that its devices hand in.

use crate::error::{Error, Result};

use super::slices::SLICES;

/// Vectors that a sink can have: position, velocity.
pub const MAX_VECTORS: usize = 2;

/// A sink (i-particle): where, and how, the force is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sink {
    /// Sources with this index exert no force on it and are no neighbours of it.
    pub index: i32,
    /// The squared softening length of its pairs.
    pub softening2: f64,
    /// The squared radius of its neighbour list; zero for none.
    pub radius2: f64,
    /// Position and velocity at the time of the block.
    pub derivatives: [[f64; 3]; MAX_VECTORS],
}

/// The sinks of one force call and the sources that act on them.
#[derive(Debug, Default)]
pub struct Block {
    /// The sinks.
    pub sinks: Vec<Sink>,
    /// Whether sources with the sink's index are left out.
    pub skip_own_index: bool,
    /// The time to which sources are predicted.
    pub time: f64,
    /// Only addresses below this take part.
    pub nj: usize,
    /// The power of two that devices multiply masses with, and divide sums by, so that products stay in the range of
    /// their numbers. It changes no bit of a sum that needs none.
    pub mass_factor: f64,
}

/// The nearest source of a sink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// The squared distance without softening; infinite where there is no source.
    pub distance2: f64,
    /// The source's index; meaningless where there is no source.
    pub index: i32,
}

impl Nearest {
    /// No source at all.
    pub const NONE: Nearest = Nearest { distance2: f64::INFINITY, index: 0 };

    /// Keeps the nearer one, the earlier one of two equally near ones.
    pub fn update(&mut self, other: Nearest) {
        if other.distance2 < self.distance2 {
            *self = other;
        }
    }
}

/// Sums over some sources, a row a sink: potential, acceleration, jerk, ...
#[derive(Debug, Default, Clone)]
pub struct Sums {
    /// `outputs` numbers for each sink.
    pub values: Vec<f64>,
    /// The nearest source of each sink, where the order finds one.
    pub nearest: Vec<Nearest>,
}

impl Sums {
    /// Memory for the sums of this many sinks.
    pub fn reserve(&mut self, sinks: usize, outputs: usize, nearest: bool) -> Result<()> {
        let values = sinks.saturating_mul(outputs);
        let nearest = if nearest { sinks } else { 0 };
        let reserved = self.values.try_reserve(values.saturating_sub(self.values.len()));
        let more = nearest.saturating_sub(self.nearest.len());
        reserved.and_then(|()| self.nearest.try_reserve(more)).map_err(|_| Error::OutOfMemory {
            what: "sums",
            bytes: values.saturating_mul(size_of::<f64>()).saturating_add(nearest.saturating_mul(size_of::<Nearest>())),
        })
    }

    /// Empty sums of this many sinks.
    pub fn reset(&mut self, sinks: usize, outputs: usize, nearest: bool) {
        self.values.clear();
        self.nearest.clear();
        self.resize(sinks, outputs, nearest);
    }

    /// Sums of this many sinks, whose numbers are still to be written.
    fn resize(&mut self, sinks: usize, outputs: usize, nearest: bool) {
        self.values.resize(sinks * outputs, 0.0);
        self.nearest.resize(if nearest { sinks } else { 0 }, Nearest::NONE);
    }

    /// Adds the sums over the next sources.
    pub fn add(&mut self, other: &Sums) {
        for (sum, term) in self.values.iter_mut().zip(&other.values) {
            *sum += term;
        }
        for (nearest, candidate) in self.nearest.iter_mut().zip(&other.nearest) {
            nearest.update(*candidate);
        }
    }
}

/// What the devices hand in for a block: the sums of each slice, or of all slices already added in their order.
#[derive(Debug)]
pub struct Parts {
    sinks: usize,
    outputs: usize,
    nearest: bool,
    slices: Vec<Sums>,
    handed_in: [bool; SLICES],
    whole: Option<Sums>,
    spare: Sums,
}

impl Parts {
    /// Room for the sums of an order with these outputs.
    pub fn new(outputs: usize, nearest: bool) -> Parts {
        Parts {
            sinks: 0,
            outputs,
            nearest,
            slices: Vec::new(),
            handed_in: [false; SLICES],
            whole: None,
            spare: Sums::default(),
        }
    }

    /// Forgets all parts and has memory for those of a block of this many sinks, from one device or in shares.
    pub fn reset(&mut self, sinks: usize, in_shares: bool) -> Result<()> {
        self.sinks = sinks;
        self.handed_in = [false; SLICES];
        if let Some(whole) = self.whole.take() {
            self.spare = whole;
        }
        if !in_shares {
            return self.spare.reserve(sinks, self.outputs, self.nearest);
        }
        self.slices.resize(SLICES, Sums::default());
        self.slices.iter_mut().try_for_each(|slice| slice.reserve(sinks, self.outputs, self.nearest))
    }

    /// Where a device that holds one of several shares of the slices puts the sums of one slice; they begin at zero.
    pub fn slice(&mut self, slice: usize) -> &mut Sums {
        if self.slices.is_empty() {
            self.slices.resize(SLICES, Sums::default());
        }
        self.handed_in[slice] = true;
        self.slices[slice].reset(self.sinks, self.outputs, self.nearest);
        &mut self.slices[slice]
    }

    /// Where a device that holds every slice puts their sum, added to zero in the order of slices; it begins at zero.
    pub fn whole(&mut self) -> &mut Sums {
        let mut sums = std::mem::take(&mut self.spare);
        sums.reset(self.sinks, self.outputs, self.nearest);
        self.whole.insert(sums)
    }

    /// The same for a device that writes every number: it begins as what an earlier block left.
    pub fn whole_to_overwrite(&mut self) -> &mut Sums {
        let mut sums = std::mem::take(&mut self.spare);
        sums.resize(self.sinks, self.outputs, self.nearest);
        self.whole.insert(sums)
    }

    /// The number of sinks of the block.
    pub fn sinks(&self) -> usize {
        self.sinks
    }

    /// What [`Parts::slice`] gave for this block.
    pub fn slice_again(&mut self, slice: usize) -> &mut Sums {
        &mut self.slices[slice]
    }

    /// What [`Parts::whole`] gave for this block.
    pub fn whole_again(&mut self) -> &mut Sums {
        self.whole.get_or_insert_default()
    }

    /// Adds the parts in the order of slices.
    pub fn merge(&mut self, into: &mut Sums) -> Result<()> {
        if let Some(whole) = &mut self.whole {
            std::mem::swap(whole, into);
            return Ok(());
        }
        if let Some(missing) = self.handed_in.iter().position(|handed_in| !handed_in) {
            return Err(Error::Internal { what: format!("no device handed in slice {missing}") });
        }
        into.reserve(self.sinks, self.outputs, self.nearest)?;
        into.reset(self.sinks, self.outputs, self.nearest);
        self.slices.iter().for_each(|slice| into.add(slice));
        Ok(())
    }
}
