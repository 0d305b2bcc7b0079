//! Pair interactions on GPUs: the list of a text is written as kernels, in PTX for NVIDIA's driver
//! and in OpenCL C for the others (`ptx`, `opencl`; `writer` is what both offer). `kernel` has the
//! kernels themselves, once for both.

mod device;
mod kernel;
mod products;
mod run;
mod speed;

use std::fmt;
use std::ops::Range;

use kyoho_core::{Error, Result, memory};
use kyoho_hal::Backend;
use kyoho_hal::cuda::Cuda;
use kyoho_hal::gpu::{Code, Gpu, Images};
use kyoho_hal::opencl::OpenCl;
use kyoho_language::PairProgram;
use kyoho_language::kernels::{OpenClText, PtxText};
use kyoho_language::limbs::LimbProgram;
use kyoho_language::syntax::Side as Body;
use kyoho_language::types::Type;

use super::{Columns, DeviceRows, Given, PairLists, PairSums};
use device::OnDevice;
use kernel::{Layout, PIECE, THREADS};
use run::{ChangedRows, Results, Run, tables, values};
pub use speed::Bound;

/// Returns the lists and the layout of an interaction for GPUs.
fn lowered(pairs: &PairProgram) -> Result<(LimbProgram, Layout)> {
    let program = LimbProgram::new(pairs)?;
    let layout = Layout::new(pairs, &program)?;
    Ok((program, layout))
}

/// Returns the text of the kernels of lists, in PTX or in OpenCL C.
fn written(backend: Backend, program: &LimbProgram, layout: &Layout) -> Result<String> {
    match backend {
        Backend::OpenCl => kernel::text(OpenClText::default(), program, layout),
        _ => kernel::text(PtxText::default(), program, layout),
    }
}

/// Returns the text of the kernels of an interaction, in PTX or in OpenCL C.
pub fn source(backend: Backend, pairs: &PairProgram) -> Result<String> {
    let (program, layout) = lowered(pairs)?;
    written(backend, &program, &layout)
}

/// Opens devices for an interaction. Numbers of two limbs are refused by devices whose products are
/// not exact.
pub fn open(backend: Backend, devices: &[usize], pairs: &PairProgram) -> Result<Box<dyn PairSums>> {
    for (scalar, number) in products::needed(pairs, devices) {
        products::check_once(scalar, (backend, number), |pairs| opened(backend, &[number], pairs))?;
    }
    opened(backend, devices, pairs)
}

/// Opens devices for an interaction, whatever their products.
fn opened(backend: Backend, devices: &[usize], pairs: &PairProgram) -> Result<Box<dyn PairSums>> {
    match backend {
        Backend::OpenCl => Ok(Box::new(GpuPairs::new(backend, devices, pairs, OpenCl::open)?)),
        _ => Ok(Box::new(GpuPairs::new(backend, devices, pairs, Cuda::open)?)),
    }
}

/// The sums of a pair interaction by GPUs.
struct GpuPairs<G: Gpu> {
    backend: Backend,
    /// The number of each device.
    numbers: Vec<usize>,
    program: LimbProgram,
    layout: Layout,
    /// The sinks of the last run.
    sinks: usize,
    devices: Vec<OnDevice<G>>,
}

impl<G: Gpu> fmt::Debug for GpuPairs<G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GpuPairs").field("devices", &self.devices.len()).finish_non_exhaustive()
    }
}

impl<G: Gpu> GpuPairs<G> {
    fn new(
        backend: Backend,
        devices: &[usize],
        pairs: &PairProgram,
        open: impl Fn(usize) -> Result<G>,
    ) -> Result<GpuPairs<G>> {
        let (program, layout) = lowered(pairs)?;
        let text = written(backend, &program, &layout)?;
        let (ptx, source) = match backend {
            Backend::OpenCl => ("", &text[..]),
            _ => (&text[..], ""),
        };
        let name = format!("pair {}", pairs.name);
        let code = Code { name: &name, images: Images::Ptx(ptx), source, defines: &[] };
        let numbers = devices.to_vec();
        let devices = devices.iter().map(|number| OnDevice::new(open(*number)?, &code)).collect::<Result<_>>()?;
        Ok(GpuPairs { backend, numbers, program, layout, sinks: 0, devices })
    }
}

impl<G: Gpu> PairSums for GpuPairs<G> {
    fn run(&mut self, given: &Given, sinks: usize, sources: usize, found: &mut [Columns]) -> Result<()> {
        self.shared((given, sources), sinks, found, |device, run, sinks| device.begin_pairs(run, sinks))
    }

    fn run_lists(&mut self, given: &Given, lists: &PairLists, sources: usize, found: &mut [Columns]) -> Result<()> {
        let mut of_sinks = memory::room(lists.sinks(), "the lists of pairs")?;
        for group in lists.groups() {
            of_sinks.extend(std::iter::repeat_n((group.first_source, group.sources), group.sinks as usize));
        }
        self.shared((given, sources), lists.sinks(), found, |device, run, sinks| {
            device.begin_lists(run, sinks, &of_sinks, lists)
        })
    }

