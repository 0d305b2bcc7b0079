//! Trees on the first OpenCL device of this machine.

use crate::LEAF;
use crate::accuracy::Effort;
use crate::bodies::Bodies;
use crate::cells::Cell;
use crate::cpu::{Octree, stackless};
use crate::criterion::Criterion;
use kyoho_core::{BufferPool, Result, SinkOrder};
use kyoho_hal::gpu::{Address, Gpu, Place};
use kyoho_hal::opencl::OpenCl;
use kyoho_hal::opencl::hooks;
use kyoho_hal::threads::Threads;

use super::block::sum_by_cells;
use super::builder::Tree;
use super::companions::Companions;
use super::constants::{BodyLayout, CELL_TILE, MOST_WORDS, SORT_THREADS, SORT_TURNS};
use super::forces::{Asked, Forces, ForcesOn};
use super::own::Own;
use super::shares::Times;
use super::stackless::{Walk, WalkedSinks, Walks};

/// A device with bodies, and a tree of them.
struct Built<'a> {
    gpu: &'a OpenCl,
    queue: <OpenCl as Gpu>::Queue,
    memory: <OpenCl as Gpu>::Memory,
    tree: Tree<OpenCl>,
}

type Given = super::builder::Given<Address<OpenCl>>;

impl<'a> Built<'a> {
    fn new(gpu: &'a OpenCl) -> Built<'a> {
        let (queue, memory) = (gpu.queue().unwrap(), gpu.allocate(0, "bodies").unwrap());
        Built { gpu, queue, memory, tree: Tree::new(gpu).unwrap() }
    }

    /// Builds the tree of some bodies.
    fn build(
        &mut self,
        (bodies, masses): (&[[f64; 3]], &[f64]),
        softening2: f64,
        frame: Option<Address<OpenCl>>,
    ) -> Result<Given> {
        let (positions, masses): (&[u8], &[u8]) = (bytemuck::cast_slice(bodies), bytemuck::cast_slice(masses));
        self.memory = self.gpu.allocate(positions.len() + masses.len(), "bodies")?;
        let there = bodies.iter().filter(|position| position[0].abs() < 1e150).count();
        // SAFETY: the memory is as long as both, and the copies are waited for.
        unsafe {
            for (bytes, at) in [(positions, 0), (masses, positions.len())] {
                let from = Place::Host(bytes.as_ptr().cast_mut());
                self.gpu.copy(&self.queue, from, Place::Device(&self.memory, at), bytes.len())?;
            }
            self.gpu.synchronize(&self.queue)?;
            let layout = BodyLayout::columns(0, positions.len() as i64);
            let (memory, places) = (self.memory.address(), bodies.len());
            let given =
                Given { memory, layout, places, bodies: there, mass_factor: 1.0, softening2, frame, to_pack: None };
            self.tree.build((self.gpu, &self.queue), &given)?;
            Ok(given)
        }
    }
}

/// Returns the order of bodies, and their cells, as a CPU makes them.
fn expected(bodies: &[[f64; 3]]) -> (Vec<u32>, Vec<Cell>) {
    let there: Vec<u32> = (0..).zip(bodies).filter(|(_, at)| at[0].abs() < 1e150).map(|(number, _)| number).collect();
    let positions: Vec<[f64; 3]> = there.iter().map(|number| bodies[*number as usize]).collect();
    let tree = Octree::new(&positions, &Threads::new(1), &BufferPool::default()).unwrap();
    (tree.order.iter().map(|place| there[*place as usize]).collect(), tree.cells.to_vec())
}

/// Numbers without a pattern between 0 and 1.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn scattered(count: usize, seed: u64) -> Vec<[f64; 3]> {
    let mut next = random(seed);
    (0..count).map(|_| [next(), next(), next()]).collect()
}

fn scaled(bodies: Vec<[f64; 3]>, by: f64, to: [f64; 3]) -> impl Iterator<Item = [f64; 3]> {
    bodies.into_iter().map(move |at| std::array::from_fn(|k| to[k] + by * at[k]))
}

