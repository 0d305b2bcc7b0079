//! The HAL serves programs of any kind: a prefix sum on each GPU of this machine, and on PoCL.

mod common;

use std::process::Command;

use bytemuck::bytes_of;
use kyoho::Result;
use kyoho_hal::cuda::Cuda;
use kyoho_hal::fetched::Fetched;
use kyoho_hal::gpu::{Address, Argument, Code, DeviceMemory, Gpu, Images, Launch, Place};
use kyoho_hal::opencl::OpenCl;

use common::pocl::on_pocl;
use common::text;

const PACK: &[u8] = include_bytes!("../kernels/generated/test_prefix_sum.pack");
/// Threads of a block, and numbers that it scans: `SCANNED` in the kernels.
const SCANNED: usize = 256;
const COUNT: usize = 50_000;

/// The sums of all numbers before and at each place.
fn prefix_sums<G: Gpu>(gpu: &G, numbers: &[u32]) -> Result<Vec<u32>> {
    let _caller = gpu.enter()?;
    let source = [text("kernels/prelude_opencl.h"), text("kernels/tests/prefix_sum.h")].concat();
    let code = Code {
        name: "prefix sum",
        images: Images::Packed { packs: &[PACK], unit: "test_prefix_sum" },
        source: &source,
        defines: &[],
    };
    let mut kernels = gpu.load(&code, &["scan_blocks", "add_totals"])?.into_iter();
    let (mut scan, mut add) = (kernels.next().unwrap(), kernels.next().unwrap());
    let (queue, bytes, blocks) = (gpu.queue()?, 4 * numbers.len(), numbers.len().div_ceil(SCANNED));
    let memory = |bytes| gpu.allocate(bytes, "numbers");
    let (given, sums, totals, last) = (memory(bytes)?, memory(bytes)?, memory(4 * blocks)?, memory(4)?);
    let [given_at, sums_at, totals_at, last_at] =
        [&given, &sums, &totals, &last].map(DeviceMemory::address).map(Argument::Memory);
    let counts = [numbers.len() as i32, blocks as i32];
    let [of_numbers, of_totals] = [0, 1].map(|place| Argument::Bytes(bytes_of(&counts[place])));
    let launch = |kernel: &mut G::Kernel, blocks, arguments: &[Argument<Address<G>>]| {
        // SAFETY: the memory is as long as the counts say, and outlasts the queue's work.
        unsafe { gpu.launch(&queue, Launch { kernel, blocks, threads: SCANNED, overlaps: false, arguments }) }
    };
    let from = Place::Host(numbers.as_ptr().cast_mut().cast());
    // SAFETY: both memories are that long, and are held until the queue has done the copy.
    unsafe { gpu.copy(&queue, from, Place::Device(&given, 0), bytes)? };
    launch(&mut scan, blocks, &[given_at, sums_at, totals_at, of_numbers])?;
    launch(&mut scan, 1, &[totals_at, totals_at, last_at, of_totals])?;
    launch(&mut add, blocks, &[sums_at, totals_at, of_numbers])?;
    let mut found = Fetched::new(gpu, bytes, "numbers")?;
    Ok(bytemuck::cast_slice(found.fetch((gpu, &queue), &[(&sums, 0..bytes)])?).to_vec())
}

fn check<G: Gpu>(gpu: &G) {
    let numbers: Vec<u32> = (0..COUNT as u32).map(|place| place.wrapping_mul(2_654_435_761) % 1000).collect();
    let expected: Vec<u32> = numbers
        .iter()
        .scan(0, |sum, number| {
            *sum += number;
            Some(*sum)
        })
        .collect();
    assert_eq!(prefix_sums(gpu, &numbers).unwrap(), expected, "{}", gpu.properties().identity);
}

#[test]
fn a_prefix_sum_on_an_nvidia_gpu() {
    match Cuda::open(0) {
        Ok(gpu) => check(&gpu),
        Err(error) => eprintln!("not run: {error}"),
    }
}

#[test]
fn a_prefix_sum_by_opencl() {
    // Another process, which sees the devices of PoCL alone.
    let test = std::env::current_exe().unwrap();
    let mut command = Command::new(test);
    command.args(["--exact", "on_the_first_opencl_device", "--ignored"]);
    let output = on_pocl(command, &[]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "a_prefix_sum_by_opencl runs it where PoCL is seen"]
fn on_the_first_opencl_device() {
    check(&OpenCl::open(0).unwrap());
}