    fn fetch_results(&mut self, found: &mut [Columns]) -> Result<()> {
        let GpuPairs { program, layout, devices, sinks, .. } = self;
        // Interactions with arrays on a device have one.
        let Some(device) = devices.first_mut() else { return Ok(()) };
        let results = Results { program, layout };
        device.copied.clear();
        device.see_to_staging(&results, *sinks)?;
        let begun = (0..sinks.div_ceil(PIECE)).try_for_each(|piece| device.copy(&results, piece, *sinks));
        begun.and_then(|()| device.fetch(&results, 0..*sinks, found)).and(device.synchronize())
    }

    fn check_rows(&self, name: &str, rows: &DeviceRows, of: Type) -> Result<()> {
        let refused = |value: String, allowed: &str| {
            Err(Error::BadOption { name: format!("the memory of {name}"), value, allowed: allowed.into() })
        };
        let of_device = format!("that of CUDA device {}", rows.device);
        let ([device], [number], Backend::Cuda) = (&self.devices[..], &self.numbers[..], self.backend) else {
            return refused(of_device, "that of the host, for an interaction that other than one CUDA device computes");
        };
        if usize::try_from(rows.device) != Ok(*number) {
            return refused(of_device, &format!("that of the host, or of CUDA device {number}, which computes"));
        }
        let limb = of.scalar.size() / of.scalar.limbs();
        let is_apart = rows.stride as usize >= of.scalar.size() * of.width || rows.count < 2;
        let is_aligned = [rows.address, rows.stride].into_iter().all(|bytes| bytes.is_multiple_of(limb as u64));
        let fits = rows.bytes(of) / limb <= u32::MAX as usize;
        if !(is_apart && is_aligned && fits) {
            let value = format!("{:#x}, {} rows with a stride of {}", rows.address, rows.count, rows.stride);
            let allowed = format!("aligned rows that do not overlap, of up to {} numbers in all", u32::MAX);
            return refused(value, &allowed);
        }
        if rows.count == 0 {
            return Ok(());
        }
        let _caller = device.gpu.enter()?;
        device.gpu.check_memory_of_caller(name, rows.address, rows.bytes(of))
    }

    fn write_result(&mut self, result: usize, of: Type, rows: &DeviceRows) -> Result<()> {
        let GpuPairs { program, layout, devices, sinks, .. } = self;
        let Some(device) = devices.first_mut() else { return Ok(()) };
        let results = Results { program, layout };
        device.write_result(&results, *sinks, (result, of), rows)
    }
}

impl<G: Gpu> GpuPairs<G> {
    /// Shares sinks among the devices: `begin` begins the sums of a range on each.
    fn shared(
        &mut self,
        (given, sources): (&Given, usize),
        sinks: usize,
        found: &mut [Columns],
        begin: impl Fn(&mut OnDevice<G>, &Run, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let (program, layout) = (&self.program, &self.layout);
        self.sinks = sinks;
        // Rows are taken for devices that have the columns as they were before them.
        let changed = |side: usize| {
            let version = Some(given.changes[side].version);
            let is_next = |device: &OnDevice<G>| device.sides[side].version.map(|known| known + 1) == version;
            if self.devices.iter().any(is_next) { ChangedRows::of(given, program, side) } else { Ok(None) }
        };
        let is_left = given.is_on_device(Body::I);
        let run = Run {
            given,
            results: Results { program, layout },
            is_left,
            program,
            layout,
            values: values(given, program, layout)?,
            tables: tables(given, layout)?,
            changed: [changed(0)?, changed(1)?],
            sources,
        };
        // Whole thread blocks where there are several devices.
        let share = sinks.div_ceil(self.devices.len()).next_multiple_of(THREADS * layout.sinks);
        let range = |device: usize| (device * share).min(sinks)..((device + 1) * share).min(sinks);
        let begun = self.devices.iter_mut().enumerate().map(|(number, device)| {
            let range = range(number);
            // A device without sinks has nothing to hand over.
            device.copied.clear();
            if range.is_empty() {
                Ok(())
            } else {
                device.begin(&run, range.len()).and_then(|()| begin(device, &run, range))
            }
        });
        let begun: Vec<Result<()>> = begun.collect();
        // All devices have ended before an error is given back, as they read what the caller gave.
        let ended = self.devices.iter_mut().enumerate().zip(begun).map(|((number, device), begun)| {
            let fetched =
                begun.and_then(|()| if is_left { Ok(()) } else { device.fetch(&run.results, range(number), found) });
            fetched.and(device.synchronize())
        });
        let ended: Vec<Result<()>> = ended.collect();
        ended.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
