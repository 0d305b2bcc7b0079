//! The kernels of trees by their names, and launches of them.

use bytemuck::bytes_of;

use super::constants::SCAN_THREADS;
use kyoho_core::Result;
use kyoho_hal::gpu::{Address, Argument, Gpu, Launch};
use kyoho_methods::gpu::code::{SOURCE_OF_TREES, load_unit};

/// Names the kernels, in a structure that has each by its name.
macro_rules! kernels {
    ($structure:ident: $($name:ident),*) => {
        pub(super) struct $structure<G: Gpu> {
            $(pub(super) $name: G::Kernel,)*
        }

        impl<G: Gpu> $structure<G> {
            pub(super) fn load(gpu: &G, unit: &str, source: (&str, &[(String, i64)])) -> Result<$structure<G>> {
                let names = [$(stringify!($name)),*];
                let mut kernels = load_unit(gpu, (unit, unit), source, &names)?.into_iter();
                $(let $name = kernels.next().expect("a kernel for each name");)*
                Ok($structure { $($name),* })
            }
        }
    };
}

kernels!(Kernels:
    find_box, choose_cube, write_keys, count_digits_small, place_keys_small, count_digits_large, place_keys_large,
    scan_rows, order_bodies, turn_masses, find_paths, join_tiles, count_cells, write_cells, link_cells,
    link_next, find_neighbours, add_points
);
kernels!(ShareKernels: pack_bodies, take_share);
kernels!(OwnKernels:
    look_for_indices, write_index_keys, look_for_repeats, invert_order, link_indices, find_own, take_away_own,
    choose_none, choose_sources, repeat_forces
);
kernels!(SinkKernels:
    scan_rows, count_sinks, place_sinks, find_fields, find_groups, choose_groups, add_near, join_parts,
    leave_out_far
);
kernels!(Expansions: sum_leaves, sum_bodies, sum_children, find_interactions, add_far, shift_locals, find_forces);

impl<G: Gpu> ShareKernels<G> {
    /// Loads the kernels for shares.
    pub(super) fn new(gpu: &G) -> Result<ShareKernels<G>> {
        ShareKernels::load(gpu, "tree", (SOURCE_OF_TREES, &[]))
    }
}

impl<G: Gpu> OwnKernels<G> {
    /// Loads the kernels for the sources that sinks leave out.
    pub(super) fn new(gpu: &G) -> Result<OwnKernels<G>> {
        OwnKernels::load(gpu, "tree", (SOURCE_OF_TREES, &[]))
    }
}

impl<G: Gpu> SinkKernels<G> {
    /// Loads the kernels of sinks, which no order of expansion changes.
    pub(super) fn new(gpu: &G) -> Result<SinkKernels<G>> {
        SinkKernels::load(gpu, "tree", (SOURCE_OF_TREES, &[]))
    }
}

/// Begins a kernel of so many blocks and threads of each, behind copies.
///
/// # Safety
/// As for [`Gpu::launch`].
pub(super) unsafe fn launch_after_copies<G: Gpu>(
    (gpu, queue): (&G, &G::Queue),
    kernel: &mut G::Kernel,
    (blocks, threads): (usize, usize),
    arguments: &[Argument<Address<G>>],
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { gpu.launch(queue, Launch { kernel, blocks, threads, overlaps: false, arguments }) }
}

/// Begins a kernel behind another, which may still run when it starts.
///
/// # Safety
/// As for [`Gpu::launch`].
pub(super) unsafe fn launch<G: Gpu>(
    (gpu, queue): (&G, &G::Queue),
    kernel: &mut G::Kernel,
    (blocks, threads): (usize, usize),
    arguments: &[Argument<Address<G>>],
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { gpu.launch(queue, Launch { kernel, blocks, threads, overlaps: true, arguments }) }
}

/// Begins to add up rows of counts.
///
/// # Safety
/// As for [`Gpu::launch`].
pub(super) unsafe fn scan<G: Gpu>(
    on: (&G, &G::Queue),
    kernel: &mut G::Kernel,
    (counts, totals): (Argument<Address<G>>, Argument<Address<G>>),
    rows: usize,
    columns: usize,
) -> Result<()> {
    let columns = columns as i32;
    // SAFETY: the caller's promise.
    unsafe { launch(on, kernel, (rows, SCAN_THREADS), &[counts, totals, Argument::Bytes(bytes_of(&columns))]) }
}
