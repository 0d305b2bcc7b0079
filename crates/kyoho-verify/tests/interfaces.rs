//! Random calls of every interface of C. Results have the same bits on one, two and three devices,
//! whether the interfaces are called by one thread or each by its own, and whether a caller fetches
//! the forces on all sinks or on some.
//!
//! `KYOHO_TEST_ROUNDS` sets the number of calls of each interface, for long runs, and
//! `KYOHO_TEST_SEED` the seed. A process that makes no call for a minute is ended, after its
//! threads were shown.

#[path = "../../../tests/common/mod.rs"]
mod common;
#[path = "interfaces/native.rs"]
mod native;

use std::ffi::c_int;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use common::pocl::by_opencl;
use common::programs::alone;

use kyoho::abi::g5::functions::*;
use kyoho::abi::g6::functions::*;
use kyoho::abi::hermite6::sapporo6::*;
use kyoho::abi::hermite6::yebisu::*;
use kyoho::abi::nbody6::gpu2::*;
use kyoho_verify::models::Random;
use native::{native, pairs};

/// The number of addresses.
const ADDRESSES: usize = 600;
/// The number of addresses of GRAPE's interfaces. Several devices share blocks with many sources.
fn addresses() -> usize {
    number_of("KYOHO_TEST_ADDRESSES", ADDRESSES)
}

/// The most sinks of a block.
const SINKS: usize = 90;
/// What stands in results that were not written.
const UNTOUCHED: f64 = 7.5;

/// Bodies as C programs have them, and room for results.
struct Bodies {
    index: Vec<c_int>,
    mass: Vec<f64>,
    x: Vec<[f64; 3]>,
    v: Vec<[f64; 3]>,
    zeros: Vec<[f64; 3]>,
    radius2: Vec<f64>,
    acceleration: Vec<[f64; 3]>,
    jerk: Vec<[f64; 3]>,
    potential: Vec<f64>,
    nearest: Vec<c_int>,
    distance: Vec<f32>,
    list: Vec<c_int>,
}

impl Bodies {
    fn new(random: &mut Random, count: usize) -> Bodies {
        let vector = |random: &mut Random| {
            let size = random.unit();
            random.direction().map(|component| component * size)
        };
        Bodies {
            index: (0..count).map(|_| random.below(ADDRESSES) as c_int).collect(),
            mass: (0..count).map(|_| random.unit()).collect(),
            x: (0..count).map(|_| vector(random)).collect(),
            v: (0..count).map(|_| vector(random)).collect(),
            zeros: vec![[0.0; 3]; count],
            radius2: (0..count).map(|_| [0.0, 0.02, 0.3][random.below(3)]).collect(),
            acceleration: vec![[UNTOUCHED; 3]; count],
            jerk: vec![[UNTOUCHED; 3]; count],
            potential: vec![UNTOUCHED; count],
            nearest: vec![-9; count],
            distance: vec![UNTOUCHED as f32; count],
            list: vec![0; addresses()],
        }
    }

    /// Returns the bits of the results for the first sinks, and makes room for others. Those for
    /// further sinks are untouched.
    fn take(&mut self, fetched: usize) -> Vec<u64> {
        let vectors = |rows: &[[f64; 3]]| rows.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
        let all = |from: usize, to: usize| {
            let reals = [vectors(&self.acceleration[from..to]), vectors(&self.jerk[from..to])].concat();
            let potentials = self.potential[from..to].iter().map(|value| value.to_bits());
            let nearest = self.nearest[from..to].iter().map(|index| *index as u64);
            let distances = self.distance[from..to].iter().map(|value| u64::from(value.to_bits()));
            reals.into_iter().chain(potentials).chain(nearest).chain(distances).collect::<Vec<_>>()
        };
        let (bits, rest) = (all(0, fetched), all(fetched, self.index.len()));
        let untouched = [UNTOUCHED.to_bits(), -9i32 as u64, u64::from((UNTOUCHED as f32).to_bits())];
        assert!(rest.iter().all(|bits| untouched.contains(bits)), "more was written than was asked for");
        self.acceleration.fill([UNTOUCHED; 3]);
        self.jerk.fill([UNTOUCHED; 3]);
        self.potential.fill(UNTOUCHED);
        self.nearest.fill(-9);
        self.distance.fill(UNTOUCHED as f32);
        bits
    }
}

/// The random calls of an interface.
type Calls = fn(&mut Random, usize) -> Vec<u64>;

/// The interfaces. Each has calls of its own, which leave the others alone.
const INTERFACES: [(&str, Calls); 6] =
    [("g6", g6), ("g5", g5), ("order6", order6), ("nbody6", nbody6), ("native", native), ("pairs", pairs)];

