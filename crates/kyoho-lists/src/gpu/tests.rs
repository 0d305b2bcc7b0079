//! The division of groups by the kernel, on the first OpenCL device of this machine.

use super::kernels::{Kernels, PieceAddresses};
use super::plan::{Counts, Plan};
use kyoho_core::{Interaction, SinkGroup};
use kyoho_hal::gpu::{Gpu, Place};
use kyoho_hal::opencl::hooks;
use kyoho_hal::opencl::{Memory, OpenCl};
use kyoho_hal::threads::Threads;
use kyoho_laws::catalogue::with_kernels;
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::{ListItem, ListPart};
use kyoho_methods::gpu::tuning;

/// Groups of these many sinks and sources, one after another.
fn groups(sizes: &[(u32, u32)]) -> Vec<SinkGroup> {
    let (mut first_sink, mut first_source) = (0, 0);
    let group = |(sinks, sources): &(u32, u32)| {
        let group = SinkGroup { first_source, sources: *sources, sinks: *sinks, first_sink, reserved: 0 };
        (first_sink, first_source) = (first_sink + sinks, first_source + u64::from(*sources));
        group
    };
    sizes.iter().map(group).collect()
}

/// A device and the kernels of an interaction.
struct Divider {
    gpu: OpenCl,
    queue: <OpenCl as Gpu>::Queue,
    kernels: Kernels<OpenCl>,
    sinks_of_thread: usize,
}

impl Divider {
    fn new(gpu: OpenCl, interaction: &Interaction) -> Divider {
        let (queue, kernels) = (gpu.queue().unwrap(), Kernels::new(&gpu, interaction).unwrap());
        Divider { gpu, queue, kernels, sinks_of_thread: tuning::of(interaction).list(interaction).sinks }
    }

    fn put<T: bytemuck::NoUninit>(&self, table: &[T]) -> Memory {
        let memory = self.gpu.allocate(size_of_val(table).max(1), "a test").unwrap();
        let from = Place::Host(table.as_ptr().cast_mut().cast());
        // SAFETY: the memory is that long, and the copy is waited for.
        unsafe { self.gpu.copy(&self.queue, from, Place::Device(&memory, 0), size_of_val(table)).unwrap() };
        self.gpu.synchronize(&self.queue).unwrap();
        memory
    }

    fn get<T: bytemuck::Pod>(&self, memory: &Memory, count: usize) -> Vec<T> {
        let mut table = vec![T::zeroed(); count];
        let to = Place::Host(table.as_mut_ptr().cast());
        // SAFETY: as above.
        unsafe { self.gpu.copy(&self.queue, Place::Device(memory, 0), to, size_of::<T>() * count).unwrap() };
        self.gpu.synchronize(&self.queue).unwrap();
        table
    }

    /// Returns the items and parts of groups on a device that holds this many thread blocks.
    fn divide(&mut self, groups: &[SinkGroup], resident: usize) -> (Vec<ListItem>, Vec<ListPart>, Plan) {
        let threads = Threads::new(2);
        let count = |divides| Counts::of_all(groups, self.sinks_of_thread, divides, &threads);
        let plan = Plan::new(resident, count).unwrap();
        let [copied, next] = [self.put(groups), self.put(&plan.firsts())];
        let items = self.put(&vec![ListItem { sinks: -1, ..ListItem::default() }; plan.items]);
        let parts = self.put(&vec![ListPart { sinks: -1, ..ListPart::default() }; plan.parts]);
        let of_none = || copied.address();
        let store = StoreAddresses {
            octets: of_none(),
            indices: of_none(),
            ranges: of_none(),
            slots: of_none(),
            predicted: of_none(),
        };
        let memory = PieceAddresses {
            store,
            items: items.address(),
            parts: parts.address(),
            groups: copied.address(),
            units: of_none(),
            next: next.address(),
            addresses: of_none(),
            own: of_none(),
            sinks: of_none(),
            partial_sums: of_none(),
            results: of_none(),
        };
        if !groups.is_empty() {
            // SAFETY: the memories are as long as the plan says, and are kept until all is done.
            unsafe { self.kernels.divide((&self.gpu, &self.queue), (&plan, groups.len()), &memory).unwrap() };
        }
        (self.get(&items, plan.items), self.get(&parts, plan.parts), plan)
    }
}

#[test]
fn items_have_each_sink_with_each_source_of_its_group_once() {
    let Some(context) = hooks::hooked_context() else { return };
    let few = [(300, 5000), (1, 2500), (7, 0), (0, 90), (64, 1024), (64, 1025)];
    let many: Vec<(u32, u32)> = (0..20000).map(|k| (k % 70, k * 37 % 5000)).collect();
    for interaction in with_kernels().filter(|interaction| !interaction.is_regular()) {
        let mut divider = Divider::new(OpenCl::on(context.clone()), interaction);
        for (sizes, resident) in [(&few[..], 132 * 16), (&many, 132 * 16), (&many, 10000), (&[], 1), (&[(0, 5)], 1)] {
            let groups = groups(sizes);
            let (items, parts, plan) = divider.divide(&groups, resident);
            let mut pairs = vec![0u64; groups.len()];
            for item in &items {
                let group = &groups[item.group as usize];
                let sinks = item.first_sink as usize..(item.first_sink + item.sinks) as usize;
                assert!(!sinks.is_empty() && group.sink_range().start <= sinks.start);
                assert!(sinks.end <= group.sink_range().end, "{item:?} of {group:?}");
                let sources = item.first_source as usize..item.first_source as usize + item.sources as usize;
                assert!(group.source_range().start <= sources.start && sources.end <= group.source_range().end);
                pairs[item.group as usize] += sinks.len() as u64 * sources.len() as u64;
            }
            assert!(groups.iter().map(SinkGroup::pairs).eq(pairs));
            // Each row belongs to one sink of one segment, and to the part that adds it.
            let rows = |first: i32, count: i32| first as usize..(first + count) as usize;
            let of_parts = parts.iter().flat_map(|part| rows(part.partial, part.sinks * part.segments));
            let of_items = items.iter().filter(|item| item.partial >= 0);
            let of_items = of_items.flat_map(|item| rows(item.partial, item.sinks));
            let mut all: [Vec<usize>; 2] = [of_parts.collect(), of_items.collect()];
            all.iter_mut().for_each(|rows| rows.sort_unstable());
            assert!(all.iter().all(|rows| rows.iter().copied().eq(0..plan.rows)), "{}", interaction.name());
        }
    }
}

#[test]
fn the_largest_items_come_first_where_one_could_be_left_alone_at_work() {
    let Some(context) = hooks::hooked_context() else { return };
    let interaction = with_kernels().next().unwrap();
    let mut divider = Divider::new(OpenCl::on(context.clone()), interaction);
    let groups = groups(&[(4, 20), (4, 1000), (4, 30), (4, 600)]);
    let (items, ..) = divider.divide(&groups, 132 * 16);
    let sources: Vec<i32> = items.iter().map(|item| item.sources).collect();
    assert_eq!(sources[..2], [1000, 600]);
    assert!(sources[2..] == [20, 30] || sources[2..] == [30, 20], "{sources:?}");
}
