//! The boards. Each has its own sources and sinks, and is made when it is first used.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::arrays::{Input, Output};
use crate::abi::diagnostics::{Failure, Outcome};
use crate::abi::opening;
use crate::abi::process::Owned;
use crate::abi::refused::Refused;
use crate::config::{DeviceChoice, Settings};
use kyoho_core::memory::{self, Boxed};
use kyoho_core::sinks::NumberedSinks;
use kyoho_core::{Error, Forces, Order, Precision, Result, Sink, Source, TreeAccuracy, padded, records};
use kyoho_engine::{Setup, System};

/// Returns the precision of the interface if the environment names none. Close pairs have the
/// accuracy that is asked of a tree also where few bodies are summed directly.
fn precision(tree: Option<TreeAccuracy>) -> Precision {
    if tree.is_some() { Precision::Mixed } else { Precision::Single }
}

/// The call that opens boards.
const OPENER: &str = "g5_open";

/// The board of a call.
#[derive(Clone, Copy)]
pub enum Place {
    /// Board 0, which may use all threads.
    Alone,
    /// The board with this number. It computes on the calling thread alone, because callers use one
    /// board for each of their own threads.
    OneOfMany(c_int),
}

/// The positions of sinks, and their squared softening lengths if they have their own.
pub type SinkInputs = (Input<[f64; 3]>, Option<Input<f64>>);

/// The state of the last force calculation.
enum Pending {
    Nothing,
    Started { sinks: usize },
    Failed,
    Ended,
}

/// One board.
pub struct Board {
    system: Option<Owned<System>>,
    /// Whether a panic ended a call. The system is not touched any more but to free it.
    is_poisoned: bool,
    /// The accuracy of forces by a tree that the environment asked for when the system was made.
    tree: Option<TreeAccuracy>,
    refused: Refused,
    nj: Option<usize>,
    sinks: Vec<[f64; 3]>,
    /// Squared softening lengths of the first sinks. The others have the common one.
    softening2: Vec<f64>,
    sinks_are_refused: bool,
    /// How many of the first softenings have to be set before there are forces.
    refused_softenings: usize,
    pending: Pending,
}

/// The sinks of a board.
struct SinksOfBoard<'a> {
    positions: &'a [[f64; 3]],
    softening2: &'a [f64],
    common: f64,
}

impl NumberedSinks for SinksOfBoard<'_> {
    #[inline(always)]
    fn sink(&self, number: usize) -> Sink {
        Sink {
            index: 0,
            softening2: self.softening2.get(number).copied().unwrap_or(self.common),
            radius2: 0.0,
            step: 0.0,
            derivatives: padded([self.positions[number]]),
        }
    }
}

/// A board that is never moved or freed as long as the process lives.
type Kept = &'static Mutex<Board>;

/// All boards that were ever used, by their numbers. A thread locks it before it locks a board, and
/// never after.
static ALL: Mutex<BTreeMap<c_int, Kept>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The board that this thread used last. Most threads use one board only, and so wait for no
    /// other thread.
    static LAST: Cell<Option<(c_int, Kept)>> = const { Cell::new(None) };
}

/// The squared softening length of all sinks that have none of their own, as bits.
static COMMON_SOFTENING2: AtomicU64 = AtomicU64::new(0);

/// The opening angle of the trees of all boards, as bits: negative before one is set, NaN after one
/// was refused.
static THETA: AtomicU64 = AtomicU64::new((-1.0f64).to_bits());

/// The devices that `g5_open_special` named.
static DEVICES: Mutex<Option<DeviceChoice>> = Mutex::new(None);

/// The process that called `g5_open`, if any did.
static OPENED: Mutex<Option<Owned<()>>> = Mutex::new(None);

/// Whether a board could not be made, which a line has reported. No board is made until the
/// interface is opened again.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Locks a board for one call.
pub fn board(place: Place) -> Result<MutexGuard<'static, Board>> {
    let number = match place {
        Place::Alone => 0,
        Place::OneOfMany(number @ 0..) => number,
        Place::OneOfMany(number) => {
            let allowed = format!("0 to {}", c_int::MAX);
            return Err(Error::BadCount { what: "devid, the number of the board,", value: i64::from(number), allowed });
        }
    };
    let board = match LAST.get() {
        Some((last, board)) if last == number => board,
        _ => match lock(&ALL).entry(number) {
            Entry::Occupied(board) => *board.get(),
            Entry::Vacant(place) => *place.insert(Boxed::new(Mutex::new(Board::new()), "a board")?.leak()),
        },
    };
    LAST.set(Some((number, board)));
    let board = lock_board(board);
    if board.is_poisoned { Err(opening::poisoned()) } else { Ok(board) }
}