fn ok(code: c_int) {
    assert_eq!(code, 0, "a call that is right succeeds");
}

/// How many of some sinks a caller fetches: mostly all.
fn fetched(random: &mut Random, ni: usize) -> usize {
    match random.below(4) {
        0 => 1 + random.below(ni),
        1 => 1,
        _ => ni,
    }
}

fn g6(random: &mut Random, round: usize) -> Vec<u64> {
    // SAFETY: the arrays have the rows that the calls read and write.
    unsafe {
        if round == 0 || random.below(60) == 0 {
            if round > 0 && random.below(2) == 0 {
                begin_block_of_g6(random);
            }
            ok(g6_close(0));
            ok(g6_open(0));
            write_g6(random, 0, addresses());
        }
        match random.below(6) {
            0 | 1 => {
                let (first, count) = (random.below(addresses()), random.below(60));
                write_g6(random, first, count.min(addresses() - first));
                Vec::new()
            }
            2 => {
                ok(g6_set_ti(0, random.below(16) as f64 / 16.0));
                Vec::new()
            }
            3 => {
                ok(g6_reset(0));
                Vec::new()
            }
            _ => block_of_g6(random),
        }
    }
}

unsafe fn write_g6(random: &mut Random, first: usize, count: usize) {
    let mut bodies = Bodies::new(random, count);
    for number in 0..count {
        let mut jerk = [0.0; 3];
        let [a, j] = [&mut bodies.zeros[number], &mut jerk].map(|row| row.as_mut_ptr());
        let [v, x] = [&mut bodies.v[number], &mut bodies.x[number]].map(|row| row.as_mut_ptr());
        let address = (first + number) as c_int;
        // SAFETY: the caller's promise.
        ok(unsafe {
            g6_set_j_particle(0, address, bodies.index[number], 0.0, 0.1, bodies.mass[number], j, j, a, v, x)
        });
    }
}

/// Begins a block for which nobody waits.
unsafe fn begin_block_of_g6(random: &mut Random) {
    let ni = 1 + random.below(SINKS);
    let Bodies { mut index, mut x, mut v, mut zeros, mut radius2, mut potential, .. } = Bodies::new(random, ni);
    let (i, x, v, old) = (index.as_mut_ptr(), x.as_mut_ptr(), v.as_mut_ptr(), zeros.as_mut_ptr());
    let (nj, h2, pot) = (addresses() as c_int, radius2.as_mut_ptr(), potential.as_mut_ptr());
    // SAFETY: the arrays have a row for each sink, and are copied.
    ok(unsafe { g6calc_firsthalf(0, nj, ni as c_int, i, x, v, old, old, pot, 0.01, h2) });
}

unsafe fn block_of_g6(random: &mut Random) -> Vec<u64> {
    let (ni, nj) = (1 + random.below(SINKS), random.below(addresses() + 50) as c_int);
    let mut bodies = Bodies::new(random, ni);
    let (some, form, writes) = (fetched(random, ni), random.below(4), random.below(3) == 0);
    // SAFETY: the caller's promise.
    let mut force = |random: &mut Random, writes: bool, fetched: usize, form: usize| unsafe {
        let Bodies { index, x, v, zeros, radius2, acceleration, jerk, potential, nearest, distance, .. } = &mut bodies;
        let (i, x, v, h2) = (index.as_mut_ptr(), x.as_mut_ptr(), v.as_mut_ptr(), radius2.as_mut_ptr());
        let (old, acc, jrk) = (zeros.as_mut_ptr(), acceleration.as_mut_ptr(), jerk.as_mut_ptr());
        let (pot, nn, rnn) = (potential.as_mut_ptr(), nearest.as_mut_ptr(), distance.as_mut_ptr());
        ok(g6calc_firsthalf(0, nj, ni as c_int, i, x, v, old, old, pot, 0.01, h2));
        if writes {
            let first = random.below(addresses() - 20);
            write_g6(random, first, 20);
        }
        let fetched = fetched as c_int;
        ok(match form {
            0 => g6calc_lasthalf(0, nj, fetched, i, x, v, 0.01, h2, acc, jrk, pot),
            1 => g6calc_lasthalf2(0, nj, fetched, i, x, v, 0.01, h2, acc, jrk, pot, nn),
            2 => g6calc_lasthalf2n(0, nj, fetched, i, x, v, 0.01, h2, acc, jrk, pot, nn),
            _ => g6calc_lasthalf2p(0, nj, fetched, i, x, v, 0.01, h2, acc, jrk, pot, nn, rnn),
        });
        bodies.take(fetched as usize)
    };
    let all = force(random, false, ni, form);
    let found = force(random, writes, some, form);
    if some == ni {
        assert_eq!(found, all, "the same block again");
    } else {
        let accelerations = 3 * some;
        assert_eq!(found[..accelerations], all[..accelerations], "the forces on the first sinks");
    }
    let (sink, mut length) = (random.below(ni) as c_int, 0);
    // SAFETY: as above.
    unsafe {
        ok(g6_read_neighbour_list(0));
        ok(g6_get_neighbour_list(0, sink, addresses() as c_int, &raw mut length, bodies.list.as_mut_ptr()));
    }
    let list = bodies.list[..length as usize].iter().map(|index| *index as u64);
    found.into_iter().chain(list).collect()
}

