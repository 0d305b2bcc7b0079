//! Domains of which one is on the first OpenCL device of this machine, which fails.

use kyoho_core::{Level, Order, Precision, Result, TreeAccuracy, TreeBlock};
use kyoho_hal::opencl::OpenCl;
use kyoho_hal::opencl::hooks::{self, Own};
use kyoho_laws::catalogue;
use kyoho_laws::simd::kernel::kernel_32;

use super::domain::DomainOnGpu;
use crate::bodies::Bodies;
use crate::cpu::Spread;
use crate::cpu::domain::{Domain, DomainForces, RankWords};
use crate::cpu::essential::Region;
use crate::cube::Cube;

const COUNT: usize = 700;
const ASKED: TreeBlock = TreeBlock { accuracy: TreeAccuracy::Error(1e-3), softening2: 1e-4, are_sources: None };

/// Returns bodies that are denser within, every second of them on the right of a plane.
fn bodies(count: usize) -> [Vec<[f64; 3]>; 2] {
    let at = |body: usize| {
        let (turn, radius) = (2.4 * body as f64, (body as f64 / count as f64).powi(2));
        let side = if body.is_multiple_of(2) { -1.0 } else { 1.0 };
        [side * radius * turn.cos().abs(), radius * turn.sin(), radius * ((body % 17) as f64 / 17.0 - 0.5)]
    };
    [0, 1].map(|first| (first..count).step_by(2).map(at).collect())
}

/// A domain of the CPU or of a device, which sums the forces on so many sinks at a time.
fn domain_of(context: Option<&Own>, falls_back: bool, sinks_at_a_time: usize) -> Result<Domain<f32>> {
    let interaction = catalogue::interaction(Order::Second, Precision::Mixed).unwrap();
    let kernel = kernel_32(Level::Portable, &interaction).unwrap();
    let device = context.map(|context| DomainOnGpu::open(OpenCl::on((*context).clone()))).transpose()?;
    let device = device.map(|device| Box::new(device.with_sinks_at_a_time(sinks_at_a_time)) as _);
    Ok(Domain::new(kernel, interaction, (1, Level::Portable), (device, falls_back)))
}

fn domain(context: Option<&Own>, falls_back: bool) -> Result<Domain<f32>> {
    domain_of(context, falls_back, 1 << 20)
}

/// Returns what each of two has for the other one.
fn exchanged(words: [Result<RankWords>; 2]) -> Result<[RankWords; 2]> {
    let [one, other] = words;
    let (one, other) = (one?, other?);
    let parts = |words: &RankWords| words.each().map(<[u64]>::to_vec).collect::<Vec<_>>();
    let (of_one, of_other) = (parts(&one), parts(&other));
    Ok([RankWords::of(&[vec![], of_other[0].clone()])?, RankWords::of(&[of_one[1].clone(), vec![]])?])
}

fn forces(domains: &mut [Domain<f32>; 2]) -> Result<Vec<[f64; 4]>> {
    forces_of(COUNT, domains)
}

/// Returns the forces on so many bodies of two domains, by a tree of both.
fn forces_of(count: usize, domains: &mut [Domain<f32>; 2]) -> Result<Vec<[f64; 4]>> {
    let [left, right] = domains;
    let positions = bodies(count);
    let cube = Cube::around(positions.iter().flatten().copied());
    let of = |side: usize| Bodies {
        positions: positions[side].clone().into(),
        masses: vec![1.0 / count as f64; positions[side].len()].into(),
        indices: (0..positions[side].len()).map(|body| (2 * body + side) as i32).collect::<Vec<_>>().into(),
        ..Bodies::default()
    };
    let spreads = [
        left.begin((of(0), None), &cube, ASKED, (true, true))?,
        right.begin((of(1), None), &cube, ASKED, (true, true))?,
    ];
    let spread = Spread::joined(&mut spreads.clone());
    let regions: [Vec<Region>; 2] = [left.expand(&spread, 100)?, right.expand(&spread, 100)?];
    let regions = [&regions[0][..], &regions[1]];
    let cells = exchanged([left.cells_for_first(0, &regions), right.cells_for_first(1, &regions)])?;
    let regions = [left.first(&cells[0], 100)?, right.first(&cells[1], 100)?];
    let regions = [&regions[0][..], &regions[1]];
    let cells = exchanged([left.cells_for_second(0, &regions), right.cells_for_second(1, &regions)])?;
    let forces = [left.second(&cells[0], &[])?, right.second(&cells[1], &[])?];
    left.end();
    right.end();
    Ok(forces.iter().flat_map(|forces| forces.iter()).copied().collect())
}

fn require_near(found: &[[f64; 4]], expected: &[[f64; 4]], what: &str) {
    let largest = expected.iter().flatten().fold(0.0_f64, |most, number| most.max(number.abs()));
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() <= 2e-3 * largest, "{what}: {found:e} for {expected:e}");
    }
}

#[test]
fn sinks_that_are_summed_some_at_a_time_have_the_bits_of_all() {
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    // Pieces end with cells of sinks, which have up to 4096.
    let of = |sinks: usize| {
        let mut domains = [0, 1].map(|_| domain_of(Some(&context), false, sinks).unwrap());
        forces_of(20_000, &mut domains).unwrap()
    };
    assert!(of(3000) == of(1 << 20));
}

#[test]
fn wherever_a_device_fails_the_cpu_goes_on_or_the_call_ends() {
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    // The context keeps its programs.
    forces(&mut [domain(Some(&context), false).unwrap(), domain(None, false).unwrap()]).unwrap();
    let live = hooks::live();
    let expected = forces(&mut [domain(None, false).unwrap(), domain(None, false).unwrap()]).unwrap();
    let mut domains = [domain(Some(&context), false).unwrap(), domain(None, false).unwrap()];
    forces(&mut domains).unwrap();
    hooks::fail(0..0);
    let by_gpu = forces(&mut domains).unwrap();
    let calls = hooks::calls().len();
    require_near(&by_gpu, &expected, "by a device");
    assert!(calls > 50 && by_gpu != expected);
    for place in (0..calls).step_by(calls / 40) {
        hooks::fail(place..usize::MAX);
        let failed = forces(&mut domains).is_err();
        // Arguments that a kernel has already are not set again.
        assert!(failed || hooks::calls().len() <= place, "call {place}");
        hooks::fail(0..0);
        assert!(forces(&mut domains).unwrap() == by_gpu, "after call {place}");
        let mut falling = [domain(Some(&context), true).unwrap(), domain(None, false).unwrap()];
        forces(&mut falling).unwrap();
        hooks::fail(place..usize::MAX);
        require_near(&forces(&mut falling).unwrap(), &expected, "by the CPU after a device");
        let calls = hooks::calls().len();
        require_near(&forces(&mut falling).unwrap(), &expected, "by the CPU");
        assert_eq!(hooks::calls().len(), calls, "the device is asked no more");
        hooks::fail(0..0);
    }
    drop(domains);
    assert_eq!(hooks::live(), live);
}