/// Locks a board, and notes a panic of one that had it.
fn lock_board(board: Kept) -> MutexGuard<'static, Board> {
    board.lock().unwrap_or_else(|panicked| {
        board.clear_poison();
        let mut board = panicked.into_inner();
        board.is_poisoned = true;
        board
    })
}

/// Locks a mutex, also after a panic: a defect in one call need not spoil the next.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that boards can be made. `devices` overrules the environment.
pub fn open(function: &'static str, devices: Option<DeviceChoice>) -> Outcome<()> {
    // This process cannot use the boards of the process that it was forked from.
    for mut board in lock(&ALL).values().map(|board| lock_board(board)) {
        if board.is_poisoned || board.system.as_ref().is_some_and(Owned::is_in_forked_child) {
            *board = Board::new();
        }
    }
    if devices.is_some() {
        // A thread that makes a board locks the board before the devices. The order has to be the
        // same here, and no board may be added meanwhile.
        let all = lock(&ALL);
        let boards = memory::collected(all.values().map(|board| lock_board(board)), "the boards")?;
        let mut chosen = lock(&DEVICES);
        if devices != *chosen && boards.iter().any(|board| board.system.is_some()) {
            let when = "with other devices than those that are open; call g5_close first";
            return Err(Error::CallOrder { call: function, when }.into());
        }
        *chosen = devices;
    }
    // Boards are made when they are first used, but the caller learns here whether they can be
    // made.
    let chosen = lock(&DEVICES).clone();
    let made = setup(chosen.as_ref()).and_then(|(setup, because, _)| Ok((System::new(&setup)?, because)));
    BROKEN.store(made.is_err(), Ordering::Relaxed);
    let (system, because) = made?;
    opening::opened("g5", &system, &because);
    *lock(&OPENED) = Some(Owned::new(()));
    Ok(())
}

/// Forgets all sources of all boards.
pub fn close() {
    for mut board in lock(&ALL).values().map(|board| lock_board(board)) {
        if !board.is_poisoned
            && let Some(Ok(system)) = board.system.as_mut().map(|system| system.get(OPENER))
        {
            opening::closed("g5 board", system);
        }
        *board = Board::new();
    }
    *lock(&DEVICES) = None;
    *lock(&OPENED) = None;
    BROKEN.store(false, Ordering::Relaxed);
}

/// Sets the softening of the sinks of all boards that have none of their own. If it is refused,
/// their forces are NaN.
pub fn set_common_softening2(softening2: Result<f64>) -> Outcome<()> {
    let checked = softening2.and_then(check_softening2);
    COMMON_SOFTENING2.store(checked.as_ref().map_or(f64::NAN, |softening2| *softening2).to_bits(), Ordering::Relaxed);
    Ok(checked.map(|_| ())?)
}

/// Sets the opening angle of the trees of all boards, 0 for direct sums. If it is refused, their
/// forces are NaN.
pub fn set_theta(theta: Result<f64>) -> Outcome<()> {
    let checked = theta.and_then(|theta| tree_of(theta).map(|_| theta));
    THETA.store(checked.as_ref().map_or(f64::NAN, |theta| *theta).to_bits(), Ordering::Relaxed);
    Ok(checked.map(|_| ())?)
}

/// Returns what an opening angle asks for.
fn tree_of(theta: f64) -> Result<Option<TreeAccuracy>> {
    TreeAccuracy::of(("an error", 0.0), ("theta", theta))
}

fn check_softening2(softening2: f64) -> Result<f64> {
    match softening2 {
        0.0..f64::INFINITY => Ok(softening2),
        _ => Err(Error::BadOption {
            name: "the squared softening".into(),
            value: softening2.to_string(),
            allowed: "finite numbers, 0 or more".into(),
        }),
    }
}

impl Board {
    const fn new() -> Board {
        Board {
            system: None,
            is_poisoned: false,
            tree: None,
            refused: Refused::new(),
            nj: None,
            sinks: Vec::new(),
            softening2: Vec::new(),
            sinks_are_refused: false,
            refused_softenings: 0,
            pending: Pending::Nothing,
        }
    }

    /// Sets the number of addresses that act.
    pub fn set_nj(&mut self, nj: Result<usize>) -> Outcome<()> {
        self.nj = nj.as_ref().ok().copied();
        Ok(nj.map(|_| ())?)
    }