#[test]
fn bodies_and_cells_are_those_of_a_cpu() {
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    let gpu = OpenCl::on(context.clone());
    gpu.enter().unwrap();
    let mut built = Built::new(&gpu);
    let sort_tile = SORT_THREADS * SORT_TURNS[0];
    let mut cases: Vec<(String, Vec<[f64; 3]>)> = Vec::new();
    let sizes = [1, 2, LEAF, LEAF + 1, 255, sort_tile - 1, sort_tile, CELL_TILE + 1, 2 * sort_tile + 3, 20_000];
    for count in sizes {
        cases.push((format!("{count} scattered bodies"), scattered(count, count as u64)));
    }
    let mut ascending = scattered(3000, 7);
    ascending.sort_by(|a, b| a[0].total_cmp(&b[0]));
    cases.push(("bodies from left to right".into(), ascending.clone()));
    ascending.reverse();
    cases.push(("bodies from right to left".into(), ascending));
    cases.push(("bodies in a line".into(), (0..2000).map(|k| [f64::from(k), 0.0, -3.0]).collect()));
    cases.push(("coincident bodies".into(), vec![[1.0, 2.0, 3.0]; 1500]));
    cases.push(("two heaps".into(), (0..100).map(|k| [f64::from(k % 2); 3]).collect()));
    cases.push(("pairs".into(), scattered(700, 3).into_iter().flat_map(|at| [at; 2]).collect()));
    let inner = scaled(scattered(400, 5), 1e-9, [0.3, 0.4, 0.5]);
    let middle = scaled(scattered(400, 6), 1e-4, [0.3, 0.4, 0.5]);
    cases.push(("a cluster in a cluster".into(), scattered(500, 4).into_iter().chain(middle).chain(inner).collect()));
    let far_from_origin = scaled(scattered(900, 8), 1e3, [1e9, -1e9, 1e8]);
    cases.push(("bodies far from the origin".into(), far_from_origin.collect()));
    let mut with_gaps = scattered(1200, 9);
    with_gaps.iter_mut().step_by(3).for_each(|at| *at = [kyoho_methods::gpu::pack::FAR_AWAY; 3]);
    cases.push(("bodies with gaps".into(), with_gaps));
    for (name, bodies) in cases {
        built.build((&bodies, &vec![1.0; bodies.len()]), 0.0, None).unwrap();
        let on = (built.gpu, &built.queue);
        let (order, cells) = expected(&bodies);
        assert!(built.tree.copy_numbers(on).unwrap() == order, "{name}: another order of bodies");
        let found = built.tree.copy_cells(on).unwrap();
        let differing = found.iter().zip(&cells).position(|(a, b)| a != b);
        assert_eq!(found.len(), cells.len(), "{name}; cell {differing:?}");
        assert_eq!(differing.map(|k| (k, found[k], cells[k])), None, "{name}");
    }
}

/// Returns the potential and the acceleration of each sink by direct sums. A sink that is a source
/// too has its number.
fn direct(sources: &[[f64; 3]], masses: &[f64], sinks: &[[f64; 3]], softening2: f64, skips: bool) -> Vec<[f64; 4]> {
    let of_sink = |(sink, at): (usize, &[f64; 3])| {
        let mut sums = [0.0; 4];
        for source in 0..sources.len() {
            let r: [f64; 3] = std::array::from_fn(|k| sources[source][k] - at[k]);
            let s2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + softening2;
            if s2 > 0.0 && !(skips && source == sink) {
                let potential = masses[source] / s2.sqrt();
                sums[0] -= potential;
                (0..3).for_each(|k| sums[1 + k] += potential / s2 * r[k]);
            }
        }
        sums
    };
    sinks.iter().enumerate().map(of_sink).collect()
}

