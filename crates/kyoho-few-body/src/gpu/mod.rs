//! Ensembles on GPUs: each thread of a GPU has a system, which it advances as the host does, in the
//! same arithmetic. So a system may go from one to the other after any step, and ends with the same
//! bits: the host begins systems, looks for the moment in which bodies touch, ends systems, and takes
//! the last ones, which would leave most of a GPU idle.

mod job;
mod pool;
mod record;
pub mod rules;
#[cfg(test)]
mod tests;

use kyoho_core::{Result, memory};
use kyoho_hal::cuda::Cuda;
use kyoho_hal::gpu::Gpu;
use kyoho_hal::opencl::OpenCl;
use kyoho_hal::threads::Threads;
use kyoho_hal::{Backend, boxed};
use kyoho_methods::gpu::code;

use crate::options::Options;
pub use job::Job;
use job::Rows;
use pool::Pool;
use rules::{FewBodyRules, UNIT};

/// The systems that a multiprocessor has under way in each of two pools.
const SLOTS: usize = 128;
/// Attempts at a step of a system of three bodies until the host looks again; fewer where bodies are
/// more, by the number of pairs.
const ATTEMPTS: usize = 32;
/// The host's threads take the last systems where they are fewer than this for each thread: a system
/// that is alone on a device is some 20 times slower there than on the host.
const LAST: usize = 32;

/// Devices that advance ensembles.
pub trait Ensembles {
    /// Evolves systems that have one number of bodies. After an error those that have no outcome are
    /// as before.
    fn evolve(&mut self, jobs: Vec<Job>, options: &Options, threads: &Threads) -> Result<()>;
}

/// Opens devices.
pub fn open(backend: Backend, numbers: &[usize]) -> Result<Box<dyn Ensembles>> {
    match backend {
        Backend::OpenCl => Ok(boxed(Gpus::open(numbers, OpenCl::open)?, "devices")?),
        _ => Ok(boxed(Gpus::open(numbers, Cuda::open)?, "devices")?),
    }
}

/// A device with its kernel.
struct Device<G: Gpu> {
    kernel: G::Kernel,
    queue: G::Queue,
    gpu: G,
}

struct Gpus<G: Gpu>(Vec<Device<G>>);

/// Systems under way in a pool, in its first slots.
struct Group<'a, G: Gpu> {
    device: usize,
    pool: Pool<G>,
    jobs: Vec<Job<'a>>,
}

impl<G: Gpu> Gpus<G> {
    fn open(numbers: &[usize], open: impl Fn(usize) -> Result<G>) -> Result<Gpus<G>> {
        let mut devices = memory::room(numbers.len(), "devices")?;
        for &number in numbers {
            let gpu = open(number)?;
            let caller = gpu.enter()?;
            let source = (code::SOURCE_OF_FEW_BODIES, &[][..]);
            let kernels = code::load_unit(&gpu, ("few bodies", UNIT), source, &["advance_systems"])?;
            let kernel = kernels.into_iter().next().expect("a kernel for each name");
            let queue = gpu.queue()?;
            drop(caller);
            devices.push(Device { kernel, queue, gpu });
        }
        Ok(Gpus(devices))
    }

    /// Makes two pools on each device: while the host looks after one, the device has the other.
    fn groups<'a>(&self, systems: usize, lengths: [usize; 2]) -> Result<Vec<Group<'a, G>>> {
        let mut groups = memory::room(2 * self.0.len(), "pools of systems")?;
        let share = systems.div_ceil(2 * self.0.len().max(1));
        for (place, device) in self.0.iter().enumerate() {
            let _caller = device.gpu.enter()?;
            for _ in 0..2 {
                let slots = share.min(SLOTS * device.gpu.properties().multiprocessors);
                let jobs = memory::room(slots, "systems of few bodies")?;
                groups.push(Group { device: place, pool: Pool::new(&device.gpu, slots, lengths)?, jobs });
            }
        }
        Ok(groups)
    }

    /// Waits for all devices, so that nobody writes to memory of pools any more; fails if one fails.
    fn settle(&self) -> Result<()> {
        let settled = |device: &Device<G>| {
            let _caller = device.gpu.enter()?;
            device.gpu.synchronize(&device.queue)
        };
        self.0.iter().map(settled).fold(Ok(()), Result::and)
    }

    /// Evolves systems until those that are left, in the groups, are too few for the devices.
    fn advance<'a>(
        &mut self,
        groups: &mut [Group<'a, G>],
        waiting: &mut impl Iterator<Item = Job<'a>>,
        (rows, rules): (&mut Rows, &FewBodyRules),
        threads: &Threads,
    ) -> Result<()> {
        let last = LAST * threads.count();
        loop {
            for group in &mut *groups {
                let device = &mut self.0[group.device];
                let _caller = device.gpu.enter()?;
                group.pool.wait()?;
                rows.look_after(&mut group.pool, &mut group.jobs, waiting, threads)?;
                if !group.jobs.is_empty() {
                    let rules =
                        FewBodyRules { systems: group.jobs.len() as i32, slots: group.pool.slots() as i32, ..*rules };
                    group.pool.begin((&device.gpu, &device.queue), &mut device.kernel, &rules)?;
                }
            }
            let left: usize = groups.iter().map(|group| group.jobs.len()).sum();
            let is_any_full = groups.iter().any(|group| group.jobs.len() == group.pool.slots());
            if left <= last && !is_any_full || left == 0 {
                return Ok(());
            }
        }
    }
}

impl<G: Gpu> Ensembles for Gpus<G> {
    fn evolve(&mut self, jobs: Vec<Job>, options: &Options, threads: &Threads) -> Result<()> {
        let Some(first) = jobs.first() else { return Ok(()) };
        let bodies = first.system.masses.len();
        let links = bodies.saturating_sub(1);
        let lengths = record::lengths(bodies, 2 * links + 1 + if options.speed_of_light.is_some() { links } else { 0 });
        let attempts = (3 * ATTEMPTS / (bodies * links / 2).max(1)).max(1);
        let rules = FewBodyRules { bodies: bodies as i32, attempts: attempts as i32, ..FewBodyRules::of(options) };
        let mut groups = self.groups(jobs.len(), lengths)?;
        let mut rows = Rows::new(options, lengths);
        let mut waiting = jobs.into_iter();
        let advanced = self.advance(&mut groups, &mut waiting, (&mut rows, &rules), threads);
        let advanced = advanced.and(self.settle());
        if advanced.is_ok() {
            for group in &mut groups {
                rows.end_all(&group.pool, &mut group.jobs, threads)?;
            }
        }
        // Pools are given back while the driver may be called.
        for group in groups {
            let _caller = self.0[group.device].gpu.enter()?;
            drop(group);
        }
        advanced
    }
}
