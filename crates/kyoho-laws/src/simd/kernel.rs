//! Kernels, each of which binds an order, a precision, a scope and an instruction set into one
//! object.

use std::marker::PhantomData;

use crate::lanes::{Element, Lanes};
use crate::pair::{Eighth, Fourth, PairLaw, RegularFourth, Second, Sixth, SoftenedSecond};
use kyoho_core::Level;
use kyoho_core::{Chunk, Interaction, Order, Precision, Scope, Sink};

use super::baseline;
use super::sum::{self, guard};
use super::tile::{Group, LaneSums, PredictionTarget, Tile, rows_behind_vectors};
use super::{neighbours, predict};

/// The loops of an order, precision and scope, compiled for an instruction set.
pub trait Kernel<E: Element>: Send + Sync {
    /// Returns the number of lanes of a vector.
    fn lanes(&self) -> usize;
    /// Returns the number of vectors of a sink: position, velocity, ...
    fn n_derivatives(&self) -> usize;
    /// Returns the number of limbs of a coordinate.
    fn limbs(&self) -> usize;
    /// Returns the number of rows of a tile.
    fn rows(&self) -> usize {
        rows_behind_vectors(self.limbs(), self.n_derivatives()) + usize::from(self.has_softenings())
    }
    /// Whether sources have squared softenings, in the last row of a tile.
    fn has_softenings(&self) -> bool;
    /// Predicts the sources of a chunk into a tile.
    fn predict(&self, chunk: &Chunk, target: PredictionTarget, tile: &mut Tile<E>);
    /// Adds a tile to the sums of a group, with a sink in each lane.
    fn sum_sinks_in_lanes(&self, guard: u8, tile: &Tile<E>, group: &Group<E>, sums: &mut LaneSums<E>);
    /// Adds a tile to the sums of one sink of a group, with sources in the lanes.
    fn sum_sources_in_lanes(&self, guard: u8, tile: &Tile<E>, group: &Group<E>, sink: usize, sums: &mut LaneSums<E>);
    /// Appends the regular neighbours of one sink of a group: the sources of a tile that its sums
    /// leave out. There are none where the scope leaves out none.
    fn find(&self, tile: &Tile<E>, group: &Group<E>, sink: usize, skip_own_index: bool, found: &mut Vec<i32>);
}

/// The search for neighbours by radius, compiled for an instruction set.
pub trait Finder: Send + Sync {
    /// Predicts the positions of a chunk in double precision.
    fn predict(&self, chunk: &Chunk, n_coefficients: usize, target: PredictionTarget, tile: &mut Tile<f64>);
    /// Appends the neighbours of a sink among a tile's sources.
    fn find(&self, tile: &Tile<f64>, sink: &Sink, skip_own_index: bool, found: &mut Vec<i32>);
}

/// The kernel of an order, with the type of its vectors and the limbs of a coordinate, at a level.
struct Bound<I, L, const LIMBS: usize, V> {
    order: PhantomData<I>,
    vectors: PhantomData<fn() -> L>,
    level: PhantomData<V>,
}