/// Pairs, from 1e-5 to 1e-9 apart, of the bodies of a Plummer model and others.
fn pairs(count: usize) -> Vec<[f64; 3]> {
    let mut next = random(17);
    let pair = |(number, at): (usize, [f64; 3])| {
        let separation = 1e-5 * 0.1_f64.powi((number % 5) as i32);
        [at, at.map(|coordinate| coordinate + separation * (next() - 0.5))]
    };
    plummer(count).into_iter().enumerate().flat_map(pair).collect()
}

/// A Plummer model.
fn plummer(count: usize) -> Vec<[f64; 3]> {
    let mut next = random(count as u64);
    let mut body = || {
        let radius = 1.0 / ((next() * 0.999).powf(-2.0 / 3.0) - 1.0).sqrt();
        let (z, angle) = (2.0 * next() - 1.0, std::f64::consts::TAU * next());
        let rho = (1.0 - z * z).sqrt();
        [radius * rho * angle.cos(), radius * rho * angle.sin(), radius * z]
    };
    (0..count).map(|_| body()).collect()
}

/// Trees of sources and of sinks, and the memory for forces.
struct Sums<'a> {
    sources: Built<'a>,
    sinks: Built<'a>,
    forces: Forces<OpenCl>,
}

impl Sums<'_> {
    /// Returns the forces on the sources themselves, or on other points.
    fn of(
        &mut self,
        (sources, masses): (&[[f64; 3]], &[f64]),
        sinks: Option<&[[f64; 3]]>,
        asked: &Asked,
    ) -> Result<Vec<[f64; 4]>> {
        let Sums { sources: built, sinks: others, forces } = self;
        let given = built.build((sources, masses), asked.softening2, None)?;
        if let Some(sinks) = sinks {
            others.build((sinks, &vec![0.0; sinks.len()]), 0.0, Some(built.tree.frame()))?;
        }
        let on = (built.gpu, &built.queue);
        let mut found = vec![[0.0; 4]; sinks.unwrap_or(sources).len()];
        let to = on.0.allocate(size_of_val(&found[..]), "forces")?;
        // SAFETY: the memories are as long as the bodies need, and the copy is waited for.
        unsafe {
            if sinks.is_some() {
                others.tree.sum_moments(on, asked.order, asked.criterion)?;
            }
            let tree = &others.tree;
            let on_sinks = sinks.map_or(ForcesOn::All, |_| ForcesOn::SeparateSinks { tree, own: Own::None });
            sum_by_cells(on, (&mut built.tree, forces), &on_sinks, (&given, asked), to.address())?;
            let bytes = size_of_val(&found[..]);
            on.0.copy(on.1, Place::Device(&to, 0), Place::Host(found.as_mut_ptr().cast()), bytes)?;
            on.0.synchronize(on.1)?;
        }
        Ok(found)
    }
}

impl Sums<'_> {
    /// Returns whether the device and its companions have all forces on the sources themselves, and
    /// these; the device says that it took so many seconds.
    fn shared(
        &mut self,
        companions: &mut Companions<OpenCl>,
        given: &Given,
        asked: &Asked,
        seconds: f64,
    ) -> Result<(bool, Vec<[f64; 4]>)> {
        let Sums { sources, forces, .. } = self;
        let on = (sources.gpu, &sources.queue);
        let mut found = vec![[0.0; 4]; given.bodies];
        let bytes = size_of_val(&found[..]);
        let to = on.0.allocate(bytes, "forces")?;
        let first = |given: &Given, asked: &Asked, tell: &dyn Fn(_)| {
            // SAFETY: the memories are as long as the bodies need.
            unsafe {
                sources.tree.build(on, given)?;
                tell(sources.tree.sorted_numbers());
                sum_by_cells(on, (&mut sources.tree, forces), &ForcesOn::All, (given, asked), to.address())?;
            }
            Ok(Times { ready: 0.0, seconds })
        };
        // SAFETY: as above, and the copy is waited for.
        unsafe {
            let is_whole = companions.sum(on, (given, asked), to.address(), first)?;
            on.0.copy(on.1, Place::Device(&to, 0), Place::Host(found.as_mut_ptr().cast()), bytes)?;
            on.0.synchronize(on.1)?;
            Ok((is_whole, found))
        }
    }
}