fn g5(random: &mut Random, round: usize) -> Vec<u64> {
    // SAFETY: the arrays have the rows that the calls read and write.
    unsafe {
        if round == 0 || random.below(60) == 0 {
            if round > 0 && random.below(2) == 0 {
                // Nobody waits for these forces.
                let ni = 1 + random.below(SINKS);
                let mut bodies = Bodies::new(random, ni);
                ok(g5_set_xiMC(1, ni as c_int, bodies.x.as_mut_ptr()));
                ok(g5_runMC(1));
            }
            ok(g5_close());
            ok(g5_open());
            g5_set_eps2_to_all(0.01);
            for board in 0..3 {
                let mut bodies = Bodies::new(random, addresses());
                ok(g5_set_nMC(board, addresses() as c_int));
                ok(g5_set_xmjMC(board, 0, addresses() as c_int, bodies.x.as_mut_ptr(), bodies.mass.as_mut_ptr()));
            }
        }
        let board = random.below(3) as c_int;
        let write = |random: &mut Random| {
            // The rows have the numbers of the addresses.
            let (first, count) = (random.below(addresses()), random.below(60));
            let mut bodies = Bodies::new(random, addresses().min(first + count));
            let count = (bodies.index.len() - first) as c_int;
            ok(g5_set_xmjMC(board, first as c_int, count, bodies.x.as_mut_ptr(), bodies.mass.as_mut_ptr()));
        };
        match random.below(5) {
            0 | 1 => {
                write(random);
                Vec::new()
            }
            2 => {
                ok(g5_set_nMC(board, random.below(addresses()) as c_int));
                Vec::new()
            }
            _ => {
                let ni = 1 + random.below(SINKS);
                let mut bodies = Bodies::new(random, ni);
                ok(g5_set_xiMC(board, ni as c_int, bodies.x.as_mut_ptr()));
                ok(g5_runMC(board));
                if random.below(3) == 0 {
                    write(random);
                }
                let mut all = Vec::new();
                // In pieces, of which each begins at the first sink.
                for _ in 0..1 + random.below(3) {
                    let some = fetched(random, ni);
                    let (a, p) = (bodies.acceleration.as_mut_ptr(), bodies.potential.as_mut_ptr());
                    ok(g5_get_forceMC(board, some as c_int, a, p));
                    all.push(bodies.take(some)[..3 * some].to_vec());
                }
                let longest = all.iter().max_by_key(|bits| bits.len()).cloned().unwrap_or_default();
                assert!(all.iter().all(|bits| longest.starts_with(bits)), "each piece has the same forces");
                all.concat()
            }
        }
    }
}

