//! A fake GPU for tests. Its kernels sum nothing: they put a number of each sink where the sums of
//! that sink go, and report that they are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use kyoho_core::{Interaction, Level, Nearest, Result, SLICES, Sink, Source, padded};
use kyoho_hal::fake::{Fake, Script, Shared};

use super::GpuDevice;
use kyoho_direct::gpu::waiting::LETTER_HEAD;
use kyoho_methods::gpu::step::Step;
use kyoho_methods::{CompanionDevices, DeviceOptions};

/// A device on it.
pub type FakeDevice = GpuDevice<Fake>;

/// Returns the number that is the output `k` of a sink with a set of slices.
pub fn output(index: i32, set: usize, k: usize) -> f64 {
    f64::from(index) * 1000.0 + set as f64 * 10.0 + k as f64
}

/// Does what the kernels of an interaction do. One that waits for blocks has no patience: it ends
/// after one letter.
pub(super) fn kernel(script: &Script, interaction: &Interaction, name: &str, arguments: &[Vec<u8>]) {
    let number = |place: usize| u64::from_ne_bytes(arguments[place][..8].try_into().unwrap());
    let count = |place: usize| i32::from_ne_bytes(arguments[place][..4].try_into().unwrap()) as usize;
    if name == "fetch" && count(9) > 0 {
        let (from, to, bytes) = (number(7), number(8), count(9) * size_of::<f64>());
        assert!(script.has(from, bytes) && script.has(to, bytes));
        // SAFETY: the script has all memory that is read and written, which is the host's.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
    }
    if name == "wait_for_blocks" {
        let letter = Letters { place: number(0), results: number(13), flag: number(14), turn: count(2) as u32 };
        assert!(script.has(letter.place, 8 * LETTER_HEAD + size_of::<Step>()) && script.has(letter.flag, 4));
        assert!(script.has(number(1), 8 * LETTER_HEAD));
        // SAFETY: the script has it, which is the host's memory.
        let bell = unsafe { *(number(1) as *const u64) } as u32;
        assert!(bell.wrapping_sub(letter.turn) as i32 <= 0, "thread blocks find a letter that nobody sent: {bell:#x}");
        let next = if letter.read(interaction) { letter.turn.wrapping_add(1) } else { letter.turn };
        letter.end(next);
    }
    let [block_sinks, results, flag] = match name {
        "end_block" => [5, 10, 11],
        name if name.ends_with("_fe") => [6, 11, 12],
        _ => return,
    }
    .map(number);
    let step: Step = bytemuck::pod_read_unaligned(&arguments[0]);
    let (block_sinks, results) = (block_sinks + 8 * step.sinks_from as u64, results + 8 * step.results_from as u64);
    let (width, numbers) = (kyoho_core::sinks::width(interaction), interaction.n_outputs * step.stride as usize);
    let of_nearest = if interaction.nearest { step.stride as usize * size_of::<Nearest>() } else { 0 };
    assert!(script.has(block_sinks, 8 * width * step.ni as usize) && script.has(flag, 4));
    assert!(script.has(results, 8 * numbers + of_nearest));
    // SAFETY: the script has the memory.
    unsafe { put_sums(interaction, &step, [block_sinks, results, flag]) };
}

/// Writes the sums of the sinks at an address to another, and then the flag.
///
/// # Safety
/// The memory at the addresses has room for what the step says.
unsafe fn put_sums(interaction: &Interaction, step: &Step, [sinks, sums, flag]: [u64; 3]) {
    let (n_outputs, width, set) =
        (interaction.n_outputs, kyoho_core::sinks::width(interaction), step.first_slice as usize);
    let nearest = sums + 8 * n_outputs as u64 * step.stride as u64;
    assert_eq!(step.slices, step.chunks_of_slices().clamp(1, SLICES as i32 / step.slice_step));
    for sink in 0..step.ni as usize {
        // SAFETY: the caller's promise.
        unsafe {
            let index = *(sinks as *const i32).add(2 * width * sink);
            (0..n_outputs).for_each(|k| *(sums as *mut f64).add(sink * n_outputs + k) = output(index, set, k));
            if interaction.nearest {
                let found = Nearest::new(output(index, set, 8), index + set as i32);
                *(nearest as *mut Nearest).add(sink) = found;
            }
        }
    }
    // SAFETY: the caller's promise; the host looks at the flag meanwhile.
    unsafe { AtomicU32::from_ptr(flag as *mut u32) }.store(step.sequence, Ordering::Release);
}

/// The letters of a device, as its kernel gets them.
#[derive(Clone, Copy)]
pub(super) struct Letters {
    pub place: u64,
    pub results: u64,
    pub flag: u64,
    pub turn: u32,
}

impl Letters {
    /// Returns the words of the letter of this turn, if the bell has rung; 0 where a later turn has
    /// come, as this GPU begins kernels before others of their queue have ended.
    pub fn heard(&self) -> Option<u64> {
        // SAFETY: letters begin with their bell.
        let bell = unsafe { AtomicU64::from_ptr(self.place as *mut u64) }.load(Ordering::Acquire);
        match (bell as u32).wrapping_sub(self.turn) as i32 {
            ..0 => None,
            0 => Some(bell >> 32 & 0xffff),
            1.. => Some(0),
        }
    }

    /// Sums the block of the letter of this turn, if there is one.
    pub fn read(&self, interaction: &Interaction) -> bool {
        let is_there = self.heard().is_some_and(|words| words > 0);
        if is_there {
            let step = self.place + 8 * LETTER_HEAD as u64;
            let sinks = step + size_of::<Step>() as u64;
            // SAFETY: the letter has a step and its sinks, and the memory has room.
            unsafe { put_sums(interaction, &*(step as *const Step), [sinks, self.results, self.flag]) };
        }
        is_there
    }

    /// Tells the host the turn in which the kernel ended.
    pub fn end(&self, turn: u32) {
        // SAFETY: the second word of the head.
        unsafe { AtomicU32::from_ptr((self.place + 8) as *mut u32) }.store(turn, Ordering::Release);
    }
}

/// Returns a script whose kernels are those of an interaction.
pub fn script(interaction: &Arc<Interaction>) -> Shared {
    let (script, interaction) = (Shared::default(), interaction.clone());
    script.get().kernel = Some(Box::new(move |script, name, arguments| kernel(script, &interaction, name, arguments)));
    script
}

fn options(interaction: &Arc<Interaction>) -> DeviceOptions {
    DeviceOptions {
        interaction: interaction.clone(),
        softenings: false,
        threads: 1,
        level: Level::Portable,
        shape: None,
        companions: CompanionDevices::default(),
    }
}

/// Opens a device.
pub fn open(script: &Shared, maps_host: bool, interaction: &Arc<Interaction>) -> Result<FakeDevice> {
    GpuDevice::open(Fake::new(script, maps_host), options(interaction))
}

/// Returns a source of this number.
pub fn source(number: usize) -> Source {
    let place = number as f64;
    Source::from_derivatives(number as i32, 1.0, 0.0, [[place, 1.0, 2.0], [0.5; 3], [0.0; 3], [0.0; 3]])
}

/// Returns this many sinks.
pub fn sinks(ni: usize) -> impl Iterator<Item = Sink> {
    (0..ni).map(|number: usize| Sink {
        index: number as i32 - 3,
        softening2: 0.0,
        radius2: 1.0,
        step: 0.0,
        derivatives: padded([[number as f64; 3]]),
    })
}