/// Returns the median and the 99th percentile of the relative errors of accelerations.
fn errors(found: &[[f64; 4]], expected: &[[f64; 4]]) -> [f64; 2] {
    let error = |(found, expected): (&[f64; 4], &[f64; 4])| {
        let square = |k: usize| (found[k] - expected[k]).powi(2);
        ((1..4).map(square).sum::<f64>() / (1..4).map(|k| expected[k].powi(2)).sum::<f64>()).sqrt()
    };
    let mut errors: Vec<f64> = found.iter().zip(expected).map(error).collect();
    errors.sort_by(f64::total_cmp);
    [errors[errors.len() / 2], errors[errors.len() * 99 / 100]]
}

#[test]
fn close_pairs_have_the_accuracy_that_is_asked_for() {
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    let gpu = OpenCl::on(context.clone());
    gpu.enter().unwrap();
    let mut sums = Sums { sources: Built::new(&gpu), sinks: Built::new(&gpu), forces: Forces::new(&gpu).unwrap() };
    let bodies = pairs(1500);
    let masses = vec![1.0 / bodies.len() as f64; bodies.len()];
    let Effort { order, tolerance } = Effort::of(1e-4);
    // Unsoftened, and as soft as some of them are close; on themselves, and on others beside them.
    for softening2 in [0.0, 1e-14] {
        for (sinks, skip_own) in [(None, true), (Some(&bodies[..600]), false)] {
            let criterion = Criterion::Error { tolerance };
            let asked = Asked::new((order, criterion), (softening2, 1.0), skip_own);
            let expected = direct(&bodies, &masses, sinks.unwrap_or(&bodies), softening2, skip_own);
            let found = sums.of((&bodies, &masses), sinks, &asked).unwrap();
            let [median, rare] = errors(&found, &expected);
            assert!(median < 1e-4 && rare < 5e-4, "softening {softening2:e}: {median:e} {rare:e}");
            let of_all = |forces: &[[f64; 4]]| forces.iter().map(|force| force[0]).sum::<f64>();
            let off = of_all(&found) / of_all(&expected) - 1.0;
            assert!(off.abs() < 1e-4, "softening {softening2:e}: the potential energy is off by {off:e}");
        }
    }
}

/// Lists for which there is no room and memory that is refused are errors, and the next call has
/// forces again.
fn expect_refusals(gpu: &OpenCl, sums: &mut Sums, given: (&[[f64; 3]], &[f64]), asked: &Asked) {
    let expected = sums.of(given, None, asked).unwrap();
    sums.forces = Forces::new(gpu).unwrap();
    sums.forces.most_words = 1000;
    let refused = sums.of(given, None, asked).unwrap_err().to_string();
    assert!(refused.contains("words of a tree's lists") && refused.contains("allowed: 0 to 1000"), "{refused}");
    sums.forces.most_words = MOST_WORDS;
    assert!(sums.of(given, None, asked).unwrap() == expected);

    sums.forces = Forces::new(gpu).unwrap();
    hooks::fail(0..0);
    sums.of(given, None, asked).unwrap();
    let calls = hooks::calls();
    let memory = (0..calls.len()).filter(|place| calls[*place] == "clCreateBuffer");
    let mut refusals = 0;
    for place in memory {
        sums.forces = Forces::new(gpu).unwrap();
        hooks::fail(place..place + 1);
        refusals += usize::from(sums.of(given, None, asked).is_err());
        hooks::fail(0..0);
        assert!(sums.of(given, None, asked).unwrap() == expected, "call {place} was refused");
    }
    assert!(refusals > 10, "{refusals}");
}