    /// Writes sources. A force that needs the address of a refused source fails until the source is
    /// written again.
    pub fn set_sources(
        &mut self,
        place: Place,
        addresses: Range<usize>,
        arrays: Result<(Input<f64>, Input<[f64; 3]>)>,
    ) -> Outcome<()> {
        self.refused.refuse(addresses.clone());
        let (masses, positions) = arrays?;
        self.system(place)?;
        let Board { system, refused, .. } = self;
        let system = system.as_mut().ok_or(Failure::AlreadyReported)?.get(OPENER)?;
        // The first address after the last source that was refused.
        let mut written = addresses.start;
        let mut outcome = Ok(());
        for (row, address) in addresses.clone().enumerate() {
            let (mass, position) = (masses.get(row), positions.get(row));
            let numbers = records::numbers(mass, 0.0, padded([position]));
            if system.record_numbers(address, address as i32, numbers) {
                continue;
            }
            let source = Source { index: address as i32, mass, time: 0.0, coefficients: padded([position]) };
            if let Err(error) = system.set_source(address, &source) {
                refused.accept(written..address);
                written = address + 1;
                outcome = outcome.and(Err(error));
            }
        }
        refused.accept(written..addresses.end);
        Ok(outcome?)
    }

    /// Sets the sinks, and their squared softening lengths if they have their own.
    pub fn set_sinks(&mut self, arrays: Result<SinkInputs>) -> Outcome<()> {
        self.sinks.clear();
        self.softening2.clear();
        (self.sinks_are_refused, self.refused_softenings) = (true, 0);
        let (positions, softening2) = arrays?;
        memory::reserve(&mut self.sinks, positions.count(), "sinks")?;
        self.sinks.extend(positions.items());
        if let Some(softening2) = softening2 {
            self.set_softening2(Ok(softening2.items()))?;
        }
        self.sinks_are_refused = false;
        Ok(())
    }

    /// Sets the squared softening lengths of the first sinks; the others keep theirs. If one is
    /// refused, all keep theirs, and the forces of all sinks are NaN until those of as many are set.
    pub fn set_softening2(&mut self, softening2: Result<impl ExactSizeIterator<Item = f64>>) -> Outcome<()> {
        const WHAT: &str = "softenings of sinks";
        let count = softening2.as_ref().map_or(1, ExactSizeIterator::len);
        self.refused_softenings = self.refused_softenings.max(count);
        let mut checked = memory::room(count, WHAT)?;
        for softening2 in softening2? {
            checked.push(check_softening2(softening2)?);
        }
        memory::lengthen(&mut self.softening2, count, WHAT, || 0.0)?;
        self.softening2[..count].copy_from_slice(&checked);
        if count == self.refused_softenings {
            self.refused_softenings = 0;
        }
        Ok(())
    }

    /// The number of sinks.
    pub fn sinks(&self) -> usize {
        self.sinks.len()
    }

    /// Begins the force on the sinks.
    pub fn begin(&mut self, function: &'static str, place: Place) -> Outcome<()> {
        self.pending = Pending::Failed;
        self.system(place)?.abandon();
        let nj =
            self.nj.ok_or(Error::CallOrder { call: function, when: "before g5_set_n set the number of sources" })?;
        if self.sinks_are_refused || self.refused_softenings > 0 {
            return Err(Failure::Refused("the position or the softening of a sink".into()));
        }
        if let Some(address) = self.refused.below(nj) {
            return Err(Failure::Refused(format!("the source at address {address}")));
        }
        let theta = f64::from_bits(THETA.load(Ordering::Relaxed));
        if theta.is_nan() {
            return Err(Failure::Refused("the opening angle of g5_set_theta".into()));
        }
        // A caller who names an angle has the last word.
        let tree = if theta < 0.0 { self.tree } else { tree_of(theta)? };
        let common = f64::from_bits(COMMON_SOFTENING2.load(Ordering::Relaxed));
        let sinks = SinksOfBoard { positions: &self.sinks, softening2: &self.softening2, common };
        if let Some(system) = &mut self.system {
            let system = system.get(OPENER)?;
            system.set_tree(tree)?;
            system.start_numbered(nj, false, self.sinks.len(), &sinks)?;
            self.pending = Pending::Started { sinks: self.sinks.len() };
        }
        Ok(())
    }