fn order6(random: &mut Random, round: usize) -> Vec<u64> {
    let write = |random: &mut Random, first: usize, count: usize| {
        let mut bodies = Bodies::new(random, count);
        for number in 0..count {
            let Bodies { index, mass, x, v, zeros, .. } = &mut bodies;
            let [x, v, zero] = [&mut x[number], &mut v[number], &mut zeros[number]].map(|row| row.as_mut_ptr());
            let (address, softening2) = ((first + number) as c_int, [0.01, 0.01, 0.02][random.below(3)]);
            let (mass, index) = (mass[number], index[number]);
            // SAFETY: the arrays have three numbers each.
            ok(unsafe {
                if random.below(2) == 0 {
                    kyoho_yebisu_set_jp_2(address, x, v, zero, zero, zero, zero, mass, 0.0, index, softening2)
                } else {
                    kyoho_sapporo6_set_j_particle(address, x, v, zero, zero, zero, zero, mass, 0.0, index, softening2)
                }
            });
        }
    };
    if round == 0 {
        write(random, 0, ADDRESSES);
    }
    match random.below(5) {
        0 | 1 => {
            let (first, count) = (random.below(ADDRESSES), random.below(60));
            write(random, first, count.min(ADDRESSES - first));
            Vec::new()
        }
        2 => {
            let time = random.below(16) as f64 / 16.0;
            // SAFETY: the calls have no pointers.
            ok(unsafe {
                match random.below(2) {
                    0 => kyoho_yebisu_predict_all(time, 1),
                    _ => kyoho_sapporo6_no_predict_all(time, 1),
                }
            });
            Vec::new()
        }
        kind => {
            let (ni, nj) = (1 + random.below(SINKS), random.below(ADDRESSES) as c_int);
            let bodies = Bodies::new(random, ni);
            let sink = |number: usize| Predictor {
                pos: bodies.x[number],
                vel: bodies.v[number],
                acc: [0.0; 3],
                mass: 0.0,
                id: f64::from(bodies.index[number]),
                eps2: 0.01,
            };
            let mut sinks: Vec<Predictor> = (0..ni).map(sink).collect();
            let nothing = Force { acc: [0.0; 3], jrk: [0.0; 3], snp: [0.0; 3], phi: 0.0, nnb_id: 0, nnb_r2: 0.0 };
            let mut forces = vec![nothing; ni];
            let (sinks, results) = (sinks.as_mut_ptr(), forces.as_mut_ptr());
            // SAFETY: the arrays have `ni` items.
            ok(unsafe {
                match kind {
                    3 => kyoho_yebisu_calc_force_on_predictors(ni as c_int, sinks, results, nj),
                    _ => kyoho_yebisu_calc_force_on_predictors_epsj(ni as c_int, sinks, results, nj),
                }
            });
            let bits = |force: &Force| {
                let reals = [force.acc, force.jrk, force.snp].into_iter().flatten().chain([force.phi]);
                reals.map(f64::to_bits).chain([force.nnb_id as u64]).collect::<Vec<_>>()
            };
            forces.iter().flat_map(bits).collect()
        }
    }
}

fn nbody6(random: &mut Random, round: usize) -> Vec<u64> {
    let mut count = (2 + random.below(ADDRESSES)) as c_int;
    let mut bodies = Bodies::new(random, count as usize);
    // SAFETY: the arrays have the rows that the calls read and write.
    unsafe {
        if round == 0 || random.below(40) == 0 {
            ok(kyoho_nbody6_gpunb_close_());
            ok(kyoho_nbody6_gpunb_open_(&raw mut count));
        }
        let Bodies { mass, x, v, potential, .. } = &mut bodies;
        if random.below(2) == 0 {
            ok(kyoho_nbody6_gpupot_(&raw mut count, mass.as_mut_ptr(), x.as_mut_ptr(), potential.as_mut_ptr()));
            return potential.iter().map(|value| value.to_bits()).collect();
        }
        ok(kyoho_nbody6_gpunb_send_(&raw mut count, mass.as_mut_ptr(), x.as_mut_ptr(), v.as_mut_ptr()));
        let mut ni = 1 + random.below(SINKS) as c_int;
        let mut sinks = Bodies::new(random, ni as usize);
        let (mut row, mut most) = (ADDRESSES as c_int + 3, ADDRESSES as c_int + 2);
        let mut lists = vec![0 as c_int; (ni * row) as usize];
        let mut steps = vec![0.25; ni as usize];
        ok(kyoho_nbody6_gpunb_regf_(
            &raw mut ni,
            sinks.radius2.as_mut_ptr(),
            steps.as_mut_ptr(),
            sinks.x.as_mut_ptr(),
            sinks.v.as_mut_ptr(),
            sinks.acceleration.as_mut_ptr(),
            sinks.jerk.as_mut_ptr(),
            sinks.potential.as_mut_ptr(),
            &raw mut row,
            &raw mut most,
            lists.as_mut_ptr(),
        ));
        sinks.take(ni as usize).into_iter().chain(lists.into_iter().map(|item| item as u64)).collect()
    }
}

/// Makes the calls of an interface, and returns a line for each.
fn lines(name: &str, calls: Calls, seed: u64, rounds: usize) -> String {
    let mut random = Random::new(seed);
    let mut said = String::new();
    for round in 0..rounds {
        let mut hasher = DefaultHasher::new();
        calls(&mut random, round).hash(&mut hasher);
        writeln!(said, "{SAID}{name} {round} {:016x}", hasher.finish()).unwrap();
        if round % 16 == 0 {
            println!("{ALIVE}");
        }
    }
    said
}