/// Compares the forces of few bodies, of bodies in the same place, and of bodies without mass.
fn compare_special_bodies(sums: &mut Sums, asked: &Asked) {
    for (name, bodies) in [
        ("one body", vec![[1.0, 2.0, 3.0]]),
        ("coincident bodies", vec![[1.0; 3]; 100]),
        ("two heaps", (0..200).map(|k| [f64::from(k % 2); 3]).collect()),
        ("a line", (0..300).map(|k| [f64::from(k), 0.0, 0.0]).collect()),
    ] {
        for mass in [1.0, 0.0] {
            let masses = vec![mass; bodies.len()];
            let found = sums.of((&bodies, &masses), None, asked).unwrap();
            let expected = direct(&bodies, &masses, &bodies, 1e-2, true);
            for (found, expected) in found.iter().zip(&expected) {
                let off = (0..4).map(|k| (found[k] - expected[k]).abs()).fold(0.0, f64::max);
                assert!(off <= 1e-3 * expected[0].abs() + 1e-5, "{name}: {found:?}, expected {expected:?}");
            }
        }
    }
}

/// A body so far away that 32 bits do not hold its distances and those of the others is an error, and
/// the next call has forces again. As a sink it may be anywhere.
fn expect_body_too_far_away(sums: &mut Sums, asked: &Asked) {
    let bodies = plummer(1000);
    let masses = vec![1e-3; bodies.len()];
    let with = |far: f64| [&[[far, 0.0, -far]], &bodies[1..]].concat();
    let found = sums.of((&with(1e19), &masses), None, asked).unwrap();
    let expected = direct(&with(1e19), &masses, &with(1e19), 1e-2, true);
    let [_, rare] = errors(&found[1..], &expected[1..]);
    assert!(rare < 1e-2, "{rare:e}");
    for far in [1e22, 1e40, 1e100] {
        let error = sums.of((&with(far), &masses), None, asked).unwrap_err().to_string();
        assert!(
            error.contains("the extent of the sources") && error.contains("up to 1e20 on a GPU"),
            "{far:e}: {error}"
        );
        assert!(sums.of((&bodies, &masses), Some(&with(far)), asked).is_ok(), "{far:e}");
    }
}