    /// Ends the force calculation, if it has not ended yet, and writes the results of the first
    /// `ni` sinks.
    pub fn finish(
        &mut self,
        function: &'static str,
        ni: usize,
        acceleration: Output<[f64; 3]>,
        potential: Output<f64>,
    ) -> Outcome<()> {
        let started = match self.pending {
            Pending::Nothing => return Err(Error::CallOrder { call: function, when: "without g5_run" }.into()),
            Pending::Failed => return Err(Failure::AlreadyReported),
            Pending::Started { sinks } => Some(sinks),
            Pending::Ended => None,
        };
        let system = self.system.as_mut().ok_or(Failure::AlreadyReported)?.get(OPENER)?;
        // The potential of this interface is positive, and contains the term of the sink itself if
        // it is a source.
        let write = |first: usize, forces: Forces| {
            let rows = || forces.rows::<4>();
            acceleration.set_from(first, rows().map(|[_, x, y, z]| [*x, *y, *z]));
            potential.set_from(first, rows().map(|[potential, ..]| -potential));
        };
        let is_right = acceleration.require().and(potential.require());
        if let Some(sinks) = started {
            self.pending = Pending::Failed;
            let is_written = is_right.is_ok() && ni <= sinks;
            system.wait_each(|first, forces| {
                if is_written {
                    write(first, forces);
                }
            })?;
            self.pending = Pending::Ended;
            if is_written {
                return Ok(());
            }
        }
        let forces = system.forces()?;
        if ni > forces.len() {
            let allowed = format!("0 to {}, the sinks of the last g5_run", forces.len());
            return Err(Error::BadCount { what: "ni", value: ni as i64, allowed }.into());
        }
        is_right?;
        write(0, forces);
        Ok(())
    }

    fn system(&mut self, place: Place) -> Outcome<&mut System> {
        if self.system.is_none() {
            if BROKEN.load(Ordering::Relaxed) {
                return Err(Failure::AlreadyReported);
            }
            if let Some(opened) = lock(&OPENED).as_mut() {
                opened.get(OPENER)?;
            }
            let made = make(place);
            BROKEN.store(made.is_err(), Ordering::Relaxed);
            let (system, tree) = made?;
            (self.system, self.tree) = (Some(Owned::new(system)), tree);
        }
        Ok(self.system.as_mut().ok_or(Failure::AlreadyReported)?.get(OPENER)?)
    }
}

/// Returns the system of a board, and the accuracy of forces by a tree that the environment asks
/// for.
fn make(place: Place) -> Result<(System, Option<TreeAccuracy>)> {
    let devices = lock(&DEVICES).clone();
    let (setup, because, tree) = setup(devices.as_ref())?;
    let threads = match place {
        Place::Alone => setup.threads,
        Place::OneOfMany(_) => 1,
    };
    let system = opening::system("g5 board", &Setup { threads, ..setup }, &because)?;
    Ok((system, tree))
}

/// Returns the setup of a board, the reason for its devices, and the accuracy of forces by a tree
/// that the environment asks for.
fn setup(devices: Option<&DeviceChoice>) -> Result<(Setup, String, Option<TreeAccuracy>)> {
    let tree = Settings::from_environment()?.tree;
    let (setup, because) = opening::setup(Order::Second, precision(tree), devices)?;
    Ok((setup, because, tree))
}

#[cfg(test)]
mod tests {
    use crate::abi::g5::functions::*;
    use crate::abi::panicking::{At, Told};
    use kyoho_core::Scope;

    use super::*;

    #[test]
    fn more_sinks_than_memory_holds_are_refused() {
        let mut board = Board::new();
        let position = [0.0; 3];
        // SAFETY: no item is read, because there is no memory to copy them to.
        let positions = unsafe { Input::new("xi", &position, isize::MAX as usize / 8) }.unwrap();
        let refused = board.set_sinks(Ok((positions, None))).unwrap_err().to_string();
        assert!(refused.contains("no memory for sinks") && board.sinks_are_refused, "{refused}");
    }