/// The beginning of the lines of a process.
const SAID: &str = "interface ";
/// A line that tells that a process goes on.
const ALIVE: &str = "a call was made";

fn number_of(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Returns what a process says that makes the calls of a test. It is the process of this test with
/// a variable.
fn said_by(test: &str, mut command: Command, threads: bool, rounds: usize) -> Vec<String> {
    let threads = if threads { "1" } else { "0" };
    let rounds = number_of("KYOHO_TEST_ROUNDS", rounds).to_string();
    let seed = number_of("KYOHO_TEST_SEED", 1).to_string();
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).stdout(Stdio::piped());
    command.envs([(INSIDE, threads), ("KYOHO_TEST_ROUNDS", &rounds), ("KYOHO_TEST_SEED", &seed)]);
    let mut child = command.spawn().unwrap();
    let (sender, lines) = channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).unwrap_or_default();
    });
    let mut all = Vec::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => all.extend(line.starts_with(SAID).then_some(line)),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let states = states_of_threads(child.id());
                child.kill().unwrap();
                panic!("{test}: the process hangs\n{states}");
            }
        }
    }
    reader.join().unwrap();
    assert!(child.wait().unwrap().success(), "{command:?}");
    all.sort();
    all
}

/// The time in which a process makes some calls, or ends after the last one, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The variable of a process that makes calls: whether each interface has a thread of its own.
const INSIDE: &str = "KYOHO_TEST_INSIDE";

/// Returns what the system tells of the threads of a process, and their stacks if there is a debugger.
fn states_of_threads(process: u32) -> String {
    let mut states = String::new();
    let process_number = process.to_string();
    let stacks = ["-batch", "-ex", "thread apply all backtrace", "-p", &process_number];
    if let Ok(output) = Command::new("gdb").args(stacks).stderr(Stdio::null()).output() {
        states.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        for file in ["comm", "stat", "wchan", "syscall", "stack"] {
            let text = std::fs::read_to_string(thread.path().join(file)).unwrap_or_else(|error| error.to_string());
            writeln!(states, "{} {file}: {}", thread.file_name().display(), text.trim()).unwrap();
        }
    }
    states
}

/// Makes the calls, if this is the process of a test that does.
fn is_inside() -> bool {
    let Ok(threads) = std::env::var(INSIDE) else { return false };
    let (rounds, seed) = (number_of("KYOHO_TEST_ROUNDS", 0), number_of("KYOHO_TEST_SEED", 0) as u64);
    if threads == "1" {
        std::thread::scope(|scope| {
            let begin = |(name, calls): (&'static str, Calls)| scope.spawn(move || lines(name, calls, seed, rounds));
            let all: Vec<_> = INTERFACES.into_iter().map(begin).collect();
            all.into_iter().for_each(|thread| print!("{}", thread.join().unwrap()));
        });
    } else {
        INTERFACES.into_iter().for_each(|(name, calls)| print!("{}", lines(name, calls, seed, rounds)));
    }
    println!();
    true
}

/// Checks that each process says the same.
fn all_say_the_same(test: &str, rounds: usize, commands: Vec<(&str, bool, Command)>) {
    let mut first: Option<Vec<String>> = None;
    for (what, threads, command) in commands {
        let said = said_by(test, command, threads, rounds);
        assert_eq!(said.len() % INTERFACES.len(), 0);
        assert!(!said.is_empty(), "{what}");
        match &first {
            None => first = Some(said),
            Some(first) => {
                let other = first.iter().zip(&said).find(|(one, other)| one != other);
                assert_eq!(other, None, "{what}");
            }
        }
    }
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

#[test]
fn on_the_cpu() {
    if is_inside() {
        return;
    }
    let on = |threads: &str| {
        let mut command = alone(this_program());
        command.envs([("KYOHO_BACKEND", "cpu"), ("KYOHO_THREADS", threads)]);
        command
    };
    let ways = vec![("1 thread", false, on("1")), ("3 threads", false, on("3")), ("threads of callers", true, on("3"))];
    all_say_the_same("on_the_cpu", 150, ways);
}

#[test]
fn on_one_two_and_three_devices() {
    if is_inside() {
        return;
    }
    let on = |devices: &str| {
        let variables = [("KYOHO_DEVICES", devices), ("KYOHO_THREADS", "1"), ("KYOHO_TEST_ADDRESSES", "40000")];
        by_opencl(this_program(), &variables)
    };
    let ways = vec![("1", false, on("0,")), ("2", false, on("0,0")), ("3", false, on("0,0,0"))];
    all_say_the_same("on_one_two_and_three_devices", 24, ways);
}