#[test]
fn forces_are_those_of_direct_sums() {
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    let gpu = OpenCl::on(context.clone());
    gpu.enter().unwrap();
    let mut sums = Sums { sources: Built::new(&gpu), sinks: Built::new(&gpu), forces: Forces::new(&gpu).unwrap() };
    let bodies = plummer(2000);
    let mut next = random(1);
    let masses: Vec<f64> = bodies.iter().map(|_| (0.5 + next()) / bodies.len() as f64).collect();
    let asked = Asked::new((4, Criterion::Error { tolerance: 0.0 }), (0.0, 1.0), true);

    // Without tolerance all pairs are summed.
    let expected = direct(&bodies, &masses, &bodies, 0.0, true);
    let found = sums.of((&bodies, &masses), None, &asked).unwrap();
    let [median, rare] = errors(&found, &expected);
    assert!(median < 1e-7 && rare < 1e-6, "{median:e} {rare:e}");

    for (softening2, tolerance, allowed) in [(0.0, 1e-3, [4e-4, 3e-2]), (0.25, 1e-4, [1e-4, 1e-2])] {
        let asked = Asked { softening2, criterion: Criterion::Error { tolerance }, ..asked };
        let expected = direct(&bodies, &masses, &bodies, softening2, true);
        let found = sums.of((&bodies, &masses), None, &asked).unwrap();
        let [median, rare] = errors(&found, &expected);
        assert!(median < allowed[0] && rare < allowed[1], "{softening2} {tolerance}: {median:e} {rare:e}");
        assert!(median > 1e-6, "no expansion was used");
        let off = |k: usize| (found[k][0] / expected[k][0] - 1.0).abs();
        assert!((0..bodies.len()).map(off).fold(0.0, f64::max) < 0.05);
        // Lists lie elsewhere each time.
        assert!(sums.of((&bodies, &masses), None, &asked).unwrap() == found, "other bits in a second call");
    }

    expect_refusals(&gpu, &mut sums, (&bodies, &masses), &asked);

    // Bodies that coincide exert no force on one another, also where each of a leaf is a sink alone.
    // Three at each place do not fit into tiles without a rest.
    let triples: Vec<[f64; 3]> = plummer(700).into_iter().flat_map(|body| [body; 3]).collect();
    let equal = vec![1.0 / triples.len() as f64; triples.len()];
    for tolerance in [0.0, 1e-3] {
        let asked = Asked { softening2: 0.0, criterion: Criterion::Error { tolerance }, ..asked };
        let found = sums.of((&triples, &equal), None, &asked).unwrap();
        let [median, rare] = errors(&found, &direct(&triples, &equal, &triples, 0.0, true));
        assert!(median < 1e-3 && rare < 3e-2, "{tolerance}: {median:e} {rare:e}");
        assert!(found.iter().flatten().all(|number| number.is_finite()), "{tolerance}: a force is no number");
    }

    // Other points, some of them outside; and sources of both signs.
    let asked = Asked { softening2: 1e-2, criterion: Criterion::Error { tolerance: 1e-4 }, ..asked };
    let points: Vec<[f64; 3]> = scaled(scattered(300, 2), 60.0, [-30.0; 3]).chain(plummer(300)).collect();
    let found = sums.of((&bodies, &masses), Some(&points), &asked).unwrap();
    let [median, rare] = errors(&found, &direct(&bodies, &masses, &points, 1e-2, false));
    assert!(median < 1e-4 && rare < 5e-2, "{median:e} {rare:e}");
    expect_body_too_far_away(&mut sums, &asked);
    sums.forces.sinks_at_a_time = 100;
    assert!(sums.of((&bodies, &masses), Some(&points), &asked).unwrap() == found, "other forces of few at a time");
    sums.forces.sinks_at_a_time = 1 << 20;
    let signed: Vec<f64> = masses.iter().enumerate().map(|(k, mass)| if k % 5 == 0 { -mass } else { *mass }).collect();
    let found = sums.of((&bodies, &signed), None, &asked).unwrap();
    let [median, rare] = errors(&found, &direct(&bodies, &signed, &bodies, 1e-2, true));
    assert!(median < 2e-4 && rare < 5e-2, "{median:e} {rare:e}");

    compare_special_bodies(&mut sums, &asked);
}

#[test]
fn companions_change_no_bit() {
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    let gpu = OpenCl::on(context.clone());
    gpu.enter().unwrap();
    let Some(mut companions) = Companions::open(&gpu, &[0, 0]).unwrap() else { return };
    assert!(Companions::open(&gpu, &[]).unwrap().is_none());
    let mut sums = Sums { sources: Built::new(&gpu), sinks: Built::new(&gpu), forces: Forces::new(&gpu).unwrap() };
    let criterion = Criterion::Error { tolerance: 1e-3 };
    let softening2 = 1e-4;
    let asked = Asked::new((4, criterion), (softening2, 1.0), true);
    let signed = |count: usize| (0..count).map(|k| if k % 7 == 0 { -0.5 } else { 1.0 }).collect::<Vec<f64>>();
    companions.all[0].forces.sinks_at_a_time = 400;
    for (name, bodies, masses) in [
        ("a Plummer model", plummer(5000), vec![1.0; 5000]),
        ("masses of both signs", plummer(3000), signed(3000)),
        ("coincident bodies", vec![[1.0; 3]; 1500], vec![1.0; 1500]),
        ("fewer bodies than cells of sinks have", plummer(100), vec![1.0; 100]),
        ("one body", vec![[1.0, 2.0, 3.0]], vec![1.0]),
    ] {
        let expected = sums.of((&bodies, &masses), None, &asked).unwrap();
        // Sinks that are summed a few at a time have the same forces.
        for sinks in [300, 2000] {
            sums.forces.sinks_at_a_time = sinks;
            assert!(sums.of((&bodies, &masses), None, &asked).unwrap() == expected, "{name}: other forces of {sinks}");
        }
        sums.forces.sinks_at_a_time = 1 << 20;
        let given = sums.sources.build((&bodies, &masses), softening2, None).unwrap();
        companions.forget();
        // Later blocks have the trees of the first, and other shares.
        for seconds in [1e-6, 1e-3, 10.0] {
            let (is_whole, found) = sums.shared(&mut companions, &given, &asked, seconds).unwrap();
            assert!(is_whole && found == expected, "{name}: other forces");
        }
    }

    // Forces of a companion that fails are missing, and its device goes on without it.
    let (bodies, masses) = (plummer(5000), vec![1.0; 5000]);
    let given = sums.sources.build((&bodies, &masses), softening2, None).unwrap();
    companions.forget();
    companions.all[1].forces.most_words = 1000;
    assert!(!sums.shared(&mut companions, &given, &asked, 1.0).unwrap().0);
}