    #[test]
    fn refused_softenings_change_none_and_no_force_is_there_until_as_many_are_set() {
        let mut board = Board::new();
        let x = [[0.0; 3]; 3];
        // SAFETY: the array has three rows.
        let positions = || unsafe { Input::new("xi", x.as_ptr(), 3) }.unwrap();
        let set = |board: &mut Board, softenings: &[f64]| board.set_softening2(Ok(softenings.iter().copied()));
        board.set_sinks(Ok((positions(), None))).unwrap();
        set(&mut board, &[9.0, 9.0]).unwrap();
        for (given, is_right, refused, expected) in [
            (&[1.0, 2.0, f64::NAN][..], false, 3, [9.0, 9.0].as_slice()),
            (&[], true, 3, &[9.0, 9.0]),
            (&[4.0], true, 3, &[4.0, 9.0]),
            (&[f64::NAN], false, 3, &[4.0, 9.0]),
            (&[5.0, 6.0, 7.0], true, 0, &[5.0, 6.0, 7.0]),
            (&[8.0], true, 0, &[8.0, 6.0, 7.0]),
        ] {
            assert_eq!(set(&mut board, given).is_ok(), is_right, "{given:?}");
            assert_eq!((board.refused_softenings, &board.softening2[..]), (refused, expected), "{given:?}");
        }
        set(&mut board, &[f64::INFINITY]).unwrap_err();
        board.set_sinks(Ok((positions(), None))).unwrap();
        assert_eq!((board.refused_softenings, board.sinks_are_refused), (0, false));
        // Sinks that were refused with their softenings have to come again.
        let softenings = [1.0, 4.0, f64::NAN];
        // SAFETY: the array has three numbers.
        let softenings = unsafe { Input::new("eps2", softenings.as_ptr(), 3) }.unwrap();
        board.set_sinks(Ok((positions(), Some(softenings)))).unwrap_err();
        set(&mut board, &[1.0; 3]).unwrap();
        assert!(board.sinks_are_refused);
    }

    /// Closing closes all boards, so one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Fewer sinks may be fetched than were begun, however many devices share them, and again.
    #[test]
    fn forces_on_the_first_sinks_are_those_of_all_on_any_number_of_devices() {
        const NI: usize = 80;
        let _alone = lock(&ALONE);
        let (number, told) = (78, Told::default());
        for devices in 1..4 {
            let kind = (Order::Second, Precision::Double, Scope::Full);
            board(Place::OneOfMany(number)).unwrap().system = Some(Owned::new(told.system_on(devices, kind).1));
            let (mut zero, mut m) = ([[0.0; 3]], [2.0]);
            let mut x: [[f64; 3]; NI] = std::array::from_fn(|sink| [1.0 + sink as f64, 0.0, 0.0]);
            // SAFETY: the arrays have as many rows.
            let codes = unsafe {
                let written = g5_set_xmjMC(number, 0, 1, zero.as_mut_ptr(), m.as_mut_ptr());
                [written, g5_set_nMC(number, 1), g5_set_xiMC(number, NI as c_int, x.as_mut_ptr()), g5_runMC(number)]
            };
            assert_eq!(codes, [0; 4]);
            for fetched in [5, NI, 1, 79] {
                let (mut a, mut p) = ([[7.5; 3]; NI], [7.5; NI]);
                // SAFETY: the arrays have more rows.
                let code = unsafe { g5_get_forceMC(number, fetched as c_int, a.as_mut_ptr(), p.as_mut_ptr()) };
                assert_eq!(code, 0, "{fetched} on {devices} devices");
                for (sink, potential) in p.into_iter().enumerate() {
                    assert_eq!(potential, if sink < fetched { 2.0 / (1.0 + sink as f64) } else { 7.5 });
                }
            }
        }
    }

    #[test]
    fn a_board_on_which_a_call_panicked_fails_until_it_is_opened_again() {
        let (number, _alone) = (77, lock(&ALONE));
        let (mut x, mut m, mut far, mut a, mut p) = ([[0.0; 3]], [2.0], [[1.0, 0.0, 0.0]], [[0.0; 3]], [0.0]);
        // SAFETY: the arrays have a row.
        let mut write = || unsafe { g5_set_xmjMC(number, 0, 1, x.as_mut_ptr(), m.as_mut_ptr()) };
        // SAFETY: the arrays have a row.
        let mut force = || unsafe {
            let n = g5_set_nMC(number, 1);
            let code = g5_calculate_force_on_xMC(number, far.as_mut_ptr(), a.as_mut_ptr(), p.as_mut_ptr(), 1);
            (n, code, p[0])
        };
        for closes in [false, true] {
            let told = Told::default();
            let (_, system) = told.system(Order::Second, Precision::Double, Scope::Full);
            board(Place::OneOfMany(number)).unwrap().system = Some(Owned::new(system));
            assert_eq!((write(), force()), (0, (0, 0, 2.0)));
            told.panic_at(At::Start);
            assert!(force().2.is_nan());
            told.panic_at(At::Nowhere);
            let before = told.calls();
            let (n, code, potential) = force();
            assert!(write() != 0 && n != 0 && code != 0 && potential.is_nan());
            assert_eq!((told.calls(), told.open()), (before, 1), "the device was left alone");
            // SAFETY: the calls have no pointers.
            unsafe {
                assert!(!closes || g5_close() == 0);
                assert_eq!((g5_open(), told.open()), (0, 0), "the device was given back");
            }
            assert_eq!((write(), force()), (0, (0, 0, 2.0)));
        }
    }
}
