//! The launch shapes of the force kernel; `kernels/unit.h` makes a kernel of each.

use crate::catalogue::Precision;

/// Threads of a group.
pub const THREADS: usize = 128;

/// Sinks of a thread, in the words of `kernels/unit.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sinks {
    /// One.
    Few,
    /// Half of many.
    Some,
    /// As many as registers hold.
    Many,
}

/// Who computes which pairs of a block. A shape never changes the order of addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The kernel.
    pub name: &'static str,
    /// Threads that share a sink.
    pub lanes: usize,
    /// Sinks of a thread.
    pub sinks: Sinks,
    /// Strands of a chunk: sources that are summed one after another. Blocks with other strands cannot take the shape.
    pub strands: usize,
    /// Whether sources are predicted by the groups that need them; else before.
    pub fused: bool,
    /// Whether the last group to end also adds the parts; else a kernel of its own does.
    pub ends: bool,
}

impl Shape {
    /// Sinks of a group of threads.
    pub fn group_sinks(&self, precision: Precision) -> usize {
        let wide = precision == Precision::Double;
        let sinks = match self.sinks {
            Sinks::Few => 1,
            Sinks::Some => 2 - usize::from(wide),
            Sinks::Many => 4 / (1 + usize::from(wide)),
        };
        THREADS / self.lanes * sinks
    }
}

const fn shape(name: &'static str, lanes: usize, sinks: Sinks, strands: usize, fused: bool, ends: bool) -> Shape {
    Shape { name, lanes, sinks, strands, fused, ends }
}

/// Every shape; `Setup::shape` counts in this order.
pub const SHAPES: [Shape; 8] = [
    shape("force_32_few_32_fe", 32, Sinks::Few, 32, true, true),
    shape("force_32_many_32_f", 32, Sinks::Many, 32, true, false),
    shape("force_8_few_8_f", 8, Sinks::Few, 8, true, false),
    shape("force_8_many_8_f", 8, Sinks::Many, 8, true, false),
    shape("force_8_many_8_p", 8, Sinks::Many, 8, false, false),
    shape("force_1_many_8_f", 1, Sinks::Many, 8, true, false),
    shape("force_1_some_8_p", 1, Sinks::Some, 8, false, false),
    shape("force_1_many_8_p", 1, Sinks::Many, 8, false, false),
];