#[test]
fn walks_without_a_stack_sum_the_points_of_a_cpu() {
    let Some(context) = hooks::hooked_context() else { return };
    hooks::fail(0..0);
    let gpu = OpenCl::on(context.clone());
    gpu.enter().unwrap();
    let (mut built, mut walks) = (Built::new(&gpu), Walks::new(&gpu).unwrap());
    let positions = plummer(3000);
    let masses = vec![1.0 / positions.len() as f64; positions.len()];
    let indices: Vec<i32> = (0..positions.len() as i32).collect();
    let bodies =
        Bodies { positions: positions.into(), masses: masses.into(), indices: indices.into(), ..Bodies::default() };
    let count = bodies.positions.len();
    let mut before = (count * count) as u64;
    for (theta, softening2) in [(0.3, 1e-4), (0.6, 0.0), (1.0, 0.25)] {
        let walk = stackless::Walk { theta, sinks: SinkOrder::Given, softening2, skip_own_index: true };
        let (expected, profile) = stackless::sum(&bodies, &bodies, &walk, &Threads::alone()).unwrap();
        let all = profile.far;
        let given = built.build((&bodies.positions, &bodies.masses), softening2, None).unwrap();
        let on = (built.gpu, &built.queue);
        let mut found = vec![[0.0; 4]; count];
        let to = on.0.allocate(size_of_val(&found[..]), "forces").unwrap();
        let sinks = WalkedSinks { memory: given.memory, layout: given.layout, count, order: None };
        let walk = Walk { theta, softening2, mass_factor: 1.0, skip_own: true, adds: false };
        // SAFETY: the memories are as long as the bodies need, and the copy is waited for.
        unsafe {
            built.tree.sum_cells(on).unwrap();
            built.tree.link_next(on).unwrap();
            walks.sum(on, &mut built.tree, &sinks, &walk, to.address()).unwrap();
            let bytes = size_of_val(&found[..]);
            on.0.copy(on.1, Place::Device(&to, 0), Place::Host(found.as_mut_ptr().cast()), bytes).unwrap();
            on.0.synchronize(on.1).unwrap();
        }
        let [median, rare] = errors(&found, &expected);
        assert!(median < 1e-6 && rare < 1e-5, "theta {theta}: {median:e} {rare:e}");
        let counts: Vec<u32> = built.tree.copied(on, &walks.counts, count).unwrap();
        // Rounding decides about a cell whose distance is that at which it becomes a point.
        let summed: u64 = counts.into_iter().map(u64::from).sum();
        assert!(summed.abs_diff(all) <= all / 10_000, "theta {theta}: {summed} points, {all} on a CPU");
        assert!(all < before / 4 * 3, "theta {theta}: {all} points after {before}");
        before = all;
    }
}