macro_rules! level {
    ($module:ident, $fused:literal, $f32:ty, $f64:ty $(, $features:literal)?) => {
        mod $module {
            use super::*;

            /// The level as a type.
            pub struct This;

            $(#[target_feature(enable = $features)])?
            unsafe fn predict_chunk<I: PairLaw, E: Element, const LIMBS: usize>(
                chunk: &Chunk, target: PredictionTarget, tile: &mut Tile<E>,
            ) {
                predict::chunk::<$f64, E>(chunk, I::N_COEFFICIENTS, I::N_DERIVATIVES, LIMBS, target, tile);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn sum_tile<I: PairLaw, L: Lanes, const LIMBS: usize, const SOURCES_IN_LANES: bool, const GUARD: u8>(
                tile: &Tile<L::Element>, group: &Group<L::Element>, sink: usize, sums: &mut LaneSums<L::Element>,
            ) {
                sum::tile::<I, L, LIMBS, SOURCES_IN_LANES, GUARD>(tile, group, sink, sums);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn find_regular_neighbours<I: PairLaw, L: Lanes, const LIMBS: usize>(
                tile: &Tile<L::Element>, group: &Group<L::Element>, sink: usize, skip_own_index: bool, found: &mut Vec<i32>,
            ) {
                neighbours::regular_neighbours::<I, L, LIMBS>(tile, group, sink, skip_own_index, found);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn find_tile(tile: &Tile<f64>, sink: &Sink, skip_own_index: bool, found: &mut Vec<i32>) {
                neighbours::tile::<$fused>(tile, sink, skip_own_index, found);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn predict_positions(chunk: &Chunk, n_coefficients: usize, target: PredictionTarget, tile: &mut Tile<f64>) {
                predict::chunk::<$f64, f64>(chunk, n_coefficients, 1, 1, target, tile);
            }

            impl<I: PairLaw, L: Lanes, const LIMBS: usize> Bound<I, L, LIMBS, This> {
                fn sum<const SOURCES_IN_LANES: bool>(
                    guard: u8, tile: &Tile<L::Element>, group: &Group<L::Element>, sink: usize, sums: &mut LaneSums<L::Element>,
                ) {
                    // SAFETY: `kernel_32` and `kernel_64` hand out this object only where the CPU
                    // has the level.
                    unsafe {
                        match guard {
                            guard::NONE => sum_tile::<I, L, LIMBS, SOURCES_IN_LANES, { guard::NONE }>(tile, group, sink, sums),
                            guard::DISTANCE => sum_tile::<I, L, LIMBS, SOURCES_IN_LANES, { guard::DISTANCE }>(tile, group, sink, sums),
                            _ => sum_tile::<I, L, LIMBS, SOURCES_IN_LANES, { guard::INDEX }>(tile, group, sink, sums),
                        }
                    }
                }
            }

            impl<I: PairLaw, L: Lanes, const LIMBS: usize> Kernel<L::Element> for Bound<I, L, LIMBS, This> {
                fn lanes(&self) -> usize {
                    L::COUNT
                }
                fn n_derivatives(&self) -> usize {
                    I::N_DERIVATIVES
                }
                fn limbs(&self) -> usize {
                    LIMBS
                }
                fn has_softenings(&self) -> bool {
                    I::SOFTENED
                }
                fn predict(&self, chunk: &Chunk, target: PredictionTarget, tile: &mut Tile<L::Element>) {
                    // SAFETY: as in `sum`.
                    unsafe { predict_chunk::<I, L::Element, LIMBS>(chunk, target, tile) }
                }
                fn sum_sinks_in_lanes(&self, guard: u8, tile: &Tile<L::Element>, group: &Group<L::Element>, sums: &mut LaneSums<L::Element>) {
                    Self::sum::<false>(guard, tile, group, 0, sums);
                }
                fn sum_sources_in_lanes(&self, guard: u8, tile: &Tile<L::Element>, group: &Group<L::Element>, sink: usize, sums: &mut LaneSums<L::Element>) {
                    Self::sum::<true>(guard, tile, group, sink, sums);
                }
                fn find(&self, tile: &Tile<L::Element>, group: &Group<L::Element>, sink: usize, skip_own_index: bool, found: &mut Vec<i32>) {
                    if I::REGULAR {
                        // SAFETY: as in `sum`.
                        unsafe { find_regular_neighbours::<I, L, LIMBS>(tile, group, sink, skip_own_index, found) }
                    }
                }
            }

            impl Finder for This {
                fn predict(&self, chunk: &Chunk, n_coefficients: usize, target: PredictionTarget, tile: &mut Tile<f64>) {
                    // SAFETY: `finder` hands out this object only where the CPU has the level.
                    unsafe { predict_positions(chunk, n_coefficients, target, tile) }
                }
                fn find(&self, tile: &Tile<f64>, sink: &Sink, skip_own_index: bool, found: &mut Vec<i32>) {
                    // SAFETY: as in `predict`.
                    unsafe { find_tile(tile, sink, skip_own_index, found) }
                }
            }

            fn bind<I: PairLaw, L: Lanes + 'static, const LIMBS: usize>() -> Box<dyn Kernel<L::Element>> {
                Box::new(Bound::<I, L, LIMBS, This> { order: PhantomData, vectors: PhantomData, level: PhantomData })
            }

            pub fn softened_32() -> Box<dyn Kernel<f32>> {
                bind::<SoftenedSecond, $f32, 2>()
            }

            pub fn softened_64() -> Box<dyn Kernel<f64>> {
                bind::<SoftenedSecond, $f64, 1>()
            }

            pub fn kernel_32(interaction: &Interaction) -> Option<Box<dyn Kernel<f32>>> {
                Some(match (interaction.order, interaction.precision, interaction.scope) {
                    (Order::Second, Precision::Single, Scope::Full) => bind::<Second, $f32, 1>(),
                    (Order::Second, Precision::Mixed, Scope::Full) => bind::<Second, $f32, 2>(),
                    (Order::Fourth, Precision::Single, Scope::Full) => bind::<Fourth, $f32, 1>(),
                    (Order::Fourth, Precision::Mixed, Scope::Full) => bind::<Fourth, $f32, 2>(),
                    (Order::Fourth, Precision::Mixed, Scope::Regular) => bind::<RegularFourth, $f32, 2>(),
                    (Order::Sixth, Precision::Mixed, Scope::Full) => bind::<Sixth, $f32, 2>(),
                    _ => return None,
                })
            }

            pub fn kernel_64(interaction: &Interaction) -> Option<Box<dyn Kernel<f64>>> {
                Some(match (interaction.order, interaction.precision, interaction.scope) {
                    (Order::Second, Precision::Double, Scope::Full) => bind::<Second, $f64, 1>(),
                    (Order::Fourth, Precision::Double, Scope::Full) => bind::<Fourth, $f64, 1>(),
                    (Order::Fourth, Precision::Double, Scope::Regular) => bind::<RegularFourth, $f64, 1>(),
                    (Order::Sixth, Precision::Double, Scope::Full) => bind::<Sixth, $f64, 1>(),
                    (Order::Eighth, Precision::Double, Scope::Full) => bind::<Eighth, $f64, 1>(),
                    _ => return None,
                })
            }
        }
    };
}

level!(portable, false, baseline::F32, baseline::F64);
#[cfg(target_arch = "x86_64")]
level!(avx2, true, super::super::avx2::F32, super::super::avx2::F64, "avx2,fma");
#[cfg(target_arch = "x86_64")]
level!(avx512, true, super::super::avx512::F32, super::super::avx512::F64, "avx2,fma,avx512f,avx512dq,avx512vl");

macro_rules! at_level {
    ($level:expr, $module:ident => $call:expr) => {
        match $level {
            Level::Portable => {
                use portable as $module;
                $call
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if Level::Avx2.is_available() => {
                use avx2 as $module;
                $call
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if Level::Avx512.is_available() => {
                use avx512 as $module;
                $call
            }
            _ => {
                use portable as $module;
                $call
            }
        }
    };
}

/// Returns the kernel of an interaction whose pairs are computed in single precision. In the place
/// of a level that the CPU lacks the portable one is taken.
pub fn kernel_32(level: Level, interaction: &Interaction) -> Option<Box<dyn Kernel<f32>>> {
    at_level!(level, module => module::kernel_32(interaction))
}

/// Returns the kernel of an interaction whose pairs are computed in double precision. In the place
/// of a level that the CPU lacks the portable one is taken.
pub fn kernel_64(level: Level, interaction: &Interaction) -> Option<Box<dyn Kernel<f64>>> {
    at_level!(level, module => module::kernel_64(interaction))
}

/// Returns the kernel of near pairs in trees whose sources have softenings, in single precision with
/// coordinates of two limbs. In the place of a level that the CPU lacks the portable one is taken.
pub fn softened_32(level: Level) -> Box<dyn Kernel<f32>> {
    at_level!(level, module => module::softened_32())
}

/// Returns the kernel of near pairs in trees whose sources have softenings, in double precision. In
/// the place of a level that the CPU lacks the portable one is taken.
pub fn softened_64(level: Level) -> Box<dyn Kernel<f64>> {
    at_level!(level, module => module::softened_64())
}

/// Returns the search for neighbours by radius. In the place of a level that the CPU lacks the
/// portable one is taken.
pub fn finder(level: Level) -> Box<dyn Finder> {
    at_level!(level, module => Box::new(module::This))
}
